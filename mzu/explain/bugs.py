"""A gallery of real bugs: mistakes that were made in programs like this one, each in a world small enough to see it.

    system = bugs.planted("backup_unreversed")      # the corridor of `toy.py`, in which exactly this bug lives
    print(mzu.explain(system, episode=0, step=1))   # one of its targets, taken apart

All of them run without an error, and agents go on learning something. `BUGS` tells of each what happened, what it does
to learning, and which check of `checks.py` reveals it.
"""

import dataclasses
import difflib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from unittest import mock

import numpy as np

from mzu.explain.system import System
from mzu.explain.toy import corridor_model, played, toy_system
from mzu.games.stored_game import StoredGame
from mzu.learning.targets import steps_left_at
from mzu.replay.replay import Replay, new_replay
from mzu.replay.returns import n_step_returns
from mzu.search import history, reference, reference_candidates
from mzu.search.improvement import improve
from mzu.search.improvement.root import root_of
from mzu.search.kernels import ALL_ACTIONS
from mzu.search.reference import evaluate as right_evaluate
from mzu.search.reference import widen
from mzu.search.search import SearchResult, make_settings
from mzu.search.tree import NO_NODE, ROOT, new_tree, root_actions
from mzu.silent_tensorflow import tf


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


def _as(kind: type[System], system: System, **further) -> System:
    """The same system as one of another kind: a subclass that does one thing differently."""
    return kind(**{part.name: getattr(system, part.name) for part in dataclasses.fields(system)}, **further)


def _empty_replay(kind: type[Replay], system: System) -> Replay:
    replay = new_replay(system.config, system.frame_spaces)
    replay.__class__ = kind
    return replay


# Reading data -------------------------------------------------------------------------------------------------------


def rewards_misaligned(system: System) -> System:
    """The file's reward[t] is the one that came with observation[t]; the reader puts it beside action[t]."""

    def read(episode):
        return dataclasses.replace(episode, rewards=np.concatenate([np.float32([0]), episode.rewards[:-1]]))

    return played(dataclasses.replace(system, episodes=[read(episode) for episode in system.episodes]))


def other_action_space(system: System) -> System:
    """The data were recorded with the actions in another order: right, rest, left."""

    def read(episode):
        return dataclasses.replace(episode, actions=system.spaces.num_actions - 1 - episode.actions)

    return played(dataclasses.replace(system, episodes=[read(episode) for episode in system.episodes]))


class LossyReplay(Replay):
    def add(self, segment):
        small = [tf.io.decode_jpeg(tf.io.encode_jpeg(frame, quality=30)).numpy() for frame in segment.observations]
        super().add(dataclasses.replace(segment, observations=np.stack(small)))


# Searching ----------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class PlainSearch(System):
    """Searches with the plain twin of the search, in which some functions are replaced. For worlds with all actions."""

    replaced: dict[str, Callable] = field(default_factory=dict)

    def search(self, game, rng, record=False) -> SearchResult:
        with mock.patch.multiple(reference, **self.replaced):
            (root,) = reference.search(self.model, game.observation[None], self.config.search, rng)
        return flat_result(root, self.config.search, record)


def backup(path, value, bounds, discount):
    """As in `reference.py`, but for `reversed`."""
    for node, edge in path:
        edge.visits += 1
        widen(bounds, edge.q(discount))
        value = edge.reward + discount * value
        node.value = (node.value * node.visits + value) / (node.visits + 1)
        node.visits += 1


def evaluate(model, node, edge, *others):
    """As in `reference.py`, but the child keeps its parent's hidden state, and is asked from there again."""
    child = right_evaluate(model, node, edge, *others)
    child.hidden = node.hidden
    return child


def add_noise(edges, log_gamma, fraction):
    """As in `reference_candidates.py`, but the scores go on reading `prior`."""
    for edge, noise in zip(edges, reference_candidates.softmax(log_gamma), strict=True):
        edge.noisy_prior = (1 - fraction) * edge.prior + fraction * noise


