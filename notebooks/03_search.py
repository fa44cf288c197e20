# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 03. Search
#
# ← [02 Networks](02_networks.ipynb) · [the course](README.md) · [04 Reanalyse](04_reanalyse.ipynb) →
#
# ![Where this notebook stands in the circle of data: search](pictures/circle_03.svg)
#
# MuZero's improvement operator is a Monte Carlo Tree Search (MCTS) through its own model. You build it
# three times: as plain Python objects, as flat arrays for a whole batch, and compiled by Numba. All
# three grow the same tree, node by node, and so does the library.
#
# | | |
# |---|---|
# | **You will build** | the pUCT score, min-max normalisation, select / expand / back up, a batched search on flat arrays, root noise |
# | **Lives in** | `mzu/search/reference.py` (objects), `mzu/search/tree.py`, `kernels.py`, `batched_kernels.py`, `search.py` (arrays), `all_actions.py`, `randomness.py`, `history.py`, `mzu/compilation.py` |
# | **Takes** | about a minute to run on two cores; two hours to work through |
# | **You need** | notebook 01 (what a model and a value are); Python, some NumPy |
#
# The paper takes the search from MuZero and says in one paragraph what it is for (section "Reanalyse"):
# the representation $h$ turns an observation into a hidden state $s$, the dynamics $g$ rolls it forward,
# the prediction $f$ gives policy $p$ and value $v$ of each state. Two statistics at the root are the
# result: the visit counts, normalised, are the improved policy $\pi$; the mean value is the improved
# value $\nu$.

# %%
import os

FAST = os.environ.get("MZU_FAST") == "1"  # the test suite's short version

import math
from dataclasses import dataclass
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np

from mzu import SearchConfig, TabularModel, search
from mzu.explain.notebook import walk_search
from mzu.plots.trees import draw_tree
from mzu.search import reference

plt.style.use("tableau-colorblind10")
plt.rcParams.update({"figure.constrained_layout.use": True, "axes.grid": True, "grid.alpha": 0.3})

# %% [markdown]
# ## 1. One node: the pUCT score
#
# A node has $K$ actions. The search takes the one with the largest score
#
# $$\text{score}(a) \;=\; \underbrace{\bar q_a}_{\text{value term}} \;+\;
# \underbrace{p_a \, \frac{\sqrt N}{1 + n_a}\Bigl(\log\frac{N + c_2 + 1}{c_2} + c_1\Bigr)}_{\text{prior term}},
# \qquad c_1 = 1.25,\; c_2 = 19652 .$$
#
# - $p_a$ is the policy network's probability, the *prior* of the action;
# - $n_a$ is how often the search took the action here, $N$ how often the node was evaluated, its own
#   first evaluation included, so $N = 1 + \sum_a n_a$;
# - $\bar q_a$ is the mean of $r + \gamma v$ over those visits, brought to $[0, 1]$ (section 4), and 0 for an
#   action that was never taken.
#
# Only $C(N) = \sqrt N\,(\log\frac{N + c_2 + 1}{c_2} + c_1)$ depends on the node, so it gets a function of its own.

# %%
BASE, INIT = 19652.0, 1.25  # MuZero's c2 and c1


def exploration(visits):
    """C(N): how much the prior counts at a node with N visits."""
    return math.sqrt(visits) * (math.log((visits + BASE + 1) / BASE) + INIT)


def prior_term(prior, visits, node_visits):
    return prior * exploration(node_visits) / (1 + visits)


# On paper: log(19654 / 19652) = 0.0001018, so C(1) = 1.2501018. sqrt(4) * 1.2502544 = 2.5005088.
assert math.isclose(exploration(1), 1.2501018, abs_tol=1e-7), (
    f"C(1) is {exploration(1):.7f}: sqrt(1) times log((1 + c2 + 1) / c2) + c1 is 1.2501018"
)
assert math.isclose(exploration(4), 2.5005088, abs_tol=1e-7), (
    f"C(4) is {exploration(4):.7f}: the root is of N, the logarithm of (N + c2 + 1) / c2"
)
assert math.isclose(prior_term(0.5, 0, 1), 0.6250509, abs_tol=1e-7), (
    "before the first visit the prior term is p C(N)"
)
assert math.isclose(prior_term(0.5, 3, 4), 0.3125636, abs_tol=1e-7), (
    "an action taken three times has a quarter of its prior term: divide by 1 + n"
)

# %% [markdown]
# Three actions, with a policy that likes them in the wrong order: the best one has the smallest prior.
# Every visit returns the same value, so we can watch the rule alone.

# %%
PRIORS = np.array([0.5, 0.3, 0.2])
VALUES = np.array([0.1, 0.6, 1.0])  # normalised already


def one_node(values, priors, simulations):
    """The terms before each simulation and the visits after it: three arrays [simulations, K]."""
    visits = np.zeros(len(priors), int)
    value_terms, prior_terms, all_visits = [], [], []
    for simulation in range(simulations):
        value_terms.append(np.where(visits > 0, values, 0.0))
        prior_terms.append(priors * exploration(1 + simulation) / (1 + visits))
        visits[np.argmax(value_terms[-1] + prior_terms[-1])] += 1
        all_visits.append(visits.copy())
    return np.array(value_terms), np.array(prior_terms), np.array(all_visits)


value_terms, prior_terms, visits = one_node(VALUES, PRIORS, 100)
chosen = np.argmax(value_terms + prior_terms, axis=1)
print("the first twelve actions:", *chosen[:12])
print("visits after 100 simulations:", *visits[-1])
assert chosen[0] == 0, "nothing is known before the first simulation: the largest prior has to win"
assert visits[-1].argmax() == 2, (
    f"visits {visits[-1]}: in the end the value should win over the prior"
)

# %% jupyter={"source_hidden": true} tags=["hide-input"]
LINES, COLOURS = ["-", "--", ":"], ["C0", "C1", "C3"]
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.6), width_ratios=[1, 1.3])
for a, (line, colour) in enumerate(zip(LINES, COLOURS, strict=True)):
    left.step(range(1, 101), visits[:, a], line, c=colour, lw=2, where="post", label=f"action {a}")
left.set(xlabel="simulations", ylabel="visits $n_a$", title="Visits as the search goes on")
left.legend()
moments = [0, 1, 4, 9, 39, 99]
for a in range(3):
    places = np.arange(len(moments)) + (a - 1) * 0.27
    right.bar(places, value_terms[moments, a], 0.24, color="C0", ec="black", lw=0.6)
    right.bar(
        places, prior_terms[moments, a], 0.24, value_terms[moments, a],
        color="C1", ec="black", lw=0.6, hatch="//",
    )  # fmt: skip
    for place, total in zip(places, (value_terms + prior_terms)[moments, a], strict=True):
        right.text(place, total + 0.02, f"{a}", ha="center", fontsize=9)
right.bar(0, 0, color="C0", ec="black", label="value term")
right.bar(0, 0, color="C1", ec="black", hatch="//", label="prior term")
right.set_xticks(range(len(moments)), [f"{moment + 1}" for moment in moments])
right.set(xlabel="before simulation", ylabel="score", ylim=(0, 1.4))
right.set_title("The score's two parts, for actions 0, 1 and 2")
right.legend(loc="upper left", ncols=2)
plt.show()

# %% [markdown]
# Read the bars from left to right. Before the first simulation there is only the prior. Each visit
# divides an action's prior term by $1 + n_a$, so the others catch up; action 2 gets its chance, its value
# term jumps to 1, and from then on the bars stand at almost equal height. That is the rule's balance: an
# action is taken again as soon as it is the highest, and being taken lowers it. Section 9 solves for
# where that ends.
#
# ### The factor $C(N)$
#
# Two things happen to the prior term as $N$ grows. An action that is *left alone* ($n_a$ fixed) rises
# like $\sqrt N$: nothing is forgotten for ever. An action that gets a *fixed share* of the visits falls
# like $1/\sqrt N$: in the end the value decides. The logarithm is a slow correction: at 50 simulations
# it adds 0.003 to 1.25. It matters from about ten thousand simulations on.

