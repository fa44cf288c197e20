"""The page shows the numbers of the explanation and needs nothing else; served, it walks through a run and no further.

What a reader sees is looked at in a headless Chromium, where there is one.
"""

import base64
import dataclasses
import json
import re
import shutil
import socket
import threading
import urllib.error
import urllib.request

import numpy as np
import pytest

from mzu.acting.collect import collect
from mzu.config import Config
from mzu.environments.make import make
from mzu.environments.minatar import coloured, planes_of
from mzu.episodes.readers.npz import write_npz
from mzu.explain import server
from mzu.explain.explanation import explain_position
from mzu.explain.page import page_html, write_explanation
from mzu.explain.system import open_system
from mzu.explain.toy import toy_system
from mzu.training.run_folder import RunFolder
from mzu.training.trainer import Trainer

TINY = (
    "environment=identity_continuous",
    "search.num_simulations=6",
    "search.num_sampled_actions=3",
    "network.width=16",
    "network.num_blocks=1",
    "network.value_support=5",
    "network.reward_support=5",
    "replay.segment_length=6",
    "replay.capacity=20",
    "replay.start_size=30",
    "reanalyse.fraction=1",
    "acting.games=4",
    "acting.positions_per_step=6",
    "learning.batch_size=16",
    "learning.unroll_steps=2",
    "learning.training_steps=10",
    "learning.learning_rate=1e-2",
    "learning.jit_compile=false",
    "evaluation.period=100",
    "evaluation.episodes=1",
    "run.checkpoint_period=5",
)
NAMESPACE = "http://www.w3.org/2000/svg"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with checkpoints 5 and 10, continuous actions, and the stored action injected."""
    folder = tmp_path_factory.mktemp("pages")
    write_npz(folder / "data.npz", collect(make("identity_continuous"), "random", 3))
    config = Config().override(*TINY, f"data={folder / 'data.npz'}")
    trainer = Trainer(config)
    assert trainer.run(RunFolder.create(folder / "run", config), None)
    trainer.close()
    return str(folder / "run")


@pytest.fixture(scope="module")
def system(run):
    return open_system(run)


@pytest.fixture(scope="module")
def explanation(system):
    return explain_position(system, 1, 2)


@pytest.fixture(scope="module")
def corridor():
    """A position without a network, seen as a picture."""
    return explain_position(toy_system(pictures=True), 0, 1)


@pytest.fixture(scope="module")
def address(run):
    """Where the run is served."""
    made = server.make_server(server.Explainer(run))
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{made.server_port}"
    made.shutdown()
    made.server_close()


def status_of(url, **headers):
    """Status and text of an answer."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


# ---- the file


def test_the_page_refers_to_nothing_outside_itself(explanation, corridor):
    for page in (page_html(explanation), page_html(corridor)):
        assert set(re.findall(r"https?://[^\s\"'<)]+", page)) == {NAMESPACE}
        assert not re.search(r"\ssrc\s*=|@import|url\(|rel=.stylesheet", page)


def test_the_page_has_a_tree_for_every_number_of_simulations(explanation):
    numbers = re.findall(r'<template data-simulations="(\d+)"><svg', page_html(explanation))
    assert numbers == [str(number) for number in range(7)]


def test_a_string_that_would_end_the_script_stays_a_string(explanation):
    evil = "</script><script>alert(1)</script><!-- {{style}} \u2028"
    strange = dataclasses.replace(explanation, about=explanation.about | {"system": evil})
    page, plain = page_html(strange), page_html(explanation)
    assert page.count("</script") == plain.count("</script") and page.count("<!--") == plain.count("<!--")
    record = re.search(r'<script type="application/json" id="record">(.*?)</script>', page, re.DOTALL)[1]
    assert json.loads(record) == json.loads(strange.to_json())


def test_the_page_is_written_whole(explanation, tmp_path):
    write_explanation(explanation, tmp_path / "new" / "page.html")
    assert (tmp_path / "new" / "page.html").read_text(encoding="utf-8") == page_html(explanation)
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["page.html"]


# ---- the server


