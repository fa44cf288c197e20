"""A gallery of real bugs: mistakes that were made in programs like this one, each in a world small enough to see it.

    system = bugs.planted("backup_unreversed")      # the corridor of `toy.py`, in which exactly this bug lives
    print(mzu.explain(system, episode=0, step=1))   # one of its targets, taken apart

>>> patient = mzu.explain.bugs.planted("backup_unreversed")
>>> [check["name"] for check in mzu.explain(patient, episode=0, step=1).flags]
['twins', 'backups']

All of them run without an error, and agents go on learning something. `BUGS` tells of each what happened, what it does
to learning, and which check of `checks.py` reveals it; the mistaken code itself is in `mistakes.py`.
"""

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from mzu.explain import mistakes
from mzu.explain.system import System
from mzu.explain.toy import played, toy_system


@dataclass(frozen=True)
class Bug:
    """One mistake.

    field     meaning
    happened  what the program does, in place of what it should
    harm      what that does to learning
    check     the check that reveals it
    plant     a healthy system -> the system with the bug, and a replay that was filled with it
    world     makes the healthy system
    """

    happened: str
    harm: str
    check: str
    plant: Callable[[System], System]
    world: Callable[[], System] = toy_system


def names() -> list[str]:
    """The names of all bugs, in the order of the way that data take: read, searched, recorded, drawn, learned from."""
    return list(BUGS)


def planted(name: str) -> System:
    """The toy system with this bug in it."""
    if name not in BUGS:
        near = difflib.get_close_matches(name, BUGS, n=1)
        hint = f"did you mean '{near[0]}'?" if near else "mzu.explain.bugs.names() lists them"
        raise ValueError(f"There is no bug '{name}'; {hint}")
    return BUGS[name].plant(BUGS[name].world())