# %%
counts = np.unique(np.logspace(0, 6, 200).astype(int))
factor = np.array([exploration(n) for n in counts])
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.2))
left.semilogx(counts, factor / np.sqrt(counts), lw=2)
left.axhline(INIT, color="black", ls=":", label="$c_1 = 1.25$")
left.axvline(51, color="C1", ls="--", label="the root after 50 simulations")
left.set(xlabel="$N$ (visits)", ylabel=r"$C(N) / \sqrt{N}$", title="The logarithm and $c_1$")
left.legend()
for share, line, colour in zip([0, 0.01, 0.1], LINES, COLOURS, strict=True):
    label = "never taken" if share == 0 else f"{share:.0%} of the visits"
    right.loglog(counts, 0.1 * factor / (1 + share * counts), line, c=colour, lw=2, label=label)
right.set(xlabel="$N$ (visits)", ylabel="prior term", title="An action with prior 0.1")
right.legend()
plt.show()
assert 0.0025 < exploration(51) / math.sqrt(51) - INIT < 0.003, (
    "at 50 simulations the logarithm should add about 0.003 to 1.25"
)

# %% [markdown]
# ## 2. A world to search by hand
#
# A `TabularModel` is a world given as arrays: `next_state[s, a]`, `reward[s, a]`, and what the network
# says, `logits[s, a]` and `value[s]`. Ours has four states and two actions.
#
# ```
#              action 0: a crumb, reward 0.1          both: reward 0
#         ┌──────────────────────────────────► 1 ────────────────────► 3  (the end: nothing
#   start 0                                                            ▲   happens any more)
#         └──────────────────────────────────► 2 ──────────────────────┘
#              action 1: nothing yet                  action 1: a treasure, reward 1
# ```
#
# The network has priors 0.6 and 0.4 at the start (it likes the crumb), 0.5 elsewhere, and values 0,
# except for a hunch: $v(2) = 0.5$. With $\gamma = 0.9$ the truth is $q(0, 0) = 0.1$ and
# $q(0, 1) = 0 + 0.9 \cdot 1 = 0.9$.

# %%
crumb_world = TabularModel(
    next_state=[[1, 2], [3, 3], [3, 3], [3, 3]],
    reward=[[0.1, 0], [0, 0], [0, 1], [0, 0]],
    logits=np.log([[0.6, 0.4], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5]]),
    value=[0, 0, 0.5, 0],
)
hidden, logits, value = crumb_world.initial(np.array([0]))  # everything is batched: one observation
assert np.allclose(np.exp(logits), [[0.6, 0.4]]) and value[0] == 0, (
    "the world's start has priors 0.6 and 0.4, and the value 0"
)
hidden, reward, logits, value = crumb_world.recurrent(hidden, np.array([1]))
assert hidden[0] == 2 and reward[0] == 0 and value[0] == 0.5, (
    "action 1 should lead to state 2, pay nothing, and find the hunch of 0.5"
)

# %% [markdown]
# The search knows no "end". A model that was trained well says of the end that nothing follows: reward
# 0, value 0, for ever. That is what state 3 does.
#
# ## 3. The search in plain Python objects
#
# ### Node and edge
#
# A node holds a hidden state, the mean of the values that were backed up through it, and how many they
# were. Its own value by the network is the first of them. An edge is an action that may be taken there.

# %%
@dataclass
class Edge:
    action: int
    prior: float
    visits: int = 0
    reward: float = 0.0
    child: "Node | None" = None

    def q(self, discount):
        """What taking this edge is worth: r + gamma * v."""
        return self.reward + discount * self.child.value


@dataclass
class Node:
    index: int  # the root is 0; simulation number n creates node n
    hidden: np.ndarray
    raw_value: float  # the network's value
    value: float  # mean of the backed-up values
    edges: list[Edge]
    visits: int = 1


def softmax(logits):
    weights = [math.exp(logit - max(logits)) for logit in logits]
    return [weight / sum(weights) for weight in weights]


def new_node(index, hidden, logits, value):
    edges = [Edge(action, prior) for action, prior in enumerate(softmax(logits))]
    return Node(index, hidden, value, value, edges)


root = new_node(0, *(array[0] for array in crumb_world.initial(np.array([0]))))
assert np.allclose([edge.prior for edge in root.edges], [0.6, 0.4]), (
    "the priors are softmax(logits)"
)
assert root.visits == 1 and root.value == 0, (
    "a new root has one visit, its own evaluation, and the network's value"
)

# %% [markdown]
# ### Select
#
# From the root take the edge with the best score, go to its child, and again, until an edge has no child
# yet. The path is a list of (node, edge). `bounds` holds the smallest and the largest $r + \gamma v$ that
# was seen on any edge of the tree so far: the value term is $(q - \text{low}) / (\text{high} - \text{low})$. Until
# two different values are known there is no range, and $q$ enters as it is.

# %%
def minmax(q, bounds):
    low, high = bounds
    return (q - low) / (high - low) if high > low else q


def score(node, edge, bounds, discount, normalise=minmax):
    value_term = normalise(edge.q(discount), bounds) if edge.visits else 0.0
    return value_term + prior_term(edge.prior, edge.visits, node.visits)


def select(root, bounds, discount, normalise=minmax):
    path, node = [], root
    while node is not None:
        # `max` returns the first of equals.
        edge = max(node.edges, key=lambda e: score(node, e, bounds, discount, normalise))
        path.append((node, edge))
        node = edge.child
    return path


bounds = [math.inf, -math.inf]
path = select(root, bounds, 0.9)
# By hand: 0.6 * 1.2501 = 0.7501 against 0.4 * 1.2501 = 0.5000.
assert math.isclose(score(root, root.edges[0], bounds, 0.9), 0.7501, abs_tol=1e-4), (
    f"action 0 scores {score(root, root.edges[0], bounds, 0.9):.4f}: nothing but 0.6 C(1) is known"
)
assert math.isclose(score(root, root.edges[1], bounds, 0.9), 0.5000, abs_tol=1e-4), (
    f"action 1 scores {score(root, root.edges[1], bounds, 0.9):.4f}: nothing but 0.4 C(1) is known"
)
assert [edge.action for _, edge in path] == [0], (
    "the first simulation should follow the larger prior"
)

# %% [markdown]
# ### Expand
#
# Ask the model once, $g$ and $f$ together: what does the last edge of the path lead to? The reward
# belongs to the edge, the new hidden state, its priors and its value to a new node.

# %%
def expand(model, path, index):
    parent, edge = path[-1]
    outputs = model.recurrent(parent.hidden[None], np.array([edge.action]))
    hidden, reward, logits, value = (output[0] for output in outputs)
    edge.reward, edge.child = reward, new_node(index, hidden, logits, value)


expand(crumb_world, path, 1)
assert root.edges[0].reward == 0.1, "the reward belongs to the edge: the crumb of 0.1"
assert root.edges[0].child.hidden == 1 and root.edges[0].child.value == 0, (
    "behind the crumb lies state 1, of which the network says 0"
)

# %% [markdown]
# ### Back up
#
# The new value goes up the path, from the last edge to the first. On each edge the return grows by one
# step, $G \leftarrow r + \gamma G$, and the node above takes it into its mean. Two things are easy to get wrong here:
# the path must be walked **backwards**, and the discount must be applied **once per step**. Section 6
# plants both mistakes.

# %%
def backup(path, bounds, discount):
    value = path[-1][1].child.value
    for node, edge in reversed(path):
        edge.visits += 1
        bounds[:] = min(bounds[0], edge.q(discount)), max(bounds[1], edge.q(discount))
        value = edge.reward + discount * value
        node.value = (node.value * node.visits + value) / (node.visits + 1)
        node.visits += 1


# A path of two steps by hand, with rewards 2 and -1 and a leaf of value 9: on the way up 9 becomes
# -1 + 0.9 * 9 = 7.1, and that becomes 2 + 0.9 * 7.1 = 8.39. (Both nodes had the value 0.)
leaf = Node(2, None, 9.0, 9.0, [])
below = Node(1, None, 0.0, 0.0, [Edge(0, 1.0, reward=-1.0, child=leaf)])
above = Node(0, None, 0.0, 0.0, [Edge(0, 1.0, reward=2.0, child=below)])
backup([(above, above.edges[0]), (below, below.edges[0])], [math.inf, -math.inf], 0.9)
received = [2 * above.value, 2 * below.value]
assert np.allclose(received, [8.39, 7.1]), (
    f"the two nodes received {received}, not 8.39 and 7.1: start at the leaf, the last edge first; "
    "from the root down, the root sees one reward and one discount only"
)

backup(path, bounds, 0.9)
# G = 0.1 + 0.9 * 0. The root's mean is over its own 0 and this 0.1.
assert root.visits == 2 and math.isclose(root.value, 0.05), (
    f"the root has {root.visits} visits and the mean {root.value:.4f}: its own 0, and 0.1"
)
assert np.allclose(bounds, [0.1, 0.1]), (
    "one value has been seen, 0.1: it is the smallest and the largest"
)

