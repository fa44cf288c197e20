"""What may be wrong with data, one function for each part of them: faults, ends, actions, observations, rewards.

Each `DataFinding` says what, where, why it matters and what to do; check.py gathers them. Notebook 10_dataset_doctor.
"""

import itertools
from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from mzu.environments.held_actions import spoken_repeat
from mzu.episodes.dataset import EpisodeDataset
from mzu.episodes.doctor.alignment import Judgement
from mzu.episodes.doctor.statistics import MOST_ACTIONS, JpegTraces, Statistics
from mzu.episodes.readers.faults import MissingFiles
from mzu.episodes.readers.rlu_control import stored_keys

_LARGEST_REWARD = 58_000  # what the last category of network.value_support=300 stands for
_OVERFLOW = 1e37


class DataFinding(NamedTuple):
    """`severity`: "wrong" (do not train on it), "doubtful" (look at it first) or "note"."""

    severity: Literal["wrong", "doubtful", "note"]
    what: str
    where: str
    why: str
    advice: str


def fault_findings(dataset: EpisodeDataset) -> Iterator[DataFinding]:
    for fault in dataset.faults:
        place = fault.file if fault.record is None else f"{fault.file}, record {fault.record}"
        what = f"{fault.field}: {fault.what}" if fault.field else fault.what
        if isinstance(fault, MissingFiles):
            why = "the data are only a part of what their name says, so results cannot be compared with others'"
            yield DataFinding("doubtful", what, place, why, "fetch the missing files")
        else:
            why = "the episode cannot be believed and is left out"
            yield DataFinding("wrong", what, place, why, "repair or fetch it again, or load with skip_bad (--skip-bad)")
    hidden = dataset.skipped - len(dataset.faults)
    if hidden > 0:
        yield DataFinding("wrong", f"{hidden} more faults of this kind", dataset.name, "as above", "as above")


def form_findings(statistics: Statistics) -> Iterator[DataFinding]:
    if statistics.num_episodes == 0:
        why, advice = "there is nothing to learn from", "look at the files; were they written to the end?"
        yield DataFinding("wrong", "no episode could be read", "everywhere", why, advice)
    if len(statistics.forms) > 1:
        (one, first), (other, second) = itertools.islice(statistics.forms.items(), 2)
        what = f"observations and actions are {_form(one)} first, then {_form(other)}"
        advice = "convert the datasets apart from each other"
        yield DataFinding("wrong", what, f"episodes {first} and {second}", "one network cannot read both", advice)


def repeat_findings(statistics: Statistics) -> Iterator[DataFinding]:
    if len(statistics.known_repeats) > 1:
        one, other = statistics.known_repeats[:2]
        what = f"every action is held for {spoken_repeat(one)} in some episodes, for {spoken_repeat(other)} in others"
        where = f"episodes {statistics.repeats[one]} and {statistics.repeats[other]}"
        why = "one model cannot predict what follows both"
        yield DataFinding("wrong", what, where, why, "record them apart from each other")


def extra_key_findings(dataset: EpisodeDataset) -> Iterator[DataFinding]:
    """Parts of the observation that the files have and the task does not; a missing part is a fault of the record."""
    if dataset.keys is None:
        return
    for file in dataset.files:
        extra = [key for key in stored_keys(file) if key not in dataset.keys]
        if extra:
            what = f"the observation has parts that the task does not know: {', '.join(extra)}"
            why = "they are left out, since the environment's observation has none of them at this place"
            yield DataFinding("doubtful", what, f"{file}, record 0", why, "is this the dataset of another task?")
            return


def end_findings(statistics: Statistics) -> Iterator[DataFinding]:
    ends, lengths = statistics.ends, np.array(statistics.lengths)
    if ends["neither"]:
        what = f"{ends['neither']} episodes are neither terminated nor truncated"
        why = "it decides whether the value after the last step is 0 or bootstrapped"
        yield DataFinding("doubtful", what, "their last step", why, "mark those that were cut off as truncated")
    if ends["terminated"] >= 5 and ends["terminated"] == len(lengths) and (lengths == lengths[0]).all():
        what = f"all {len(lengths)} episodes terminate after exactly {lengths[0]} steps"
        why = "this looks like a time limit; a network that is taught value 0 there learns to expect the end"
        yield DataFinding(
            "doubtful", what, f"step {lengths[0] - 1} of each", why, "if it is a limit, mark truncated instead"
        )
    if lengths.min() < 3 < np.median(lengths):
        number = int(lengths.argmin())
        what = (
            f"{int((lengths < 3).sum())} episodes have fewer than 3 steps, while half have over {np.median(lengths):g}"
        )
        why = "they may be remains of a recording that was broken off"
        yield DataFinding("note", what, f"episode {number}", why, "look at a few of them")


def action_findings(statistics: Statistics, dataset: EpisodeDataset) -> Iterator[DataFinding]:
    if statistics.continuous:
        constant = np.flatnonzero(statistics.action_low == statistics.action_high)
        if len(constant):
            what = f"action dimensions {_list(constant)} never change"
            why = "nothing can be learnt about what they do"
            yield DataFinding("doubtful", what, "all steps", why, "was the action recorded before or after scaling?")
        largest = np.maximum(np.abs(statistics.action_low), np.abs(statistics.action_high)).max()
        if largest < 0.2:
            what = f"no action is larger than {largest:.2g}, of a range of [-1, 1]"
            advice = "divide by the bounds of the environment before converting"
            yield DataFinding(
                "doubtful", what, "all steps", "they may be in other units than the environment's", advice
            )
        return
    if statistics.action_low < 0 or statistics.action_high >= MOST_ACTIONS:
        what = f"actions reach from {statistics.action_low} to {statistics.action_high}"
        why, advice = "actions are numbered from 0; training refuses others", "was the right array stored as actions?"
        yield DataFinding("wrong", what, "at least one step", why, advice)
        return
    counts = statistics.action_counts
    if dataset.spaces is not None and len(counts) < dataset.spaces.num_actions:
        counts = np.pad(counts, (0, dataset.spaces.num_actions - len(counts)))
    never = np.flatnonzero(counts == 0)
    if len(counts) - len(never) == 1:
        what, why = "only one action was ever taken", "no choice can be compared with another"
        yield DataFinding("wrong", what, "all steps", why, "was the right array stored as actions?")
    elif len(never):
        what = f"actions {_list(never)} of {len(counts)} were never taken"
        why = "the model can only guess what they do, and a search may exploit the guess"
        yield DataFinding(
            "note", what, "all steps", why, "expect the search to need action injection, or collect more data"
        )


