# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 01. Planning with a model
#
# [the course](README.md) · [02 Networks](02_networks.ipynb) →
#
# ![Where this notebook stands in the circle of data: network, search](pictures/circle_01.svg)
#
# | | |
# |---|---|
# | **You will build** | a world of five states, its values (by hand, by a linear system, by value iteration), lookahead of n steps, and a first tree search |
# | **Lives in** | `mzu/networks/model.py` (`TabularModel`) and `mzu/search/search.py` (`search`, `visit_distribution`); the search to read is `mzu/search/reference.py` |
# | **Takes** | under a minute to run on two cores, of which the first search on a machine compiles for some ten seconds; plan two hours to work through, one more for the exercises |
# | **You need** | Python with NumPy, sums of geometric series, systems of linear equations; no reinforcement learning |
#
# MuZero Unplugged ([arXiv:2104.06294](https://arxiv.org/abs/2104.06294), "the paper" from here on) rests on one claim, made at the start of the paper's section "Reanalyse":
# whoever has a model of the world can *improve* a policy and a value function by thinking, without
# acting. The paper calls this an improvement operator. Here we see on a world small enough for
# paper and pencil that the claim is true, how fast the improvement comes, what it costs, and what
# happens when the model is wrong. Nothing is learned in this notebook and there is no network:
# every number can be checked.

# %%
import os

FAST = os.environ.get("MZU_FAST") == "1"  # the test suite's short version

import matplotlib.pyplot as plt
import numpy as np

from mzu import SearchConfig, TabularModel, search
from mzu.plots import trees, worlds
from mzu.search.search import visit_distribution

plt.style.use("tableau-colorblind10")
np.set_printoptions(precision=2, suppress=True)

# %% [markdown]
# ## 1. A world of five states
#
# You live at home. Resting there pays a little, for ever. Behind the path there is a fork: up to an
# orchard, where a meal pays 12, or down to something that looks like a short cut, pays 2 at once,
# and is a swamp.
#
# In every state $s$ there are two actions $a$. An action leads to exactly one next state and pays a
# reward $u$. That is a *Markov decision process* with deterministic transitions, and two tables
# describe all of it.

# %%
STATES = ["home", "path", "fork", "swamp", "orchard"]
HOME, PATH, FORK, SWAMP, ORCHARD = range(5)
ACTIONS = [["rest", "walk"], ["back", "walk"], ["up", "down"], ["wait", "climb"], ["nap", "eat"]]

NEXT_STATE = np.array([
    [HOME, PATH], [HOME, FORK], [ORCHARD, SWAMP], [SWAMP, HOME], [ORCHARD, HOME],
])
REWARD = np.array([[0.5, 0], [0, 0], [0, 2], [-1, -2], [0, 12]])
DISCOUNT = 0.9

for s, name in enumerate(STATES):
    for a in (0, 1):
        target = STATES[NEXT_STATE[s, a]]
        print(f"{name:8} {a} {ACTIONS[s][a]:6} -> {target:8} pays {REWARD[s, a]:4}")

# %%
def draw_world(ax, title, policy=None):
    """The world as a graph, with names and rewards, or with the probabilities policy [S, A]."""
    texts = [[f"{ACTIONS[s][a]}, {REWARD[s, a]:g}" if policy is None else f"{policy[s, a]:.2f}"
              for a in (0, 1)] for s in range(5)]
    widths = 1.6 if policy is None else 0.3 + 4 * policy
    worlds.draw_five_states(ax, title, STATES, NEXT_STATE, texts, widths)


figure, ax = plt.subplots(figsize=(9, 4.6))
draw_world(ax, "The world: action and reward (solid: action 0, dashed: action 1)")
plt.show()

# %% [markdown]
# ## 2. What a policy is worth
#
# A *policy* $p(a \mid s)$ says how likely each action is in each state. Its *value* $v_p(s)$ is
# the expected sum of rewards from $s$ on, where a reward $k$ steps away counts $\gamma^k$ ($\gamma$ is
# the *discount*):
#
# $$v_p(s_0) = \mathbb E_p\Big[\sum_{k \ge 0} \gamma^k u_{k+1}\Big], \qquad \gamma = 0.9.$$
#
# ($u_{k+1}$ is the reward that follows the action at step $k$, as in the paper.) Whoever rests for
# ever collects $0.5 + 0.9 \cdot 0.5 + \dots = 0.5 / (1 - 0.9) = 5$. For anything less simple, split
# off the first step. What comes after it is the same problem from the next state, so
#
# $$v_p(s) = \sum_a p(a \mid s)\,\big(u(s, a) + \gamma\, v_p(s')\big),$$
#
# with $s'$ the state that $a$ leads to. This is *Bellman's equation*. For five states it is five
# linear equations in five unknowns: $v = u_p + \gamma P_p v$, where $u_p$ is the expected
# reward in each state and $P_p[s, s']$ the probability of going from $s$ to $s'$. So no
# estimating is needed: $v_p = (I - \gamma P_p)^{-1} u_p$.
#
# (Books write $\pi$ for any policy. Here $p$ is a policy, and $\pi$ is kept for what a search makes of it.)