def test_a_checkpoint_is_opened_once(run, monkeypatch):
    opened = []
    monkeypatch.setattr(server, "open_system", lambda run, which: opened.append(which) or open_system(run, which))
    explainer = server.Explainer(run)
    for query in ("episode=0&step=1", "step=3&checkpoint=10", "compare=5", "checkpoint=5", "checkpoint=latest"):
        assert explainer.page(query)[0] == 200
    assert opened == ["10", "5"]


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("episode=9", "There is no episode 9"),
        ("episode=1&step=-1", "There is no step -1"),
        ("step=two", "The step is &#x27;two&#x27;, but must be a whole number"),
        ("checkpoint=7", "has no checkpoint 7; there are latest, 5, 10"),
        ("checkpoint=best", "best network"),
        ("compare=7", "has no checkpoint 7"),
        ("epsiode=1", "cannot choose &#x27;epsiode&#x27;"),
        ("checkpoint=../../etc", "has no checkpoint ../../etc"),
    ],
)
def test_what_does_not_exist_is_refused_in_a_sentence(address, query, sentence):
    status, page = status_of(f"{address}/?{query}")
    assert status == 400
    assert sentence in re.search(r'id="mistake".*?>(.*?)</p>', page)[1]


def test_only_the_machine_itself_is_answered(address):
    port = int(address.rsplit(":", 1)[1])
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.2", port), timeout=5)  # a server on all addresses would take this
    assert status_of(address, Host="localhost")[0] == 200
    for name in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", ""):
        status, page = status_of(address, Host=name)
        assert status == 403 and '"record">null<' in page
    assert status_of(f"{address}/etc/passwd")[0] == 404


def test_the_server_says_where_it_is_and_ends_with_ctrl_c(system, monkeypatch, capsys):
    def interrupted(made):
        raise KeyboardInterrupt

    monkeypatch.setattr(server.ThreadingHTTPServer, "serve_forever", interrupted)
    server.serve(system, port=0, checkpoint="5", episode=1, step=2, compare=10)
    said = capsys.readouterr().out
    assert re.match(r"http://127\.0\.0\.1:\d+/\?episode=1&step=2&checkpoint=5&compare=10 ", said)


def test_nothing_is_served_that_cannot_be(system, address):
    with pytest.raises(ValueError, match="There is no episode 50"):
        server.serve(system, port=0, episode=50)
    port = int(address.rsplit(":", 1)[1])
    with pytest.raises(ValueError, match=f"Port {port} cannot be used"):
        server.serve(system, port=port)


# ---- what a reader sees


