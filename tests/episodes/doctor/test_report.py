"""The doctor's report as text and as a page."""

import re

from made_episodes import control_episodes

import mzu
from mzu.commands.cli import main
from mzu.episodes.readers.npz import write_npz


def test_the_html_report_stands_alone_and_escapes_names(tmp_path, capsys):
    path = tmp_path / "a<b>.npz"
    write_npz(path, control_episodes(3))
    target = tmp_path / "report.html"
    assert main(["data", "check", str(path), "--html", str(target)]) == 0
    page = target.read_text()
    assert page.count("<svg") == 1 and "a&lt;b&gt;.npz" in page and "a<b>" not in page
    assert not re.findall(r'(?:src|href)="(?!#|data:)[^"]*"', page)  # nothing is fetched from elsewhere
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["a<b>.npz", "report.html"]


def test_a_histogram_of_returns_is_printed(tmp_path, capsys):
    write_npz(tmp_path / "a.npz", control_episodes(30))
    main(["data", "check", str(tmp_path / "a.npz")])
    lines = capsys.readouterr().out.splitlines()
    bars = lines[lines.index("returns") + 1 :][:10]
    assert sum(int(bar.split()[-1]) for bar in bars) == 30


def test_the_doctor_takes_names_and_lists_and_shows_its_report():
    report = mzu.check("embedded:catch", "catch")
    assert not report.is_wrong and "Nothing" in repr(report).splitlines()[-1]
    episodes = list(mzu.collect("catch", "random", episodes=3))
    assert repr(mzu.check(episodes)).startswith("dataset      episodes\nformat       episodes\nepisodes     3")
    assert mzu.check(episodes, "CartPole-v1").is_wrong
