# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 07. The training system
#
# ← [06 Action injection](06_action_injection.ipynb) · [the course](README.md) · [08 Unplugged](08_unplugged.ipynb) →
#
# ![Where this notebook stands in the circle of data: games, replay, learning](pictures/circle_07.svg)
#
# | | |
# |---|---|
# | **You will build** | games played in lockstep; a replay of segments; a sum tree that draws positions by priority; importance weights; the unrolled loss with every kind of end; AdamW with a cosine; the target network; and the loop that ties them together and learns CartPole from nothing |
# | **Lives in** | `mzu/games/player.py`, `mzu/games/fresh_game.py`; `mzu/replay/replay.py`, `mzu/replay/segment.py`, `mzu/replay/priorities.py`; `mzu/learning/losses.py`, `mzu/learning/optimiser.py`, `mzu/learning/learner.py`; `mzu/training/trainer.py` |
# | **Takes** | about four minutes to run on two cores; three hours to work through |
# | **You need** | notebooks 02 (networks, unrolling) and 04 (targets); that a search returns visits and a value (03) |
#
# All parts of the agent are on the table: a network (02), a search that improves what it says (03),
# and targets made of searches and rewards (04). What is missing is the circle: somebody who plays,
# somebody who remembers, somebody who learns, and the order in which they take turns.
#
# ```
#          segments                 batch, weights                 targets
#   play ───────────►  replay  ───────────────────►  learner  ◄───────────── target network
#    ▲                   ▲                            │    │                       ▲
#    │                   └──────── priorities ────────┘    ├── copy, every N steps ┘
#    └───────────────────── new weights ───────────────────┘
# ```
#
# We build one box after the other, hold each against the library's with the same random numbers, and
# close the circle in section 9. The task is CartPole-v1: push a cart left or right so that its pole
# stays up; a reward of 1 per step, until the pole falls, the cart leaves its rail, or 500 steps are
# over.

# %%
import os

FAST = os.environ.get("MZU_FAST") == "1"  # the test suite's short version

import time
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np

from mzu.environments.make import make
from mzu.networks.compiled.compile_model import model_for_search, refresh
from mzu.networks.network import build_network
from mzu.presets import preset
from mzu.silent_tensorflow import ops, tf

plt.style.use("tableau-colorblind10")
plt.rcParams.update({"figure.constrained_layout.use": True, "axes.grid": True, "grid.alpha": 0.3})
np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# Two sets of settings. `config` is what learns CartPole at the end: a smaller sister of the preset
# `cartpole`, without reanalysing (fraction 0), so that everything comes from fresh games. `small` is
# for looking at things: tiny segments, short sums, a tiny network.

# %%
STEPS = 8 if FAST else 1000  # learner steps
config = preset("cartpole").config.override(
    "reanalyse.fraction=0",
    f"network.width={16 if FAST else 64}", f"network.num_blocks={0 if FAST else 2}",
    "search.num_simulations=25",
    "acting.games=32", "acting.positions_per_step=32",
    "learning.batch_size=128", f"learning.training_steps={STEPS}",
    f"learning.unroll_steps={1 if FAST else 5}",
    "learning.jit_compile=false",  # starts at once
    "replay.capacity=300", f"replay.start_size={200 if FAST else 1000}",
)
small = config.override(
    "network.width=16", f"network.num_blocks={0 if FAST else 1}",
    "search.num_simulations=8", "acting.games=8",
    "replay.segment_length=10", "replay.capacity=12",
    "learning.unroll_steps=3", "learning.td_steps=3",
    "learning.learning_rate=0.01", "learning.training_steps=200",
    "learning.target_network_period=3",
)
spaces = make("CartPole-v1").spaces
print(spaces)

# %% [markdown]
# ## 1. Playing
#
# A game is a list of what happened: observations, actions, rewards, and what the search said of each
# position, $\pi$ and $\nu$. For the replay it is cut into **segments** of up to $L$ positions (500 in
# the paper, appendix "Other Hyperparameters"; 10 in `small`).
#
# One detail decides whether the targets at a seam are right. The target of position $t$ looks ahead: $U$
# unrolled steps, and $n$ rewards after each of them. So a segment brings a **tail** of $E = U + n$
# steps along, which are never drawn themselves. A segment is complete when its tail is there, or
# when the game is over and no more can come.


# %%
from mzu.replay.returns import n_step_returns
from mzu.replay.segment import Segment


class Game:
    """One game in `environment`, from its reset on."""

    def __init__(self, environment, seed, config):
        self.environment, self.config = environment, config
        self.observations, self.actions, self.rewards = [environment.reset(seed=seed)], [], []
        self.policies, self.values = [], []
        self.terminated = self.truncated = False
        self.cut = 0  # positions that are in a segment already

    @property
    def over(self):
        return self.terminated or self.truncated

    def take(self, action, policy, value):
        observation, reward, self.terminated, self.truncated = self.environment.step(action)
        for kept, new in ((self.observations, observation), (self.actions, action),
                          (self.rewards, reward), (self.policies, policy), (self.values, value)):
            kept.append(new)

    def complete_segments(self):
        """The segments that have become complete since the last call."""
        length, learning = self.config.replay.segment_length, self.config.learning
        tail, steps, segments = learning.unroll_steps + learning.td_steps, len(self.actions), []
        while self.cut < steps:
            start, stop = self.cut, min(self.cut + length, steps)
            if stop + tail > steps and not self.over:
                break  # some of its tail is still to come
            last = min(stop + tail, steps)
            segments.append(self.segment(start, stop, last))
            self.cut = stop
        return segments

    def segment(self, start, stop, last):
        """Positions start..stop - 1, with a tail up to step `last`."""
        rewards, values = np.float32(self.rewards[start:last]), np.float32(self.values[start:stop])
        terminated = self.terminated and last == len(self.actions)
        return Segment(
            observations=np.stack(self.observations[start : last + 1]),
            actions=np.int32(self.actions[start:last]),
            rewards=rewards,
            ended=self.over and last == len(self.actions),
            terminated=terminated,
            search_policy=np.float32(self.policies[start:stop]),
            search_actions=None,  # all actions are candidates, in their order
            search_value=values,
            priorities=first_priorities(rewards, values, terminated, self.config),
        )


def first_priorities(rewards, values, terminated, config):
    """|nu - z| of L positions; z bootstraps from the search values (notebook 04, section 4)."""
    n, length = config.learning.td_steps, len(values)
    bootstrap = values[np.minimum(np.arange(length) + n, length - 1)]
    rewards, steps = np.append(rewards, np.zeros(n, np.float32)), len(rewards)
    ends = np.array([steps]), np.array([terminated])
    z = n_step_returns(rewards[None], bootstrap[None], *ends, config.search.discount, n)[0]
    return np.abs(values - z)


# %% [markdown]
# The player keeps several games going in lockstep: one search call serves them all (notebook 03,
# section 7), and who is over makes room for a new game. Fresh games must try things out, so two things
# differ from playing well: root noise in the search, and an action that is **drawn** from the visits,
# in proportion to $N(a)^{1/T}$. The temperature $T$ is 1 in the first half of the training, then
# 0.5, then 0.25 (MuZero).

# %%
from mzu.search.search import search


def draw_actions(visits, temperature, rng):
    """visits [B, A] -> one action per row, by the powers of its visits."""
    weights = visits ** (1 / temperature)
    ends = np.cumsum(weights, axis=1)
    return (rng.random((len(visits), 1)) * ends[:, -1:] >= ends).sum(axis=1)


class Games:
    """Plays one game in each environment, side by side."""

    def __init__(self, config, environments, model, rng):
        self.config, self.model, self.rng = config, model, rng
        self.games = [self.new_game(environment) for environment in environments]

    def new_game(self, environment):
        self.rng.random()  # the library draws here whether the next game is a stored one
        return Game(environment, int(self.rng.integers(2**31)), self.config)

    def advance(self, temperature):
        """One step of every game -> complete segments, and the returns of games that ended."""
        observations = np.stack([game.observations[-1] for game in self.games])
        result = search(self.model, observations, self.config.search, self.rng)
        actions = draw_actions(result.visits, temperature, self.rng)
        segments, returns = [], []
        for row, game in enumerate(self.games):
            game.take(int(actions[row]), result.policy[row], result.value[row])
            segments += game.complete_segments()
            if game.over:
                returns.append(sum(game.rewards))
                self.games[row] = self.new_game(game.environment)
        return segments, returns


small_network = build_network(small.network, spaces, seed=0)
small_model = model_for_search(small_network)


def short_games(count=8):
    """CartPole with a time limit of 30 steps, so that some games are truncated."""
    return [make("CartPole-v1", max_episode_steps=30) for _ in range(count)]


ROUNDS = 60
ours = Games(small, short_games(), small_model, np.random.default_rng(1))
lanes = [[game] for game in ours.games]  # the games that were played in each place
segments, returns = [], []
for _ in range(ROUNDS):
    new_segments, new_returns = ours.advance(temperature=1.0)
    segments, returns = segments + new_segments, returns + new_returns
    for lane, game in zip(lanes, ours.games, strict=True):
        if game is not lane[-1]:
            lane.append(game)
print(f"{ROUNDS} rounds of 8 games: {len(returns)} games ended, returns {returns[:6]} ...")
print(f"{len(segments)} segments, {sum(s.terminated for s in segments)} with a terminal end, "
      f"{sum(s.ended and not s.terminated for s in segments)} with a truncated one")

# %% [markdown]
# The library's `Player` does the same for fresh and stored games. Same generator, same games:

# %%
from mzu.games.player import Player
from mzu.reanalyse.buffers import new_sources
from mzu.replay.replay import new_replay

theirs = Player(small, small_model, new_sources(small, episodes=[]), short_games(),
                np.random.default_rng(1))
library_segments = [segment for _ in range(ROUNDS) for segment in theirs.advance(1.0).segments]


def assert_same_segment(one, other):
    for name in ("observations", "actions", "rewards", "search_policy", "search_value"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), (
            f"{name} of our segment is not that of the library's"
        )
    assert np.allclose(one.priorities, other.priorities, atol=1e-6), (
        "the priorities by hand are not the library's"
    )
    assert (one.ended, one.terminated) == (other.ended, other.terminated), (
        "the segment's end is another one than the library's"
    )


for one, other in zip(segments, library_segments, strict=True):
    assert_same_segment(one, other)
print(f"all {len(segments)} segments are equal")

# %% [markdown]
# What has arrived in the replay after these 60 rounds, and what has not:

# %% jupyter={"source_hidden": true} tags=["hide-input"]
figure, ax = plt.subplots(figsize=(11, 3.6))
for place, lane in enumerate(lanes):
    begin = 0
    for game in lane:
        for start in range(0, game.cut, 10):
            length, shade = min(10, game.cut - start), "C0" if start // 10 % 2 else "C4"
            ax.barh(place, length - 0.25, 0.62, begin + start, color=shade)
        steps = len(game.actions)
        ax.barh(place, steps - game.cut, 0.62, begin + game.cut, facecolor="white",
                edgecolor="grey", hatch="///", linewidth=0)
        begin += steps
        if game.over:
            ax.plot(begin - 0.15, place, "ks" if game.terminated else "kx", markersize=7,
                    markeredgewidth=2.5)