@pytest.fixture(scope="module")
def browser():
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium: pip install selenium")
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("needs Chromium and its chromedriver: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driven = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield driven
    driven.quit()


@pytest.fixture
def show(browser, tmp_path):
    """Shows an explanation as a written page, and afterwards asserts that the browser had nothing to complain about."""

    def shown(explanation, hash=""):
        write_explanation(explanation, tmp_path / "page.html")
        browser.get("about:blank")  # otherwise another hash would not load the page again
        browser.get_log("browser")
        browser.get(f"file://{tmp_path / 'page.html'}{hash}")
        return browser

    yield shown
    assert complaints(browser) == []


def complaints(browser):
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


def numbers(browser, selector):
    """The exact numbers of what the selector finds, in order."""
    script = "return [...document.querySelectorAll(arguments[0] + ' [data-value]')].map((e) => e.dataset.value)"
    return [json.loads(value) for value in browser.execute_script(script, selector)]


def rows(browser, selector):
    """The numbers of each row of the tables that the selector finds."""
    script = """return [...document.querySelectorAll(arguments[0] + ' tbody tr')].map(
        (row) => [...row.querySelectorAll('[data-value]')].map((e) => e.dataset.value))"""
    return [[json.loads(value) for value in row] for row in browser.execute_script(script, selector)]


def text(browser, selector):
    return browser.execute_script("return document.querySelector(arguments[0]).innerText", selector)


def press(browser, *keys):
    from selenium.webdriver import ActionChains

    ActionChains(browser).send_keys(*keys).perform()


def test_numbers_have_four_digits_and_all_of_them_on_request(show, explanation):
    browser = show(explanation)
    script = """return [...document.querySelectorAll('span.number[data-value]')].map(
        (e) => [e.innerText, e.dataset.value, e.title])"""
    seen = [entry for entry in browser.execute_script(script) if entry[0] and not entry[1].startswith("[")]
    assert len(seen) > 100
    for shown, exact, title in seen:
        assert title == exact
        assert float(shown) == pytest.approx(float(exact), rel=6e-4)
        assert len(re.sub(r"e.*|[-.]", "", shown).lstrip("0")) <= 4 or float(exact).is_integer()


def test_the_candidates_are_those_of_the_root(show, explanation):
    browser = show(explanation)
    expected = []
    for candidate in explanation.root["candidates"]:
        ratios = candidate.get("pi_over_beta", [])
        parts = [candidate[name] for name in ("proposed", "shared", "prior", "first_q", "visits")]
        q = [] if candidate["q"] is None else [candidate["q"]]
        expected.append([candidate["action"], candidate["drawn"], *ratios, *parts, *q, candidate["policy"]])
    assert rows(browser, "#candidates") == expected
    marked = [candidate for candidate in explanation.root["candidates"] if candidate.get("injected")]
    assert len(marked) == 1 and text(browser, "#candidates").count("injected") == 1
    label = browser.execute_script("return document.querySelector('#root-picture svg').getAttribute('aria-label')")
    assert label == f"Prior, Q and improved policy of the root's {len(expected)} candidates"


def test_a_simulation_shows_its_scores_its_leaf_and_its_backup(show, explanation):
    browser, simulation = show(explanation, "#simulations=4"), explanation.simulations[3]
    browser.execute_script("document.querySelectorAll('#path details').forEach((step) => (step.open = true))")
    assert len(simulation["path"]) > 1
    columns = ("action", "prior", "visits", "value_term", "prior_term", "score")
    scores = [[candidate[name] for name in columns] for step in simulation["path"] for candidate in step["candidates"]]
    assert rows(browser, "#path") == scores
    chosen = [
        [k["action"] for k in step["candidates"] if k["candidate"] == step["chosen"]] for step in simulation["path"]
    ]
    marked = "return [...document.querySelectorAll('#path tr.chosen th [data-value]')].map((e) => e.dataset.value)"
    assert [[json.loads(value)] for value in browser.execute_script(marked)] == chosen
    assert numbers(browser, "#bounds") == simulation["bounds"]
    leaf = simulation["leaf"]
    priors = [part for entry in leaf["policy"] for part in (entry["action"], entry["prior"])]
    assert numbers(browser, "#leaf") == [leaf["node"], leaf["action"], leaf["reward"], leaf["value"], *priors]
    backup = [
        [step["node"], step["reward"], step["return"], step["visits"] - 1, step["visits"], step["value_before"],
         step["value"], step["q"]]
        for step in simulation["backup"]
    ]  # fmt: skip
    assert rows(browser, "#backup") == backup


def test_slider_buttons_and_keys_change_tree_and_path(show, explanation):
    from selenium.webdriver.common.keys import Keys

    browser = show(explanation)

    def seen():
        label = browser.execute_script("return document.querySelector('#tree svg').getAttribute('aria-label')")
        return int(re.search(r"after (\d+) of 6", label)[1])

    def shows(count):
        path = explanation.simulations[count - 1]["path"] if count else []
        listed = browser.execute_script("return document.querySelectorAll('#path .step').length")
        return seen() == count and listed == len(path) and f"after {count} of 6" in text(browser, "#shown")

    assert shows(6)
    press(browser, Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    assert shows(4)
    press(browser, Keys.ARROW_RIGHT)
    assert shows(5)
    press(browser, Keys.HOME)
    assert shows(0) and "Nothing yet" in text(browser, "#backup")
    press(browser, Keys.ARROW_LEFT)
    assert shows(0)
    press(browser, Keys.END)
    assert shows(6)
    slider = browser.find_element("id", "slider")
    slider.send_keys(Keys.ARROW_LEFT)  # once, although the page listens to the key too
    assert shows(5)
    for button, count in (("first", 0), ("forward", 1), ("last", 6), ("back", 5)):
        browser.execute_script("document.getElementById(arguments[0]).click()", button)
        assert shows(count)


def test_z_is_shown_term_by_term(show, explanation):
    browser = show(explanation)
    for entry in explanation.value_target["steps"]:
        bootstrap = entry["bootstrap"]
        parts = [number for term in entry["terms"] for number in (term["factor"], term["reward"])]
        parts += [bootstrap["factor"], bootstrap["value"], entry["total"]]
        box = f'#value-targets [data-k="{entry["k"]}"]'
        assert numbers(browser, f"{box} .sum") == parts
        assert numbers(browser, f"{box} .given") == [entry["target"]]
        assert entry["why"] in text(browser, box)


def test_losses_predictions_and_priority_are_shown(show, explanation):
    browser, loss, priority = show(explanation), explanation.loss, explanation.priority
    for row, step in zip(rows(browser, "#loss-table"), loss["steps"], strict=True):
        assert row == [step["factor"], *step["adds"].values(), pytest.approx(sum(step["adds"].values()))]
    assert numbers(browser, "#loss-total") == [loss["total"]]
    predicted = [
        [part for both in zip(step["policy"]["mean"], step["policy"]["scale"], strict=True) for part in both]
        + [step[head][kind] for head in ("value", "reward") if head in step for kind in ("predicted", "target")]
        for step, target in zip(loss["steps"], explanation.policy_target["steps"], strict=True)
        if target["mask"]
    ]
    assert rows(browser, "#loss-charts")[: len(predicted)] == predicted
    charts = browser.execute_script("return document.querySelectorAll('#loss-charts svg').length")
    assert charts == 2 * len(predicted) + 2 * len(loss["steps"]) - 1  # policies of two dimensions, values, rewards
    assert priority is not None
    shown = numbers(browser, "#priority-facts")
    assert shown[:3] == [priority["search_value"], priority["compared_with"], priority["now"]]
    assert shown[-1] == priority["weight"]


def test_a_picture_is_drawn_pixel_by_pixel(show, corridor):
    browser, observation = show(corridor), corridor.position["observation"]
    _, width, channels = observation["shape"]
    assert pixels(browser, 0) == list(base64.b64decode(observation["base64"])) and channels == 1
    size = browser.execute_script(
        "const c = document.querySelector('canvas'); return [c.width, c.clientWidth / c.width]"
    )
    assert size[0] == width and size[1] >= 10


def test_frames_of_three_channels_are_in_colour(show, corridor):
    frames = np.arange(2 * 3 * 6, dtype=np.uint8).reshape(2, 3, 6)
    observation = {"shape": [2, 3, 6], "dtype": "uint8", "base64": base64.b64encode(frames.tobytes()).decode()}
    network = corridor.about["config"]["network"] | {"frame_stack": 2}
    about = corridor.about | {"config": corridor.about["config"] | {"network": network}}
    browser = show(
        dataclasses.replace(corridor, about=about, position=corridor.position | {"observation": observation})
    )
    for place in (0, 1):
        for colour in range(3):
            assert pixels(browser, place, colour) == frames[:, :, 3 * place + colour].ravel().tolist()


def test_named_planes_are_one_picture_in_colours_with_a_legend(show, corridor):
    planes = planes_of("minatar:breakout")
    board = np.zeros((10, 10, 4), np.uint8)
    board[9, 4, 0] = board[3, 0, 1] = board[3, 0, 2] = board[4, 5, 2] = 255
    board[1:3, :, 3] = 255
    data = base64.b64encode(board.tobytes()).decode()
    observation = {"shape": [10, 10, 4], "dtype": "uint8", "base64": data, "planes": planes}
    browser = show(dataclasses.replace(corridor, position=corridor.position | {"observation": observation}))
    for colour in range(3):
        assert pixels(browser, 0, colour) == coloured(board, planes)[:, :, colour].ravel().tolist()
    assert browser.execute_script("return document.querySelectorAll('#observation canvas').length") == 1
    assert text(browser, "#observation .legend").split() == ["paddle", "ball", "trail", "brick"]


def pixels(browser, place, colour=0):
    """One colour of the canvas with that number, row by row."""
    script = """const canvas = document.querySelectorAll('canvas')[arguments[0]];
        const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        return [...data].filter((_, place) => place % 4 === arguments[1])"""
    return browser.execute_script(script, place, colour)


def test_what_a_check_found_stands_at_the_top(show, corridor):
    checks = [
        {"name": "fine one", "flag": False, "says": "nothing"},
        {"name": "bad one", "flag": True, "says": "a <b>"},
    ]
    browser = show(dataclasses.replace(corridor, checks=checks))
    assert "1 of 2 checks found something" in text(browser, "#flags")
    assert "bad one: a <b>" in text(browser, "#flags") and "fine one" not in text(browser, "#flags")
    names = browser.execute_script(
        "return [...document.querySelectorAll('#check-list tbody th')].map((e) => e.innerText)"
    )
    assert names == ["bad one", "fine one"]


def test_a_position_without_search_or_replay_is_told_as_such(show):
    system = dataclasses.replace(toy_system(), replay=None)
    cloning = dataclasses.replace(system, config=system.config.override("learning.policy_loss=behaviour_cloning"))
    browser = show(explain_position(cloning, 0, 1))
    assert "Nothing is searched" in text(browser, "#root")
    assert not browser.find_element("id", "simulations").is_displayed()
    assert "does not hold this position" in text(browser, "#priority")
    assert "nothing to compare with" in text(browser, "#change")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_readable_in_the_light_in_the_dark_and_on_a_telephone(show, explanation, scheme):
    browser = show(explanation)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    size = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 400
        script = """const style = (selector) => getComputedStyle(document.querySelector(selector));
            return [style('body').backgroundColor, style('body').color, style('.keys').color, style('h1').color]"""
        paper, *inks = (luminance(colour) for colour in browser.execute_script(script))
        assert (paper > 0.5) == (scheme == "light")
        assert all((max(paper, ink) + 0.05) / (min(paper, ink) + 0.05) > 4.5 for ink in inks)
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def luminance(colour):
    """Relative luminance of "rgb(1, 2, 3)", as WCAG defines it."""
    parts = np.array([int(part) for part in re.findall(r"\d+", colour)[:3]]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_a_comparison_of_two_checkpoints_shows_their_differences(browser, run, system, address):
    change = explain_position(system, 1, 2, open_system(run, "5")).change
    assert change["old_search_value"] != change["new_search_value"]
    browser.get(f"{address}/?episode=1&step=2&compare=5")
    assert "checkpoint 5" in text(browser, "#change-facts")
    values = rows(browser, "#change-facts")
    old, new = change["old_search_value"], change["new_search_value"]
    assert values[0] == [old, new, new - old]
    shares = {tuple(row[0]): row[1:] for row in values[2:]}
    for kind, column in (("old", 0), ("new", 1)):
        for action, share in zip(change[f"{kind}_actions"], change[f"{kind}_policy"], strict=True):
            assert share == 0 or shares[tuple(action)][column] == pytest.approx(share)
    assert complaints(browser) == []


def test_the_served_page_walks_from_step_to_step(browser, address):
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait

    def arrives(title):
        WebDriverWait(browser, 20).until(lambda driven: driven.find_element("tag name", "h1").text == title)

    browser.get(f"{address}/?episode=1&step=2&checkpoint=5")
    assert complaints(browser) == []
    press(browser, Keys.HOME, Keys.ARROW_RIGHT, "j")
    arrives("Episode 1, step 3")
    assert browser.current_url == f"{address}/?episode=1&step=3&checkpoint=5#simulations=1"
    assert "after 1 of 6" in text(browser, "#shown") and "after 5 learner steps" in text(browser, "#origin")
    press(browser, "k")
    arrives("Episode 1, step 2")
    browser.find_element("link text", "next episode").click()
    arrives("Episode 2, step 0")
    assert browser.find_elements("link text", "previous step") == []  # there is none: words, but no link
    browser.execute_script("document.getElementById('choice').elements.step.value = 4")
    browser.find_element("css selector", "#choice button").click()
    arrives("Episode 2, step 4")
    assert complaints(browser) == []


def test_a_served_mistake_is_said_in_a_sentence_and_can_be_put_right(browser, address):
    browser.get(f"{address}/?episode=77&step=2")
    mistake = browser.find_element("id", "mistake")
    assert mistake.is_displayed() and mistake.text.startswith("There is no episode 77")
    assert not browser.find_element("id", "content").is_displayed()
    browser.execute_script("document.getElementById('choice').elements.episode.value = 0")
    browser.find_element("css selector", "#choice button").click()
    assert browser.find_element("tag name", "h1").text == "Episode 0, step 2"