# %%
def policy_value(policy):
    """policy [S, A] -> its value in every state [S], exactly: the solution of v = u + gamma P v."""
    transition = np.zeros((5, 5))
    for s in range(5):
        for a in (0, 1):
            transition[s, NEXT_STATE[s, a]] += policy[s, a]
    expected_reward = (policy * REWARD).sum(axis=1)
    return np.linalg.solve(np.eye(5) - DISCOUNT * transition, expected_reward)


def always(*actions):
    """The policy [S, A] that takes the given action in each state."""
    return np.eye(2)[list(actions)]


lazy = always(0, 0, 0, 0, 0)
print("value of always taking action 0:", policy_value(lazy))
assert np.allclose(policy_value(lazy), [5, 0.9 * 5, 0, -10, 0]), (
    "the values are not those worked out by hand: solve v = u + gamma P v"
)

# %% [markdown]
# The last four numbers by hand: from the path one goes back and then rests, $0.9 \cdot 5$; at the
# fork one goes up and naps for ever, $0$; waiting in the swamp costs $1$ per step,
# $-1/(1 - 0.9) = -10$.
#
# Do the definition and the linear system agree? Add up the rewards of many random walks and see. (After
# the mean stands its standard error: a mean of so many walks is often one of them off, hardly ever four.)


# %%
def walk(policy, state, steps, rng):
    """The discounted sum of rewards of one walk of `steps` steps."""
    total = 0.0
    for k in range(steps):
        action = int(rng.random() < policy[state, 1])  # 1 as often as the policy says
        total += DISCOUNT**k * REWARD[state, action]
        state = NEXT_STATE[state, action]
    return total


rng = np.random.default_rng(0)
uniform = np.full((5, 2), 0.5)
returns = [walk(uniform, HOME, 100, rng) for _ in range(200 if FAST else 1000)]
mean, error = np.mean(returns), np.std(returns) / np.sqrt(len(returns))
exact = policy_value(uniform)[HOME]
print(f"mean of {len(returns)} walks: {mean:.2f} +- {error:.2f}, by the linear system {exact:.2f}")
assert abs(mean - exact) < 4 * error, (
    f"{abs(mean - exact) / error:.1f} standard errors between the walks and the linear system: one "
    "of the two is wrong"
)

# %% [markdown]
# ## 3. What the best policy is worth
#
# The best policy takes, in every state, the action with the largest $u + \gamma v$. Its value
# $v_*$ satisfies Bellman's equation with a maximum in the place of the mean:
#
# $$v_*(s) = \max_a \big(u(s, a) + \gamma\, v_*(s')\big) =: (\mathcal T v_*)(s).$$
#
# The maximum makes it non-linear, but there is a simple way to solve it. Applied to *any* two value
# functions, $\mathcal T$ brings them closer by the factor $\gamma$: the largest difference between
# $\mathcal T v$ and $\mathcal T w$ is at most $\gamma$ times the largest difference between $v$ and
# $w$, because the rewards are the same, the rest is multiplied by $\gamma$, and two maxima differ by no
# more than what they are taken of. Let $w$ be $v_*$, which $\mathcal T$ leaves as it is: then
# $\mathcal T v$ is closer to $v_*$ than $v$ was, by the factor $\gamma$. So start anywhere and apply
# $\mathcal T$ again and again. That is *value iteration*.


# %%
def action_values(value):
    """value [S] -> q [S, A]: an action's reward and the discounted value of where it leads."""
    return REWARD + DISCOUNT * value[NEXT_STATE]


def bellman(value):
    """One sweep of value iteration: value [S] -> [S]."""
    return action_values(value).max(axis=1)


sweeps = [np.zeros(5)]
for _ in range(200):
    sweeps.append(bellman(sweeps[-1]))
BEST = sweeps[-1]
best_policy = np.eye(2)[action_values(BEST).argmax(axis=1)]
print("best value :", BEST)
print("best action:", [ACTIONS[s][a] for s, a in enumerate(best_policy.argmax(axis=1))])
assert np.allclose(policy_value(best_policy), BEST, atol=1e-6), (
    "the best policy's own value is not the fixed point of value iteration"
)
# By hand: home, path, fork, orchard and home again is a circle of four steps; only the last pays.
assert np.isclose(BEST[HOME], 0.9**3 * 12 / (1 - 0.9**4), atol=1e-6), (
    "the circle home, path, fork, orchard should pay 12 every four steps, three steps away"
)

# %% jupyter={"source_hidden": true} tags=["hide-input"]
figure, ax = plt.subplots(figsize=(7, 4))
for s, marker in enumerate("osv^D"):
    ax.plot([value[s] for value in sweeps[:41]], marker=marker, markevery=4, label=STATES[s])
    ax.axhline(BEST[s], color="black", linewidth=0.6, linestyle=":")
ax.set(xlabel="sweeps of value iteration", ylabel="value (discounted reward)",
       title="Value iteration from zero; dotted: the best values")
ax.legend()
plt.show()

# %% [markdown]
# ## 4. What an agent really has
#
# Value iteration sweeps over *all* states. In Atari there are too many to list. MuZero has instead a
# network that says two things about any state it is shown: a policy $p$ and a value $v$. Both come
# from learning, and both are wrong. We write such an output down as a table. This agent likes to
# rest, falls for the short cut, and thinks well of the swamp. (In the code its policy is called `PRIOR`:
# what is believed *before* a search.)

# %%
PRIOR = np.array([[0.7, 0.3], [0.6, 0.4], [0.3, 0.7], [0.5, 0.5], [0.5, 0.5]])
VALUE = np.array([6.0, 6, 7, 9, 6])

