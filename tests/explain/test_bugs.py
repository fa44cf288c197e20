"""Every bug of the gallery is revealed by the check that is named for it, and a healthy system by none."""

import dataclasses
import functools

import numpy as np
import pytest

from mzu.explain import bugs
from mzu.explain.checks import CHECKS
from mzu.explain.explanation import explain_position
from mzu.explain.toy import SeenTable, corridor_model, toy_system, two_rooms
from mzu.search.search import search

# A position at which the bug shows, and words of the sentence that says so.
REVEALED = {
    "rewards_misaligned": (0, 3, "fit the ones stored one step later"),
    "other_action_space": (0, 1, "rewards of the stored action 0 fit the model's action 2"),
    "lossy_images": (0, 0, "the replay's observation differs from the episode's"),
    "backup_unreversed": (0, 0, "but its backups add up to"),
    "parent_state_asked": (0, 0, "the plain search"),
    "noise_unread": (0, 0, "after noise or injection, but the search read"),
    "clock_seeded": (0, 0, "searched twice with the same random numbers, another tree came out"),
    "never_searches_again": (0, 0, "an older network was searched, and never again"),
    "one_piece_for_ever": (0, 5, "the replay's policy differs from a new search's by 0.75"),
    "new_action_recorded": (0, 2, "the replay has action 2 at step 2, but the episode took 0"),
    "candidate_number_as_action": (0, 0, "the stored action 4 was injected, but is not among the candidates [0, 1, 2]"),
    "weights_in_other_slots": (1, 2, "the target gives 0.06 to slot 2, whose action 0 stands in slot 1 already"),
    "replay_empties_itself": (0, 0, "positions out of the replay"),
    "priorities_misplaced": (0, 0, "priorities go to the wrong positions"),
    "bootstrap_offset": (0, 0, "bootstrapped from one step later it would be just that"),
    "done_mask_missing": (2, 0, "bootstrapped across the terminal end"),
    "discount_missing": (0, 0, "without the discount at the bootstrap it would be just that"),
    "row_leak": (2, 1, "rows of the batch leak into it"),
    "weights_ignored": (0, 0, "the importance weight is not used"),
}
WORLDS = {
    "corridor": toy_system,
    "corridor, sampled": functools.partial(toy_system, sampled=True),
    "corridor, pictures": functools.partial(toy_system, pictures=True),
    "two rooms": two_rooms,
}


def every_position(system):
    return [(number, step) for number, episode in enumerate(system.episodes) for step in range(len(episode))]


def sentence(system, episode, step, check):
    """What a check says about a position -> (flag, sentence)."""
    found = {row["name"]: row for row in explain_position(system, episode, step).checks}[check]
    return found["flag"], found["says"]


@functools.cache
def flags_of(name):
    """All flags of the system with a bug -> {(episode, step): {check: sentence}}."""
    system = bugs.planted(name)
    found = {place: explain_position(system, *place).flags for place in every_position(system)}
    return {place: {row["name"]: row["says"] for row in rows} for place, rows in found.items()}


@pytest.mark.parametrize("world", WORLDS)
def test_a_healthy_system_has_no_flag_anywhere(world):
    system = WORLDS[world]()
    found = {place: explain_position(system, *place).flags for place in every_position(system)}
    assert not any(found.values()), found


def test_the_healthy_systems_run_all_checks():
    systems = [make() for make in WORLDS.values()]
    ran = {row["name"] for system in systems for row in explain_position(system, 0, 0).checks}
    assert ran == set(CHECKS)


def test_the_corridor_has_all_that_can_happen():
    system = toy_system()
    lengths = [len(episode) for episode in system.episodes]
    assert max(lengths) > 2 * system.config.replay.segment_length
    assert {episode.terminated for episode in system.episodes} == {True, False}
    assert len(system.replay) == sum(lengths)


@pytest.mark.parametrize("name", bugs.names())
def test_the_named_check_reveals_the_bug(name):
    episode, step, words = REVEALED[name]
    assert words in flags_of(name)[episode, step][bugs.BUGS[name].check]


@pytest.mark.parametrize("name", bugs.names())
def test_nothing_else_is_flagged_than_the_bug_and_what_follows_from_it(name):
    follows = {
        "backup_unreversed": {"twins"},
        "noise_unread": {"twins"},
        "clock_seeded": {"twins", "root prior"},
        "never_searches_again": {"twins", "root prior"},
        "done_mask_missing": {"value target"},
    }
    seen = {check for flags in flags_of(name).values() for check in flags}
    assert seen - {bugs.BUGS[name].check} == follows.get(name, set())


def test_the_gallery_is_told_in_sentences():
    assert bugs.names() == list(REVEALED) and len(bugs.names()) == 19
    for bug in bugs.BUGS.values():
        assert bug.check in CHECKS
        assert bug.happened.endswith(".") and bug.harm.endswith(".")


def test_a_mistyped_bug_is_answered_with_the_nearest_one():
    with pytest.raises(ValueError, match="did you mean 'row_leak'"):
        bugs.planted("row_leek")
    with pytest.raises(ValueError, match="names"):
        bugs.planted("xyz")


def test_an_action_that_does_not_exist_is_refused_before_anything_is_explained():
    system = toy_system()
    first = system.episodes[0]
    wrong = dataclasses.replace(first, actions=first.actions + 1)
    with pytest.raises(ValueError, match="is this the dataset of another game"):
        explain_position(dataclasses.replace(system, episodes=[wrong], replay=None), 0, 0)