ax.set(xlabel="rounds played", ylabel="place", yticks=range(8), xlim=(0, ROUNDS + 1),
       title="Games side by side. Bars: segments (shades alternate); hatched: not handed out yet")
ax.plot([], [], "ks", label="terminated")
ax.plot([], [], "kx", markersize=7, markeredgewidth=2.5, label="truncated (30 steps)")
ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2, frameon=False)
plt.show()

# %% [markdown]
# A hatched stretch may be longer than a segment: the first ten positions of a running game wait until
# six more steps are there. When a game ends, all of it is handed out at once.
#
# ## 2. A replay of segments
#
# The replay keeps the latest segments and forgets the oldest. Each place for a segment is a *slot*; the
# $m$-th segment that ever came goes to slot $m \bmod \text{capacity}$. Two names for a position:
#
# * its **leaf**, slot $\cdot L + t$: where it is *now*, which the draw needs;
# * its **handle**, $m L + t$: who it is *for ever*. The learner gives priorities back a while after
#   it has drawn a position, and the slot may hold another segment by then.
#
# A batch holds, for each drawn position, all that its targets are made of (notebook 04, section 2):
# the observation, $U + 1$ actions, $U + n$ rewards, the observations to bootstrap from, $\pi$ and
# $\nu$, and how the data end. Behind the end there are zeros, and *random* actions. Why random? The
# state behind a terminal end is absorbing, value 0 whatever one does, and the model should learn that
# of every action.
#
# The draw itself comes in the next section: for now it is somebody else's job (`priorities`), and so
# is the weight.


# %%
from mzu.replay.replay import Batch


def rows_from(array, start, count):
    """`count` rows of an array from `start` on; zeros where there are no more."""
    part = array[start : start + count]
    missing = np.zeros((count - len(part), *array.shape[1:]), array.dtype)
    return np.concatenate([part, missing])


class OurReplay:
    """The latest segments; `priorities` holds p^alpha of each leaf."""

    def __init__(self, config, priorities):
        self.config, self.priorities = config, priorities
        self.capacity, self.length = config.replay.capacity, config.replay.segment_length
        self.segments, self.numbers = [], []  # what is in each slot
        self.added = 0

    def __len__(self):
        return sum(len(segment) for segment in self.segments)  # N

    def add(self, segment):
        slot = self.added % self.capacity
        if slot == len(self.segments):
            self.segments.append(segment)
            self.numbers.append(self.added)
        values = np.zeros(self.length)  # 0 behind a short segment: nothing there to draw
        values[: len(segment)] = segment.priorities**self.config.replay.priority_exponent
        self.priorities.set(slot * self.length + np.arange(self.length), values)
        self.segments[slot], self.numbers[slot] = segment, self.added
        self.added += 1

    def update(self, handles, priorities):
        """New priorities for positions of an earlier batch, as far as they are still there."""
        numbers, t = np.divmod(handles, self.length)
        slots = numbers % self.capacity
        there = np.array(self.numbers)[slots] == numbers
        values = priorities[there] ** self.config.replay.priority_exponent
        self.priorities.set(slots[there] * self.length + t[there], values)

    def all_observations(self):
        return np.concatenate([segment.observations for segment in self.segments])

    def row(self, leaf, random_actions):
        """What the targets of one position are made of."""
        slot, t = divmod(leaf, self.length)
        segment, learning = self.segments[slot], self.config.learning
        steps, n = len(segment.actions), learning.td_steps
        at = t + np.arange(learning.unroll_steps + 1)  # t, ..., t + U
        actions = rows_from(segment.actions, t, len(at))
        return {
            "positions": self.numbers[slot] * self.length + t,
            "observations": segment.observations[t],
            "actions": np.where(at < steps, actions, random_actions),
            "rewards": rows_from(segment.rewards, t, learning.unroll_steps + n),
            "steps_left": np.int32(steps - t),
            "ended": segment.ended,
            "terminated": segment.terminated,
            "bootstrap_observations": segment.observations[np.minimum(at + n, steps)],
            "following_observations": segment.observations[:0],  # for another loss, notebook 08
            "search_policy": rows_from(segment.search_policy, t, len(at)),
            "search_actions": np.zeros((len(at), 0), np.int32),  # none sampled
            "search_value": rows_from(segment.search_value, t, len(at)),
            "searched": at < len(segment),
        }

    def batch(self, leaves, weights, rng):
        shape = (len(leaves), self.config.learning.unroll_steps + 1)
        random_actions = rng.integers(spaces.num_actions, size=shape, dtype=np.int32)
        rows = [self.row(*pair) for pair in zip(leaves.tolist(), random_actions, strict=True)]
        columns = {name: np.stack([row[name] for row in rows]) for name in rows[0]}
        return Batch(**columns, weights=np.float32(weights))


# %% [markdown]
# We fill both replays with all segments, more than the 12 that fit, and ask for every position that is
# left. The library's `Replay` has no rows of its own: each array is one long memory, and a batch is
# read from it without loops. Same numbers, in another place.


# %%
class NoPriorities:
    """Stands in for what section 3 builds."""

    def set(self, leaves, values):
        pass


def all_leaves(replay):
    """The leaves of all positions that are in our replay."""
    return np.concatenate([slot * replay.length + np.arange(len(segment))
                           for slot, segment in enumerate(replay.segments)])


def assert_same_batch(one, other):
    for name, array in one._asdict().items():
        expected = getattr(other, name)
        assert array.shape == expected.shape and array.dtype == expected.dtype, (
            f"{name} of our batch has another shape or type than the library's"
        )
        assert np.allclose(array, expected, atol=1e-6), (
            f"{name} of our batch is not that of the library's: is it a position near an end?"
        )


our_replay, library_replay = OurReplay(small, NoPriorities()), new_replay(small, spaces)
for segment in segments:
    our_replay.add(segment)
    library_replay.add(segment)
leaves = all_leaves(our_replay)
batch = our_replay.batch(leaves, np.ones(len(leaves)), np.random.default_rng(0))
expected = library_replay.at(batch.positions, np.random.default_rng(0))
assert_same_batch(batch._replace(weights=expected.weights), expected)
assert len(our_replay) == len(library_replay) == len(leaves), (
    "the two replays hold different numbers of positions"
)
print(f"{our_replay.added} segments were added, {len(our_replay.segments)} are kept; "
      f"{len(leaves)} positions, {len(Batch._fields)} arrays of a batch: all equal")
for name in ("observations", "actions", "rewards", "bootstrap_observations", "search_policy"):
    print(f"  {name:22} {getattr(batch, name).shape}")

# %% [markdown]
# ## 3. Drawing by priority
#
# Not all positions are equally instructive (Schaul et al. 2016, [arXiv:1511.05952](https://arxiv.org/abs/1511.05952)). The appendix "Other Hyperparameters" draws position $i$
# with probability
#
# $$P(i) = \frac{p_i^\alpha}{\sum_k p_k^\alpha}, \qquad p_i = |\nu_i - z_i|, \qquad \alpha = 1:$$
#
# where the search ($\nu$) and what really happened ($z$) disagree, there is something to learn.
#
# To draw means: put all priorities end to end on a line, throw a dart at it, see whose stretch was
# hit. By the definition:


# %%
class Line:
    """The definition: walk along the line until the mass is used up."""

    def __init__(self, leaves):
        self.values = np.zeros(leaves)

    @property
    def total(self):
        return self.values.sum()

    def set(self, leaves, values):
        self.values[leaves] = values

    def get(self, leaves):
        return self.values[leaves]

    def find(self, masses):
        found = []
        for mass in masses:  # of every dart
            leaf = 0
            while mass >= self.values[leaf]:  # of every stretch before it
                mass -= self.values[leaf]
                leaf += 1
            found.append(leaf)
        return np.array(found)


line = Line(8)
line.set(np.arange(8), np.array([3, 1, 0, 4, 2, 2, 5, 1.0]))
print("total", line.total, "- mass 9.5 is found in leaf", line.find([9.5])[0])

# %% [markdown]
# That is a double loop: darts times positions. The paper's replay has up to 25 million positions and a
# batch has 1,024 darts. A **sum tree** makes it short. The leaves are the priorities, and each
# inner node holds the sum of its two children. Node 1 is the root; the children of node $i$ are $2i$
# and $2i + 1$.
#
# * *Draw*: begin at the root with the mass of the dart. Is the mass less than the left child's sum? Go
#   left. Otherwise subtract that sum and go right. After $\log_2 n$ steps one stands on a leaf.
# * *Change a leaf*: recompute its ancestors, $\log_2 n$ of them.


# %%
class SumTree:
    """The same as `Line`, in O(log n)."""

    def __init__(self, leaves):
        self.first = 1  # the first leaf: all leaves stand in one row
        while self.first < leaves:
            self.first *= 2
        self.sums = [0.0] * (2 * self.first)

    @property
    def total(self):
        return self.sums[1]

    def get(self, leaves):
        return np.array([self.sums[self.first + leaf] for leaf in leaves])

    def set(self, leaves, values):
        for leaf, value in zip(np.asarray(leaves).tolist(), values.tolist(), strict=True):
            node = self.first + leaf
            self.sums[node] = value
            while node > 1:
                node //= 2
                self.sums[node] = self.sums[2 * node] + self.sums[2 * node + 1]

    def find(self, masses):
        return np.array([self.path(mass)[-1] - self.first for mass in masses], np.int64)

    def path(self, mass):
        """The nodes on the way from the root to the leaf that the mass falls into."""
        nodes = [1]
        while nodes[-1] < self.first:
            left, right = 2 * nodes[-1], 2 * nodes[-1] + 1
            # Rounding must never lead into a branch whose sum is 0: it has nothing to draw.
            if self.sums[left] > 0 and (mass < self.sums[left] or self.sums[right] == 0):
                nodes.append(left)
            else:
                mass -= self.sums[left]
                nodes.append(right)
        return nodes


tree = SumTree(8)
tree.set(np.arange(8), line.values)
masses = np.linspace(0, 17.99, 200)
assert tree.total == line.total and np.array_equal(tree.find(masses), line.find(masses)), (
    "tree and line should have one total and find the same leaves"
)

# %% jupyter={"source_hidden": true} tags=["hide-input"]
MASS = 9.5
way = tree.path(MASS)
figure, ax = plt.subplots(figsize=(9, 4))
place = {}
for node in range(1, 16):
    depth = node.bit_length() - 1
    place[node] = ((node - 2**depth + 0.5) * 8 / 2**depth, -depth)