print("the policy's true value:", policy_value(PRIOR))
print("what the agent believes:", VALUE)
print("what would be possible :", BEST)
print(f"largest error of the value: {np.abs(VALUE - BEST).max():.2f}")

# %% [markdown]
# ## 5. Looking one step ahead
#
# With a model the agent need not follow $p$. It can ask the model where each action leads, and take
# the action with the largest $q(s, a) = u(s, a) + \gamma v(s')$.
#
# **Policy improvement.** Suppose first that $v$ is exact for the policy, $v = v_p$. Then the greedy
# policy $p'$ is at least as good as $p$ *in every state*. The proof is two lines: the maximum over
# $a$ is at least the mean under $p$, so $\max_a q(s, a) \ge v_p(s)$: taking the greedy action
# once and following $p$ afterwards does not hurt. Use the same at the next state, and the next:
# being greedy for ever does not hurt either.

# %%
greedy = np.eye(2)[action_values(policy_value(PRIOR)).argmax(axis=1)]
assert np.all(policy_value(greedy) >= policy_value(PRIOR)), (
    "the greedy policy is worse than p somewhere, which the proof rules out: is the value p's "
    "own?"
)

figure, ax = plt.subplots(figsize=(7, 4))
bars = [("the policy p", PRIOR, ""), ("one step of lookahead with p's exact value", greedy, "//"),
        ("the best policy", best_policy, "..")]
for offset, (name, policy, hatch) in zip((-0.27, 0, 0.27), bars, strict=True):
    ax.bar(np.arange(5) + offset, policy_value(policy), width=0.25, hatch=hatch, label=name,
           edgecolor="white")
ax.set_xticks(range(5), STATES)
ax.set(xlabel="state", ylabel="value (discounted reward)",
       title="One step of lookahead: better in every state", ylim=(0, 48))
ax.legend()
plt.show()

# %% [markdown]
# Now with the value that the agent really has. At the fork it sees $0 + 0.9 \cdot 6 = 5.4$ for *up*
# and $2 + 0.9 \cdot 9 = 10.1$ for *down*. It walks into the swamp, and since it thinks well of the
# swamp, it stays there.

# %%
one_step = np.eye(2)[action_values(VALUE).argmax(axis=1)]
print("action values at the fork:", action_values(VALUE)[FORK])
print("actions taken:", [ACTIONS[s][a] for s, a in enumerate(one_step.argmax(axis=1))])
print("value        :", policy_value(one_step))
assert np.allclose(action_values(VALUE)[FORK], [5.4, 10.1]), (
    "the two numbers at the fork are not 0 + 0.9 * 6 and 2 + 0.9 * 9"
)
assert policy_value(one_step)[FORK] < policy_value(PRIOR)[FORK], (
    "one step of lookahead with the wrong value should be worse at the fork than not looking"
)

# %% [markdown]
# ## 6. Looking n steps ahead
#
# The cure is to look further and to use $v$ only where one stops looking. Looking $n$ steps ahead
# is a short recursion.

# %%
calls = 0


def lookahead(state, n):
    """The value of `state`, looking n steps ahead: n rewards, then the agent's value."""
    global calls
    if n == 0:
        return VALUE[state]
    calls += 2  # the model is asked about both actions
    return max(REWARD[state, a] + DISCOUNT * lookahead(NEXT_STATE[state, a], n - 1) for a in (0, 1))


swept = VALUE
for n in range(9):
    assert np.allclose([lookahead(s, n) for s in range(5)], swept), (
        f"looking {n} steps ahead is not {n} sweeps of value iteration"
    )
    swept = bellman(swept)

# %% [markdown]
# The `assert` holds an observation that is worth a sentence: **n steps of lookahead are n sweeps of
# value iteration, started from the agent's value.** So everything said about $\mathcal T$ applies.
# With $\varepsilon = \max_s |v(s) - v_*(s)|$,
#
# $$\max_s \big|(\mathcal T^n v)(s) - v_*(s)\big| \;\le\; \gamma^n \varepsilon.$$
#
# Each step of lookahead shrinks the error by $\gamma$. An agent that looks $n$ steps ahead at every
# state and takes the best action loses at most $2 \gamma^n \varepsilon / (1 - \gamma)$ against the
# best policy: both actions that it compares may be off by $\gamma^n \varepsilon$, and it may lose
# that much at every step. The bound is loose; the picture shows what happens here.

# %%
horizon = range(0, 13)
lookahead_values, policies = [VALUE], [PRIOR]
for _ in horizon[1:]:
    policies.append(np.eye(2)[action_values(lookahead_values[-1]).argmax(axis=1)])
    lookahead_values.append(bellman(lookahead_values[-1]))
errors = np.array([np.abs(value - BEST).max() for value in lookahead_values])
worth = [policy_value(policy).mean() for policy in policies]
bound = DISCOUNT ** np.arange(13) * errors[0]
assert np.all(errors <= bound + 1e-12), (
    "the error shrinks by gamma per step, or faster; here it did not"
)
losses = np.array([(BEST - policy_value(policy)).max() for policy in policies[1:]])
assert np.all(losses <= 2 * bound[1:] / (1 - DISCOUNT) + 1e-9), (
    "an agent lost more by its lookahead than the bound allows"
)

figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4))
left.semilogy(horizon, errors, "o-", label="error of the lookahead value")
left.semilogy(horizon, bound, "k--", label=r"bound $\gamma^n \varepsilon$")
left.set(xlabel="steps of lookahead n", ylabel="largest error over states",
         title="Each step shrinks the error by 0.9")
left.legend()
right.plot(horizon, worth, "s-", color="C1", label="acting by lookahead")
right.axhline(BEST.mean(), color="black", linestyle=":", label="best policy")
right.set(xlabel="steps of lookahead n", ylabel="true value, mean over states",
          title="What the agent gains (n = 0: the policy p)")
right.legend(loc="center right")
plt.show()

# %% [markdown]
# One step makes things worse, as we saw. At four steps the actions are the best ones everywhere,
# although the *values* are still far off: to act well, only the order of the actions must be right.
#
# But what does it cost? The recursion asks the model about $2 + 4 + \dots + 2^n$ edges. With the 18
# actions of Atari, four steps are 111,150 model calls for *one* decision.

# %%
assert np.all(policies[4] == best_policy) and not np.all(policies[3] == best_policy), (
    "four steps should be the first to give the best action everywhere"
)
assert sum(18**n for n in range(1, 5)) == 111_150, "18 + 18**2 + 18**3 + 18**4 is another number"

for n in (1, 2, 4, 8):
    calls = 0
    lookahead(HOME, n)
    atari = sum(18**k for k in range(1, n + 1))
    print(f"{n} steps: {calls:4} model calls with 2 actions, {atari:14,} with 18")
    assert calls == 2 ** (n + 1) - 2, (
        f"{calls} calls for {n} steps: the full tree has 2 + 4 + ... + 2**n edges"
    )

# %% [markdown]
# ## 7. A first tree search
#
# A tree search spends its model calls where they matter. It grows a tree, one node for each
# *simulation*. A simulation
#
# 1. **selects**: from the root it follows the action with the highest score until it takes an
#    edge that has no child yet,
# 2. **evaluates** that edge: the model gives the reward and the next state, the network the policy
#    and the value there; the new state becomes a node (it is **expanded**),
# 3. **backs up**: the new value travels to the root, discounted, with the rewards met on the way.
#    Every node keeps the *mean* of the values that have passed through it.
#
# The score decides what is worth a look. MuZero's ([arXiv:1911.08265](https://arxiv.org/abs/1911.08265)) is called pUCT:
#
# $$\underbrace{\bar q(s, a)}_{\text{value so far}} \;+\; \underbrace{p(a \mid s)\,
# \frac{\sqrt{N}}{1 + n_a}\,\Big(\log\tfrac{N + 19652 + 1}{19652} + 1.25\Big)}_{\text{prior: large
# for what the policy likes and the search has not tried}}$$
#
# $N$ counts the visits of the node (its own evaluation is the first), $n_a$ those of the edge.
# $\bar q$ is $r + \gamma\, v$ of the child, rescaled so that the smallest such number in the tree is 0
# and the largest 1; it is 0 for an edge that was never taken. (As long as there is one such number only, it
# has no range to be rescaled by and is taken as it is.) Notebook 03 takes this formula apart. Here we
# type it in.

# %%
BASE, INIT = 19652, 1.25  # MuZero's two constants


class Node:
    def __init__(self, state, prior, value):
        self.state, self.prior, self.value = state, prior, value
        self.visits = 1  # the network's value is the first to enter the mean
        self.edge_visits = [0, 0]
        self.children = [None, None]

    def q(self, action, reward):
        return reward[self.state, action] + DISCOUNT * self.children[action].value


class TreeSearch:
    """A search from one state. `model` has the tables next_state, reward, logits and value."""

    def __init__(self, model, state):
        self.model = model
        self.low, self.high = np.inf, -np.inf  # smallest and largest q in the tree
        self.root = self.new_node(state)
        self.nodes = [self.root]

    def new_node(self, state):
        weights = np.exp(self.model.logits[state])
        return Node(state, weights / weights.sum(), self.model.value[state])

    def scores(self, node):
        growth = np.sqrt(node.visits) * (np.log((node.visits + BASE + 1) / BASE) + INIT)
        result = []
        for a in (0, 1):
            q = 0.0
            if node.edge_visits[a]:
                q = node.q(a, self.model.reward)
                if self.high > self.low:  # one number alone has no range to rescale by
                    q = (q - self.low) / (self.high - self.low)
            result.append(q + node.prior[a] * growth / (1 + node.edge_visits[a]))
        return result

    def simulate(self):
        """One simulation. Returns its path [(node, action), ...] and the value of the new node."""
        path, node = [], self.root
        while node is not None:  # select
            action = int(np.argmax(self.scores(node)))
            path.append((node, action))
            node = node.children[action]
        parent, action = path[-1]
        leaf = self.new_node(self.model.next_state[parent.state, action])  # evaluate and expand
        parent.children[action] = leaf
        self.nodes.append(leaf)
        value = leaf.value
        for node, action in reversed(path):  # back up, from the leaf to the root
            node.edge_visits[action] += 1
            q = node.q(action, self.model.reward)
            self.low, self.high = min(self.low, q), max(self.high, q)
            value = self.model.reward[node.state, action] + DISCOUNT * value
            node.value = (node.value * node.visits + value) / (node.visits + 1)
            node.visits += 1
        return path, leaf.value


