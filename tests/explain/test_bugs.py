"""Every bug of the gallery is revealed by the check that is named for it, and a healthy system by none."""

import functools

import pytest

from mzu.explain import bugs
from mzu.explain.checks import CHECKS
from mzu.explain.explanation import explain_position
from mzu.explain.toy import toy_system, two_rooms

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
    "priority_of_first_play": (0, 0, "it was made of an older value"),
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
    assert bugs.names() == list(REVEALED) and len(bugs.names()) == 20
    for bug in bugs.BUGS.values():
        assert bug.check in CHECKS
        assert bug.happened.endswith(".") and bug.harm.endswith(".")


def test_a_mistyped_bug_is_answered_with_the_nearest_one():
    with pytest.raises(ValueError, match="did you mean 'row_leak'"):
        bugs.planted("row_leek")
    with pytest.raises(ValueError, match="names"):
        bugs.planted("xyz")


# Checks that no bug of the gallery is named for -----------------------------------------------------------------------