# Checks that no bug of the gallery is named for -----------------------------------------------------------------------


def changed_model(system, **tables):
    model = system.model
    kept = {name: getattr(model, name) for name in ("next_state", "reward", "logits", "value")}
    return dataclasses.replace(system, model=SeenTable(**kept | tables), replay=None)


def test_a_policy_target_without_a_preference_is_flagged():
    system = two_rooms()
    config = system.config.override("search.num_simulations=4")
    same = changed_model(system, next_state=[[0, 0], [1, 1], [2, 2]], logits=np.zeros((3, 2)), reward=np.zeros((3, 2)))
    flag, says = sentence(dataclasses.replace(same, config=config), 0, 0, "uniform policy")
    assert flag and "preferred nothing" in says
    assert not sentence(system, 0, 0, "uniform policy")[0]


@pytest.mark.parametrize(
    ("first", "unvisited", "flag"), [(False, "lowest", True), (False, "parent", False), (True, "lowest", False)]
)
def test_a_search_that_tries_one_of_many_candidates_is_flagged(first, unvisited, flag):
    # Values are high everywhere, so that whatever is tried first looks better than what was never tried.
    system = toy_system(sampled=True)
    settings = ("search.num_sampled_actions=40", "search.num_simulations=6", "search.discount=1")
    model = SeenTable(system.model.next_state, system.model.reward, np.zeros((7, 5)), np.full(7, 50.0))
    settings += (f"search.unvisited_value={unvisited}", f"search.first_evaluations={str(first).lower()}")
    config = system.config.override(*settings)
    system = dataclasses.replace(system, config=config, model=model, replay=None)
    flagged, says = sentence(system, 0, 1, "tried candidates")
    assert flagged == flag == says.startswith("1 of 5 candidates were tried: the first one took all visits")


def test_a_collapsed_range_is_flagged():
    same = changed_model(two_rooms(), reward=np.zeros((3, 2)), value=np.zeros(3))
    flag, says = sentence(same, 0, 0, "collapsed range")
    assert flag and "0 .. 0" in says
    assert not sentence(changed_model(two_rooms()), 0, 0, "collapsed range")[0]


def test_a_value_target_beyond_all_returns_is_flagged():
    system = two_rooms()  # rewards up to 4 and discount 1/2: returns up to 8
    for value, beyond in ((13.0, False), (16.0, True), (-5.0, True)):  # z = 1 + value / 2
        far = dataclasses.replace(system, target_values=lambda seen, value=value: np.full(seen.shape[:2], value))
        flag, says = sentence(far, 0, 0, "value range")
        assert flag == beyond and "0 .. 8" in says


def test_an_injected_action_that_is_never_visited_is_flagged():
    system = toy_system(sampled=True)
    for first in (False, True):  # evaluated before the first simulation, it is known, visited or not
        rare = system.config.override(
            "search.injected_prior=0.000001", f"search.first_evaluations={str(first).lower()}"
        )
        flag, says = sentence(dataclasses.replace(system, config=rare, replay=None), 0, 4, "injected action")
        assert flag == (not first) and "visited 0 times" in says
    assert not sentence(system, 0, 4, "injected action")[0]


def test_a_stored_action_that_is_not_injected_is_flagged():
    class NotInjected(type(toy_system())):
        def search(self, game, rng, record=False):
            return search(self.model, game.observation[None], self.config.search, rng, record=record)

    system = toy_system(sampled=True)
    fields = {field.name: getattr(system, field.name) for field in dataclasses.fields(system)}
    flag, says = sentence(NotInjected(**fields), 0, 0, "injected action")
    assert flag and "was not injected" in says


def test_twins_that_disagree_are_told_apart_node_by_node():
    flag, says = sentence(bugs.planted("backup_unreversed"), 0, 0, "twins")
    assert flag and says.startswith("node 0 has 17 visits") and "the plain search has 17" in says
    flag, says = sentence(toy_system(), 0, 0, "twins")
    assert not flag and says == "the plain search has the same 17 nodes"


def test_a_wrong_reward_behind_the_position_is_seen_in_the_replay():
    system = toy_system()
    other = dataclasses.replace(system.episodes[2], rewards=np.float32([0.0, 1.0]))
    changed = dataclasses.replace(system, episodes=[*system.episodes[:2], other])
    flag, says = sentence(changed, 2, 0, "stored step")
    assert flag and "the replay has rewards [0.0, 1.9] from here on, but the episode [0.0, 1.0]" in says


def test_a_network_that_has_changed_is_seen_where_the_replay_is_old():
    early = dataclasses.replace(toy_system(), model=corridor_model(early=True))
    flag, says = sentence(early, 0, 4, "stale target")
    assert flag and "an older network was searched" in says
    assert not sentence(toy_system(), 0, 4, "stale target")[0]


def test_checks_leave_the_replay_as_they_found_it():
    system = toy_system()
    before = system.replay.state()
    explain_position(system, 0, 0)
    after = system.replay.state()
    for name, array in before.items():
        np.testing.assert_array_equal(array, after[name])
    emptying = bugs.planted("replay_empties_itself")
    size = len(emptying.replay)
    explain_position(emptying, 0, 0)
    assert len(emptying.replay) == size