# %% [markdown]
# `TabularModel` is the library's form of such tables: next states, rewards, the policy as logits
# (here $\log p$) and the value. Six simulations from the fork:

# %%
model = TabularModel(NEXT_STATE, REWARD, logits=np.log(PRIOR), value=VALUE)
ours = TreeSearch(model, FORK)
root_values = [ours.root.value]
for simulation in range(1, 7):
    scores = ours.scores(ours.root)
    path, leaf_value = ours.simulate()
    root_values.append(ours.root.value)
    steps = " ".join(f"{STATES[node.state]} -{ACTIONS[node.state][a]}->" for node, a in path)
    leaf = STATES[ours.nodes[-1].state]
    print(f"{simulation}. scores: up {scores[0]:.2f}, down {scores[1]:.2f}. Path: {steps} {leaf}")
    print(f"   value there {leaf_value:g}, the root's mean is now {ours.root.value:.2f}")

# %% [markdown]
# The first two by hand. Before the first simulation $N = 1$ and nothing is known but the prior: the
# scores are $0.3 \cdot 1.25$ and $0.7 \cdot 1.25$, so the search goes *down*. The model says reward 2,
# the network says the swamp is worth 9: the value that comes back is $2 + 0.9 \cdot 9 = 10.1$,
# and the root's mean of its own 7 and this is $8.55$. The second simulation goes the same way and
# one step further: waiting costs 1, so the swamp is worth only $-1 + 0.9 \cdot 9 = 7.1$, and
# what arrives at the root is $2 + 0.9 \cdot 7.1 = 8.39$. The bad news has begun to travel. (The score 10.72
# of this simulation stands out: 10.1 is the only $q$ so far, so nothing rescales it. From the third one on
# there are two.)

# %%
assert np.isclose(root_values[1], (7 + 10.1) / 2), (
    f"the root's mean after one simulation is {root_values[1]:.2f}: its own 7 and 10.1 make 8.55"
)
assert np.isclose(root_values[2], (7 + 10.1 + 8.39) / 3), (
    f"the root's mean is {root_values[2]:.2f}: the third number should be 2 + 0.9 (-1 + 0.9 * 9)"
)

# %% [markdown]
# Does the library do the same? `search` takes the model, a batch of observations (here: numbers of
# states) and the settings; we switch off the noise that it adds when it explores. We compare every
# node of the tree, in the order in which they were made.

# %%
SIMULATIONS = 40
config = SearchConfig(num_simulations=SIMULATIONS, discount=DISCOUNT, dirichlet_fraction=0.0)
for state in range(5):
    ours = TreeSearch(model, state)
    for _ in range(SIMULATIONS):
        ours.simulate()
    result = search(model, np.array([state]), config, np.random.default_rng(0))
    assert [node.state for node in ours.nodes] == result.tree.hidden[0].tolist(), (
        f"from {STATES[state]}: our search expands other states than the library's"
    )
    assert [node.visits for node in ours.nodes] == result.tree.nodes["visits"][0].tolist(), (
        f"from {STATES[state]}: the nodes' visits differ from the library's"
    )
    assert [node.edge_visits for node in ours.nodes] == result.tree.edges["visits"][0].tolist(), (
        f"from {STATES[state]}: the edges' visits differ from the library's"
    )
    values = [node.value for node in ours.nodes]
    assert np.allclose(values, result.tree.nodes["value"][0], rtol=1e-12), (
        f"from {STATES[state]}: the mean values differ: look at the backup"
    )
    print(f"{STATES[state]:8} visits {result.visits[0]}, value {result.value[0]:5.2f}: "
          f"all {len(ours.nodes)} nodes are equal")

# %% [markdown]
# And this is what the tree at the fork looks like after twelve simulations. It is not the full tree
# of section 6: it is deep where the score was high.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
ours = TreeSearch(model, FORK)
for _ in range(12):
    ours.simulate()
figure, ax = plt.subplots(figsize=(9, 5.5))
trees.draw_small_tree(ax, ours.root, STATES, ACTIONS)
ax.set(title="Twelve simulations from the fork: mean values at nodes, visits at edges")
plt.show()

# %% [markdown]
# ## 8. The visits are a better policy
#
# What does a search return? The paper (section "Reanalyse") takes two statistics of the root:
#
# * the *visit distribution* $\pi(a) = n_a / \sum_b n_b$, a new policy for this state, and
# * the root's mean value $\nu$, a new value.
#
# "Improve" is a claim about $\pi$, and in our world we can check it exactly: search at all five
# states (one batched call), put the five distributions together to a policy, and solve its linear
# system.

# %%
counts = [1, 2, 4, 8, 16, 32, 64] + ([] if FAST else [128, 256, 512, 1024, 2048])


def search_everywhere(model, simulations):
    """A search at each of the five states -> SearchResult with a batch of five."""
    config = SearchConfig(num_simulations=simulations, discount=DISCOUNT, dirichlet_fraction=0.0)
    return search(model, np.arange(5), config, np.random.default_rng(0))


results = [search_everywhere(model, n) for n in counts]
by_visits = np.array([policy_value(result.policy) for result in results])
most_visited = np.array([policy_value(visit_distribution(result.visits, 0)) for result in results])
believed = np.array([result.value for result in results])
for n, value, nu in zip(counts, by_visits, believed, strict=True):
    print(f"{n:4} simulations: the policy's true value {value}, the search's estimate {nu}")