# %% [markdown]
# The second simulation, by hand. $N = 2$, $C(2) = 1.7680$. There is one value only, so no range yet.
#
# | action | value term | prior term | score |
# |---|---|---|---|
# | 0 | 0.1 (as it is) | 0.6 · 1.7680 / 2 = 0.5304 | 0.6304 |
# | 1 | 0 (never taken) | 0.4 · 1.7680 = 0.7072 | **0.7072** |
#
# Action 1 leads to state 2 with its hunch: $G = 0 + 0.9 \cdot 0.5 = 0.45$, the root's mean becomes
# $(0 + 0.1 + 0.45)/3$. Now the range is $[0.1, 0.45]$, and in the third simulation the value terms are
# exactly 0 and 1.

# %%
for index in (2, 3):
    path = select(root, bounds, 0.9)
    scores = [round(float(score(root, edge, bounds, 0.9)), 4) for edge in root.edges]
    expand(crumb_world, path, index)
    backup(path, bounds, 0.9)
    actions = [edge.action for _, edge in path]
    print(f"simulation {index}: root scores {scores}, path {actions}, root value {root.value:.4f}")
    if index == 2:
        assert scores == [0.6304, 0.7072] and actions == [1], (
            f"scores {scores}: by the table above action 1 is next, with 0.7072"
        )
        assert math.isclose(root.value, 0.55 / 3) and np.allclose(bounds, [0.1, 0.45]), (
            f"root {root.value:.4f}, bounds {bounds}: 0.45 has come, the third number of the mean"
        )
# N = 3, C(3) = 2.1654: 0 + 0.6 * 2.1654 / 2 = 0.6496, 1 + 0.4 * 2.1654 / 2 = 1.4331.
# At node 2 a tie: action 0.
assert scores == [0.6496, 1.4331] and actions == [1, 0], (
    f"scores {scores}: now there is a range, and the value terms are exactly 0 and 1"
)
# That step is worth nothing: node 2 has the mean (0.5 + 0) / 2, the root (0 + 0.1 + 0.45 + 0) / 4.
assert math.isclose(root.edges[1].child.value, 0.25) and math.isclose(root.value, 0.1375), (
    f"root {root.value:.4f}: a step that is worth nothing enters two means as a 0"
)
assert np.allclose(bounds, [0, 0.45]), (
    f"bounds {bounds}: the step that pays nothing is the smallest value now"
)

# %% [markdown]
# ### All of it

# %%
def search_objects(model, observation, config, noise=None, normalise=minmax, backup=backup):
    """One position. `noise` [K] is mixed into the root's priors (section 10)."""
    root = new_node(0, *(array[0] for array in model.initial(np.array([observation]))))
    if noise is not None:
        fraction = config.dirichlet_fraction
        for edge, extra in zip(root.edges, noise, strict=True):
            edge.prior = (1 - fraction) * edge.prior + fraction * extra
    bounds = [math.inf, -math.inf]
    for index in range(1, config.num_simulations + 1):
        path = select(root, bounds, config.discount, normalise)
        expand(model, path, index)
        backup(path, bounds, config.discount)
    return root


def root_visits(root):
    return [edge.visits for edge in root.edges]


quiet = SearchConfig(num_simulations=50, discount=0.9, dirichlet_fraction=0.0)
root = search_objects(crumb_world, 0, quiet)
print("visits", root_visits(root), " value", round(float(root.value), 4))
assert sum(root_visits(root)) == 50 and root_visits(root)[1] > root_visits(root)[0], (
    "50 simulations are 50 visits, and most of them should go to the treasure's side"
)

# %% [markdown]
# The network preferred the crumb; the search does not. That is the *improvement*: $\pi$ puts most of its
# weight on action 1, and $\nu$ is closer to 0.9 than the network's 0.
#
# ### Is it the library's search?
#
# `mzu/search/reference.py` is the same search, written to be read. We compare every node and every edge,
# in random worlds with random priors and values.

# %%
def random_world(seed, states=30, actions=4):
    rng = np.random.default_rng(seed)
    return TabularModel(
        next_state=rng.integers(states, size=(states, actions)),
        reward=rng.normal(size=(states, actions)),
        logits=rng.normal(size=(states, actions)),
        value=rng.normal(size=states),
    )


def same_tree(mine, theirs):
    """Compares two trees of objects and returns the number of nodes."""
    assert (mine.index, mine.hidden, mine.visits) == (theirs.index, theirs.hidden, theirs.visits), (
        f"node {mine.index} is another one than the library's: the search selects differently"
    )
    assert math.isclose(mine.value, theirs.value, rel_tol=1e-12, abs_tol=1e-12), (
        f"node {mine.index}: mean {mine.value:.6f}, the library's {theirs.value:.6f}: look at "
        "backup"
    )
    nodes = 1
    for my_edge, their_edge in zip(mine.edges, theirs.edges, strict=True):
        assert (my_edge.action, my_edge.visits) == (their_edge.action, their_edge.visits), (
            f"node {mine.index}: an edge has {my_edge.visits} visits, the library's "
            f"{their_edge.visits}"
        )
        assert my_edge.reward == their_edge.reward, (
            f"node {mine.index}: an edge's reward is not the library's"
        )
        assert (my_edge.child is None) == (their_edge.child is None), (
            f"node {mine.index}: an edge is expanded in one tree and not in the other"
        )
        assert math.isclose(my_edge.prior, their_edge.prior, rel_tol=1e-12), (
            f"node {mine.index}: a prior is not the library's"
        )
        if my_edge.child is not None:
            nodes += same_tree(my_edge.child, their_edge.child)
    return nodes


compared = 0
for seed in range(5 if FAST else 20):
    world = random_world(seed)
    (theirs,) = reference.search(world, np.array([seed]), quiet, np.random.default_rng(0))
    compared += same_tree(search_objects(world, seed, quiet), theirs)
print(compared, "nodes compared, all equal")
assert compared == 51 * (5 if FAST else 20), (
    f"{compared} nodes: each search has one node per simulation, and the root"
)

# %% [markdown]
# ## 4. Why the values are normalised
#
# The prior term knows nothing about the size of rewards. Take the three actions of section 1 as a world:
# each leads to an end of its own and pays 0.1, 0.6 or 1. Then pay all rewards in cents: times 100.

# %%
def three_actions(scale):
    """From state 0, action a pays VALUES[a] * scale and ends in state a + 1."""
    return TabularModel(
        next_state=[[1, 2, 3], [1, 1, 1], [2, 2, 2], [3, 3, 3]],
        reward=np.vstack([VALUES * scale, np.zeros((3, 3))]),
        logits=np.vstack([np.log(PRIORS), np.zeros((3, 3))]),
    )


def as_it_is(q, bounds):
    return q


pays = {
    (name, scale): root_visits(search_objects(three_actions(scale), 0, quiet, normalise=rule))
    for name, rule in [("as they are", as_it_is), ("min-max normalised", minmax)]
    for scale in (1, 100)
}
for (name, scale), visits in pays.items():
    print(f"values {name:18s}  rewards x {scale:<3}  visits {visits}")
assert pays["as they are", 100] == [50, 0, 0], (
    f"{pays['as they are', 100]}: in cents, 10 should beat every prior term for ever"
)
assert pays["min-max normalised", 1] == pays["min-max normalised", 100], (
    "normalised, the currency should not matter"
)
assert pays["min-max normalised", 1] == root_visits(
    reference.search(three_actions(1), np.array([0]), quiet, np.random.default_rng(0))[0]
), "our normalised search is not the library's"

# %% jupyter={"source_hidden": true} tags=["hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(10, 3.2), sharey=True)
for axis, name in zip(axes, ["as they are", "min-max normalised"], strict=True):
    for place, (scale, hatch) in enumerate([(1, ""), (100, "//")]):
        bars = np.arange(3) + (place - 0.5) * 0.36
        label = f"rewards × {scale}"
        axis.bar(bars, pays[name, scale], 0.32, hatch=hatch, ec="black", label=label)
    names = [f"action {a}\npays {VALUES[a]}\nprior {PRIORS[a]}" for a in range(3)]
    axis.set_xticks(range(3), names)
    axis.set(title=f"Values {name}", ylabel="visits of 50" if axis is axes[0] else None)