def flat_result(root: reference.Node, config, record: bool) -> SearchResult:
    """What a plain search over all actions found, in the form of the compiled one."""
    nodes = [root]
    for node in nodes:  # the list grows while it is read
        nodes += [edge.child for edge in node.edges if edge.child is not None]
    nodes.sort(key=lambda node: node.index)
    size, actions = len(nodes), len(root.edges)
    hidden = np.stack([node.hidden for node in nodes])[None]
    tree = new_tree(hidden, actions, np.zeros((1, 0, 0), np.int32), np.zeros((1, size, actions, 0), np.float32))
    tree.nodes[0, ROOT] = (root.visits, NO_NODE, 0, root.value, root.raw_value)
    for node in nodes:
        for k, edge in enumerate(node.edges):
            child, place = edge.child, (0, node.index, k)
            tree.edges[place] = (NO_NODE, edge.visits, edge.prior, edge.reward, 0.0)
            if child is not None:
                tree.edges[place] = (child.index, edge.visits, edge.prior, edge.reward, child.value)
                tree.nodes[0, child.index] = (child.visits, node.index, k, child.value, child.raw_value)
    settings = make_settings(config, ALL_ACTIONS, actions)
    tree.ends[0] = np.arange(1, size)
    tree.bounds[:] = history.prefix(tree, settings, size - 1).bounds  # of values on the way, which the tree lacks
    found = root_of(tree, config.discount, np.array([-1], np.int32), np.array([np.nan]))
    return SearchResult(
        policy=improve(found, config).policy,
        value=tree.nodes["value"][:, ROOT].copy(),
        actions=root_actions(tree),
        visits=found.visits,
        prior=found.prior,
        q=found.q,
        injected=found.injected,
        tree=tree,
        history=history.history_of(tree, settings, np.zeros((1, 0))) if record else None,
    )


class ClockSeeded(System):
    def search(self, game, rng, record=False):
        return super().search(game, np.random.default_rng(time.time_ns()), record)


@dataclass(eq=False)
class NeverSearchesAgain(System):
    """Keeps what it found when it saw an observation for the first time."""

    kept: dict[bytes, SearchResult] = field(default_factory=dict)

    def search(self, game, rng, record=False):
        key = game.observation.tobytes()
        if key not in self.kept:
            self.kept[key] = super().search(game, rng, record=True)
        return self.kept[key]


def never_searches_again(system: System) -> System:
    """The positions were first seen with an early network."""
    early = played(_as(NeverSearchesAgain, dataclasses.replace(system, model=corridor_model(early=True))))
    return played(dataclasses.replace(early, model=system.model))


# Recording what the search found ------------------------------------------------------------------------------------


class RecordsNewAction(StoredGame):
    def take(self, action, policy, candidates, value, raw_value):
        actions = self.piece.actions.copy()
        actions[self.position] = action
        self.piece = dataclasses.replace(self.piece, actions=actions)
        super().take(action, policy, candidates, value, raw_value)


class RecordsCandidateNumbers(StoredGame):
    def take(self, action, policy, candidates, value, raw_value):
        super().take(action, policy, np.arange(len(policy), dtype=np.int32), value, raw_value)


class RecordsOtherSlots(StoredGame):
    def take(self, action, policy, candidates, value, raw_value):
        super().take(action, np.roll(policy, 1), candidates, value, raw_value)  # the injected one is put in front


class CountsItsSearches(StoredGame):
    """Never finished: the searches, by whose number it goes, forget a piece as soon as it is a segment."""

    @property
    def position(self):
        return len(self.searches)

    @position.setter
    def position(self, position):
        pass


def one_piece_for_ever(system: System) -> System:
    """A replay from an early network; since then the network has learned, and one piece has been played."""
    early = played(dataclasses.replace(system, model=corridor_model(early=True)))
    return played(system, CountsItsSearches, early.replay)


# Drawing from the replay --------------------------------------------------------------------------------------------