# %% jupyter={"source_hidden": true} tags=["hide-input"]
figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4), sharey=True)
for ax, s in ((left, HOME), (right, FORK)):
    ax.semilogx(counts, by_visits[:, s], "o-", base=2, label=r"acting by the visits $\pi$")
    ax.semilogx(counts, most_visited[:, s], "^--", base=2, label="by the most visited action")
    ax.semilogx(counts, believed[:, s], "s-.", base=2, label=r"the search's value $\nu$")
    ax.axhline(policy_value(PRIOR)[s], color="black", linewidth=1, label="the policy p")
    ax.axhline(BEST[s], color="black", linestyle=":", label="the best policy")
    ax.set(xlabel="simulations per search", title="From home" if s == HOME else "From the fork")
left.set(ylabel="value (discounted reward)")
right.legend(fontsize=8, loc="lower right")
plt.show()

# %% [markdown]
# Three things to see.
#
# * **A handful of simulations can do harm.** One or two follow the prior's favourite and
#   believe the wrong value behind it: a one-step lookahead that is not even complete.
# * **From 16 simulations on, $\pi$ is better than $p$ in every state,** and keeps getting better.
#   The policy did not know the way to the orchard and the value thought little of it; the model knew.
# * $\nu$ *lags behind*. It is a mean over all simulations, also those that only explored, and at the leaves
#   it repeats what the agent believes. With one simulation it says 8.55 of the fork, for a policy that is
#   worth $-7$; with 2048 it says 18.8 of home, for a policy that is worth 23.9. Too high where the agent's
#   values are too high and the search is short, too low when the policy has run ahead of the values.

# %%
assert by_visits[counts.index(2), FORK] < policy_value(PRIOR)[FORK], (
    "two simulations should do harm at the fork: they believe the swamp's wrong value"
)
enough = by_visits[counts.index(16):]
assert np.all(enough[0] > policy_value(PRIOR)) and np.all(np.diff(enough, axis=0) > 0), (
    "from 16 simulations on, the visits should be a better policy in every state, and ever better"
)
assert believed[0, FORK] > by_visits[0, FORK] + 10, "one simulation should believe the swamp"
if not FAST:
    assert np.all(believed[-1] < by_visits[-1]), "in a long search nu should be behind the policy"
    assert np.allclose(most_visited[-1], BEST), (
        "the most visited action of a long search should be the best one in every state"
    )
    assert by_visits[-1, HOME] > 0.9 * BEST[HOME], (
        f"acting by the visits earns {by_visits[-1, HOME]:.1f} at home, less than nine tenths of "
        "the best"
    )

figure, axes = plt.subplots(1, 2, figsize=(14, 4.2))
draw_world(axes[0], "The policy p", PRIOR)
draw_world(axes[1], f"Visits of {counts[-1]} simulations at each state", results[-1].policy)
plt.show()

# %% [markdown]
# ## 9. Again and again: Reanalyse in miniature
#
# The searches above started from the same wrong tables each time. The idea of the paper's
# section "Reanalyse" is to *train* the policy towards $\pi$ and the value towards $\nu$, and to search
# the same states again: better predictions make better searches, which make better targets, "a
# virtuous cycle of improvement". With tables, training is one line: go halfway from the old
# entry to the target. Each round is a search of only 16 simulations.


# %%
def reanalyse(simulations, rounds):
    """Search everywhere, go halfway to the targets, repeat.

    Returns the policies' true values [rounds + 1, S] and the last value table [S].
    """
    policy, value = PRIOR, VALUE
    history = [policy_value(policy)]
    for _ in range(rounds):
        tables = TabularModel(NEXT_STATE, REWARD, np.log(policy), value)
        result = search_everywhere(tables, simulations)
        policy = 0.5 * policy + 0.5 * result.policy
        value = 0.5 * value + 0.5 * result.value
        history.append(policy_value(policy))
    return np.array(history), value


ROUNDS = 20
figure, ax = plt.subplots(figsize=(7, 4))
for simulations, style in ((4, "^--"), (16, "o-"), (50, "s-.")):
    values, final_value = reanalyse(simulations, ROUNDS)
    ax.plot(values.mean(axis=1), style, label=f"{simulations} simulations per search")
    print(f"{simulations:3} simulations: true value {values[-1]}, believed {final_value}")
    if simulations == 4:
        assert np.all(values[-1] < 0.6 * BEST), (
            "four simulations should not be enough to turn the circle"
        )
    else:
        assert np.allclose(values[-1], BEST, atol=0.1), (
            f"{simulations} simulations a search should find the best policy in {ROUNDS} rounds"
        )
        assert np.allclose(final_value, BEST, atol=0.5), (
            f"{simulations} simulations a search: the value table should arrive at the truth, too"
        )
ax.axhline(BEST.mean(), color="black", linestyle=":", label="best policy")
ax.set(xlabel="rounds of search and training", ylabel="true value of the policy, mean over states",
       title="Search, learn from it, search again")
ax.set_xticks(range(0, ROUNDS + 1, 4))
ax.legend()
plt.show()

# %% [markdown]
# One search of 16 simulations sees only a few steps. Twenty rounds of it find the best policy, and
# the value, too, arrives at the truth: what one round puts into the table, the next one looks
# *beyond*. That is one reason why MuZero can do with 50 simulations. But the circle turns only if
# a search improves on its tables: with 4 simulations it does not. The agent first gets worse, and ends
# about where it began.