def observation_findings(statistics: Statistics, lossy: JpegTraces, is_image: bool) -> Iterator[DataFinding]:
    if is_image:
        if statistics.no_change:
            place = f"episodes {_list(statistics.no_change)}"
            why, advice = (
                "the agent sees nothing that it could act on",
                "look at the frames; is the screen switched off?",
            )
            yield DataFinding("wrong", "all frames of an episode are the same", place, why, advice)
        if lossy.found:
            what = "images look like they were compressed as JPEG"
            why = "the agent will see others when it acts, and small sprites suffer most"
            place = f"{lossy.ratio:.1f} times as many changed blocks off JPEG's 8x8 grid than on it"
            yield DataFinding("doubtful", what, place, why, "ask for a lossless version (Minari: jpeg_encoding=False)")
        return
    constant = np.flatnonzero(statistics.low == statistics.high)
    if len(constant) == statistics.low.size:
        what, why = "no observed number ever changes", "the agent sees nothing that it could act on"
        yield DataFinding("wrong", what, "all steps", why, "was the right array stored as observations?")
    elif len(constant):
        what = f"observed numbers {_list(constant)} never change"
        why = "harmless by itself, but a sensor may not have been recorded"
        yield DataFinding("note", what, "all steps", why, "compare with what the environment returns there")
    largest = max(float(np.abs(statistics.low).max()), float(np.abs(statistics.high).max()))
    if largest > 1000:
        column = int(np.maximum(np.abs(statistics.low), np.abs(statistics.high)).argmax())
        what, why = f"an observed number reaches {largest:.3g}", "states enter the network as they are"
        yield DataFinding("doubtful", what, f"number {column}", why, "scale observations to about the size of 1")


def reward_findings(statistics: Statistics, shift: int, present: int, is_image: bool) -> Iterator[DataFinding]:
    largest = max(abs(statistics.reward_low), abs(statistics.reward_high), *map(abs, statistics.returns))
    if largest > _LARGEST_REWARD:
        what = f"a reward or return reaches {largest:.3g}"
        if largest > _OVERFLOW:
            why = "sums of such rewards are not finite in single precision, so the first learner step would fail"
            yield DataFinding("wrong", what, "at least one step", why, "repair the data, or leave the episode out")
        else:
            why = f"the network's categories end at {_LARGEST_REWARD:,}: it would learn that number instead"
            yield DataFinding("doubtful", what, "at least one step", why, "divide all rewards by the same number")
    if statistics.num_rewards == 0:
        why, advice = "there is nothing to prefer", "were the rewards recorded? are these the right episodes?"
        yield DataFinding("doubtful", "all rewards are 0", "all steps", why, advice)
    if shift:
        side = "before" if shift > 0 else "after"
        steps = "one step" if abs(shift) == 1 else f"{abs(shift)} steps"
        seen = "the picture changes with the reward" if is_image else "the transition explains the reward"
        what = f"rewards stand {steps} {side} the action that earned them"
        where = f"all steps: {seen} at step t{shift:+d}, not at t"
        why = "reward, value and policy targets would all be learnt for the wrong action"
        advice = f"load with reward_shift={present + shift} (--reward-shift {present + shift}) and check again"
        yield DataFinding("wrong", what, where, why, advice)


def unchecked(judged: Judgement, environment) -> list[str]:
    """What the data alone, or an environment that could not be replayed, left open."""
    left = []
    if judged.unclear:
        reason = f"they fit as well when moved by {' or '.join(f'{shift:+d}' for shift in judged.unclear)}"
        if judged.scores is None:
            reason = "too few different rewards, or steps, to tell"
        elif len(judged.unclear) == len(judged.scores) - 1:
            reason = "nothing that is observed explains them well enough"
        left.append(f"whether rewards stand at the step that earned them ({reason})")
    what = "whether an environment gives these rewards, observations and ends"
    left.append(f"{what} ({'none was given: --env' if environment is None else 'it could not be replayed'})")
    return left


def duplicate_findings(statistics: Statistics) -> Iterator[DataFinding]:
    if statistics.num_duplicates:
        place = ", ".join(f"episode {later} equals {earlier}" for later, earlier in statistics.duplicates)
        what = f"{statistics.num_duplicates} of {statistics.num_episodes} episodes are exact copies"
        why = "they count twice, and a copy on both sides of a split spoils any comparison"
        yield DataFinding(
            "doubtful", what, place, why, "remove them, unless the environment is so small that they arise by chance"
        )


def _form(form: tuple) -> str:
    observation, dtype, action = form
    return f"{dtype} {list(observation)} with {'actions ' + str(list(action)) if action else 'discrete actions'}"


def _list(numbers, most: int = 8) -> str:
    numbers = [int(number) for number in numbers]
    return ", ".join(map(str, numbers[:most])) + (f" and {len(numbers) - most} more" if len(numbers) > most else "")