class EmptiesItself(Replay):
    def sample(self, batch_size, rng):
        batch = super().sample(batch_size, rng)
        slots = np.unique(batch.positions // self.config.segment_length % self.config.capacity)
        self._uniform.set(slots, np.zeros(len(slots)))  # as a queue does: what was taken is gone
        return batch


class PrioritiesMisplaced(System):
    def update(self, positions, priorities):
        super().update(np.sort(positions), priorities)  # in order, because that is faster


# Making targets -----------------------------------------------------------------------------------------------------


class BootstrapOffset(System):
    def targets(self, batch):
        seen = batch.bootstrap_observations
        return super().targets(
            batch._replace(bootstrap_observations=np.concatenate([seen[:, 1:], seen[:, -1:]], axis=1))
        )


class DoneMaskMissing(System):
    def targets(self, batch):
        found = self.target_values(batch.bootstrap_observations)
        never = np.zeros_like(batch.terminated)
        discount, td_steps = self.config.search.discount, self.config.learning.td_steps
        values = n_step_returns(batch.rewards, found, batch.steps_left, never, discount, td_steps)
        return super().targets(batch)._replace(values=np.float32(values))


class DiscountMissing(System):
    def targets(self, batch):
        found = self.target_values(batch.bootstrap_observations)
        is_over = batch.terminated[:, None] & (steps_left_at(batch) <= self.config.learning.td_steps)
        values = _discounted_rewards(self, batch) + np.where(is_over, 0, found)
        return super().targets(batch)._replace(values=np.float32(values))


class RowLeak(System):
    def targets(self, batch):
        found = self.target_values(batch.bootstrap_observations)
        discount, td_steps = self.config.search.discount, self.config.learning.td_steps
        values, bootstrap = _discounted_rewards(self, batch), np.zeros(found.shape[1])
        for row, left in enumerate(steps_left_at(batch)):
            goes_on = ~batch.terminated[row] | (left > td_steps)
            # What a row does not write is still there from the row before.
            bootstrap[goes_on] = (discount ** np.clip(left, 0, td_steps) * found[row])[goes_on]
            values[row] += bootstrap
        return super().targets(batch)._replace(values=np.float32(values))


def _discounted_rewards(system: System, batch) -> np.ndarray:
    nothing = np.zeros(batch.searched.shape)
    discount, td_steps = system.config.search.discount, system.config.learning.td_steps
    return n_step_returns(batch.rewards, nothing, batch.steps_left, batch.terminated, discount, td_steps)


# Learning -----------------------------------------------------------------------------------------------------------


class WeightsIgnored(System):
    def weighted(self, loss, batch):
        return loss


BUGS = {
    "rewards_misaligned": Bug(
        "Rewards stand one step behind the actions that earned them: the reader takes the reward that a file lists "
        "beside an observation for the one that follows it.",
        "Every action is praised for what the one before did; the search goes after rewards that are already paid.",
        "reward alignment",
        rewards_misaligned,
    ),
    "other_action_space": Bug(
        "The data number their actions differently from the environment: another order, or the full list of a console "
        "where the environment has the few that matter.",
        "The model learns what each action does under a wrong name; the agent does something else than it planned.",
        "action space",
        other_action_space,
    ),
    "lossy_images": Bug(
        "The replay keeps pictures as JPEG to save memory.",
        "The network learns from pictures that the environment never shows; what is small and faint is not in them.",
        "stored step",
        lambda system: played(system, replay=_empty_replay(LossyReplay, system)),
        partial(toy_system, pictures=True),
    ),
    "backup_unreversed": Bug(
        "The backup walks along the path from the root to the leaf, as it was recorded, rather than back.",
        "Nodes near the root get the leaf's value with the discount and the reward of a single step: deep plans look "
        "nearer than they are.",
        "backups",
        lambda system: played(_as(PlainSearch, system, replaced={"backup": backup})),
    ),
    "parent_state_asked": Bug(
        "A new node keeps the hidden state from which the model was asked, its parent's, not the one that came out.",
        "From the second step on the model is asked in the wrong state: the search looks one step deep and calls it a "
        "plan.",
        "twins",
        lambda system: played(_as(PlainSearch, system, replaced={"evaluate": evaluate})),
    ),
    "noise_unread": Bug(
        "Noise is added to a copy of the root's priors, and the scores go on reading the others.",
        "Nothing is explored that the policy does not propose already: a mistake of the policy stays.",
        "root prior",
        lambda system: played(_as(PlainSearch, system, replaced={"add_noise": add_noise})),
    ),
    "clock_seeded": Bug(
        "The search makes its own random generator, seeded by the clock.",
        "No run can be repeated and no target computed again; games that start together share their noise.",
        "repeatable",
        lambda system: played(_as(ClockSeeded, system)),
    ),
    "never_searches_again": Bug(
        '"Reanalyse" looks up what was found when the position was first searched.',
        "Targets stay those of an early network; the network learns to be it again, however long it trains.",
        "stale target",
        never_searches_again,
    ),
    "one_piece_for_ever": Bug(
        "A stored game counts its searches to know how far it is, and they are forgotten when its piece becomes a "
        "segment: the game is never over.",
        "The same piece is searched for ever; all other targets grow old in the replay.",
        "stale target",
        one_piece_for_ever,
    ),
    "new_action_recorded": Bug(
        "A stored game that is played again records the action which the new search prefers, beside the reward and the "
        "next observation of the stored one.",
        "The model learns that an action leads to where another one led.",
        "stored step",
        lambda system: played(system, RecordsNewAction),
    ),
    "candidate_number_as_action": Bug(
        "Where actions are sampled, the number of a candidate is recorded in place of the action that it stands for.",
        "The policy is trained towards the first few actions, whatever the search preferred.",
        "candidate actions",
        lambda system: played(system, RecordsCandidateNumbers),
        partial(toy_system, sampled=True),
    ),
    "weights_in_other_slots": Bug(
        "Where actions are sampled, the visits are recorded in another order than the actions: the injected one first "
        "here, last there.",
        "The policy is trained towards the neighbours in a list of what the search preferred.",
        "candidate actions",
        lambda system: played(system, RecordsOtherSlots),
        partial(toy_system, sampled=True),
    ),
    "replay_empties_itself": Bug(
        "Sampling takes what it returns out of the replay.",
        "After a while the same few newest positions make every batch, or the learner waits for ever.",
        "replay keeps",
        lambda system: played(system, replay=_empty_replay(EmptiesItself, system)),
    ),
    "priorities_misplaced": Bug(
        "New priorities are written back in another order than that of their positions.",
        "Positions are drawn for the errors of others, and the importance weights correct for nothing.",
        "priorities return",
        partial(_as, PrioritiesMisplaced),
    ),
    "bootstrap_offset": Bug(
        "The bootstrap takes the value of one observation too late.",
        "A reward is left out between the last one that is summed and the first one that the value stands for.",
        "value target",
        partial(_as, BootstrapOffset),
    ),
    "done_mask_missing": Bug(
        "The value of a terminal observation is added like any other.",
        "The agent thinks that the game goes on after its end; values run away, most of all where it loses.",
        "bootstrap across an end",
        partial(_as, DoneMaskMissing),
    ),
    "discount_missing": Bug(
        "The bootstrap value enters the sum without its discount.",
        "Values are too large by one part in discount^n, again and again, until they run away.",
        "value target",
        partial(_as, DiscountMissing),
    ),
    "row_leak": Bug(
        "A variable of the loop over the batch is not cleared: where a row has no bootstrap, that of the row before is "
        "added.",
        "Targets near the end of an episode depend on chance, on what else was drawn.",
        "rows apart",
        partial(_as, RowLeak),
    ),
    "weights_ignored": Bug(
        "Importance weights are computed, and the plain mean of the losses is minimised.",
        "Positions that are drawn more often count more: surprising ones, and those with the most noise.",
        "weights count",
        partial(_as, WeightsIgnored),
    ),
}