for node in range(2, 16):
    on_way = node in way
    ax.plot(*zip(place[node // 2], place[node], strict=True), color="C1" if on_way else "grey",
            linewidth=3 if on_way else 1, linestyle="-" if on_way else ":", zorder=1)
for node, (x, y) in place.items():
    ax.text(x, y, f"{tree.sums[node]:.0f}", ha="center", va="center", fontsize=12, zorder=2,
            bbox={"boxstyle": "round,pad=0.4", "facecolor": "C1" if node in way else "white",
                  "edgecolor": "black"})
rest = MASS
for node in way[1:]:
    went_right = node % 2 == 1
    passed = tree.sums[node - 1] if went_right else 0
    compared = f"≥ {passed:.0f}: right" if went_right else f"< {tree.sums[node]:.0f}: left"
    says = f"{rest:.1f} {compared}"
    ax.text(*np.add(place[node // 2], (0.45, 0.12)), says, fontsize=9)
    rest -= passed
for leaf in range(8):
    ax.text(*np.add(place[8 + leaf], (0, -0.42)), f"leaf {leaf}", ha="center", fontsize=9)
ax.set(xlim=(0, 8), ylim=(-3.7, 0.45),
       title=f"A sum tree of 8 priorities, and the way of the mass {MASS}")
ax.axis("off")
plt.show()

# %% [markdown]
# The library's `Priorities` is this tree with its loops in Numba. All three agree; the tree keeps
# agreeing after thousands of changes, because an inner node is always the sum of what is below it.
# (Adding the *difference* to each ancestor would be cheaper by a read, and drifts: exercise 1.)

# %%
from mzu.replay.priorities import Priorities

rng = np.random.default_rng(2)
line, tree, library_tree = Line(100), SumTree(100), Priorities(100)
for _ in range(20 if FAST else 200):
    changed = rng.integers(100, size=10)
    values = rng.integers(0, 6, size=10).astype(float)  # whole numbers: no rounding
    values[:3] = 0
    for one in (line, tree, library_tree):
        one.set(changed, values)
    if line.total:
        masses = rng.random(20) * line.total
        assert np.array_equal(line.find(masses), library_tree.find(masses)), (
            "the library's tree finds other leaves than the line"
        )
        assert np.array_equal(tree.find(masses), library_tree.find(masses)), (
            "our tree finds other leaves than the library's"
        )
assert tree.total == library_tree.total == line.total, (
    "the totals differ: an ancestor is not the sum of its children"
)
print("line, tree and library find the same leaves")

# %% tags=["timing"]
print("to change and draw one position, in microseconds")
print("positions        line        tree     library")
for size in (1_000, 10_000) if FAST else (1_000, 10_000, 100_000):
    cells = []
    for kind, together in ((Line, 10), (SumTree, 100), (Priorities, 100)):
        kept = kind(size)
        kept.set(np.arange(size), np.ones(size))
        start = time.perf_counter()
        for _ in range(3):
            kept.set(rng.integers(size, size=together), rng.random(together))
            kept.find(rng.random(together) * kept.total)
        cells.append((time.perf_counter() - start) / (3 * together) * 1e6)
    print(f"{size:9,}  {cells[0]:10,.1f}  {cells[1]:10.1f}  {cells[2]:10.2f}")

# %% [markdown]
# Ten times more positions take the line ten times longer, and the trees three or four steps more.
#
# ### Frequencies
#
# Now the replay can draw. One addition of the library: a share $s$ of the draws (a tenth) is uniform,
#
# $$P(i) = (1 - s)\,\frac{p_i^\alpha}{\sum_k p_k^\alpha} + \frac{s}{N},$$
#
# for two reasons. A position whose priority was once measured as 0 would never come back to be
# measured again. And no importance weight, the topic of the next section, becomes larger than $1/s$.
# With $s = 0$ we have the paper's rule.


# %%
class DrawingReplay(OurReplay):
    """A replay that draws: `priorities` is a Line or a SumTree."""

    def sample(self, batch_size, rng):
        leaves = self.draw(batch_size, rng)
        importance = 1 / (len(self) * self.probabilities(leaves))
        return self.batch(leaves, importance**self.config.replay.importance_exponent, rng)

    def draw(self, batch_size, rng):
        which, mass, slot, offset = rng.random((4, batch_size))
        # Uniform over positions: a segment in proportion to its length, then a position of it.
        lengths = np.array([len(segment) for segment in self.segments])
        slots = np.searchsorted(np.cumsum(lengths), slot * lengths.sum(), side="right")
        leaves = slots * self.length + (offset * lengths[slots]).astype(int)
        by_priority = which >= self.config.replay.uniform_share
        leaves[by_priority] = self.priorities.find(mass[by_priority] * self.priorities.total)
        return leaves

    def probabilities(self, leaves):
        share = self.config.replay.uniform_share
        by_priority = self.priorities.get(leaves) / self.priorities.total
        return (1 - share) * by_priority + share / len(self)


def filled(config, kind):
    replay = DrawingReplay(config, kind(config.replay.capacity * config.replay.segment_length))
    for segment in segments:
        replay.add(segment)
    return replay


by_line, by_tree = filled(small, Line), filled(small, SumTree)
for seed in range(3):
    expected = library_replay.sample(64, np.random.default_rng(seed))
    assert_same_batch(by_line.sample(64, np.random.default_rng(seed)), expected)
    assert_same_batch(by_tree.sample(64, np.random.default_rng(seed)), expected)
print("same generator, same batch: positions, contents and weights")

# %% [markdown]
# Does it draw as often as it should? Priorities of an untrained network are dull (it says 0 everywhere,
# so $|\nu - z|$ is the sum of the next rewards), so we write others into the replay, and count.

# %%
DRAWS = 10_000 if FAST else 200_000
surprising = np.random.default_rng(4).gamma(0.7, size=len(leaves))
figure, axes = plt.subplots(1, 2, figsize=(11, 3.8), sharey=True)
order = np.argsort(-surprising)
for ax, share in zip(axes, (0.0, 0.1), strict=True):
    replay = filled(small.override(f"replay.uniform_share={share}"), SumTree)
    handles = replay.batch(leaves, np.ones(len(leaves)), np.random.default_rng(0)).positions
    replay.update(handles, surprising)
    drawn = np.concatenate([replay.draw(10_000, np.random.default_rng([5, part]))
                            for part in range(DRAWS // 10_000)])
    counts = np.bincount(drawn, minlength=replay.capacity * replay.length)
    frequency = counts[leaves] / DRAWS
    wanted = (1 - share) * surprising / surprising.sum() + share / len(leaves)
    assert np.allclose(wanted, replay.probabilities(leaves)), (
        "P(i) is p^alpha over the sum of all; the replay says something else"
    )
    assert np.all(np.abs(frequency - wanted) < 5 * np.sqrt(wanted / DRAWS) + 1e-4), (
        "some position is drawn more or less often than its probability"
    )
    ax.bar(range(len(leaves)), frequency[order], color="C4", width=1,
           label=f"counted in {DRAWS:,} draws")
    ax.plot(wanted[order], "k-", label="P(i)")
    ax.axhline(1 / len(leaves), color="C1", linestyle="--", label="uniform, 1 / N")
    ax.set(xlabel="position, by priority", title=f"uniform share s = {share}")
axes[0].set(ylabel="probability", yscale="log", ylim=(1e-6, 0.1))
axes[0].legend()
plt.show()

# %% [markdown]
# On the left the last position comes up once in a hundred thousand draws; on the right none comes up
# less than a tenth as often as in a uniform draw.
#
# ## 4. Importance weights
#
# Whoever looks mostly at surprising positions gets a wrong picture of the world. The loss that we *want*
# to minimise is the mean over all $N$ positions, with the gradient $\frac1N \sum_i g_i$. Drawn with
# $P$, the mean gradient is $\sum_i P(i)\, g_i$ instead. The paper scales the loss of position $i$ by
#
# $$w_i = \Big(\frac1N \cdot \frac1{P(i)}\Big)^{\beta}, \qquad \beta = 1, \qquad\text{so that}\qquad
# \sum_i P(i)\, w_i\, g_i = \frac1N \sum_i g_i .$$
#
# The smallest experiment: one number $v$ should learn the mean return $y$ of games that are played at
# random. Loss $\frac12 (v - y_i)^2$, gradient $g_i = v - y_i$, priority $p_i = |v - y_i|$.

# %%
from mzu.environments.environment import random_action

GAMES = 60 if FAST else 400
rng = np.random.default_rng(0)
with make("CartPole-v1") as environment:
    y = []
    for seed in range(GAMES):
        environment.reset(seed=seed)
        over, total = False, 0.0
        while not over:
            _, reward, *ends = environment.step(random_action(spaces, rng))
            over, total = any(ends), total + reward
        y.append(total)
y = np.array(y)
RANDOM_RETURN = y.mean()
print(f"{GAMES} random games: mean return {RANDOM_RETURN:.1f}, from {y.min():.0f} to {y.max():.0f}")


def rule(name, priority):
    """Probabilities and weights [N] of three ways to draw."""
    uniform = np.full(len(y), 1 / len(y))
    probability = uniform if name == "uniform" else priority / priority.sum()
    weight = np.ones(len(y)) if name == "priorities, no weights" else uniform / probability
    return probability, weight


RULES = ["uniform", "priorities and weights", "priorities, no weights"]
v = 15.0
gradient = v - y
print(f"\nat v = {v:.0f}                   mean of the gradient   spread of one draw")
for name in RULES:
    probability, weight = rule(name, np.abs(gradient) + 1e-9)
    drawn = np.random.default_rng(1).choice(len(y), 100_000, p=probability)
    mean = (probability * weight * gradient).sum()  # exactly
    spread = np.sqrt((probability * (weight * gradient) ** 2).sum() - mean**2)
    counted = (weight * gradient)[drawn].mean()
    print(f"{name:24}  {mean:8.2f} (drawn {counted:6.2f})   {spread:8.2f}")
    assert abs(counted - mean) < 5 * spread / np.sqrt(100_000), (
        "the counted mean gradient is not the computed one"
    )
    if name != "priorities, no weights":
        assert np.isclose(mean, gradient.mean()), (
            "with weights the mean gradient should be that of even drawing"
        )
    else:
        assert mean < 2 * gradient.mean() < 0, (
            "without weights the mean gradient should be pulled to the large errors"
        )

# %% [markdown]
# With weights the mean is that of uniform draws, to the last digit. And the spread is *smaller*: since
# $w_i g_i = \pm \frac1N \sum_k |g_k|$, every draw counts the same, only the sign differs. That is what
# priorities are good for: **the same mean gradient, less noise**. Without weights the gradient points
# to another place. Where to? It vanishes where $\sum_i |v - y_i|\,(v - y_i) = 0$, which is the minimum
# of the mean of $|v - y|^3$: the large returns pull harder than they should.


# %%
def learn_number(name, steps, batch_size=32, seed=0):
    """Stochastic gradient descent; the priorities are always fresh."""
    rng, v, path = np.random.default_rng(seed), 10.0, []
    for step in range(steps):
        probability, weight = rule(name, np.abs(v - y) + 1e-9)
        drawn = rng.choice(len(y), batch_size, p=probability)
        rate = 0.2 / (1 + step / 40)
        v -= rate * np.mean(weight[drawn] * (v - y[drawn]))
        path.append(v)
    return np.array(path)


candidates = np.linspace(y.min(), y.max(), 20_001)
cubic = candidates[np.argmin([np.mean(np.abs(v - y) ** 3) for v in candidates])]
STYLES = dict(zip(RULES, (("C0", "-"), ("C1", "--"), ("C5", ":")), strict=True))

figure, (left, right) = plt.subplots(1, 2, figsize=(11.5, 3.9))
paths = {name: [learn_number(name, 200 if FAST else 800, seed=seed) for seed in range(5)]
         for name in RULES}
for name, (colour, dashes) in STYLES.items():
    for number, path in enumerate(paths[name]):
        left.plot(path, dashes, color=colour, linewidth=1, label=name if number == 0 else None)
left.axhline(y.mean(), color="black", linewidth=1)
left.axhline(cubic, color="black", linewidth=1)
for height, says in ((y.mean() - 1.4, "mean of all returns"),
                     (cubic + 1.2, "minimum of the mean of |v - y|³")):
    left.text(0.99, height, says, fontsize=9, ha="right", transform=left.get_yaxis_transform())
left.set(xlabel="learner steps (batches of 32)", ylabel="v (return)", ylim=(14, cubic + 3),
         title="What is learned, five seeds each")
left.legend(loc="lower right", fontsize=9)

bins = np.arange(-40, 5, 1.2)
for name, (colour, dashes) in STYLES.items():
    probability, weight = rule(name, np.abs(15.0 - y) + 1e-9)
    drawn = np.random.default_rng(2).choice(len(y), (4000, 32), p=probability)
    batches = (weight * (15.0 - y))[drawn].mean(axis=1)
    right.hist(batches, bins, histtype="step", color=colour, linestyle=dashes, linewidth=2)
right.axvline((15.0 - y).mean(), color="black", linewidth=1)
right.set(xlabel="gradient of a batch at v = 15", ylabel="batches of 4,000",
          title="With weights: the same mean, less noise")
plt.show()
ends = {name: np.mean([path[-1] for path in paths[name]]) for name in RULES}
print({name: f"{v:.1f}" for name, v in ends.items()}, f"mean {y.mean():.1f}, cubic {cubic:.1f}")
assert abs(ends["priorities and weights"] - y.mean()) < 1, (
    "with weights the value should end at the mean"
)
assert ends["priorities, no weights"] > y.mean() + 1.5, (
    "without weights the value should end too high"
)

# %% [markdown]
# An agent without the weights would believe that random games last an eighth longer than they do.
#
# Two remarks. First, the weights need the $P$ that was *drawn* with, and nothing else: priorities may be
# old or plain wrong, the mean stays right. What suffers is the noise. Second, a small priority is a
# large weight. Let the priorities be those of an old $v$, which was the median of the returns but for
# 0.02, so that games of just that length were no surprise; and use them at $v = 15$:

# %%
old = np.abs(np.median(y) + 0.02 - y)
for share in (0.0, 0.1):
    probability = (1 - share) * old / old.sum() + share / len(y)
    weight = 1 / (len(y) * probability)
    mean = (probability * weight * (15 - y)).sum()
    spread = np.sqrt((probability * (weight * (15 - y)) ** 2).sum() - mean**2)
    print(f"s = {share}: mean {mean:.2f}, spread of one draw {spread:.1f}, "
          f"largest weight {weight.max():.1f}")
    assert np.isclose(mean, (15 - y).mean()) and (share == 0 or weight.max() <= 1 / share), (
        "a bit of even drawing should keep the mean and bound the weights"
    )

# %% [markdown]
# The mean is right in both rows, but without uniform draws it is right in the way of a lottery: now and
# then a game comes up whose weight is enormous. A tenth of uniform draws bounds the weights by 10.
#
# ## 5. The loss of one batch
#
# Section "Reanalyse" of the paper:
#
# $$l_t(\theta) = \sum_{k=0}^{U} l^p(\pi_{t+k}, p^k_t) + \sum_{k=0}^{U} l^v(z_{t+k}, v^k_t)
# + \sum_{k=1}^{U} l^r(u_{t+k}, r^k_t)$$
#
# Notebook 02 built it for a world without ends. Now there are ends, so some targets do not exist
# (notebook 04, section 2, has the table of masks), and the library writes the steps' weights into the
# sum: 1 for step 0, $1/U$ for each of the $U$ unrolled ones, as MuZero did. We type what we mean, one
# row, one step, one head at a time.


# %%
from mzu.learning.targets import make_targets

U = small.learning.unroll_steps


def log_softmax(logits):
    shifted = logits - logits.max()
    return shifted - np.log(np.exp(shifted).sum())


def two_hot(x, bins):
    """The number x, squashed, as probabilities of the categories -M..M (notebook 02, section 2)."""
    squashed = np.sign(x) * (np.sqrt(abs(x) + 1) - 1) + 0.001 * x
    return np.maximum(0, 1 - np.abs(squashed - (np.arange(bins) - bins // 2)))


def cross_entropy(target, logits):
    return -(target * log_softmax(logits)).sum()


def loss_by_hand(predictions, targets, row):
    """The parts of the loss of one position: [policy, value, reward] of each step k, weighted."""
    parts = np.zeros((U + 1, 3))
    for k in range(U + 1):
        weight = 1 if k == 0 else 1 / U
        if targets.policy_mask[row, k]:
            pi = targets.policy_weights[row, k]
            parts[k, 0] = weight * cross_entropy(pi, predictions.policy[row, k])
        if targets.value_mask[row, k]:
            z = two_hot(targets.values[row, k], predictions.value.shape[-1])
            parts[k, 1] = weight * cross_entropy(z, predictions.value[row, k])
        if k > 0 and targets.reward_mask[row, k - 1]:  # the reward of the step that led to k
            u = two_hot(targets.rewards[row, k - 1], predictions.reward.shape[-1])
            parts[k, 2] = weight * cross_entropy(u, predictions.reward[row, k - 1])
    return parts


# %% [markdown]
# The predictions come from the network, unrolled along the stored actions. The line to notice is the
# one with `scale_gradient`: the hidden state goes on as it is, but only half of the gradient comes back
# through it, at *every* dynamics step.


# %%
class Predictions(NamedTuple):
    policy: object  # [B, U + 1, A]
    value: object  # [B, U + 1, bins]
    reward: object  # [B, U, bins]


def scale_gradient(x, scale):
    return scale * x + ops.stop_gradient((1 - scale) * x)


def unroll(network, observations, actions, steps, scale=0.5):
    hidden = network.representation(observations)
    outputs, rewards = [network.prediction(hidden)], []
    for k in range(steps):
        hidden, reward = network.dynamics([scale_gradient(hidden, scale), actions[:, k]])
        outputs.append(network.prediction(hidden))
        rewards.append(reward)
    policy, value = (ops.stack(list(part), axis=1) for part in zip(*outputs, strict=True))
    return Predictions(policy, value, ops.stack(rewards, axis=1))


# %% [markdown]
# An untrained network says the same of everything. So the library's learner (section 8 builds our own)
# gives the small one some lessons first, from our replay.

# %%
from mzu.learning.learner import Learner

replay = filled(small, SumTree)
small_learner = Learner(small, small_network)
blank = small_learner.state()  # to begin again later
rng = np.random.default_rng(0)
for _ in range(10 if FAST else 100):
    batch = replay.sample(128, rng)
    small_learner.step(batch, small_learner.targets(batch))

leaves = all_leaves(replay)
batch = replay.batch(leaves, 1 / (len(replay) * replay.probabilities(leaves)), rng)
targets = make_targets(batch, small, small_learner.target_values)
observations = ops.convert_to_tensor(batch.observations)
actions = ops.convert_to_tensor(batch.actions)
outputs = unroll(small_network, observations, actions, U)
predictions = Predictions(*(part.numpy() for part in outputs))
# [B, U + 1, 3]
by_hand = np.array([loss_by_hand(predictions, targets, row) for row in range(len(leaves))])

# %% [markdown]
# And the library: `unroll` and `unrolled_losses`.

# %%
from mzu.learning import losses

theirs = losses.unroll(small_network, observations, actions, U, gradient_scale=0.5)
library_losses = losses.unrolled_losses(theirs, targets, actions, small.learning, continuous=False)
for name in Predictions._fields:
    assert np.allclose(getattr(outputs, name), getattr(theirs, name), atol=1e-5), (
        f"{name} by hand is not the library's"
    )
for part, name in enumerate(("policy", "value", "reward")):
    assert np.allclose(by_hand[:, :, part].sum(axis=1), getattr(library_losses, name), atol=1e-4), (
        f"the losses of {name} by hand are not the library's"
    )
assert np.allclose(by_hand.sum(axis=(1, 2)), library_losses.total, atol=1e-4), (
    "the total loss by hand is not the library's"
)
mean = by_hand.sum(axis=(1, 2)).mean()
print(f"{len(leaves)} positions: the loss by hand is the library's, mean {mean:.3f}")

# %% [markdown]
# ### What the masks do
#
# Two rows near an end. We make nonsense of what the network predicts for the last unrolled step, and look
# whether the loss notices.

# %%
near_end = batch.ended & (batch.steps_left == 2)
rows = {"terminated": np.flatnonzero(near_end & batch.terminated)[0],
        "truncated": np.flatnonzero(near_end & ~batch.terminated)[0]}
nonsense = Predictions(*(part.copy() for part in predictions))
for part in nonsense:
    part[:, -1] += np.linspace(-3, 3, part.shape[-1])
for name, row in rows.items():
    print(f"{name}, 2 steps before the end")
    for kind in ("policy", "value", "reward"):
        print(f"  {kind:6} mask of the steps {getattr(targets, kind + '_mask')[row].astype(int)}")
    before, after = (loss_by_hand(some, targets, row).sum() for some in (predictions, nonsense))
    print(f"  loss {before:.3f}, with nonsense at step {U}: {after:.3f}")
    assert (before == after) == (name == "truncated"), (
        f"{name}: nonsense behind a terminal end should be noticed, behind a cut it should not"
    )
assert np.all(targets.values[rows["terminated"], 2:] == 0), (
    "behind a terminal end every value target is 0"
)

# %% [markdown]
# Behind the truncated end nothing is known, and nothing is trained. Behind the terminal one reward 0 and
# value 0 are trained, no policy.
#
# ### What the gradient scale does
#
# The representation $h$ is used once, but all $U + 1$ steps send their gradient through it. What step $k$
# sends passes $k$ dynamics steps and arrives multiplied by $2^{-k}$. The same happens inside $g$, which
# is applied $k$ times on the way to step $k$: its last application gets the full gradient, the one
# before half of it, and so on. We take the loss of one step $k$ at a time, all heads together, and
# measure what arrives.


# %%
def weighted_losses(predictions, targets):
    """`loss_by_hand` for a whole batch, differentiable: [B, U + 1] for each of the three heads."""
    unrolled = targets.rewards.shape[1]
    step_weights = np.float32([1] + [1 / unrolled] * unrolled)

    def scalar(logits, numbers):
        bins = logits.shape[-1]
        squashed = ops.sign(numbers) * (ops.sqrt(ops.abs(numbers) + 1) - 1) + 0.001 * numbers
        distance = ops.abs(squashed[..., None] - (np.arange(bins, dtype=np.float32) - bins // 2))
        return -ops.sum(ops.relu(1 - distance) * ops.log_softmax(logits), axis=-1)

    policy = -ops.sum(targets.policy_weights * ops.log_softmax(predictions.policy), axis=-1)
    value = scalar(predictions.value, targets.values)
    reward = scalar(predictions.reward, targets.rewards) * targets.reward_mask
    reward = ops.pad(reward, [[0, 0], [1, 0]])  # there is none at step 0
    return [step_weights * policy * targets.policy_mask, step_weights * value * targets.value_mask,
            step_weights * reward]


assert np.allclose(np.stack([part.numpy() for part in weighted_losses(outputs, targets)], axis=-1),
                   by_hand, atol=1e-4), "the loss of the whole batch is not that of the double loop"


def gradients_at_h(scale):
    """For each k: the gradient that its loss sends to the first layer of h, as one vector."""
    kernel = small_network.representation.get_layer("first").kernel
    with tf.GradientTape(persistent=True) as tape:
        found = weighted_losses(unroll(small_network, observations, actions, U, scale), targets)
        by_step = [ops.mean(ops.sum(ops.stack(found), axis=0)[:, k]) for k in range(U + 1)]
    return np.array([tape.gradient(loss, kernel).numpy().ravel() for loss in by_step])


arriving = {scale: gradients_at_h(scale) for scale in (1.0, 0.5, 0.0)}
for scale, vectors in arriving.items():
    expected = scale ** np.arange(U + 1)[:, None] * arriving[1.0]
    assert np.allclose(vectors, expected, rtol=1e-3, atol=1e-4 * np.abs(arriving[1.0]).max()), (
        "gradients should arrive with the factors of the halving"
    )

figure, (left, right) = plt.subplots(1, 2, figsize=(11.5, 3.8))
bottom = np.zeros(U + 1)
for part, (name, hatch, colour) in enumerate((("policy", "", "C0"), ("value", "//", "C1"),
                                              ("reward", "..", "C4"))):
    heights = by_hand[:, :, part].mean(axis=0)
    left.bar(range(U + 1), heights, bottom=bottom, color=colour, hatch=hatch, edgecolor="white",
             label=name)
    bottom += heights
left.set(xlabel="unrolled step k", ylabel="mean loss (nats), weight included", xticks=range(U + 1),
         ylim=(0, 1.1 * bottom.max()),
         title=f"Parts of the loss: weight 1 at k = 0, 1/{U} behind it")
left.legend()
for (scale, vectors), style in zip(arriving.items(), ("o-", "s--", "^:"), strict=True):
    right.plot(np.linalg.norm(vectors, axis=1), style, label=f"scale {scale}")
right.set(xlabel="unrolled step k whose loss is taken", ylabel="length of its gradient",
          xticks=range(U + 1), title="What arrives at the first layer of h")
right.legend()
plt.show()
for scale, vectors in arriving.items():
    own, later = np.linalg.norm(vectors[0]), np.linalg.norm(vectors[1:].sum(axis=0))
    print(f"scale {scale}: k = 0 sends {own:.3g}, all later steps together {later:.3g}")

# %% [markdown]
# With scale 0 the representation would only serve the present, and whatever the future needs would have
# to be in it by luck. With scale 1 the later steps together speak as loudly as the present one (0.161
# and 0.157), all of them through a model that is itself being learned. Half is MuZero's compromise:
# here they have a third of its voice. And it bounds what long unrolls can do, since
# $\frac1U \sum_{k \ge 1} 2^{-k} < \frac1U$.
#
# ## 6. One step of AdamW
#
# The gradient $g$ of the weighted loss $\frac1B \sum_i w_i\, l_i$ is used by Adam with *decoupled weight
# decay* (Loshchilov and Hutter 2019, [arXiv:1711.05101](https://arxiv.org/abs/1711.05101)) and a learning rate that falls along a cosine (appendix "Optimization"). At step $t = 0, 1, \dots$
#
# $$c = \tfrac12 \big(1 + \cos(\pi\, t / T)\big), \qquad
# m \leftarrow m + (1 - b_1)(g - m), \qquad q \leftarrow q + (1 - b_2)(g^2 - q),$$
# $$\theta \leftarrow (1 - c\,\lambda)\,\theta - c\,\eta\,
# \frac{\sqrt{1 - b_2^{t+1}}}{1 - b_1^{t+1}}\; \frac{m}{\sqrt q + \epsilon}.$$
#
# $m$ is a running mean of the gradient, $q$ (no action value here) of its square. Both begin at 0 and are
# too small at first; the fraction with $b_1 = 0.9$ and $b_2 = 0.999$ makes up for it, so that the very
# first step has the length $\eta$ in every weight, whatever the gradient. *Decoupled* means that the
# decay acts on $\theta$ itself and does not pass through $m / \sqrt q$. Biases and the gains of the
# normalisations do not decay.


# %%
class OurAdamW:
    def __init__(self, weights, rate, decay, training_steps):
        self.weights, self.rate, self.training_steps = weights, rate, training_steps
        self.decays = [decay if weight.name == "kernel" else 0.0 for weight in weights]
        self.means = [np.zeros(weight.shape, np.float32) for weight in weights]
        self.squares = [np.zeros(weight.shape, np.float32) for weight in weights]
        self.steps = 0

    def apply(self, gradients):
        cosine = (1 + np.cos(np.pi * min(self.steps / self.training_steps, 1))) / 2
        self.steps += 1
        correction = np.sqrt(1 - 0.999**self.steps) / (1 - 0.9**self.steps)
        for weight, decay, m, q, g in zip(self.weights, self.decays, self.means, self.squares,
                                          gradients, strict=True):
            m += (1 - 0.9) * (g - m)
            q += (1 - 0.999) * (g * g - q)
            step = self.rate * cosine * correction * m / (np.sqrt(q) + 1e-7)
            weight.assign((1 - cosine * decay) * weight.numpy() - step)


from mzu.learning.optimiser import AdamW

both = [build_network(small.network, spaces, seed=3) for _ in range(2)]
settings = (0.003, 0.01, 40)  # learning rate, weight decay, training steps
our_optimiser = OurAdamW(both[0].trainable_variables, *settings)
library_optimiser = AdamW(both[1].trainable_variables, *settings)
rng = np.random.default_rng(0)
for _ in range(10):
    some_gradients = [rng.normal(size=weight.shape).astype(np.float32)
                      for weight in our_optimiser.weights]
    our_optimiser.apply(some_gradients)
    library_optimiser.apply([tf.constant(gradient) for gradient in some_gradients])
    for one, other in zip(*(network.trainable_variables for network in both), strict=True):
        assert np.allclose(one.numpy(), other.numpy(), atol=1e-6), (
            "our optimiser and the library's lead to other weights"
        )
count = sum(weight.numpy().size for weight in our_optimiser.weights)
print(f"ten steps: all {count:,} weights are equal")

# %% [markdown]
# Why decoupled? The older way adds $\lambda \theta$ to the gradient. Then Adam divides it by
# $\sqrt q$, too: a weight with large gradients hardly decays, one with small gradients decays fast, and
# both at a rate that nobody chose. Two weights start at 1; their gradients are pure noise,
# of size 1 and of size 0.01.

# %%
LONG = 1000 if FAST else 4000


def decayed(size, decoupled, decay=1e-3, rate=1e-3, seed=0):
    """The course of 200 weights whose gradients are noise of this size; their mean [LONG]."""
    rng, path = np.random.default_rng(seed), []
    weight, m, q = np.ones(200), np.zeros(200), np.zeros(200)
    for t in range(1, LONG + 1):
        g = size * rng.normal(size=200) + (0 if decoupled else decay * weight)
        m, q = m + 0.1 * (g - m), q + 0.001 * (g * g - q)
        step = rate * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * m / (np.sqrt(q) + 1e-7)
        weight = weight * (1 - decay if decoupled else 1) - step
        path.append(weight.mean())
    return np.array(path)


figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.6))
share = np.linspace(0, 1, 200)
left.plot(share, (1 + np.cos(np.pi * share)) / 2, "C0-")
left.set(xlabel="share of the training, t / T", ylabel="cosine c",
         title="Learning rate and decay fall together")
for size, colour in ((1.0, "C0"), (0.01, "C1")):
    right.plot(decayed(size, True), colour, label=f"decoupled, gradients of size {size}")
    right.plot(decayed(size, False), colour, linestyle="--", label=f"in the gradient, size {size}")
right.plot((1 - 1e-3) ** np.arange(LONG), "k:", label=r"$(1 - \lambda)^t$")
right.set(xlabel="steps", ylabel="mean of 200 weights",
          title=r"Decay by $\lambda = 0.001$ per step, rate 0.001")
right.legend(fontsize=8)
plt.show()
assert abs(decayed(1.0, True)[-1] - decayed(0.01, True)[-1]) < 0.05, (
    "with decoupled decay a weight should shrink alike, whatever its gradient"
)
assert decayed(1.0, False)[-1] > 0.9, (
    "inside the gradient the decay should hardly act on a large gradient"
)

# %% [markdown]
# Decoupled, both weights go the same way, which is the one that $\lambda$ says. Through the gradient, one
# hardly moves, and the other decays at a pace of its own.
#
# ## 7. The target network
#
# The value target is $z_t = u_{t+1} + \dots + \gamma^n v^-(o_{t+n})$. If $v^-$ were the network
# itself, every step that changes the prediction would change the label, too: neighbouring positions look
# alike to a network, so raising $v(o_t)$ raises $v(o_{t+n})$, and with it the label of $o_t$. The
# appendix "Value Learning" uses a copy instead, made every 100 steps. Between two copies, learning is
# plain regression with fixed labels.
#
# How bad can it be? Two positions, $A \to B \to$ end, reward 1 each. The truth: $v(B) = 1$ and
# $v(A) = 1 + \gamma$. The "network" is linear, $v(o) = \varphi(o) \cdot \theta$, and can represent
# every pair of values. But $B$ looks like $A$, only more so: $\varphi(A) = (1, 0)$ and
# $\varphi(B) = (2, 1)$, so that whatever is learned at $A$ moves $B$ twice as much. And the replay
# shows $B$ in one of ten draws only.


# %%
PHI, SHOWN = np.array([[1.0, 0.0], [2.0, 1.0]]), np.array([0.9, 0.1])
GAMMA, RATE = 0.97, 0.5


def two_positions(period, steps=400):
    """v(A), v(B) after every step; the labels come from a copy, renewed every `period` steps."""
    theta, copy, path = np.zeros(2), np.zeros(2), []
    for step in range(steps):
        label = np.array([1 + GAMMA * (PHI @ copy)[1], 1.0])
        theta = theta + RATE * PHI.T @ (SHOWN * (label - PHI @ theta))
        if (step + 1) % period == 0:
            copy = theta
        path.append(PHI @ theta)
    return np.array(path)


truth = np.array([1 + GAMMA, 1.0])
figure, (left, right) = plt.subplots(1, 2, figsize=(11.5, 3.7))
for period, style in ((1, "C5:"), (10, "C1--"), (100, "C0-")):
    path = two_positions(period)
    left.semilogy(np.abs(path - truth).max(axis=1), style, label=f"copied every {period} steps")
    if period > 1:
        right.plot(path[:, 0], style, label=f"copied every {period} steps")
left.set(xlabel="learner steps", ylabel="largest error of v", ylim=(1e-5, 1e8),
         title="Who follows himself may run away")
left.legend()
right.axhline(truth[0], color="black", linewidth=1)
right.set(xlabel="learner steps", ylabel="v(A)", ylim=(-2, 6), title=r"The truth is $v(A) = 1.97$")
right.legend()
plt.show()
print("after 400 steps: v(A), v(B) =", *(f"{two_positions(period)[-1].round(3)} (every {period})"
                                         for period in (1, 10, 100)))
assert np.abs(two_positions(1)[-1]).max() > 1e6, (
    "copied at every step, the values should run away"
)
assert np.allclose(two_positions(100)[-1], truth, atol=0.01), (
    "copied every 100 steps, the values should arrive at the truth"
)

# %% [markdown]
# Copied after every step, the values explode; every 10 steps, they swing. Copied every 100 steps, each
# stretch between two copies fits its labels nearly perfectly, and a few stretches suffice. It need not be
# so: with other looks and other draws all three converge. But nobody tells you beforehand.
#
# There is a price. In each stretch the values learn to look $n$ steps further ahead, not more: the
# first copy knows nothing, so the first labels hold $n$ rewards, the next $2n$, and so on.
# With rewards of 1, and a network that does no more than follow its labels, that is a ceiling, which we
# shall see again in section 10: after $m$ copies
#
# $$z \le 1 + \gamma + \dots + \gamma^{n(m + 1) - 1} = \frac{1 - \gamma^{n (m + 1)}}{1 - \gamma}.$$
#
# ## 8. The learner
#
# All that belongs to learning, in one class: `targets` makes the targets of a batch by the target
# network, `step` takes a step down the gradient and returns the new priorities $|\nu - z|$ of the
# positions.

# %%
from mzu.networks.scalars import scalar_from_logits


class OurLearner:
    def __init__(self, config, network):
        self.config, self.network, self.steps = config, network, 0
        self.target_network = build_network(network.config, network.spaces)
        self.target_network.copy_weights_from(network)
        self.target_model = model_for_search(self.target_network)
        learning = config.learning
        self.optimiser = OurAdamW(network.trainable_variables, learning.learning_rate,
                                  learning.weight_decay, learning.training_steps)
        self.gradients = tf.function(self.gradients_of, autograph=False)  # a graph, not many calls

    def target_values(self, observations):
        """[B, S, O] -> [B, S]."""
        _, _, values = self.target_model.initial(observations.reshape(-1, observations.shape[-1]))
        return values.reshape(observations.shape[:2])

    def targets(self, batch):
        return make_targets(batch, self.config, self.target_values)

    def gradients_of(self, observations, actions, weights, targets):
        learning = self.config.learning
        with tf.GradientTape() as tape:
            predictions = unroll(self.network, observations, actions, learning.unroll_steps,
                                 learning.hidden_gradient_scale)
            parts = [ops.sum(part, axis=1) for part in weighted_losses(predictions, targets)]
            loss = ops.mean(weights * sum(parts))
        variables = [variable.value for variable in self.network.trainable_variables]
        value = ops.mean(scalar_from_logits(predictions.value[:, 0]))
        return tape.gradient(loss, variables), [loss, *map(ops.mean, parts), value]

    def step(self, batch, targets):
        tensors = (batch.observations, batch.actions, batch.weights, targets)
        gradients, numbers = self.gradients(*tf.nest.map_structure(tf.convert_to_tensor, tensors))
        gradients = [gradient.numpy() for gradient in gradients]
        self.optimiser.apply(gradients)
        self.steps += 1
        names = ("loss", "policy_loss", "value_loss", "reward_loss", "value")
        metrics = dict(zip(names, map(float, numbers), strict=True))
        metrics["value_target"] = float(targets.values[:, 0].mean())
        metrics["gradient_norm"] = float(np.sqrt(sum((g * g).sum() for g in gradients)))
        return metrics, np.abs(batch.search_value[:, 0] - targets.values[:, 0])

    def refresh_target(self):
        if self.steps % self.config.learning.target_network_period == 0:
            self.target_network.copy_weights_from(self.network)
            refresh(self.target_model, self.target_network)


# %% [markdown]
# Ours and the library's learner, with equal networks and the same lessons:

# %%
theirs = small_learner
theirs.restore(blank)
our_network = build_network(small.network, spaces)
our_network.copy_weights_from(small_network)
ours = OurLearner(small, our_network)
rng = np.random.default_rng(7)
print("step    loss  policy   value  reward  gradient")
for step in range(8):
    batch = replay.sample(128, rng)
    (our_metrics, our_priorities), (metrics, priorities) = (
        learner.step(batch, learner.targets(batch)) for learner in (ours, theirs))
    assert our_metrics.keys() == metrics.keys(), "our metrics are other ones than the library's"
    for name in metrics:
        assert np.isclose(our_metrics[name], metrics[name], rtol=1e-3, atol=1e-3), (
            f"{name}: ours is {our_metrics[name]:.4f}, the library's {metrics[name]:.4f}"
        )
    assert np.allclose(our_priorities, priorities, rtol=1e-3, atol=1e-3), (
        "our new priorities are not the library's"
    )
    for learner in (ours, theirs):
        learner.refresh_target()
    if step % 2 == 1:
        shown = [our_metrics[name] for name in ("loss", "policy_loss", "value_loss", "reward_loss",
                                                "gradient_norm")]
        print(f"{step + 1:4}  " + "  ".join(f"{number:6.3f}" for number in shown))
both = our_network, small_network
for one, other in zip(*(network.trainable_variables for network in both), strict=True):
    assert np.allclose(one.numpy(), other.numpy(), atol=2e-3), (
        "after one step our weights differ from the library's"
    )
print("eight steps, two copies to the target network: losses, priorities and weights are equal")

# %% [markdown]
# ## 9. The circle, closed
#
# Everything is there. One turn of the circle is eight lines.


# %%
from mzu.acting.evaluation import bootstrap_interval, evaluate_selection
from mzu.games.player import temperature_at
from mzu.networks.representation import fit_to_observations


class Parts(NamedTuple):
    config: object
    network: object  # what is trained
    model: object  # its compiled copy, with which the games are searched
    play: object  # temperature -> segments, returns
    replay: object
    learner: object
    rng: object  # of the draws from the replay


class Log:
    def __init__(self):
        self.environment_steps, self.returns, self.metrics, self.evaluations = 0, [], [], []


def play(parts, log, temperature):
    segments, returns = parts.play(temperature)
    for segment in segments:
        parts.replay.add(segment)
    log.environment_steps += parts.config.acting.games
    log.returns += [(log.environment_steps, number) for number in returns]


def begin(parts, log):
    """Fills the replay with games of the untrained network, and scales its input to them."""
    while len(parts.replay) < parts.config.replay.start_size:
        play(parts, log, temperature_at(parts.config, 0))
    fit_to_observations(parts.network.representation, parts.replay.all_observations())
    parts.learner.refresh_target()


def train(parts, steps, evaluate_every=None):
    """One turn: play, draw, make targets, learn, give back priorities, copy weights."""
    config, log = parts.config, Log()
    begin(parts, log)
    for step in range(steps):
        refresh(parts.model, parts.network)
        play(parts, log, temperature_at(config, step))
        batch = parts.replay.sample(config.learning.batch_size, parts.rng)
        metrics, priorities = parts.learner.step(batch, parts.learner.targets(batch))
        parts.replay.update(batch.positions, priorities)
        parts.learner.refresh_target()
        log.metrics.append(metrics)
        if evaluate_every and (step + 1) % evaluate_every == 0:
            log.evaluations.append((log.environment_steps, test(parts.network, config)))
    return log


def test(network, config, episodes=10):
    """Returns of games by search, without noise, always the most visited action."""
    return evaluate_selection(network, config, lambda: make("CartPole-v1"), episodes).returns


# %% [markdown]
# Our parts. Every random number comes from one seed, which is split into three streams: for playing,
# for drawing, for the first weights.


# %%
def our_parts(config):
    playing, drawing, weights = np.random.SeedSequence(config.seed).spawn(3)
    network = build_network(config.network, spaces, int(weights.generate_state(1)[0]))
    model = model_for_search(network)
    environments = [make("CartPole-v1") for _ in range(config.acting.games)]
    games = Games(config, environments, model, np.random.default_rng(playing))
    tree = SumTree(config.replay.capacity * config.replay.segment_length)
    return Parts(config, network, model, games.advance, DrawingReplay(config, tree),
                 OurLearner(config, network), np.random.default_rng(drawing))


# %% [markdown]
# And now CartPole, from nothing.

# %%
run = our_parts(config)
log = train(run, STEPS, evaluate_every=4 if FAST else 100)
ends, returns = np.array(log.returns).T
print(f"{STEPS} learner steps, {log.environment_steps:,} environment steps, {len(returns):,} games")
print(f"mean return of the first 100 games {returns[:100].mean():.0f}, "
      f"of the last 100 {returns[-100:].mean():.0f}")


# %%
def plot_curve(ax, log, colour, style, label):
    at, found = zip(*log.evaluations, strict=True)
    means = [numbers.mean() for numbers in found]
    low, high = np.array([bootstrap_interval(numbers) for numbers in found]).T
    ax.plot(at, means, style, color=colour, label=label)
    ax.fill_between(at, low, high, color=colour, alpha=0.2)


def running_mean(numbers, window=30):
    return np.convolve(numbers, np.ones(window) / window, mode="valid")


figure, ax = plt.subplots(figsize=(9.5, 4.4))
ax.plot(ends, returns, ".", color="C4", markersize=4, label="a game that was played to learn from")
if len(returns) > 60:
    ax.plot(ends[29:], running_mean(returns), "-", color="C1", linewidth=2,
            label="mean of the last 30 of them")
plot_curve(ax, log, "C0", "o-", "10 test games, without noise (95 % interval)")
ax.axhline(RANDOM_RETURN, color="black", linestyle=":", label=f"random play, {RANDOM_RETURN:.0f}")
ax.set(xlabel="environment steps", ylabel="return (steps survived)", ylim=(0, 520),
       title=f"CartPole-v1, learned online by our parts (seed {config.seed})")
ax.legend(fontsize=9, loc="upper left")
plt.show()
if not FAST:
    assert returns[-100:].mean() > 3 * RANDOM_RETURN, (
        f"the last games pay {returns[-100:].mean():.0f}: training should triple what a random "
        "player earns"
    )
    assert max(numbers.mean() for _, numbers in log.evaluations) > 5 * RANDOM_RETURN, (
        "some evaluation should be five times the random player's return"
    )

# %% [markdown]
# Seed 0, as it happened. For 5,000 steps nothing seems to come of it. The test games are even shorter
# than random ones: who knows nothing and always takes the most visited action often pushes to the same
# side. Then the values have found out what a falling pole looks like, and the returns rise, to 221 after
# 30,000 steps. Noise and temperature spoil many a push in the games that are played to learn from
# (dots). But by the end some of these last longer than any test game, whose narrow band says that they
# all end alike; section 10 looks how. Learning has setbacks, and one seed is one seed. It is not even
# that: on a machine that adds up in another order the same seed plays other games, and this cell has also
# ended with twice the return. Your curve will be another one, too.
#
# A curve is not a game. Look at one, played by the network as it is now, by search.

# %%
from mzu.training.agent import Agent

agent = Agent(run.network, config)
agent.watch(seed=1)

# %% [markdown]
# ## 10. What to watch
#
# A run that does not learn looks, from the outside, like a run that has not learned *yet*. These are the
# numbers that tell more; `tutorials/metrics.md` has the formula of every one.

# %%
metrics = {name: np.array([row[name] for row in log.metrics]) for name in log.metrics[0]}
at = np.arange(1, STEPS + 1)
window = max(1, STEPS // 50)
shown = slice(window - 1, None)
n, discount, period = (config.learning.td_steps, config.search.discount,
                       config.learning.target_network_period)
ceiling = (1 - discount ** (n * ((at - 1) // period + 1))) / (1 - discount)
assert np.all(metrics["value_target"] <= 1.2 * ceiling), (
    "the labels hold more rewards than n and the copies of the target network allow"
)

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 3.9))
for name, style in (("policy_loss", "C0-"), ("value_loss", "C1--"), ("reward_loss", "C2:")):
    left.plot(at[shown], running_mean(metrics[name], window), style, label=name)
left.set(xlabel="learner steps", ylabel="mean loss (nats)", ylim=(0, None),
         title="Parts of the loss")
left.legend()
for name, style in (("value_target", "C1--"), ("value", "C0-")):
    middle.plot(at[shown], running_mean(metrics[name], window), style, label=name)
middle.plot(at, ceiling, "k:", label="ceiling of z (section 7)")
middle.set(xlabel="learner steps", ylabel="value (discounted steps to live)",
           title="Values follow their targets")
middle.legend()

surprise = [[] for _ in range(60)]
for slot, segment in enumerate(run.replay.segments):
    if segment.terminated:
        found = run.replay.priorities.get(slot * run.replay.length + np.arange(len(segment)))
        for t, priority in enumerate(found):
            if len(segment.actions) - t <= 60:
                surprise[len(segment.actions) - t - 1].append(priority)
spans = [np.quantile(numbers, [0.25, 0.5, 0.75]) for numbers in surprise if numbers]
low, median, high = np.array(spans).T
steps_before = 1 + np.array([place for place, numbers in enumerate(surprise) if numbers])
right.plot(steps_before, median, "C0-", label="median")
right.fill_between(steps_before, low, high, color="C0", alpha=0.25, label="middle half")
right.set(xlabel="steps before the game is lost", ylabel=r"priority $|\nu - z|$", ylim=(0, None),
          title="What surprises, at the end of the run")
right.invert_xaxis()
right.legend()
plt.show()

# %% [markdown]
# **Left.** The reward loss falls within a hundred steps, stays at 0.68, and is perfect. CartPole always
# pays 1; squashed, $h(1) = 0.415$ lies between two categories, and a cross-entropy cannot be less than
# the entropy of its target, which is that of 0.415 and 0.585. The value loss has teeth: whenever the target
# network is copied, every 100 steps, the labels move, and the network follows. The policy loss
# hardly sinks; its floor, the entropy of $\pi$, is high where both actions are visited often.
#
# **Middle.** The labels climb stair by stair below their ceiling, and the values follow the labels.
#
# **Right.** What surprises after a thousand steps? Not the last ten steps before a game is lost: there the
# search sees the end coming as well as the data do, and the two differ by 1 to 3. Further away, where the
# search still hopes and the data know better, they differ by 3 to 9. That is no law; other runs of this
# cell were most surprised at the very end. Ask it of your own run, and do not take it from ours.

# %%
floor = -sum(share * np.log(share) for share in two_hot(1.0, 3) if share > 0)
print(f"entropy of the target of reward 1: {floor:.3f}; mean reward loss of the last quarter "
      f"{metrics['reward_loss'][-STEPS // 4:].mean():.3f}")
assert FAST or abs(metrics["reward_loss"][-STEPS // 4 :].mean() - floor) < 0.05, (
    "the reward loss should come down to the entropy of its target"
)

# %% [markdown]
# And what keeps the test games from lasting all 500 steps? A return does not say. The way they end does.

# %%
worlds = []


def watched_world():
    worlds.append(make("CartPole-v1"))
    return worlds[-1]


def ends_of(states):
    """How many of these last states [N, 4] are a fallen pole, and how many a cart off its rail."""
    fell = np.abs(states[:, 2]) > np.radians(12)
    off = ~fell & (np.abs(states[:, 0]) > 2.4)
    return f"{fell.sum()} poles fell, {off.sum()} carts left the rail"


tested = evaluate_selection(run.network, config, watched_world, 20).returns
states = np.array([world.world.unwrapped.state for world in worlds])
lost = np.array([segment.observations[-1] for segment in run.replay.segments if segment.terminated])
print(f"20 test games, returns {tested.min():.0f} to {tested.max():.0f}: {ends_of(states)}")
print(f"{len(lost)} lost games in the replay: {ends_of(lost)}")

# %% [markdown]
# The agent balances: not one pole falls in the test games. But it lets the cart drift, and all games end
# at the end of the rail, after 177 to 219 steps. In most of the games that it learns from the noise
# makes the pole fall before; one in six gets as far as the end of the rail. What is seldom seen is seldom
# learned. (The preset `cartpole` has twice the width, twice the simulations and twice the batch,
# reanalyses, and learns that as well.)
#
# | look at | healthy here | what it tells otherwise |
# |---|---|---|
# | `reward_loss` | falls to its floor in the first hundred steps | it stays above: the model does not know what an action brings |
# | `value_target` | rises towards what returns allow | far above: values feed on themselves, lower the rate, copy less often |
# | `value_loss` | has teeth where the target network is copied | rises for long: values run away |
# | `policy_loss` | falls slowly, never to 0: its floor is the entropy of $\pi$ | flat at $2 \ln 2$: searches see no difference between the actions |
# | `gradient_norm` | of one size | it jumps *before* a loss does |
# | returns | rise, with setbacks | the only ones that count; look how games end |
#
# ## 11. Two cores
#
# In our loop everybody waits for everybody: while the games are searched the learner is idle, and the
# other way round. Large systems have many actors and a learner on machines of their own, which send each
# other segments and weights whenever they are ready; what arrives first is a matter of chance. On two
# cores there is a way to overlap *without* losing reproducibility. In turn $k$, at the same time,
#
# * one core **learns** from batch $k$, and writes the network;
# * the other **plays** with the weights of turn $k - 1$, draws batch $k + 1$ and makes its **targets**; it
#   writes games, replay and its own random numbers.
#
# Neither reads what the other writes: the searched model and the target network are copies. Then both
# wait, priorities and weights are exchanged, and the next turn begins. The price is that targets and
# weights are one step old.


# %%
def prepare(parts):
    batch = parts.replay.sample(parts.config.learning.batch_size, parts.rng)
    return batch, parts.learner.targets(batch)


def train_in_library_order(parts, steps):
    """One after the other, what the library does side by side."""
    config, log = parts.config, Log()
    begin(parts, log)
    batch, targets = prepare(parts)
    for step in range(steps):
        refresh(parts.model, parts.network)
        # The one core: it reads neither the network nor the new priorities.
        play(parts, log, temperature_at(config, step))
        following = prepare(parts)
        # The other core: it reads neither the games nor the replay.
        metrics, priorities = parts.learner.step(batch, targets)
        # Both have waited for each other.
        parts.replay.update(batch.positions, priorities)
        parts.learner.refresh_target()
        batch, targets = following
        log.metrics.append(metrics)
    return log


# %% [markdown]
# The library's `Trainer` runs the two middle parts of this loop in two threads. It must be the same run
# as ours: our games, our replay, our learner, in the library's order. Then we put the trainer back to
# where it was after the first turn, and let it go on from there once more. `timed` writes down when each
# part works.


# %%
from mzu.training.trainer import Trainer


def losses_of(log):
    return np.array([metrics["loss"] for metrics in log.metrics])


def timed(name, function, spans):
    def wrapped(*arguments):
        start = time.perf_counter()
        result = function(*arguments)
        spans.append((name, start, time.perf_counter()))
        return result

    return wrapped


def watch(learner, replay, spans):
    learner.step = timed("learn", learner.step, spans)
    learner.targets = timed("targets", learner.targets, spans)
    replay.sample = timed("draw", replay.sample, spans)


TURNS = 6 if FAST else 20
spans = {"ours, one after the other": [], "Trainer, side by side": []}
one_core, two_cores = spans.values()
parts = our_parts(config)
watch(parts.learner, parts.replay, one_core)
alone = train_in_library_order(parts._replace(play=timed("play", parts.play, one_core)), TURNS)

trainer = Trainer(config)
watch(trainer.learner, trainer.replay, two_cores)
trainer.player.advance = timed("play", trainer.player.advance, two_cores)
side_by_side = [trainer.step()["loss"]]
after_one = trainer.state()  # everything that decides how it goes on
side_by_side += [trainer.step()["loss"] for _ in range(TURNS - 1)]
assert trainer.fresh_steps == alone.environment_steps, (
    "trainer and loop have played different numbers of steps"
)
assert trainer.fresh_episodes == len(alone.returns), (
    "trainer and loop have played different numbers of games"
)
assert trainer.recent_returns == [number for _, number in alone.returns][-20:], (
    "trainer and loop have earned different returns"
)
assert np.allclose(losses_of(alone), side_by_side, rtol=1e-2), "the losses of trainer and loop part"

trainer.restore(after_one)
again = [trainer.step()["loss"] for _ in range(TURNS - 1)]
assert np.allclose(side_by_side[1:], again, rtol=1e-6), (
    "restored after one turn, the trainer should go on as before"
)
trainer.close()
print(f"{TURNS} turns, {trainer.fresh_episodes} games; losses of the last three turns:")
for name, numbers in (("ours, one after the other", losses_of(alone)),
                      ("Trainer, two threads", side_by_side), ("Trainer, once more", again)):
    print(f"  {name:26}", np.array(numbers[-3:]))

# %% jupyter={"source_hidden": true} tags=["timing", "hide-input"]
COLOURS = {"play": ("C1", "//"), "draw": ("C7", "xx"), "targets": ("C4", ".."), "learn": ("C0", "")}
figure, axes = plt.subplots(2, 1, figsize=(11, 4.2))
for ax, (way, found) in zip(axes, spans.items(), strict=True):
    learned = np.array([span[1:] for span in found if span[0] == "learn"][1:])
    quickest = np.argmin(learned[3:, 1] - learned[:-3, 0])  # four turns that nobody else disturbed
    begin_at, end_at = learned[quickest, 0], learned[quickest + 3, 1]
    for name, start, stop in found:
        if begin_at <= start < end_at:
            colour, hatch = COLOURS[name]
            ax.barh(0 if name == "learn" else 1, 1000 * (stop - start), 0.7,
                    1000 * (start - begin_at), color=colour, hatch=hatch, edgecolor="white")
    turn = 1000 * np.median(np.diff(learned[:, 0]))
    together = 1000 * sum(np.median([stop - start for each, start, stop in found if each == name])
                          for name in COLOURS)
    ax.set(title=f"{way}: {turn:.0f} ms per turn; its parts, added up: {together:.0f} ms (medians)",
           yticks=[0, 1], yticklabels=["learn", "play"], ylim=(-0.6, 1.6), xlim=(0, None))
axes[1].set(xlabel="milliseconds")
handles = [plt.Rectangle((0, 0), 1, 1, facecolor=colour, hatch=hatch, edgecolor="white")
           for colour, hatch in COLOURS.values()]
figure.legend(handles, COLOURS, loc="outside right upper", fontsize=9)
plt.show()

# %% [markdown]
# One run, two ways to spend the time. (Ours would go its own way some day: the last bits of a sum
# depend on the order of adding, a search turns one bit into another visit, and from there on other
# games are played. The trainer and its repetition are equal in these turns.) Side by side a turn takes
# little more than the longer of its two halves, on two free cores, instead of their sum. (Mind the two
# scales: the trainer's parts are faster by themselves, too, without loops over rows and with all weights
# in one long vector. The first turn, in which TensorFlow builds its graph, is not counted.)
#
# ## 12. The reanalyse fraction
#
# So far each position was searched once, when it was played. Notebook 04 says what else one can do with
# a stored game: play it again. To the circle, nothing changes. The player draws for each free place
# whether a fresh or a stored game comes next (section 6 of notebook 04), and a stored game delivers segments
# like any other. The same number of searches and learner steps, four fifths of them on stored
# positions:

# %%
stored_config = config.override("reanalyse.fraction=0.8")
trainer, stored_log = Trainer(stored_config), Log()
while trainer.steps < STEPS:
    stored_log.metrics.append(trainer.step())
    if trainer.steps % (4 if FAST else 100) == 0:
        stored_log.evaluations.append((trainer.fresh_steps, test(trainer.network, stored_config)))
trainer.close()
searched = trainer.fresh_steps + trainer.stored_steps
print(f"{searched:,} positions searched, {trainer.fresh_steps:,} of them fresh "
      f"({trainer.fresh_steps / searched:.0%})")
for name, each in (("fraction 0", log), ("fraction 0.8", stored_log)):
    pairs = [f"{at:,}: {found.mean():.0f}" for at, found in each.evaluations]
    print(f"{name:12}  {'  '.join(pairs)}")

figure, ax = plt.subplots(figsize=(9, 3.9))
plot_curve(ax, log, "C0", "o-", "fraction 0 (our parts)")
plot_curve(ax, stored_log, "C1", "s--", "fraction 0.8 (Trainer)")
ax.axhline(RANDOM_RETURN, color="black", linestyle=":", label="random play")
ax.set(xlabel="environment steps", ylabel="return of 10 test games", xscale="log", ylim=(0, 520),
       title=f"The same {STEPS} learner steps and searches, on fewer environment steps")
ax.legend()
plt.show()

# %% [markdown]
# (The printed pairs are environment steps and the mean return of the test games.) Seed 0 again. With 5,430
# steps in the world the reanalysing agent balances to the limit of 500 steps in each of its test games,
# and goes on doing so; the other had 18 after 4,640 steps, and has 206 in the end, after five times as
# many. One run each: with the sums in another order the one with more games of its own has been the
# better one at last.
# The paper's section "Reanalyse for Data Efficiency" is about this trade. What is dear to you, steps in
# the world or computing? Over three seeds the library's slow tests ask that a fraction of 0.8 needs at
# most half of the environment steps to reach 195 (`pytest -m slow tests/training/test_learning.py
# -k reanalysing_saves`).
#
# ## What the library adds
#
# * **Stored games.** `Player` fills its places with fresh and stored games (`mzu/games/player.py`); that
#   is all that reanalysing, offline learning and demonstrations need.
# * **Speed.** `Replay` reads batches out of flat arrays, `Priorities` is compiled, AdamW works on one long
#   vector, and with `learning.jit_compile=true` the learner's step is compiled by XLA.
# * **Images.** Frames are stored once and stacked when they are read (`network.frame_stack`).
# * **Other losses.** In the place of $\pi$: behaviour cloning, which copies the stored actions, and critic regularised
#   regression (CRR), which copies those that turned out better than the value had expected (notebook 08), and sampled or
#   continuous actions (notebooks 05 and 06).
# * **Runs.** `Trainer.run(folder)` logs, evaluates, saves, and goes on after an interruption as if nothing
#   had happened, because a checkpoint holds all of `trainer.state()`: games, replay, random numbers.
# * **Checks.** A loss that is not finite stops the run and keeps the batch that caused it;
#   `mzu.explain` takes any target of a run apart (`tutorials/debug_reanalyse_targets.md`), and
#   `tutorials/metrics.md` explains every number in the log.
#
# On the command line this notebook is
#
#     mzu train cartpole --set reanalyse.fraction=0
#
# with a larger network and more simulations. The preset itself (fraction 0.5, 3,000 learner steps) earns 500
# of 500 in each of three seeds; README.md has its table.
#
# ## Summary
#
# * A segment carries a tail, so that targets at its seam are the same as elsewhere; a position has a leaf
#   (where it is) and a handle (who it is).
# * $P(i) \propto |\nu_i - z_i|$ is drawn by a sum tree in $O(\log n)$. The weights $1 / (N P)$ restore
#   the mean gradient of uniform draws; what is gained is less noise.
# * The loss sums over unrolled steps with weights 1 and $1/U$; masks leave out what does not exist; the
#   gradient is halved at each dynamics step.
# * AdamW: decay acts on the weights themselves; rate and decay fall along a cosine.
# * The target network turns learning into regression with fixed labels, at the price that values see
#   only $n$ steps further with each copy.
# * The circle: play, remember, draw, make targets, learn, give back priorities, copy weights. Overlapped
#   on two cores it is still the same run for the same seed.
#
# ## Exercises
#
# Write the functions below. The last lines of a cell check yours and say which idea is missing, if one is;
# `check.hint("07.1")` gives one hint more at each call, and the solution opens at a click. More of it,
# with derivations and figures: `tutorials/solutions/07_training_system.md`.

# %%
from mzu.classroom import check

# %% [markdown]
# ### 1. Drift
#
# A sum tree may add the change of a leaf to all its ancestors; or it adds the two children again on
# the way up. Write the second. Then feed both with priorities between $10^{-6}$ and $10^8$, and at
# last $10^{-6}$ everywhere: what do the inner nodes of the first say, and what does that do to the
# draws?


# %%
def set_leaf(sums, leaf, value):
    """Sets a leaf of a sum tree and brings all its ancestors up to date, in place.

    sums [2 L]: sums[1] is the root, node i has the children 2 i and 2 i + 1, leaf number l is
    sums[L + l]. An ancestor must be exact, whatever its leaves were before.

    >>> sums = [0.0, 5.0, 2.0, 3.0]
    >>> set_leaf(sums, 1, 4.0)
    >>> sums
    [0.0, 6.0, 2.0, 4.0]
    """
    raise NotImplementedError


check.exercise_07_1(set_leaf)
check.solution("07.1")

# %% [markdown]
# ### 2. Exponents
#
# Section 4 found $|e|^3$ for $\alpha = 1$ without weights. Which power of the error is minimised with
# any $\alpha$ and $\beta$? Check it with numbers.


# %%
def minimised_power(alpha, beta):
    """Which power of the error is minimised by draws with P ~ |e|^alpha and weights w ~ P^-beta,
    if each drawn position's loss is e^2?

    >>> minimised_power(1.0, 0.0)
    3.0
    """
    raise NotImplementedError


check.exercise_07_2(minimised_power)
check.solution("07.2")

# %% [markdown]
# ### 3. A time limit is not an end
#
# A world pays 1 per step for ever; games are cut off after $T$ steps, and the observation does not
# show the clock. Which value is learned with $n = 1$ if the cut is taken for a terminal end, and
# which if it is not?


# %%
def value_with_a_limit(limit, discount, taken_for_an_end):
    """A world pays 1 a step for ever, games are cut off after `limit` steps, and the observation
    does not show the clock. Which value is learned with n = 1?

    >>> value_with_a_limit(20, 0.5, False)
    2.0
    """
    raise NotImplementedError


check.exercise_07_3(value_with_a_limit)
check.solution("07.3")

# %% [markdown]
# ### 4. What arrives at g
#
# With which factor does the loss of step $k$ reach the $j$-th application of the dynamics?


# %%
def arriving_at(step, applications):
    """The factor with which the loss of step k reaches each application of g, if every one halves
    the gradient of its input.

    step: k; applications: U -> [U]: the factors at applications 1..U, 0 behind step k.

    >>> arriving_at(2, 3)
    [0.5, 1.0, 0.0]
    """
    raise NotImplementedError


check.exercise_07_4(arriving_at)
check.solution("07.4")

# %% [markdown]
# ### 5. Two names
#
# Somebody gives priorities back by leaf instead of by handle. Which share of the updates is wrong if
# $a$ segments arrive between draw and update? Write the update by handle.


# %%
def update(priorities, added, handles, new):
    """New priorities for drawn positions, by handle: those whose position is gone are left out.

    priorities [C]: of the slots of a ring; `added` positions have come so far, number h is in slot
    h % C until number h + C comes; handles, new [B]: the numbers that were drawn, and their new
    priorities -> priorities [C], as a new array.

    >>> update(np.array([1.0, 1.0]), 3, [1, 0], [5.0, 7.0]).tolist()
    [1.0, 5.0]
    """
    raise NotImplementedError


check.exercise_07_5(update)
check.solution("07.5")

# %% [markdown]
# ### 6. How far values see
#
# After how many learner steps can the labels hold 90 % of $1 / (1 - \gamma)$: in the paper's Atari,
# in this notebook, in the preset `pendulum`?


# %%
def steps_to_see(discount, n, period, share):
    """After how many learner steps can the labels hold `share` of 1 / (1 - discount)?

    n rewards in a label, plus what the target network knew; it is copied every `period` steps. At
    first it knows nothing; after m copies the labels hold n (m + 1) rewards -> a number of steps.

    >>> steps_to_see(0.997, 5, 100, 0.9)
    15300
    """
    raise NotImplementedError


check.exercise_07_6(steps_to_see)
check.solution("07.6")