BUGS = {
    "rewards_misaligned": Bug(
        "Rewards stand one step behind the actions that earned them: the reader takes the reward that a file lists "
        "beside an observation for the one that follows it.",
        "Every action is praised for what the one before did; the search goes after rewards that are already paid.",
        "reward alignment",
        mistakes.rewards_misaligned,
    ),
    "other_action_space": Bug(
        "The data number their actions differently from the environment: another order, or the full list of a console "
        "where the environment has the few that matter.",
        "The model learns what each action does under a wrong name; the agent does something else than it planned.",
        "action space",
        mistakes.other_action_space,
    ),
    "lossy_images": Bug(
        "The replay keeps pictures as JPEG to save memory.",
        "The network learns from pictures that the environment never shows; what is small and faint is not in them.",
        "stored step",
        lambda system: played(system, replay=mistakes.empty_replay(mistakes.LossyReplay, system)),
        partial(toy_system, pictures=True),
    ),
    "backup_unreversed": Bug(
        "The backup walks along the path from the root to the leaf, as it was recorded, rather than back.",
        "Nodes near the root get the leaf's value with the discount and the reward of a single step: deep plans look "
        "nearer than they are.",
        "backups",
        lambda system: played(mistakes.changed(mistakes.PlainSearch, system, replaced={"backup": mistakes.backup})),
    ),
    "parent_state_asked": Bug(
        "A new node keeps the hidden state from which the model was asked, its parent's, not the one that came out.",
        "From the second step on the model is asked in the wrong state: the search looks one step deep and calls it a "
        "plan.",
        "twins",
        lambda system: played(mistakes.changed(mistakes.PlainSearch, system, replaced={"evaluate": mistakes.evaluate})),
    ),
    "noise_unread": Bug(
        "Noise is added to a copy of the root's priors, and the scores go on reading the others.",
        "Nothing is explored that the policy does not propose already: a mistake of the policy stays.",
        "root prior",
        lambda system: played(
            mistakes.changed(mistakes.PlainSearch, system, replaced={"add_noise": mistakes.add_noise})
        ),
    ),
    "clock_seeded": Bug(
        "The search makes its own random generator, seeded by the clock.",
        "No run can be repeated and no target computed again; games that start together share their noise.",
        "repeatable",
        lambda system: played(mistakes.changed(mistakes.ClockSeeded, system)),
    ),
    "never_searches_again": Bug(
        '"Reanalyse" looks up what was found when the position was first searched.',
        "Targets stay those of an early network; the network learns to be it again, however long it trains.",
        "stale target",
        mistakes.never_searches_again,
    ),
    "one_piece_for_ever": Bug(
        "A stored game counts its searches to know how far it is, and they are forgotten when its piece becomes a "
        "segment: the game is never over.",
        "The same piece is searched for ever; all other targets grow old in the replay.",
        "stale target",
        mistakes.one_piece_for_ever,
    ),
    "new_action_recorded": Bug(
        "A stored game that is played again records the action which the new search prefers, beside the reward and the "
        "next observation of the stored one.",
        "The model learns that an action leads to where another one led.",
        "stored step",
        lambda system: played(system, mistakes.RecordsNewAction),
    ),
    "candidate_number_as_action": Bug(
        "Where actions are sampled, the number of a candidate is recorded in place of the action that it stands for.",
        "The policy is trained towards the first few actions, whatever the search preferred.",
        "candidate actions",
        lambda system: played(system, mistakes.RecordsCandidateNumbers),
        partial(toy_system, sampled=True),
    ),
    "weights_in_other_slots": Bug(
        "Where actions are sampled, the visits are recorded in another order than the actions: the injected one first "
        "here, last there.",
        "The policy is trained towards the neighbours in a list of what the search preferred.",
        "candidate actions",
        lambda system: played(system, mistakes.RecordsOtherSlots),
        partial(toy_system, sampled=True),
    ),
    "replay_empties_itself": Bug(
        "Sampling takes what it returns out of the replay.",
        "After a while the same few newest positions make every batch, or the learner waits for ever.",
        "replay keeps",
        lambda system: played(system, replay=mistakes.empty_replay(mistakes.EmptiesItself, system)),
    ),
    "priority_of_first_play": Bug(
        "The new priority of a position is the difference that was taken when its game was played, from values that "
        "were searched then; the value target of now has no part in it.",
        "What was learned long ago is drawn as often as at first, and what surprises now no more than anything else.",
        "priority of now",
        partial(mistakes.changed, mistakes.PriorityOfFirstPlay),
    ),
    "priorities_misplaced": Bug(
        "New priorities are written back in another order than that of their positions.",
        "Positions are drawn for the errors of others, and the importance weights correct for nothing.",
        "priorities return",
        partial(mistakes.changed, mistakes.PrioritiesMisplaced),
    ),
    "bootstrap_offset": Bug(
        "The bootstrap takes the value of one observation too late.",
        "A reward is left out between the last one that is summed and the first one that the value stands for.",
        "value target",
        partial(mistakes.changed, mistakes.BootstrapOffset),
    ),
    "done_mask_missing": Bug(
        "The value of a terminal observation is added like any other.",
        "The agent thinks that the game goes on after its end; values run away, most of all where it loses.",
        "bootstrap across an end",
        partial(mistakes.changed, mistakes.DoneMaskMissing),
    ),
    "discount_missing": Bug(
        "The bootstrap value enters the sum without its discount.",
        "Values are too large by one part in discount^n, again and again, until they run away.",
        "value target",
        partial(mistakes.changed, mistakes.DiscountMissing),
    ),
    "row_leak": Bug(
        "A variable of the loop over the batch is not cleared: where a row has no bootstrap, that of the row before is "
        "added.",
        "Targets near the end of an episode depend on chance, on what else was drawn.",
        "rows apart",
        partial(mistakes.changed, mistakes.RowLeak),
    ),
    "weights_ignored": Bug(
        "Importance weights are computed, and the plain mean of the losses is minimised.",
        "Positions that are drawn more often count more: surprising ones, and those with the most noise.",
        "weights count",
        partial(mistakes.changed, mistakes.WeightsIgnored),
    ),
}
