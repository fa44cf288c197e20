"""The mistaken code that `bugs.py` plants: each piece does one thing otherwise than the one whose place it takes.

In the order of the way that data take: read, searched, recorded, drawn, learned from.
"""

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from unittest import mock

import numpy as np

from mzu.explain.system import System
from mzu.explain.toy import corridor_model, played
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


def changed(kind: type[System], system: System, **further) -> System:
    """The same system as one of another kind: a subclass that does one thing differently."""
    return kind(**{part.name: getattr(system, part.name) for part in dataclasses.fields(system)}, **further)


def empty_replay(kind: type[Replay], system: System) -> Replay:
    """A replay of this kind that fits the system."""
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
    early = played(changed(NeverSearchesAgain, dataclasses.replace(system, model=corridor_model(early=True))))
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


class PriorityOfFirstPlay(System):
    def priorities(self, batch, targets):
        # What the game came with: its difference to the values that were searched then. The exponent is 1.
        return np.array([self.replay.priority(position)["to_the_alpha"] for position in batch.positions])


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
