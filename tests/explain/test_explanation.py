"""An explanation has the learner's own numbers, its parts add up, and it survives being written and computed again."""

import contextlib
import dataclasses

import numpy as np
import pytest
from made_systems import KINDS, made_system, positions

import mzu.explain
from mzu.acting.collect import collect
from mzu.config import Config
from mzu.environments.make import make
from mzu.episodes.readers.npz import write_npz
from mzu.explain.explanation import Explanation, differing_numbers, explain_position
from mzu.explain.found_position import look_at
from mzu.explain.page import page_html
from mzu.explain.system import open_system
from mzu.explain.wording import action_name
from mzu.learning.losses import unrolled_losses
from mzu.networks.scalars import inverse_transform, transform
from mzu.training.run_folder import RunFolder
from mzu.training.trainer import Trainer

TINY_RUN = (
    "network.width=8",
    "network.num_blocks=1",
    "network.value_support=5",
    "network.reward_support=5",
    "search.num_simulations=4",
    "replay.segment_length=6",
    "replay.capacity=20",
    "replay.start_size=30",
    "acting.games=4",
    "acting.positions_per_step=6",
    "learning.batch_size=16",
    "learning.unroll_steps=2",
    "learning.training_steps=4",
    "learning.jit_compile=false",
    "evaluation.period=0",
    "evaluation.episodes=1",
    "run.checkpoint_period=2",
)


BEHAVIOUR = "learning.behaviour_loss_scale=0.2"

# The others judge what was learned, and random rewards and weights deserve that.
ABOUT_THE_CODE = {
    "stored step", "repeatable", "twins", "root prior", "backups", "candidate actions", "value target",
    "bootstrap across an end", "rows apart", "weights count", "priority of now", "priorities return", "replay keeps",
}  # fmt: skip


def mistakes(explanation):
    """Names of the flagged checks that find mistakes in code."""
    return [check["name"] for check in explanation.flags if check["name"] in ABOUT_THE_CODE]


def by_handle(system):
    """Which episode and step the positions of the replay are; of several copies, the newest."""
    found = {}
    for episode, step in positions(system):
        game = system.game(episode, step)
        handles = system.replay.find(game.piece.rewards, game.piece.actions, game.piece.observations)
        if len(handles):
            found[int(handles[-1]) + game.position] = episode, step
    return found


def assert_same_targets(explanation, targets, row):
    """The explanation of a position has just the targets of a row of the batch."""
    for k, entry in enumerate(explanation.policy_target["steps"]):
        assert entry["mask"] == targets.policy_mask[row, k]
        assert entry["weights"] == targets.policy_weights[row, k].tolist()
        actions = targets.policy_actions[row, k].tolist()
        if entry["mask"]:  # behind the end the stored actions are random ones
            assert entry["actions"] == (actions or list(range(len(entry["weights"]))))
    for k, entry in enumerate(explanation.value_target["steps"]):
        assert entry["mask"] == targets.value_mask[row, k]
        assert entry["target"] == targets.values[row, k]
    for k, entry in enumerate(explanation.loss["steps"][1:]):
        assert entry["reward"]["target"] == targets.rewards[row, k]


@pytest.mark.parametrize(
    "settings", [(), ("learning.td_steps=0",), (BEHAVIOUR,)], ids=["td 2", "td 0", "behaviour term"]
)
@pytest.mark.parametrize("kind", KINDS)
def test_explained_targets_are_those_that_the_learner_is_given(kind, settings):
    system = made_system(kind, *settings)
    where = by_handle(system)
    batch = system.replay.sample(12, np.random.default_rng(1))
    targets = system.targets(batch)
    for row in range(0, 12, 4 if kind == "image" else 1):  # pictures take longer
        explanation = explain_position(system, *where[int(batch.positions[row])])
        assert explanation.policy_target["from"] == "the replay"
        assert_same_targets(explanation, targets, row)
        assert explanation.loss["weight"] == batch.weights[row]
        assert mistakes(explanation) == []