axes[1].legend(loc="upper left")
plt.show()

# %% [markdown]
# Left: as soon as the rewards are large, the first action that was tried wins for ever; nobody looks at the
# others. Right: the same visits in both currencies.
#
# The normalisation has a price, too. With rewards of ordinary size action 0 gets 10 visits instead of 4: until
# something better has been seen, the best of what is known counts as 1, however little it is. And one
# seam is left: until two different values are known, the value enters as it is, and there the unit can still
# decide (exercise 1).
#
# ## 5. The tree as it grows
#
# The first $n$ simulations do not depend on how many will follow, so a search with $n$ simulations is a
# snapshot of a longer one. A circle is a node: the number in it counts its visits, its colour is its mean
# value; the number at an edge is the action, its width the share of visits. A short dotted line is an
# edge that was never taken.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
snapshots = [1, 2, 3, 8, 16, 28]
figure, axes = plt.subplots(2, 3, figsize=(12, 6.8), height_ratios=[1, 2])
for axis, simulations in zip(axes.flat, snapshots, strict=True):
    config = SearchConfig(num_simulations=simulations, discount=0.9, dirichlet_fraction=0.0)
    root = search_objects(crumb_world, 0, config)
    draw_tree(axis, root)
    axis.set_title(f"after simulation {simulations}, root value {root.value:.2f}", fontsize=11)
colours = plt.cm.ScalarMappable(plt.Normalize(0, 1), "cividis")
figure.colorbar(colours, ax=axes, label="mean value of the node", shrink=0.6)
plt.show()

# %% [markdown]
# The crumb first (prior), then the hunch (value), then a disappointment. Simulation 4 looks back at the crumb,
# and simulation 5 finds the treasure: the bright node is the place one step before it, because the
# reward belongs to the edge. After that almost everything goes there, and the tree grows downwards beyond
# the end of the world, where there is nothing to find.
#
# The library keeps such a search with `record=True`. Move the slider: the tree after each simulation, both terms
# of every score on its path, and what was backed up.

# %%
twelve = SearchConfig(num_simulations=12, discount=0.9, dirichlet_fraction=0.0)
result = search(crumb_world, np.array([0]), twelve, np.random.default_rng(0), record=True)
walk_search(result, discount=0.9)

# %% [markdown]
# ## 6. Two bugs that others shipped
#
# Both leave a search that runs, returns a proper distribution, and even finds treasures that are near.
# First the numbers, in a corridor of one action, $0 \to 1 \to 2 \to 3$, with value 1 at its end and
# $\gamma = 0.5$. After three simulations there is one node at each place, and the means are
#
# $$\nu_3 = 1, \quad \nu_2 = \frac{0 + \gamma}{2}, \quad \nu_1 = \frac{0 + 0 + \gamma^2}{3}, \quad
# \nu_0 = \frac{0 + 0 + 0 + \gamma^3}{4}.$$

# %%
def backup_unreversed(path, bounds, discount):
    value = path[-1][1].child.value
    for node, edge in path:  # the bug: from the root down
        edge.visits += 1
        bounds[:] = min(bounds[0], edge.q(discount)), max(bounds[1], edge.q(discount))
        value = edge.reward + discount * value
        node.value = (node.value * node.visits + value) / (node.visits + 1)
        node.visits += 1


def backup_undiscounted(path, bounds, discount):
    value = path[-1][1].child.value
    for node, edge in reversed(path):
        edge.visits += 1
        bounds[:] = min(bounds[0], edge.q(discount)), max(bounds[1], edge.q(discount))
        value = edge.reward + value  # the bug: no discount
        node.value = (node.value * node.visits + value) / (node.visits + 1)
        node.visits += 1


RULES = {"right": backup, "unreversed": backup_unreversed, "undiscounted": backup_undiscounted}
corridor = TabularModel([[1], [2], [3], [3]], np.zeros((4, 1)), value=[0, 0, 0, 1])
three = SearchConfig(num_simulations=3, discount=0.5, dirichlet_fraction=0.0)


def corridor_values(rule):
    node, values = search_objects(corridor, 0, three, backup=rule), []
    while node is not None:
        values.append(float(node.value))
        node = node.edges[0].child
    return values


for name, rule in RULES.items():
    print(f"{name:13s}", " ".join(f"{value:.4f}" for value in corridor_values(rule)))
assert np.allclose(corridor_values(backup), [0.5**3 / 4, 0.5**2 / 3, 0.5 / 2, 1]), (
    f"{corridor_values(backup)}: at each place up the corridor one discount more"
)
assert np.allclose(corridor_values(backup_unreversed), [0.5 / 4, 0.5**2 / 3, 0.5**3 / 2, 1]), (
    "the unreversed backup should give the root gamma, and the node before the end gamma**3"
)
assert np.allclose(corridor_values(backup_undiscounted), [1 / 4, 1 / 3, 1 / 2, 1]), (
    "without the discount, every mean is 1 over its number of visits"
)

# %% [markdown]
# The unreversed backup hands the root a value that is too near by two steps, and node 2 one that is too
# far. With rewards it is worse: walking down, the root sees the reward of its own edge only.
#
# Now the consequence. In the *detour* world action 0 pays `near` at once and ends; action 1 pays
# nothing, twice, and 1 in the third step: worth $\gamma^2 = 0.25$. With `near` = 0.15 the detour is right, with
# `near` = 0.35 it is wrong.

# %%
def detour(near):
    return TabularModel(
        next_state=[[3, 1], [3, 2], [3, 3], [3, 3]],
        reward=[[near, 0], [0, 0], [0, 1], [0, 0]],
    )


lengths = np.unique(np.logspace(0.5, 2.5 if FAST else 3.2, 12).astype(int))
shares = {}
for near, wrong in [(0.15, "unreversed"), (0.35, "undiscounted")]:
    for name in ("right", wrong):
        shares[near, name] = []
        for simulations in lengths:
            config = SearchConfig(num_simulations=simulations, discount=0.5, dirichlet_fraction=0.0)
            found = search_objects(detour(near), 0, config, backup=RULES[name])
            shares[near, name].append(found.edges[1].visits / simulations)

figure, axes = plt.subplots(1, 2, figsize=(10, 3.2), sharey=True)
for axis, near, wrong in [(axes[0], 0.15, "unreversed"), (axes[1], 0.35, "undiscounted")]:
    axis.semilogx(lengths, shares[near, "right"], "o-", label="right backup")
    axis.semilogx(lengths, shares[near, wrong], "s--", label=f"{wrong} backup")
    answer = "take it" if near < 0.25 else "leave it"
    axis.set(xlabel="simulations", ylim=(-0.05, 1.05))
    axis.set_title(f"near pays {near}, the detour is worth 0.25: {answer}", fontsize=11)
    axis.legend(loc="upper left")
axes[0].set_ylabel("share of visits on the detour")
plt.show()
assert shares[0.15, "right"][-1] > 0.5 > shares[0.15, "unreversed"][-1], (
    "the right search should find the detour, the unreversed one should not"
)
assert shares[0.35, "right"][-1] < 0.5 < shares[0.35, "undiscounted"][-1], (
    "the right search should leave the detour, the undiscounted one should take it"
)

# %% [markdown]
# Nobody reaches the treasure before simulation 139; until then there is only the near reward, and the
# curves agree. Then the right search turns to the detour (left), while the unreversed one never hears of a
# reward three steps down. On the right the bug believes that a treasure in three steps is nearly as
# good as one in the next.
#
# ## 7. The same search on flat arrays, for a batch (optional)
#
# *Sections 7 and 8 are about speed. Whoever wants the idea may go on with section 9; the cells below are folded and
# run all the same.*
#
# Objects are slow in two ways. The interpreter looks up every attribute by its name, and the model is asked
# about one edge at a time, while a network answers 32 questions in two or three times the time of one.
# So: all trees of a batch in a few arrays, and one model call per simulation for the whole batch.
#
# Node 0 is the root and simulation $n$ creates node $n$, in every tree of the batch. Nothing is ever
# deleted. So a tree needs no pointers, only indices: `nodes[b, n]` and `edges[b, n, k]`, each a record.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
from mzu.search.tree import EDGE as LIBRARY_EDGE
from mzu.search.tree import NODE as LIBRARY_NODE