# %% [markdown]
# ## 10. When the model is wrong
#
# In truth the model is learned as well, so it has errors. Let its rewards be off by at most
# $\varepsilon_r$ in each entry. In one sweep the error of the value is multiplied by $\gamma$, and up
# to $\varepsilon_r$ comes on top. After $n$ steps of lookahead:
#
# $$\text{error} \;\le\; \underbrace{\gamma^n \varepsilon}_{\text{from the value}} +
# \underbrace{\frac{1 - \gamma^n}{1 - \gamma}\, \varepsilon_r}_{\text{from the model}}.$$
#
# Looking ahead *exchanges* the error of the value for the error of the model. That pays if
# $\varepsilon > \varepsilon_r / (1 - \gamma)$: the sum is a mean of these two with weights $\gamma^n$ and
# $1 - \gamma^n$. To see both sides, we look ahead with a wrong model, once
# from the agent's bad value, once from the perfect one.

# %%
rng = np.random.default_rng(3)
WRONG_BY = 1.0
wrong_reward = REWARD + rng.uniform(-WRONG_BY, WRONG_BY, REWARD.shape)
steps = np.arange(31)


def lookahead_errors(value, reward):
    errors = []
    for _ in steps:
        errors.append(np.abs(value - BEST).max())
        value = (reward + DISCOUNT * value[NEXT_STATE]).max(axis=1)
    return np.array(errors)


figure, ax = plt.subplots(figsize=(7, 4))
for name, value, style in (("the agent's value", VALUE, "o-"), ("the perfect value", BEST, "s--")):
    errors = lookahead_errors(value, wrong_reward)
    bound = DISCOUNT**steps * errors[0] + WRONG_BY * (1 - DISCOUNT**steps) / (1 - DISCOUNT)
    assert np.all(errors <= bound + 1e-9), (
        "the error is above the bound: that of the value, and that of the model"
    )
    ax.plot(steps, errors, style, markevery=2, label=f"{name}, wrong model")
ax.plot(steps, lookahead_errors(VALUE, REWARD), "k:", label="the agent's value, right model")
ax.set(xlabel="steps of lookahead n", ylabel="largest error over states",
       title="With a wrong model all roads lead to the model's own error")
ax.legend()
plt.show()

# %% [markdown]
# Errors in the rewards are the harmless kind. Now a wrong *arrow*: the model believes that *down* at the
# fork leads to the orchard, too. Whoever has never gone down cannot know better. The paper says so
# in "Reanalyse for Data Efficiency": where an action was never observed, the reward function cannot
# be learned there, which limits the improvement. We search with three models and compute what the
# policies are worth in the *true* world.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
wrong_arrow = NEXT_STATE.copy()
wrong_arrow[FORK, 1] = ORCHARD
models = {
    "right model": (model, "o-"),
    "wrong rewards": (TabularModel(NEXT_STATE, wrong_reward, np.log(PRIOR), VALUE), "^--"),
    "one wrong arrow": (TabularModel(wrong_arrow, REWARD, np.log(PRIOR), VALUE), "s-."),
}
figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4), sharey=True)
true_values, beliefs = {}, {}
for name, (each_model, style) in models.items():
    results = [search_everywhere(each_model, n) for n in counts]
    true_values[name] = np.array([policy_value(result.policy)[FORK] for result in results])
    beliefs[name] = np.array([result.value[FORK] for result in results])
    left.semilogx(counts, true_values[name], style, base=2, label=name)
    right.semilogx(counts, beliefs[name], style, base=2, label=name)
for ax in (left, right):
    ax.axhline(BEST[FORK], color="black", linestyle=":", label="best policy")
    ax.set(xlabel="simulations per search")
left.axhline(policy_value(PRIOR)[FORK], color="black", linewidth=1, label="the policy p")
left.set(ylabel="value at the fork (discounted reward)", title="What acting by the visits is worth")
right.set(title=r"What the search believes ($\nu$)")
right.legend(*left.get_legend_handles_labels(), fontsize=8, loc="lower right")
plt.show()

# %% [markdown]
# The wrong rewards hardly matter: the order of the actions survives them. The wrong arrow leads straight
# into the swamp. However long it thinks, the agent stays below its own policy $p$, and the more it
# thinks, the better it feels: $\nu$ rises above that of the right model. The search has found the
# model's mistake, because a mistake in its favour looks like a discovery. A search cannot see the
# errors of its model; only data can show them. That is why MuZero trains its model on real
# transitions all the time, and why it matters offline, where no new data come, what the
# search may consider (notebooks 06 and 08).

# %%
assert np.all(true_values["one wrong arrow"] < policy_value(PRIOR)[FORK]), (
    "with the wrong arrow the agent should stay below its own policy"
)
assert beliefs["one wrong arrow"][-1] > beliefs["right model"][-1], (
    "the search with the wrong arrow should feel better than the one with the right model"
)
if not FAST:
    assert true_values["wrong rewards"][-1] > 0.95 * true_values["right model"][-1], (
        "wrong rewards of this size should hardly matter for the order of the actions"
    )
    assert true_values["one wrong arrow"][-1] < true_values["one wrong arrow"].max(), (
        "thinking longer with a wrong arrow should not help"
    )