@pytest.mark.parametrize("loss", ["behaviour_cloning", "crr"])
def test_targets_without_a_search_are_the_learners_too(loss):
    system = made_system("discrete", f"learning.policy_loss={loss}", "network.action_value_head=true")
    explanation = explain_position(system, 0, 5)
    assert explanation.root is explanation.simulations is explanation.tree is explanation.result is None
    handle = next(handle for handle, position in by_handle(system).items() if position == (0, 5))
    batch = system.replay.at(np.array([handle]), np.random.default_rng(0))
    assert_same_targets(explanation, system.targets(batch), 0)
    assert "action_value" in explanation.loss["steps"][0]["adds"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_behaviour_term_is_told_and_is_no_preference_of_the_search(kind):
    system, told = made_system(kind, BEHAVIOUR), set()
    for episode, step in positions(system)[:: 4 if kind == "image" else 1]:
        explanation, stored = explain_position(system, episode, step), system.episodes[episode]
        values = system.target_values(np.stack([system.observation(episode, step + k) for k in (0, 1)])[None])[0]
        is_over = stored.terminated and step + 1 == len(stored)
        is_better = stored.rewards[step] + 0.9 * (0 if is_over else values[1]) - values[0] > 0
        told.add(is_better)
        entry, name = explanation.policy_target["steps"][0], action_name(stored.actions[step].tolist())
        assert entry["why"].endswith(
            f"behaviour term 0.2 on the stored action {name}"
            if is_better
            else "behaviour term 0, since the stored action's advantage is not above 0"
        )
        assert sum(entry["weights"]) == pytest.approx(1.2 if is_better else 1, rel=1e-5)
        assert "behaviour term" in " ".join(str(explanation).split())
        assert max(map(len, str(explanation).splitlines())) <= 100
        searched = look_at(system, episode, step).given[0].search_policy[0, 0]
        is_uniform = next(check["flag"] for check in explanation.checks if check["name"] == "uniform policy")
        assert is_uniform == (np.ptp(searched) < 0.02)
    assert told == {True, False}
    assert Explanation.from_json(explanation.to_json()) == explanation
    assert "behaviour term" in explanation._repr_html_() and "behaviour term" in page_html(explanation)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "data.npz"
    write_npz(path, collect(make("identity_continuous"), "random", 5))
    return path


def offline(dataset):
    settings = ("environment=identity_continuous", "search.num_sampled_actions=3", f"data={dataset}")
    return Config().override(*TINY_RUN, *settings)


@pytest.mark.parametrize("settings", [(), (BEHAVIOUR,)], ids=["plain", "behaviour term"])
@pytest.mark.parametrize("kind", ["offline", "online"])
def test_a_trainers_batch_is_explained_as_its_learner_sees_it(kind, settings, dataset):
    if kind == "offline":
        config = offline(dataset)
    else:
        config = Config().override(*TINY_RUN, "environment=identity", "reanalyse.fraction=0.5")
    with contextlib.closing(Trainer(config.override(*settings))) as trainer:
        for _ in range(2):
            trainer.step()
        where = by_handle(open_system(trainer))
        targets = trainer.learner.targets(batch := trainer.replay.sample(12, np.random.default_rng(2)))
        rows = [row for row, handle in enumerate(batch.positions.tolist()) if handle in where]
        assert len(rows) >= 4  # others are older copies, or from games that still go on
        for row in rows:
            explanation = mzu.explain(trainer, *where[int(batch.positions[row])])
            assert_same_targets(explanation, targets, row)


@pytest.mark.parametrize("kind", KINDS)
def test_backups_add_up_to_the_tree(kind):
    explanation = explain_position(made_system(kind), 0, 3)
    visits, totals = [1] * len(explanation.tree["visits"]), list(explanation.tree["raw_value"])
    for simulation in explanation.simulations:
        for step in simulation["backup"]:
            visits[step["node"]] += 1
            totals[step["node"]] += step["return"]
    places = [node for node, count in enumerate(explanation.tree["visits"]) if count]  # not of an empty place
    assert [visits[node] for node in places] == [explanation.tree["visits"][node] for node in places]
    means = [total / count for total, count in zip(totals, visits, strict=True)]
    assert means == pytest.approx(explanation.tree["value"])  # of an empty place 0
    assert explanation.simulations[-1]["root_value"] == pytest.approx(explanation.result["value"])
    assert sum(explanation.result["visits"]) == 7 == len(explanation.simulations)


@pytest.mark.parametrize("kind", KINDS)
def test_the_terms_add_up_to_z(kind):
    system = made_system(kind)
    for position in positions(system)[:: 4 if kind == "image" else 1]:
        for entry in explain_position(system, *position).value_target["steps"]:
            products = [term["factor"] * term["reward"] for term in entry["terms"]]
            bootstrap = entry["bootstrap"]
            products.append(0 if bootstrap["masked"] else bootstrap["factor"] * bootstrap["value"])
            assert sum(products) == pytest.approx(entry["total"])
            if entry["mask"]:
                assert entry["target"] == pytest.approx(entry["total"], abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_heads_add_is_the_learners_loss(kind):
    system = made_system(kind)
    for position in ((0, 2), (0, 8), (1, 5)):
        found = look_at(system, *position)
        loss = explain_position(system, *position).loss
        added = sum(sum(step["adds"].values()) for step in loss["steps"])
        assert added == pytest.approx(loss["unweighted"])
        batch, targets = found.given
        predictions, _ = system.losses(batch, targets)
        losses = unrolled_losses(predictions, targets, batch.actions, system.config.learning, system.spaces.continuous)
        assert loss["unweighted"] == pytest.approx(float(np.asarray(losses.total)[0]), rel=1e-5)
        assert loss["total"] == pytest.approx(loss["unweighted"] * loss["weight"])


@pytest.mark.parametrize("kind", KINDS)
def test_the_parts_of_a_prior_add_up_to_what_was_searched(kind):
    system = made_system(kind)
    root = explain_position(system, 0, 3).root
    for candidate in root["candidates"]:
        if system.config.injects:
            expected = candidate["shared"] + (root["injected_prior"] if candidate.get("injected") else 0)
        else:
            fraction = root["noise_fraction"]
            expected = (1 - fraction) * candidate["proposed"] + fraction * candidate["noise"]
        assert expected == pytest.approx(candidate["prior"]) == pytest.approx(candidate["searched_prior"], rel=1e-5)
    assert sum(candidate["prior"] for candidate in root["candidates"]) == pytest.approx(1)
    assert sum(bool(candidate.get("injected")) for candidate in root["candidates"]) == system.config.injects


def test_an_action_just_outside_of_the_bounds_is_injected_at_the_bound():
    system = made_system("gaussian")
    actions = system.episodes[0].actions.copy()
    actions[3] = 1.0000005, 0.25
    episodes = [dataclasses.replace(system.episodes[0], actions=actions)]
    explanation = explain_position(dataclasses.replace(system, episodes=episodes, replay=None), 0, 3)
    (injected,) = (candidate for candidate in explanation.root["candidates"] if candidate.get("injected"))
    assert injected["action"] == [1.0, 0.25] and injected["searched_prior"] == pytest.approx(0.25)
    assert mistakes(explanation) == []


@pytest.mark.parametrize("td_steps", [2, 0])
def test_the_priority_is_the_one_that_the_learner_would_write_back(td_steps):
    """|nu - z|, or, where z is nu itself, |nu - v|: as in `Learner.step`."""
    system = made_system("discrete", f"learning.td_steps={td_steps}")
    explanation = explain_position(system, 0, 3)
    predicted = explanation.loss["steps"][0]["value"]["predicted"]
    other = explanation.value_target["steps"][0]["target"] if td_steps else predicted
    assert explanation.priority["now"] == pytest.approx(abs(explanation.priority["search_value"] - other))
    assert explanation.priority["now"] > 0


def test_an_episode_that_went_almost_the_same_way_is_not_taken_for_this_one():
    """Two episodes that differ in one action, of which the replay has one: the other is not there."""
    system = made_system("discrete")
    first = system.episodes[2]
    actions = first.actions.copy()
    actions[-1] = (actions[-1] + 1) % 3
    with_twin = dataclasses.replace(system, episodes=[*system.episodes, dataclasses.replace(first, actions=actions)])
    assert explain_position(with_twin, 2, 0).position["in_replay"] == 1
    twin = explain_position(with_twin, 3, 0)
    assert twin.position["in_replay"] == 0 and twin.priority is None and mistakes(twin) == []
    # Without the first among the episodes the same data can only be this one's, gone wrong.
    alone = dataclasses.replace(with_twin, episodes=with_twin.episodes[3:])
    assert "stored step" in mistakes(explain_position(alone, 0, 0))


def test_a_position_that_the_replay_does_not_hold_is_explained_by_a_search_of_now():
    system = dataclasses.replace(made_system("gaussian"), replay=None)
    explanation = explain_position(system, 0, 3)
    assert explanation.priority is None and explanation.change is None and explanation.loss["weight"] == 1
    assert explanation.policy_target["from"] == "a search of now"
    assert explanation.policy_target["steps"][0]["weights"] == np.float32(explanation.result["policy"]).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_json_gives_an_equal_explanation_back(kind, tmp_path):
    explanation = explain_position(made_system(kind), 1, 2)
    assert Explanation.from_json(explanation.to_json()) == explanation
    explanation.save(tmp_path / "record.json")
    assert Explanation.load(tmp_path / "record.json") == explanation
    assert differing_numbers(explanation, explanation) == []


def test_a_difference_names_its_place():
    explanation = explain_position(made_system("tabular"), 0, 3)
    other = Explanation.from_json(explanation.to_json())
    other.value_target["steps"][1]["target"] += 0.5
    del other.position["source"]
    other.simulations.pop()
    one, another, third = differing_numbers(explanation, other)
    assert one.startswith("position.source: ") and another.startswith("simulations: ")
    assert third.startswith("value_target.steps[1].target: ")
    assert len(differing_numbers(explanation, other, tolerance=1.0)) == 2


@pytest.fixture(scope="module")
def run_folder(dataset, tmp_path_factory):
    folder = RunFolder.create(tmp_path_factory.mktemp("runs") / "run", offline(dataset))
    with contextlib.closing(Trainer(folder.config)) as trainer:
        assert trainer.run(folder)
    return folder.path


def test_a_run_explained_again_gives_the_same(run_folder):
    explanation = mzu.explain(run_folder, 1, 4, compare="2")
    assert explanation.about["steps"] == 4 and explanation.change["old"] == "checkpoint 2"
    again = Explanation.from_json(explanation.to_json()).recompute()
    assert differing_numbers(again, explanation) == []
    earlier = mzu.explain(run_folder, 1, 4, checkpoint="2")
    assert "root.raw_value" in " ".join(differing_numbers(earlier, explanation))
    assert earlier.result["value"] == pytest.approx(explanation.change["old_search_value"], abs=1e-6)


def test_only_runs_in_folders_can_be_computed_again():
    with pytest.raises(ValueError, match="is about tabular, not about a run's folder"):
        explain_position(made_system("tabular"), 0, 0).recompute()


@pytest.mark.parametrize(
    ("position", "sentence"),
    [
        ((3, 0), "There is no episode 3: tabular has 3, counted from 0"),
        ((-1, 0), "There is no episode -1"),
        ((1, 6), "There is no step 6: episode 1 has 6 steps, counted from 0"),
        ((1, -1), "There is no step -1"),
    ],
)
def test_positions_that_do_not_exist(position, sentence):
    with pytest.raises(ValueError, match=sentence):
        explain_position(made_system("tabular"), *position)


@pytest.mark.parametrize("text", ['{"format": "mzu explanation 0"}', "{}", "[1]", "no JSON"])
def test_records_that_cannot_be_read(text):
    with pytest.raises(ValueError, match=r"The record is '.*', but this version of mzu reads|not the JSON"):
        Explanation.from_json(text)


def test_a_run_without_checkpoints(tmp_path, dataset):
    RunFolder.create(tmp_path / "run", offline(dataset))
    with pytest.raises(ValueError, match="has no checkpoint yet"):
        mzu.explain(tmp_path / "run", 0, 0)


def test_the_best_network_has_no_replay(run_folder):
    with pytest.raises(ValueError, match="kept without its replay; choose latest or a learner step"):
        mzu.explain(run_folder, 0, 0, checkpoint="best")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "settings",
    [
        ("search.selection=gumbel", "search.improvement=completed_q"),
        ("search.improvement=advantage", "search.stored_value=data"),
        ("search.improvement=one_step", "search.stored_value=data"),
        ("search.max_depth=1",),
    ],
    ids=" ".join,
)
def test_every_way_to_search_and_to_improve_can_be_told_and_has_no_flag(kind, settings):
    explanation = explain_position(made_system(kind, *settings), 0, 3)
    assert Explanation.from_json(explanation.to_json()) == explanation
    assert max(map(len, str(explanation).splitlines())) <= 100
    assert "<svg" in explanation._repr_html_() and "<svg" in page_html(explanation)
    assert explanation.flags == []
    told = "stored_value" in explanation.result
    assert told == ("search.stored_value=data" in settings) == ("what really followed" in str(explanation))


@pytest.mark.parametrize("scalar_head", ["categorical", "hl_gauss"])
def test_finer_and_smooth_heads_are_explained_as_they_are_learned(scalar_head):
    settings = (f"network.scalar_head={scalar_head}", "network.bins_per_unit=2", "learning.td_steps=0")
    system = made_system("discrete", *settings)
    explanation, found = explain_position(system, 0, 2), look_at(system, 0, 2)
    batch, targets = found.given
    predictions, _ = system.losses(batch, targets)
    heads = system.config.network
    losses = unrolled_losses(predictions, targets, batch.actions, system.config.learning, False, heads)
    assert explanation.loss["unweighted"] == pytest.approx(float(np.asarray(losses.total)[0]), rel=1e-5)
    head = explanation.loss["steps"][0]["value"]
    categories = np.arange(-10, 11) / 2
    assert head["bins_per_unit"] == 2
    assert head["predicted"] == pytest.approx(float(inverse_transform(categories @ head["distribution"])), rel=1e-4)
    assert categories @ head["target_distribution"] == pytest.approx(float(transform(head["target"])), abs=1e-3)
    assert (np.array(head["target_distribution"]) > 1e-4).sum() > 2 or scalar_head == "categorical"
    assert explanation.priority["compared_with"] == pytest.approx(head["predicted"])