ROOT, NO_NODE = 0, -1
NODE = np.dtype(
    [
        ("visits", np.int32),
        ("parent", np.int32),  # NO_NODE for the root
        ("parent_candidate", np.int64),  # the parent's edge that leads here
        ("value", np.float64),
        ("raw_value", np.float64),
    ],
    align=True,
)
EDGE = np.dtype(
    [
        ("child", np.int32),  # NO_NODE until the edge is taken
        ("visits", np.int32),
        ("prior", np.float64),
        ("reward", np.float64),
        ("value", np.float64),  # of the child
    ],
    align=True,
)
assert NODE == LIBRARY_NODE and EDGE == LIBRARY_EDGE, (
    "our records differ from the library's in a field, or in its type"
)


class Tree(NamedTuple):
    nodes: np.ndarray  # [B, N] of NODE
    edges: np.ndarray  # [B, N, K] of EDGE
    bounds: np.ndarray  # [B, 2]


def new_tree(batch, nodes, actions):
    edges = np.zeros((batch, nodes, actions), EDGE)
    edges["child"] = NO_NODE  # one field of all records is an array too
    bounds = np.tile([math.inf, -math.inf], (batch, 1))
    return Tree(np.zeros((batch, nodes), NODE), edges, bounds)


print(NODE.itemsize, "bytes a node,", EDGE.itemsize, "bytes an edge")
assert new_tree(2, 51, 4).edges["prior"].shape == (2, 51, 4), (
    "a tree has [batch, nodes, actions] edges"
)

# %% [markdown]
# The functions are those of section 3 with indices in place of references. `factor[n]` is $C(n)$ from a table:
# every score needs it, and there are no more than $S + 1$ different ones in a search of $S$ simulations.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
def best_candidate(node, edges, bounds, factor, discount):
    low, high = bounds[0], bounds[1]
    best, best_score = 0, -math.inf
    for k in range(edges.shape[0]):
        edge = edges[k]
        value = 0.0
        if edge["visits"] > 0:
            value = edge["reward"] + discount * edge["value"]
            if high > low:
                value = (value - low) / (high - low)
        score = value + edge["prior"] * factor[node["visits"]] / (1 + edge["visits"])
        if score > best_score:
            best, best_score = k, score
    return best


def select_row(tree, b, factor, discount):
    """In tree b: the node and the candidate of an edge that has no child."""
    n = ROOT
    while True:
        k = best_candidate(tree.nodes[b, n], tree.edges[b, n], tree.bounds[b], factor, discount)
        child = tree.edges[b, n, k]["child"]
        if child == NO_NODE:
            return n, k
        n = child


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def expand_row(edges, logits):
    """Priors: softmax(logits)."""
    largest = max(logits)
    total = 0.0
    for k in range(edges.shape[0]):
        edges[k]["prior"] = math.exp(logits[k] - largest)
        total += edges[k]["prior"]
    for k in range(edges.shape[0]):
        edges[k]["prior"] /= total


def backup_row(tree, b, leaf, discount):
    nodes, edges, bounds = tree.nodes[b], tree.edges[b], tree.bounds[b]
    value = nodes[leaf]["raw_value"]
    nodes[leaf]["value"] = value
    nodes[leaf]["visits"] = 1
    child = leaf
    while child != ROOT:  # parents, not a path: this walk cannot be done the wrong way round
        parent = nodes[child]["parent"]
        node, edge = nodes[parent], edges[parent, nodes[child]["parent_candidate"]]
        edge["visits"] += 1
        edge["value"] = nodes[child]["value"]
        q = edge["reward"] + discount * edge["value"]
        bounds[0], bounds[1] = min(bounds[0], q), max(bounds[1], q)
        value = edge["reward"] + discount * value
        node["value"] = (node["value"] * node["visits"] + value) / (node["visits"] + 1)
        node["visits"] += 1
        child = parent


# %% [markdown]
# Two functions put rows together to a batch. Between them stands the model.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
def select_batch(tree, factor, discount, parents, candidates):
    for b in range(parents.shape[0]):
        parents[b], candidates[b] = select_row(tree, b, factor, discount)


def add_nodes(tree, discount, n, parents, candidates, rewards, logits, values):
    """Node n in every tree: hang it below its edge, give it priors, back its value up."""
    for b in range(parents.shape[0]):
        node = tree.nodes[b, n]
        node["parent"], node["parent_candidate"] = parents[b], candidates[b]
        node["raw_value"] = values[b]
        if n != ROOT:
            edge = tree.edges[b, parents[b], candidates[b]]
            edge["child"], edge["reward"] = n, rewards[b]
        expand_row(tree.edges[b, n], logits[b])
        backup_row(tree, b, n, discount)


def search_arrays(
    model, observations, config, noise=None, select_batch=select_batch, add_nodes=add_nodes
):
    """All positions of a batch. `noise` [B, K] is mixed into the roots' priors (section 10)."""
    batch, size = len(observations), config.num_simulations + 1
    hidden, logits, values = model.initial(observations)
    tree = new_tree(batch, size, logits.shape[1])
    all_hidden = np.zeros((batch, size, *hidden.shape[1:]), hidden.dtype)
    all_hidden[:, ROOT] = hidden
    factor = np.array([exploration(n) for n in range(size + 1)])
    rows, rewards = np.arange(batch), np.zeros(batch)
    parents, candidates = np.full(batch, NO_NODE), np.zeros(batch, int)
    add_nodes(tree, config.discount, ROOT, parents, candidates, rewards, logits, values)
    if noise is not None:
        prior, fraction = tree.edges["prior"][:, ROOT], config.dirichlet_fraction
        prior[:] = (1 - fraction) * prior + fraction * noise
    for n in range(1, size):
        select_batch(tree, factor, config.discount, parents, candidates)
        hidden, rewards, logits, values = model.recurrent(all_hidden[rows, parents], candidates)
        all_hidden[:, n] = hidden
        add_nodes(tree, config.discount, n, parents, candidates, rewards, logits, values)
    return tree


# %% [markdown]
# Equal to `mzu.search.search.search`, field by field, for a batch of different positions?