# %% [markdown]
# ## What the library adds
#
# * **Batches and speed.** `search` grows all trees of a batch at once in compiled code; our
#   `TreeSearch` is close to `mzu/search/reference.py`, the plain twin that the tests hold it to.
# * **Networks in the place of tables.** Everything with the two methods `initial` and `recurrent`
#   can be searched: the tables of this notebook, the Keras networks of notebook 02, their compiled twin.
# * **Exploration.** Noise on the root's prior, and actions drawn from the visits at a temperature
#   (`visit_distribution`; temperature 0 is the most visited action).
# * **More kinds of actions.** Sampled and continuous ones (notebook 05), injected ones (notebook 06).
# * **The history of a search.** `record=True` keeps every score of every simulation.
#
# ## Summary
#
# * The value of a policy is the solution of a linear system; the best value is the fixed point of
#   $\mathcal T$, which brings any two value functions closer by $\gamma$.
# * Looking ahead $n$ steps with a model is $n$ sweeps from the agent's own value: the error
#   shrinks by $\gamma$ per step, the cost grows as $A^n$.
# * A tree search spends a given number of model calls where prior and value promise most. Its
#   visits $\pi$ are an improved policy, its root value $\nu$ an improved value: the improvement operator
#   of the paper's section "Reanalyse".
# * Trained towards its own searches, an agent gets to the best policy with few simulations each time.
# * Planning exchanges the value's errors for the model's. A search exploits a wrong model.
#
# ## Exercises
#
# Write the functions below. The last lines of a cell check yours and say which idea is missing, if one is;
# `check.hint("01.1")` gives one hint more at each call, and the solution opens at a click. More of it,
# with derivations and figures: `tutorials/solutions/01_planning_with_a_model.md`.

# %%
from mzu.classroom import check

# %% [markdown]
# ### 1. Policy iteration
#
# Start from the policy "always action 0". Compute its value, make it greedy, and repeat until nothing
# changes. How many rounds does it take here? In which state is the last action put right, and why
# there?


# %%
def policy_iteration(next_state, reward, discount):
    """From "always action 0": compute the policy's value, make it greedy, until nothing changes.

    next_state [S, A], reward [S, A] -> the policies in their order [R, S], each an action per
    state: the first one all 0, no policy twice in a row.

    >>> policy_iteration(np.array([[0, 0]]), np.array([[1.0, 2.0]]), 0.9).tolist()
    [[0], [1]]
    """
    raise NotImplementedError


check.exercise_01_1(policy_iteration)
check.solution("01.1")

# %% [markdown]
# ### 2. Patience
#
# For small $\gamma$ it is best to rest at home. Derive the discount at which walking becomes better:
# what is resting for ever worth, and what the circle home, path, fork, orchard? Then check it with
# value iteration on both sides.


# %%
def patience(rest, meal):
    """The discount above which walking in a circle of four steps, of which the last pays `meal`,
    is worth more than `rest` at every step, for ever. Exact to four digits.

    >>> round(patience(0.5, 12.0), 4)
    0.4093
    """
    raise NotImplementedError


check.exercise_01_2(patience)
check.solution("01.2")

# %% [markdown]
# ### 3. How much prior does a good action need?
#
# At the fork, give *up* a small prior and the rest to *down*, and search from there with the settings of
# section 8. From how many simulations on is *up* the most visited action? Look at 0.5, 0.2, 0.1, 0.05
# and 0.01: how does the number grow?


# %%
def simulations_needed(prior, simulations):
    """At the fork of the notebook's world `up` (action 0) has this prior and `down` the rest.
    From which number of simulations on is `up` the most visited action, and stays so up to
    `simulations`?

    A search without noise begins as a shorter one does: one search with record=True is enough,
    and result.history.candidates[0, :, 0] lists the root's choices in their order.

    >>> simulations_needed(0.5, 100)
    13
    """
    raise NotImplementedError


check.exercise_01_3(simulations_needed)
check.solution("01.3")

# %% [markdown]
# ### 4. How wrong may the model be?
#
# The model believes that the meal pays $x$ and is right otherwise. Below which $x$ does the agent
# stay at home, however long it thinks? What does a search from home do for $x = 2$ and $x = 12$ if
# the agent's value is the best one of its model?


# %%
def critical_meal(rest, discount):
    """The reward x that the model must expect of the meal: below it the agent stays at home,
    resting for `rest` a step, however long it thinks. The walk is a circle of four steps, the
    last pays x.

    >>> round(critical_meal(0.5, 0.9), 4)
    2.3587
    """
    raise NotImplementedError


check.exercise_01_4(critical_meal)
check.solution("01.4")

# %% [markdown]
# ### 5. Find the bug
#
# Someone writes the backup of `simulate` as `for node, action in path:`, from the root to the leaf.
# It raises no error. Write down what each node of a path should receive; then say for which paths the
# wrong loop is right, and which simulation from the fork is the first to go wrong.


# %%
def received(rewards, leaf_value, discount):
    """What each node of a path receives in the backup, the root first.

    rewards [L] of the path's edges from the root on, leaf_value: the network's value of the new
    node -> [L]: at node k the rewards from k on, then the leaf's value, discounted.

    >>> received([2.0, -1.0], 9.0, 0.9)
    [8.39, 7.1]
    """
    raise NotImplementedError


check.exercise_01_5(received)
check.solution("01.5")