# %% jupyter={"source_hidden": true} tags=["hide-input"]
def same_arrays(mine, theirs):
    for name in NODE.names:
        np.testing.assert_allclose(mine.nodes[name], theirs.nodes[name], rtol=1e-12, atol=1e-12)
    for name in EDGE.names:
        np.testing.assert_allclose(mine.edges[name], theirs.edges[name], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(mine.bounds, theirs.bounds, rtol=1e-12, atol=1e-12)


world, positions = random_world(0), np.arange(16)
result = search(world, positions, quiet, np.random.default_rng(0))
flat = search_arrays(world, positions, quiet)
same_arrays(flat, result.tree)
assert np.array_equal(result.policy, flat.edges["visits"][:, ROOT] / 50), (
    "the policy is the visits of the root, divided by their sum"
)
assert np.allclose(result.value, flat.nodes["value"][:, ROOT]), "the value is the root's mean"
for b in positions:  # and equal to our own objects
    assert root_visits(search_objects(world, b, quiet)) == flat.edges["visits"][b, ROOT].tolist(), (
        f"row {b}: objects and arrays do not visit the same"
    )
print(flat.nodes.size, "nodes and", flat.edges.size, "edges compared, all equal")

# %% [markdown]
# ## 8. Numba (optional)
#
# The functions use numbers, loops and array elements, and nothing else. That is the part of Python that
# Numba compiles to machine code. `register_jitable` says that compiled code may call a function (from
# Python it stays what it was), `njit` compiles one that Python calls. Not one line of section 7 changes.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
import numba

for function in (best_candidate, select_row, expand_row, backup_row):
    numba.extending.register_jitable(function)
compiled = {"select_batch": numba.njit(select_batch), "add_nodes": numba.njit(add_nodes)}

same_arrays(search_arrays(world, positions, quiet, **compiled), result.tree)
for seed in range(1, 4):
    other = random_world(seed, states=10, actions=3)
    theirs = search(other, positions % 10, quiet, np.random.default_rng(0))
    same_arrays(search_arrays(other, positions % 10, quiet, **compiled), theirs.tree)

# %% [markdown]
# ### How much faster?
#
# Four searches, in two settings. In the tabular world the model costs almost nothing, so the time is
# that of the tree. The network is a fully-connected one, 64 wide with two residual blocks, always the
# same compiled forward pass; only the search around it changes, so what is measured is the cost of
# calling it. `best_times` lets the contestants take turns and keeps the best time of each, because another
# program may disturb any one of them. Times are of this machine; look at the ratios.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
from mzu.bench.timing import best_times
from mzu.networks.compiled.forward_pass import CompiledModel
from mzu.networks.compiled.weights import random_weights

BATCH = 8 if FAST else 32
network = CompiledModel(random_weights(np.random.default_rng(0), observation_size=8, actions=4))
observations = np.random.default_rng(1).normal(size=(BATCH, 8)).astype(np.float32)


def contestants(model, inputs):
    return {
        "objects": lambda: [search_objects(model, one, quiet) for one in inputs],
        "flat arrays": lambda: search_arrays(model, inputs, quiet),
        "flat arrays, Numba": lambda: search_arrays(model, inputs, quiet, **compiled),
        "library": lambda: search(model, inputs, quiet, np.random.default_rng(0)),
    }


mine = search_arrays(network, observations, quiet, **compiled)
theirs = search(network, observations, quiet, np.random.default_rng(0))
assert np.array_equal(mine.edges["visits"], theirs.tree.edges["visits"]), (
    "our search with the network does not visit as the library's does"
)

# %% jupyter={"source_hidden": true} tags=["timing", "hide-input"]
repetitions = 1 if FAST else 8
times = {
    "tabular world": best_times(contestants(random_world(0), np.arange(BATCH) % 30), repetitions),
    "network 64x2": best_times(contestants(network, observations), repetitions),
}
for name, found in times.items():
    print(name)
    for stage, time in found.items():
        ratio = found["objects"] / time
        print(f"  {stage:19s} {time:9.2f} ms   {ratio:8.1f} times as fast as objects")

# %% jupyter={"source_hidden": true} tags=["timing", "hide-input"]
figure, axes = plt.subplots(1, 2, figsize=(11, 3), sharey=True)
for axis, (name, found) in zip(axes, times.items(), strict=True):
    ratios = [found["objects"] / time for time in found.values()]
    bars = axis.barh(list(found), ratios, color=["C0", "C1", "C2", "C3"], ec="black")
    for bar, hatch in zip(bars, ["", "//", "..", "xx"], strict=True):
        bar.set_hatch(hatch)
    axis.bar_label(bars, [f"{ratio:.1f}" for ratio in ratios], padding=3)
    axis.axvline(1, color="black", lw=1)
    axis.set(xscale="log", xlabel="times as fast as objects (log)", title=name)
    axis.set_xlim(0.1, max(ratios) * 4)
axes[0].invert_yaxis()
plt.show()
assert (
    FAST or times["tabular world"]["objects"] > 5 * times["tabular world"]["flat arrays, Numba"]
), "Numba should make the flat arrays more than five times as fast as objects"

# %% [markdown]
# - **Flat arrays alone are slower than objects**: NumPy makes a new Python object of each element that is
#   read. Arrays pay only when something walks them in compiled code, or many elements at once (exercise 3).
# - **Numba removes the interpreter** from the tree. What is left in the tabular world is the Python loop
#   and fifty batched model calls.
# - **With a network the library goes one step further.** A `CompiledModel` is searched in a single compiled
#   call, tree and network together, one share of the batch on each core: no way back to Python between two
#   simulations. For any other model the library runs the loop that you wrote.
#
# ## 9. What the visits converge to
#
# Section 1 showed scores in balance. Suppose that after $S$ simulations all scores at the root are equal, to
# some number $\mu$. With $\bar q_a$ no longer changing that gives
#
# $$\bar q_a + \frac{p_a\, C(N)}{1 + n_a} = \mu \quad\Longrightarrow\quad 1 + n_a = \frac{p_a\, C(N)}{\mu - \bar q_a},
# \qquad \sum_a (1 + n_a) = S + K .$$
#
# The last sum falls as $\mu$ grows, so there is one solution with $\mu > \max_a \bar q_a$: bisection finds it. Two
# special cases can be read off.
#
# - All $\bar q_a$ equal: $1 + n_a = p_a (S + K)$. **The visits are the prior.** A search that learns nothing
#   changes nothing.
# - Otherwise $\mu \to \max \bar q$, and an action that is worse by $\Delta_a$ gets $n_a \approx p_a C(N) / \Delta_a$ visits.
#   That grows like $\sqrt S$, so its *share* falls to zero: **the policy converges to the best action.**
#
# (The same formula is the solution of $\max_y \sum_a \bar q_a y_a - \lambda\, \mathrm{KL}(p \,\|\, y)$ with
# $\lambda = C(N) / (S + K)$: set the derivative, $\bar q_a + \lambda p_a / y_a$, equal for all actions. MCTS improves the policy,
# and stays near the prior as long as it has seen little.)

# %%
def balance(values, priors, simulations):
    """The visits at which all scores are equal, as real numbers."""
    scale, wanted = exploration(simulations + 1), simulations + len(priors)
    low, high = max(values), max(values) + scale  # at `high` the sum is at most 1
    for _ in range(200):
        middle = (low + high) / 2
        too_many = sum(priors * scale / (middle - values)) > wanted
        low, high = (middle, high) if too_many else (low, middle)
    return priors * scale / (high - values) - 1


assert np.allclose(balance(np.zeros(3), PRIORS, 97), PRIORS * 100 - 1), (
    "with equal values and large N the visits should be p (S + K) - 1"
)


def one_search(model, simulations):
    """From state 0, without noise."""
    config = SearchConfig(num_simulations=int(simulations), discount=0.9, dirichlet_fraction=0.0)
    return search(model, np.array([0]), config, np.random.default_rng(0))


lengths = np.unique(np.logspace(0.5, 3 if FAST else 4.5, 13).astype(int))
found, predicted = {}, {}
for name, model in [("different", three_actions(1)), ("equal", three_actions(0))]:
    results = [one_search(model, simulations) for simulations in lengths]
    found[name] = np.array([result.visits[0] for result in results])
    # The smallest value in the tree is 0, after the end, the largest 1: VALUES are normalised.
    values = VALUES if name == "different" else np.zeros(3)
    predicted[name] = np.array([balance(values, PRIORS, s) for s in lengths])
distance = np.abs(found["different"] - predicted["different"]).max(axis=1)
settled = distance[lengths > 200]
for s in (3, len(lengths) - 1):
    expected = predicted["different"][s].round(1)
    print(f"{lengths[s]} simulations: visits {found['different'][s]}, predicted {expected}")
print(f"largest distance after more than 200 simulations: {settled.max():.1f} visits")

# %% [markdown]
# Visits are whole numbers and cannot be taken back. While the search did not know action 2 it spent its visits on
# the others, and at 31 simulations that still shows. Once the balance has caught up, after some 200 simulations, no
# count is off by two visits, of thousands.
#
# The dots below are searches of the library, the lines are the formula. On the right, a deeper world: a
# binary tree of four steps with random rewards. There the values *do* change while the search goes on, and
# the root's value, a mean over all simulations, the exploring ones too, nears the optimal value $V^*$ only
# as fast as exploring becomes rare.

# %%
def binary_world(depth, rng):
    """Two actions a level with random rewards, then an end. Returns V* as well."""
    inner = 2**depth - 1
    next_state = [[2 * s + 1, 2 * s + 2] for s in range(inner)] + [[inner, inner]]
    next_state = np.minimum(next_state, inner)
    reward = np.vstack([rng.random((inner, 2)), [[0, 0]]])
    optimal = np.zeros(inner + 1)
    for state in reversed(range(inner)):  # children have larger numbers
        optimal[state] = max(reward[state] + 0.9 * optimal[next_state[state]])
    return TabularModel(next_state, reward), optimal


deep, optimal = binary_world(4, np.random.default_rng(1))
best_action = np.argmax(deep.reward[0] + 0.9 * optimal[deep.next_state[0]])
results = [one_search(deep, simulations) for simulations in lengths]
deep_values = np.array([result.value[0] for result in results])
deep_shares = np.array([result.policy[0, best_action] for result in results])

figure, axes = plt.subplots(1, 3, figsize=(13, 3.4))
for axis, name in zip(axes[:2], ["equal", "different"], strict=True):
    for a, (marker, line) in enumerate(zip("os^", LINES, strict=True)):
        colour, label = COLOURS[a], f"action {a}, prior {PRIORS[a]}"
        axis.semilogx(lengths, predicted[name][:, a] / lengths, line, c=colour)
        axis.semilogx(lengths, found[name][:, a] / lengths, marker, c=colour, label=label)
    axis.set(xlabel="simulations", ylabel=r"share of visits $\pi_a$", ylim=(-0.05, 1.05))
    axis.set_title(f"{name.capitalize()} values")
axes[0].legend(fontsize=9)
axes[2].semilogx(lengths, deep_values / optimal[0], "o-", label=r"root value $\nu / V^*$")
axes[2].semilogx(lengths, deep_shares, "s--", label=r"$\pi$ of the best action")
axes[2].axhline(1, color="black", ls=":")
axes[2].set(xlabel="simulations", title="Binary tree of depth 4", ylim=(-0.05, 1.05))
axes[2].legend(loc="lower right")
plt.show()

assert settled.max() < 2, (
    f"{settled.max():.1f} visits between search and formula, long after the start"
)
assert np.abs(found["equal"] - predicted["equal"]).max() < 1.5, (
    f"equal values: {np.abs(found['equal'] - predicted['equal']).max():.1f} visits from the "
    "formula"
)
assert FAST or found["different"][-1, 2] > 0.97 * lengths[-1], (
    "the best action should have nearly all visits in the end"
)
assert FAST or 0.97 < deep_values[-1] / optimal[0] < 1, (
    "the root's value should come near the optimal one from below"
)

# %% [markdown]
# ## 10. Root noise
#
# Section 9 has a price. An action with a small prior waits until $p_a C(N)$ beats the balance, and with
# fifty simulations it may wait in vain. Suppose that another action has the normalised value 1. Then an
# action with prior $p$ is not tried before $p\,C(N) > 1$; with $C(50) = 8.86$ that needs at least
# $p > 0.11$ (exercise 4). A policy that has once become sure of itself would never be corrected by its own search.
#
# So MuZero mixes noise into the root's priors, and only there:
#
# $$p_a \leftarrow (1 - \varepsilon)\, p_a + \varepsilon\, \eta_a, \qquad \eta \sim \mathrm{Dirichlet}(\alpha), \qquad \varepsilon = 0.25,\; \alpha = 0.25 \text{ (Atari)}.$$
#
# A Dirichlet draw is a random distribution. A small $\alpha$ makes it spiky: few actions get a lot, others a
# different time. That is the point: 50 simulations spread evenly over many bad actions would only blur the
# policy; spent on one or two, they can find something out.
#
# ### Drawing it
#
# $K$ independent Gamma($\alpha$) numbers, normalised, are a Dirichlet($\alpha$) draw. For a small $\alpha$ they may all
# underflow to 0, so the library draws their logarithms: if $G \sim \mathrm{Gamma}(\alpha + 1)$ and $U$ is uniform, then
# $G\, U^{1/\alpha} \sim \mathrm{Gamma}(\alpha)$. The rest is a softmax.

# %%
def dirichlet(rng, batch, actions, alpha):
    shape = (batch, actions)
    log_gamma = np.log(rng.standard_gamma(alpha + 1, shape)) + np.log(1 - rng.random(shape)) / alpha
    gamma = np.exp(log_gamma - log_gamma.max(axis=1, keepdims=True))
    return gamma / gamma.sum(axis=1, keepdims=True)


noisy = SearchConfig(num_simulations=50, discount=0.9)  # fraction 0.25, alpha 0.25
result = search(world, positions, noisy, np.random.default_rng(7))
noise = dirichlet(np.random.default_rng(7), len(positions), 4, noisy.dirichlet_alpha)
same_arrays(search_arrays(world, positions, noisy, noise=noise, **compiled), result.tree)
roots = reference.search(world, positions, noisy, np.random.default_rng(7))
for b in positions:
    same_tree(search_objects(world, b, noisy, noise=noise[b]), roots[b])
assert not np.array_equal(result.visits, flat.edges["visits"][:, ROOT]), (
    "the noise changes nothing: is it mixed into the root's priors?"
)
assert np.allclose(result.tree.edges["prior"][:, 1:].sum(axis=2), 1), (
    "below the root priors have to sum to 1: noise is for the root only"
)

draws = dirichlet(np.random.default_rng(0), 100_000, 4, 0.25)
assert np.allclose(draws.mean(axis=0), 1 / 4, atol=0.01), (
    "the mean of a Dirichlet draw over four actions is 1/4 each"
)
assert np.allclose(draws.var(axis=0), (1 / 4) * (3 / 4) / (4 * 0.25 + 1), rtol=0.02), (
    "the variance of a Dirichlet draw is that of the textbook"
)

# %% [markdown]
# ### How much?
#
# Eight actions. One pays 1, another 0.5, the rest nothing. We ask for two things:
#
# - **Rescue**: the policy is wrong, with 0.95 on the action that pays 0.5. In how many searches is the best action
#   visited at all?
# - **Damage**: the policy is right, with 0.95 on the best action. What share of visits does the noise take away from it?

# %%
def eight_actions(favourite):
    """Action 0 pays 1, action 1 pays 0.5. The policy puts 0.95 on `favourite`."""
    prior = np.full((1, 8), 0.05 / 7)
    prior[0, favourite] = 0.95
    reward = np.zeros((2, 8))
    reward[0, :2] = 1, 0.5
    return TabularModel(np.ones((2, 8), int), reward, np.vstack([np.log(prior), np.zeros((1, 8))]))


ROWS = 100 if FAST else 1000
FRACTIONS = [0, 0.05, 0.1, 0.25, 0.5, 0.75, 1]
ALPHAS = [0.03, 0.25, 5]
rescue, damage = {}, {}
for alpha in ALPHAS:
    for fraction in FRACTIONS:
        config = SearchConfig(discount=0.9, dirichlet_alpha=alpha, dirichlet_fraction=fraction)
        wrong, right = (
            search(eight_actions(favourite), np.zeros(ROWS, int), config, np.random.default_rng(0))
            for favourite in (1, 0)
        )  # 50 simulations each
        rescue[alpha, fraction] = np.mean(wrong.visits[:, 0] > 0)
        damage[alpha, fraction] = 1 - np.mean(right.policy[:, 0])

figure, axes = plt.subplots(1, 3, figsize=(13, 3.6), width_ratios=[1.2, 1, 1])
for place, alpha in enumerate(ALPHAS):
    draws = dirichlet(np.random.default_rng(3), 6, 8, alpha)
    bottom = np.zeros(6)
    for a in range(8):
        style = {"color": plt.cm.cividis(a / 7), "ec": "white", "lw": 0.5}
        axes[0].bar(np.arange(6) + 7 * place, draws[:, a], 0.9, bottom, **style)
        bottom += draws[:, a]
axes[0].set_xticks([2.5, 9.5, 16.5], [rf"$\alpha$ = {alpha}" for alpha in ALPHAS])
axes[0].set(ylabel=r"noise $\eta_a$, one colour per action", title="Six Dirichlet draws each")
axes[0].grid(False)
for alpha, marker, line, colour in zip(ALPHAS, "os^", LINES, COLOURS, strict=True):
    style, label = marker + line, rf"$\alpha$ = {alpha}"
    axes[1].plot(FRACTIONS, [rescue[alpha, f] for f in FRACTIONS], style, c=colour, label=label)
    axes[2].plot(FRACTIONS, [damage[alpha, f] for f in FRACTIONS], style, c=colour, label=label)
for axis, title, label in [
    (axes[1], "Rescue: policy wrong", "searches that try the best action"),
    (axes[2], "Damage: policy right", "share of visits lost"),
]:
    axis.axvline(0.25, color="black", ls=":", lw=1)
    axis.set(xlabel=r"noise fraction $\varepsilon$", ylabel=label, title=title, ylim=(-0.05, 1.05))
axes[1].legend()
plt.show()
for alpha in ALPHAS:
    print(
        f"alpha {alpha:<5} fraction 0.25: "
        f"rescue {rescue[alpha, 0.25]:.3f}, damage {damage[alpha, 0.25]:.3f}"
    )
# A fraction of 0.1 lifts no prior to 0.11.
assert all(rescue[alpha, fraction] == 0 for alpha in ALPHAS for fraction in (0, 0.05, 0.1)), (
    "a fraction of 0.1 cannot lift a prior to 0.11; nothing should be rescued"
)
assert rescue[0.25, 0.25] > rescue[5, 0.25], "spiky noise should rescue more than even noise"
assert FAST or abs(rescue[0.03, 0.25] - 1 / 8) < 0.03, (
    "nearly one-hot noise should rescue one search in eight"
)

# %% [markdown]
# - Below $\varepsilon = 0.11$ nothing is rescued, whatever $\alpha$: the noise cannot lift a prior over the threshold.
# - At MuZero's $\varepsilon = 0.25$ only *spiky* noise gets over it. At the smallest $\alpha$ one action of eight gets nearly
#   all, and one search in eight tries the best action. Even noise ($\alpha = 5$) is spent on everybody and
#   rescues nobody.
# - The damage at $\varepsilon = 0.25$ is at most three hundredths of the visits. It becomes large when little of the policy is
#   left.
#
# One rescue in eight or in fifteen searches looks like little. But a position like this one is searched
# many times during training, each time with other noise, and one discovery moves the policy. AlphaZero ([arXiv:1712.01815](https://arxiv.org/abs/1712.01815))
# chose $\alpha$ in inverse proportion to the number of legal moves, so that the noise stays spiky in each game.
# When the paper reanalyses continuous actions, *injecting* the stored action takes the place of the
# noise, with the same 0.25 (section "Offline RL and Continuous Action Spaces"; notebook 06).
#
# ## What the library adds
#
# - **One search for every kind of action**: all actions, as here (`mzu/search/all_actions.py`), sampled ones
#   (notebook 05), an injected one (notebook 06), illegal ones masked at the root. A candidate with prior 0 does
#   not exist.
# - **The whole search in one compiled call** for fully-connected networks, split over the cores
#   (`mzu/search/batched_kernels.py`, `mzu/networks/compiled/forward_pass.py`); a loop around any other model.
# - **All random numbers drawn beforehand** (`mzu/search/randomness.py`), so that the kernels are plain functions of
#   arrays and both cores can work without sharing a generator.
# - **Machine code that is never stale**: Numba's own cache does not notice an edit in another file,
#   `mzu/compilation.py` keeps the cache in a folder named by a hash of all kernels. With `NUMBA_DISABLE_JIT=1` the
#   kernels are ordinary Python, for a debugger.
# - **The siblings normaliser** (`normaliser="siblings"`; exercise 2).
# - **History.** A finished tree can be grown again, simulation by simulation, with every score
#   (`mzu/search/history.py`). The two scores that we worked out by hand in section 3 are in it:

# %%
from mzu.search.history import prefix
from mzu.search.kernels import ALL_ACTIONS
from mzu.search.search import make_settings

result = search(crumb_world, np.array([0]), quiet, np.random.default_rng(0), record=True)
history = result.history
scores = history.value_terms[0, :3, 0] + history.prior_terms[0, :3, 0]  # at the root
print(scores.round(4))
assert np.allclose(scores[1:], [[0.6304, 0.7072], [0.6496, 1.4331]], atol=1e-4), (
    f"scores {scores[1:].round(4).tolist()}: the history should hold those worked out by hand"
)
settings = make_settings(quiet, ALL_ACTIONS, sampled=2)
early = prefix(result.tree, settings, simulations=3)
assert early.nodes["visits"][0, 0] == 4 and math.isclose(early.nodes["value"][0, 0], 0.1375), (
    "three simulations in, the root should have 4 visits and the mean 0.1375"
)

# %% [markdown]
# `mzu.explain` puts such a history on a page for any position of a training run: the tree after each
# simulation, drawn, with both terms of every score, beside the targets that came out of it.
#
# ## Summary
#
# - A simulation is **select** (best pUCT score until an edge is new), **expand** (one model call), **back up**
#   ($G \leftarrow r + \gamma G$ from the leaf to the root, into means and counts).
# - The score is a value term in $[0, 1]$ plus a prior term $p_a C(N) / (1 + n_a)$. Without normalisation the size of the
#   rewards decides how much the search explores.
# - Backing up in the wrong direction, or without the discount, raises no error. Small worlds with
#   known answers show it at once.
# - Flat arrays and Numba run the same functions many times as fast as objects, and give the same
#   tree. Arrays without compilation do not.
# - The visits converge to a known balance: the prior when all values are equal, the best action otherwise, at a
#   rate of $1/\sqrt S$.
# - An action with a small prior is not tried in fifty simulations. Root noise, spiky and at the root only, is
#   the way out.
#
# ## Exercises
#
# Write the functions below. The last lines of a cell check yours and say which idea is missing, if one is;
# `check.hint("03.1")` gives one hint more at each call, and the solution opens at a click. More of it,
# with derivations and figures: `tutorials/solutions/03_search.md`.

# %%
from mzu.classroom import check

# %% [markdown]
# ### 1. The seam
#
# Until two different values are known, the value enters the score as it is, and there the unit can
# decide. Write section 1's `one_node` for values in any unit and compare the first actions for
# `VALUES` times 0.01, 1 and 100. Where do they part, and what could a search do instead?


# %%
def root_actions(values, priors, simulations):
    """Section 1's node, but with values in any unit: which action does each simulation take?

    values [K]: what each visit of an action returns; priors [K] -> actions [simulations]. The
    value term is 0 for an action never taken, (value - low) / (high - low) over the values seen
    so far, and, until two different ones are known, the value as it is. Ties go to the first
    action.

    >>> root_actions(np.array([0.0, 5.0]), np.array([0.6, 0.4]), 3)
    [0, 1, 1]
    """
    raise NotImplementedError


check.exercise_03_1(root_actions)
check.solution("03.1")

# %% [markdown]
# ### 2. Siblings
#
# mctx normalises by the range of the node's own value and the $q$ of its visited children, not of the
# whole tree. Write these scores. (A search with them equals the library's with
# `normaliser="siblings"`: the solutions' page shows it.)


# %%
def sibling_scores(value, q, visits, priors):
    """The scores of a node's actions, normalised as in mctx: by the node's own value and the q of
    its visited children.

    value: the node's mean; q, visits, priors [K] (q is nan where visits is 0) -> scores [K]. The
    range is at least 1e-8 wide, an action never taken has the value term 0, N is 1 + all visits.

    >>> q, visits, priors = np.array([1.0, np.nan]), np.array([1, 0]), np.array([0.5, 0.5])
    >>> sibling_scores(0.0, q, visits, priors).round(3).tolist()
    [1.442, 0.884]
    """
    raise NotImplementedError


check.exercise_03_2(sibling_scores)
check.solution("03.2")

# %% [markdown]
# ### 3. Arrays without Numba
#
# `select_row` in Python is slow because it reads one element at a time. Write one level of it for all
# trees of the batch at once with NumPy, without a loop over rows or candidates. From which batch size
# on would you expect it to be faster?


# %%
def best_of_rows(q, visits, priors, bounds):
    """One level of `select` for a whole batch, without a loop: the best candidate of each row.

    q, visits, priors [B, K], bounds [B, 2] -> candidates [B]. In a row whose upper bound is above
    its lower one, q of visited candidates is normalised by them, in others it enters as it is; a
    candidate never taken has the value term 0. N of a row is 1 + its visits.

    >>> q, visits, bounds = np.array([[0.0, 9.0]]), np.zeros((1, 2), int), np.array([[0.0, 1.0]])
    >>> best_of_rows(q, visits, np.array([[0.6, 0.4]]), bounds).tolist()
    [0]
    """
    raise NotImplementedError


check.exercise_03_3(best_of_rows)
check.solution("03.3")

# %% [markdown]
# ### 4. How small a prior is tried?
#
# Action 0 has the normalised value 1, all others have 0, in a world of $K$ equal priors $p$ beside
# that of action 0. Derive the smallest $p$ at which the other actions are tried in $S$ simulations.


# %%
def smallest_prior(simulations, others):
    """The prior from which on the others are tried: action 0 has the normalised value 1 and all
    visits, `others` actions have equal priors p and the value 0, action 0 has the prior 1 -
    others * p.

    The last simulation decides; before it the node has N = `simulations` visits, its own
    included.

    >>> round(smallest_prior(50, 7), 4)
    0.1166
    """
    raise NotImplementedError


check.exercise_03_4(smallest_prior)
check.solution("03.4")

# %% [markdown]
# ### 5. Find the bug
#
# Somebody starts the root with `visits = 0`. Nothing fails. Which rule decides the first simulation
# then, and what is missing from the root's mean? Write what a search of one simulation should give;
# the check knows what the bug gives.


# %%
def first_simulation(priors, rewards, value):
    """A search of one simulation: which action does it take, and what is the root's value then?

    priors, rewards [K], value: the network's value of the root; after any action comes an end of
    value 0 -> (action, root value). The root's own evaluation is its first visit.

    >>> first_simulation(np.array([0.01, 0.99]), np.array([-1.0, 1.0]), 0.5)
    (1, 0.75)
    """
    raise NotImplementedError


check.exercise_03_5(first_simulation)
check.solution("03.5")
