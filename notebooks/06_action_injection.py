# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 06. Action injection
#
# ← [05 Sampled actions](05_sampled_actions.ipynb) · [the course](README.md) · [07 The training system](07_training_system.ipynb) →
#
# ![Where this notebook stands in the circle of data: episodes, search](pictures/circle_06.svg)
#
# | | |
# |---|---|
# | **You will build** | the probability that a policy samples what the data did, a world with a known reward in D action dimensions, injection of the stored action into a search, and learning from recorded data with and without it |
# | **Lives in** | `mzu/search/action_injection.py` (`inject_vector`, `inject_index`); called by `mzu/search/search.py` (`search(..., injected_actions=...)`), to read in `mzu/search/reference_candidates.py` (`inject_action`) |
# | **Takes** | about a minute to run on two cores; plan two hours to work through, one more for the exercises |
# | **You need** | notebooks 04 (Reanalyse) and 05 (sampled actions); weighted least squares |
#
# With continuous actions a search looks only at actions that were *sampled from the policy*. When
# the agent plays itself, that is a good idea: what it did, its policy samples. When the data come
# from somebody else, it is a trap. The data may be full of excellent actions, but the search never
# looks at them, so the policy never learns to sample them, so the search never looks at them. The
# paper's section "Offline RL and Continuous Action Spaces" has one remedy of one sentence: put the
# stored action among the candidates. Here we see why it is needed, build it, and measure what it
# does.

# %%
import os

FAST = os.environ.get("MZU_FAST") == "1"  # the test suite's short version

import dataclasses
import math

import matplotlib.pyplot as plt
import numba
import numpy as np

from mzu import SearchConfig, search
from mzu.explain.notebook import walk_search
from mzu.networks.model import GaussianPolicy
from mzu.search import reference
from mzu.search.action_injection import inject_vector
from mzu.search.history import prefix
from mzu.search.kernels import SAMPLED_GAUSSIAN
from mzu.search.search import make_settings
from mzu.search.tree import EDGE

plt.style.use("tableau-colorblind10")
np.set_printoptions(precision=3, suppress=True)

DIMENSIONS = (1, 2, 6)  # of the action: a cart has 1, a cheetah 6
K = 20  # sampled actions per search, as in DM Control

# %% [markdown]
# ## 1. How likely is it to sample the stored action?
#
# The policy is a Gaussian with mean $\mu$ and scale $\sigma$ in each of $D$ dimensions. The data hold
# an action $a$. To hit it *exactly* has probability 0. Let us be generous and call it a hit if every
# coordinate is within $\varepsilon$. The coordinates are independent, so one sample hits with
#
# $$P_1 = \prod_{d=1}^{D} \Big[\Phi\Big(\frac{a_d + \varepsilon - \mu_d}{\sigma_d}\Big) -
# \Phi\Big(\frac{a_d - \varepsilon - \mu_d}{\sigma_d}\Big)\Big], \qquad P_K = 1 - (1 - P_1)^K$$
#
# is the probability that at least one of $K$ samples does. $\Phi$ is the distribution function of the
# normal distribution. A product of $D$ numbers below one: it falls exponentially in $D$.


# %%
def normal_cdf(x):
    return 0.5 * (1 + math.erf(x / math.sqrt(2)))


def hit_probability(mean, scale, action, epsilon, count):
    """mean, scale, action [D] -> probability that one of `count` samples is within epsilon."""
    one = 1.0
    for m, s, a in zip(mean, scale, action, strict=True):
        one *= normal_cdf((a + epsilon - m) / s) - normal_cdf((a - epsilon - m) / s)
    if one == 1:  # so narrow that every sample hits, to the last digit
        return 1.0
    return -math.expm1(count * math.log1p(-one))  # 1 - (1 - one)^count, also for a tiny one


def hit_rate(mean, scale, action, epsilon, count, trials, rng):
    """The same by trying: the share of `trials` draws of `count` samples that hit."""
    samples = mean + scale * rng.standard_normal((trials, count, len(mean)))
    return (np.abs(samples - action) <= epsilon).all(axis=2).any(axis=1).mean()


EPSILON, TRIALS = 0.1, 2_000 if FAST else 50_000
POLICIES = [  # name, mean, scale; the stored action is 0.8 in every dimension
    ("untrained network: mean 0, scale 1", 0.0, 1.0),
    ("narrower: mean 0, scale 0.3", 0.0, 0.3),
    ("mean already right, scale 1", 0.8, 1.0),
]
rng = np.random.default_rng(0)
sizes = np.arange(1, 9)
formula, tried = np.zeros((3, 8)), np.zeros((3, 8))
for row, (_, mean, scale) in enumerate(POLICIES):
    for column, D in enumerate(sizes):
        vectors = [np.full(D, number) for number in (mean, scale, 0.8)]
        formula[row, column] = hit_probability(*vectors, EPSILON, K)
        if D <= 6:
            tried[row, column] = hit_rate(*vectors, EPSILON, K, TRIALS, rng)
error = np.sqrt(formula * (1 - formula) / TRIALS)
assert np.all(np.abs(tried - formula)[:, :6] <= 4 * error[:, :6] + 2 / TRIALS), (
    "formula and simulation disagree by more than chance allows"
)

# %%
figure, ax = plt.subplots(figsize=(7.5, 4.4))
for row, (marker, line) in enumerate((("o", "-"), ("s", "--"), ("^", "-."))):
    ax.semilogy(sizes, formula[row], line, color=f"C{row}", label=POLICIES[row][0])
    seen = tried[row] > 0
    ax.semilogy(sizes[seen], tried[row][seen], marker, color=f"C{row}")
ax.axhline(1e-5, color="black", linestyle=":", linewidth=1)
ax.text(6.1, 1.6e-5, "one position in 100,000", fontsize=9)
ax.set(xlabel="dimensions of the action, D", ylabel="probability of a hit", ylim=(1e-14, 2),
       title=f"Does one of {K} samples come within {EPSILON} of the stored action?\n"
             "(lines: formula, markers: simulation, none where it never happened)")
ax.legend(fontsize=9, loc="lower left")
plt.show()

expected = 100_000 * formula[:, 5]
for (name, *_), hits in zip(POLICIES, expected, strict=True):
    print(f"D = 6, {name:36} {hits:9.2g} hits expected in 100,000 positions")
assert np.all(expected < 1) and np.all(tried[:, 5] == 0), (
    "in six dimensions less than one hit in 100,000 positions is expected, and none should come"
)

# %% [markdown]
# (Where the line says less than one hit in 10,000, a marker is a matter of luck: it may be two hits in 50,000.)
#
# At one dimension a sample comes close in seven of ten searches. At six dimensions never: search
# every position of a dataset of 100 episodes of 1,000 steps once, and you expect less than one hit.
# The third line says that it is not even a matter of the mean. A policy that knows the right action
# but is wide samples elsewhere.
#
# ## 2. A world where we know what is right
#
# A point sits at $x$ near the origin of $D$-dimensional space and wants to go to a goal. An action
# in $[-1, 1]^D$ moves it by `stride` times the action. The reward for arriving at $x'$ is felt near the
# goal only, as in most tasks with many joints, where all of them must work together:
#
# $$u = \exp\Big(-\frac{|x' - x_{\text{goal}}|^2}{2 \cdot 0.5^2}\Big).$$
#
# It is 1 at the goal. At the origin it is 0.28 in one dimension, 0.08 in two and 0.0005 in six,
# where the goal is further away. With one step and stride 1 the action is the whole story; with
# four steps and stride 1/2 there is something to plan.


# %%
class World:
    """`steps` steps towards a goal in D dimensions. Everything is batched: positions [B, D]."""

    def __init__(self, D, steps, stride):
        self.D, self.steps, self.stride = D, steps, stride
        self.goal = 0.8 * np.where(np.arange(D) % 2 == 0, 1, -1)

    def move(self, x, action):
        return x + self.stride * np.clip(action, -1, 1)

    def reward(self, x):
        """For arriving at x."""
        return np.exp(-((x - self.goal) ** 2).sum(axis=-1) / (2 * 0.5**2))

    def play(self, act, episodes, rng):
        """act(x) -> actions. Returns positions [E, T + 1, D], actions [E, T, D], rewards [E, T]."""
        x = 0.1 * rng.standard_normal((episodes, self.D))
        positions, actions, rewards = [x], [], []
        for _ in range(self.steps):
            actions.append(np.clip(act(x), -1, 1))
            x = self.move(x, actions[-1])
            positions.append(x)
            rewards.append(self.reward(x))
        return np.stack(positions, 1), np.stack(actions, 1), np.stack(rewards, 1)


def one_step(D):
    return World(D, steps=1, stride=1.0)


def four_steps(D):
    return World(D, steps=4, stride=0.5)


def walker(world, aim, rng, noise=0.2):
    """Another agent: walks most of the way towards `aim`, with a shaky hand."""
    return lambda x: 0.8 * (aim - x) / world.stride + noise * rng.standard_normal(x.shape)


for D in DIMENSIONS:
    for world in (one_step(D), four_steps(D)):
        rng = np.random.default_rng(D)
        _, _, good = world.play(walker(world, world.goal, rng), 200, rng)
        _, _, still = world.play(np.zeros_like, 200, rng)
        print(f"D = {D}, steps {world.steps}: the recorded agent {good.sum(1).mean():5.2f}, "
              f"doing nothing {still.sum(1).mean():5.2f}")
        assert good.sum(1).mean() > still.sum(1).mean(), (
            "the recorded agent should earn more than doing nothing"
        )

# %% [markdown]
# The learner's policy is a Gaussian whose mean is a linear function of the position,
# $\mu = W^\top (x, 1)$, with one scale per dimension. It starts at mean 0 and scale 0.3.
#
# To search, we need an object with the two functions of every model, `initial` ($f \circ h$) and
# `recurrent` ($f \circ g$). The hidden state is the position and the time. Movement is known here; what
# the reward and the value are, we pass in, so that we can search with the truth now and with
# something fitted later.


# %%
def with_one(x):
    return np.concatenate([x, np.ones((*x.shape[:-1], 1))], axis=-1)


class PointModel:
    """What a search sees of a World. Hidden states [B, D + 1] are positions and times.

    reward(x) [B]: for arriving at x. values[t](x) [B]: of being at x at time t.
    weights [D + 1, D], scale [D]: the policy.
    """

    def __init__(self, world, reward, values, weights, scale):
        self.world, self.reward, self.values = world, reward, values
        self.weights, self.scale = weights, scale

    def prediction(self, hidden):
        x, time = hidden[:, :-1], hidden[:, -1]
        mean = with_one(x) @ self.weights
        value = np.zeros(len(x))  # after the last step nothing comes
        for t in range(self.world.steps):
            rows = time == t
            if rows.any():
                value[rows] = self.values[t](x[rows])
        return GaussianPolicy(mean, np.broadcast_to(self.scale, mean.shape)), value

    def initial(self, observations):
        return observations, *self.prediction(observations)

    def recurrent(self, hidden, actions):
        x, time = hidden[:, :-1], hidden[:, -1]
        arrived = self.world.move(x, actions)
        reward = np.where(time < self.world.steps, self.reward(arrived), 0.0)
        hidden = np.concatenate([arrived, time[:, None] + 1], axis=1)
        return hidden, reward, *self.prediction(hidden)


def zero(x):
    return np.zeros(len(x))


def first_policy(D):
    return np.zeros((D + 1, D)), np.full(D, 0.3)


def observations_at(x, time):
    return np.column_stack([x, np.broadcast_to(time, len(x))])


CONFIG = SearchConfig(num_simulations=50, num_sampled_actions=K, discount=1.0)

# %% [markdown]
# **How far does a search over samples reach?** Take one step, and a model that is the truth. Let
# $\ell = |a_* - \mu|$ be the distance from the policy's mean to the best action and $e$ the direction.
# A sample is $\mu + \sigma z$ with $z$ standard normal, and its squared distance to $a_*$ is
#
# $$\ell^2 - 2 \ell \sigma\, (e \cdot z) + \sigma^2 |z|^2.$$
#
# The only thing that helps is $e \cdot z$, *one* standard normal, whatever $D$ is. The best of
# $K = 20$ draws of it is 1.87 on average. What hurts, $|z|^2$, has the mean $D$. And the way to go,
# $\ell = 0.8 \sqrt D$, grows. More samples hardly help: the best of 2,000 draws is 3.4.

# %%
rng = np.random.default_rng(0)
trials = 200 if FAST else 2000
sizes = np.array([1, 2, 3, 4, 6, 8, 12, 16, 21])  # 21: the humanoid
best = {K: [], 200: [], 2000: []}


def way_left(D, actions):
    """Squared distance to the goal after one step from the origin; 1: as at the start."""
    goal = one_step(D).goal
    return ((actions - goal) ** 2).sum(axis=-1) / (goal**2).sum()


for D in sizes:
    for count, row in best.items():
        found = [way_left(D, 0.3 * rng.standard_normal((count, D))).min()
                 for _ in range(trials * K // count)]
        row.append(np.mean(found))
stored = [way_left(D, walker(one_step(D), one_step(D).goal, rng)(np.zeros((2000, D)))).mean()
          for D in sizes]

figure, ax = plt.subplots(figsize=(7.5, 4))
for (count, row), style in zip(best.items(), ("o-", "s--", "^-."), strict=True):
    ax.plot(sizes, row, style, label=f"best of {count:,} samples")
ax.plot(sizes, stored, "k:", label="the action in the data, mean")
ax.set_xticks(sizes)
ax.set(xlabel="dimensions of the action, D", ylabel="squared distance left (1: all)", ylim=(0, 1),
       title="One step, true model: what samples of mean 0 and scale 0.3 can reach")
ax.legend(loc="upper left", fontsize=9)
plt.show()
print("D:", sizes, "\nleft by the best of 20:", np.round(best[K], 2))
assert best[K][0] < 0.2 and best[K][4] > 0.5, (
    "20 samples should reach the goal in one dimension, and leave half of the way in six"
)
assert best[2000][4] > stored[4], "a hundred times the samples should not reach what the data hold"
draws = rng.standard_normal((20_000, K)).max(axis=1).mean()
print(f"the best of {K} standard normals: {draws:.2f}")
assert abs(draws - 1.87) < 0.02, (
    f"the best of {K} standard normals should be 1.87 on average, not {draws:.2f}"
)

# %% [markdown]
# In one dimension the samples hold something as good as the data. In six the best of them leaves 60 %
# of the squared distance, and 2,000 samples in the place of 20 still leave three times as much as the
# data do. So even a perfect search of a perfect model moves the policy only by its own reach, while
# the data hold the answer.

# %% [markdown]
# ## 3. Injection, by hand
#
# The paper's remedy (section "Offline RL and Continuous Action Spaces"): when a stored position is
# searched again, the action of the trajectory is one more candidate at the root.
#
# * Its prior is 0.25, the share that Dirichlet noise has elsewhere. The sampled candidates share
#   0.75, each in proportion to its prior.
# * It serves the purpose of the noise, and takes its place: no noise in a row with injection.
# * If the same action was sampled anyway (at a bound, where samples are clipped, that happens), it
#   must not be listed twice: its prior grows.
# * Only at the root. Below it the model has left the trajectory, and there is no stored action.
#
# That is little code.


# %%
def inject(actions, prior, stored, injected_prior=0.25):
    """actions [n, D], prior [n], stored [D] -> actions, prior, and the place of the stored one."""
    prior = prior * (1 - injected_prior) / prior.sum()
    same = np.flatnonzero((actions == stored).all(axis=1))
    if len(same):
        place = same[0]
    else:
        place = len(actions)
        actions, prior = np.vstack([actions, stored]), np.append(prior, 0.0)
    prior[place] += injected_prior
    return actions, prior, place


demo = inject(np.array([[0.1], [-0.3]], np.float32), np.array([0.5, 0.5]), np.float32([0.7]))
print("new action  :", demo[0].ravel(), demo[1], "place", demo[2])
demo = inject(np.array([[0.1], [-0.3]], np.float32), np.array([0.5, 0.5]), np.float32([-0.3]))
print("sampled too :", demo[0].ravel(), demo[1], "place", demo[2])
assert np.allclose(demo[1], [0.375, 0.625]), (
    f"priors {demo[1]}: sampled and injected, -0.3 keeps 0.375 and gets 0.25"
)

# %% [markdown]
# Is it what the library does? Two places to look. First the functions themselves: `inject_vector` is
# compiled code on an array of edges with one free place at the end; `reference.inject_action` does
# the same on a list of `Edge` objects. (The compiled function is made to be called by other compiled
# functions, so we wrap it in one.)


# %%
@numba.njit
def library_inject(edges, actions, stored, injected_prior):
    return inject_vector(edges, actions, stored, injected_prior)


rng = np.random.default_rng(1)
for trial in range(100):
    actions = np.clip(rng.normal(0.8, 0.4, (6, 2)), -1, 1).astype(np.float32)
    actions = np.unique(actions, axis=0)
    count = len(actions)
    prior = rng.uniform(0.5, 1.5) * rng.dirichlet(np.ones(count))  # need not sum to 1 (notebook 05)
    stored = np.float32([1, 1]) if trial % 2 else np.float32(rng.uniform(-1, 1, 2))
    _, ours, place = inject(actions, prior, stored)

    edges = np.zeros(count + 1, EDGE)
    edges["prior"][:count] = prior
    places = np.vstack([actions, np.zeros((1, 2), np.float32)])
    assert library_inject(edges, places, stored, 0.25) == place, (
        f"trial {trial}: the library puts the stored action elsewhere: was it sampled anyway?"
    )
    assert np.allclose(edges["prior"][:len(ours)], ours, rtol=1e-12, atol=0), (
        f"the priors sum to {ours.sum():.3f}: the sampled ones must share what the injected one "
        "leaves"
    )

    listed = [reference.Edge(a, p) for a, p in zip(actions, prior, strict=True)]
    reference.inject_action(listed, stored, 0.25)
    assert np.allclose([edge.prior for edge in listed], ours, rtol=1e-12, atol=0), (
        f"trial {trial}: our priors differ from those of reference.inject_action"
    )
print("100 injections: equal to the library's, prior by prior")

# %% [markdown]
# Second, in a real search. The same generator gives the same samples, so we search three times: with
# neither noise nor injection (these are the bare candidates), with noise, and with injection. The
# batch has two positions in two dimensions; the first has a stored action that nobody samples, for the
# second the policy's mean is far outside, so that many samples are clipped to the corner $(1, -1)$,
# which is also what the data did. (First evaluations are off for the moment: with them the stored
# action has a node of its own, which draws random numbers too, and the second row would sample
# something else.)

# %%
world = one_step(2)
weights = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
x = np.array([[0.0, 0.0], [1.0, 0.0]])
weights[0] = [1.2, -1.2]  # the mean is 1.2 x_0 (1, -1): 0 in the first row, outside in the second
model = PointModel(world, world.reward, [zero], weights, np.full(2, 0.3))
observations = observations_at(x, 0)
stored = np.float32([[0.75, -0.7], [1.0, -1.0]])
plain = dataclasses.replace(CONFIG, first_evaluations=False)
quiet = dataclasses.replace(plain, dirichlet_fraction=0.0)

bare = search(model, observations, quiet, np.random.default_rng(3))
noisy = search(model, observations, plain, np.random.default_rng(3))
injected = search(model, observations, plain, np.random.default_rng(3), injected_actions=stored)

for row in range(2):
    exists = bare.prior[row] > 0
    actions, prior, place = inject(bare.actions[row][exists], bare.prior[row][exists], stored[row])
    assert injected.injected[row] == place, (
        f"row {row}: the search puts the stored action in another place"
    )
    there = injected.prior[row] > 0
    assert np.array_equal(injected.actions[row][there], actions), (
        f"row {row}: the candidates of the search are not ours"
    )
    assert np.allclose(injected.prior[row][there], prior, rtol=1e-12, atol=0), (
        f"row {row}: the priors sum to {prior.sum():.3f} with ours and differ from the search's"
    )
    print(f"row {row}: {exists.sum()} distinct samples, stored action is candidate {place} "
          f"with prior {prior[place]:.4f}; all priors are equal to ours")
assert injected.injected[0] == K and injected.injected[1] < K, (
    "one stored action should be new, the other sampled anyway"
)
assert np.allclose(injected.prior[0, :K], 0.75 / K), (
    "a row with injection has no noise: 0.75 is shared evenly"
)
assert np.array_equal(noisy.actions, bare.actions) and np.ptp(noisy.prior[0]) > 0.01, (
    "without injection noise should make the priors uneven, and draw the same actions"
)

# %% [markdown]
# In the second row the corner had been sampled several times: it had the prior $m / 20$, now it has
# $0.25 + 0.75\, m / 20$. And a batch may be mixed: `inject` says in which rows. The others
# get noise as usual.

# %%
corner = np.flatnonzero((bare.actions[1] == stored[1]).all(axis=1))[0]
m = round(bare.prior[1, corner] * K)
assert m > 1 and np.isclose(injected.prior[1, corner], 0.25 + 0.75 * m / K), (
    f"{m} samples on the corner: its prior should be 0.25 + 0.75 m / 20"
)
mixed = search(model, observations, plain, np.random.default_rng(3), injected_actions=stored,
               inject=np.array([True, False]))
assert mixed.injected.tolist() == [K, -1], "the first row injects, the second does not"
assert np.array_equal(mixed.prior[0], injected.prior[0]), (
    "a mixed batch should treat its first row as a batch with injection does"
)
assert np.array_equal(mixed.prior[1, :K], noisy.prior[1]), (
    "a mixed batch should treat its second row as a batch with noise does"
)

# %% [markdown]
# Now with first evaluations (notebook 05, section 7), as wherever actions are sampled. The injected
# action is among them, as the last of 21: before the first simulation the search knows what the model
# says of it, beside what it says of the samples. It has no visit yet.

# %%
noisy = search(model, observations, CONFIG, np.random.default_rng(3))
injected = search(model, observations, CONFIG, np.random.default_rng(3), injected_actions=stored)
before = prefix(injected.tree, make_settings(CONFIG, SAMPLED_GAUSSIAN, K, first=K + 1), 0)
edge = before.edges[0, 0, K]
assert injected.tree.first == K + 1 and injected.injected[0] == K and edge["child"] == K + 1, (
    "the stored action should be the last of 21 first evaluations, with a node of its own"
)
_, reward, _, value = model.recurrent(observations[:1], stored[:1])
assert np.isclose(edge["reward"], reward[0], rtol=1e-12) and edge["value"] == value[0], (
    "its first evaluation should be what the model says of it"
)
assert before.edges["visits"][0, 0].sum() == 0, "first evaluations are no visits"
print(f"before the first simulation: reward of the stored action {edge['reward']:.3f}, of the best "
      f"sample {before.edges['reward'][0, 0, :K].max():.3f}, visits of all {K + 1}: 0")

# %%
figure, axes = plt.subplots(1, 2, figsize=(10.5, 3.8), sharey=True)
results = (("with noise", noisy), ("with the stored action injected", injected))
for ax, (name, result) in zip(axes, results, strict=True):
    order = np.argsort(world.reward(result.actions[0]))
    place = np.arange(len(order))
    ax.bar(place - 0.2, result.prior[0][order], width=0.4, label="prior")
    ax.bar(place + 0.2, result.policy[0][order], width=0.4, hatch="///", edgecolor="white",
           label=r"visits $\pi$")
    labels = [f"{reward:.1f}" for reward in world.reward(result.actions[0])[order]]
    ax.set_xticks(place, labels, rotation=90, fontsize=8)
    ax.set(xlabel="candidates, by their true reward", title=f"First position, {name}")
axes[1].annotate("stored action", (K, injected.policy[0, K]), (11, 0.5), fontsize=9,
                 arrowprops={"arrowstyle": "->"})
axes[0].set(ylabel="share")
axes[0].legend()
plt.show()
print(f"visits of the stored action: {injected.visits[0, K]} of 50")
assert injected.visits[0].argmax() == K, (
    "the best candidate, the stored one, should have the most visits"
)

# %% [markdown]
# Injection makes the search *look*; the value decides what it makes of what it sees. The stored action
# is known to be better than anything sampled before the first simulation begins, and its prior is the
# largest as well, so here it gets all visits. The policy target, with which the policy is trained, now
# contains an action that the policy itself would never have come up with.
#
# Watch it: before the first simulation the twenty-one candidates have been evaluated, then the slider shows where the
# visits go. Begin at 1: the table shows the scores that chose the first path. The stored action is (0.75, -0.7); the
# others with the highest scores stand below it, with value terms, though nobody has visited them.

# %%
short = dataclasses.replace(CONFIG, num_simulations=12)
walked = search(model, observations[:1], short, np.random.default_rng(3),
                injected_actions=stored[:1], record=True)
walk_search(walked, discount=1.0)

# %% [markdown]
# ## 4. The effect, in one, two and six dimensions
#
# Now we learn. Twenty episodes of four steps are recorded by the walker. One round of learning is
# Reanalyse (notebook 04) in its simplest form:
#
# 1. search at every stored position, with the current policy;
# 2. fit the policy to what the searches visited.
#
# The paper (appendix on policies) trains a Gaussian by maximising "the log-likelihood of
# each searched action sample, weighted by its normalized visit count". For a policy that is linear in
# the position the maximum has a closed form. With weights $\pi_k$ of the actions $a_k$, maximise
#
# $$\sum_k \pi_k \log p(a_k) = -\sum_k \pi_k \sum_d \Big[\frac{(a_{kd} - \mu_d)^2}{2 \sigma_d^2} +
# \log \sigma_d\Big] + \text{const}.$$
#
# For the mean that is weighted least squares. Setting the derivative with respect to $\sigma_d$ to
# zero gives $\sigma_d^2 = \sum_k \pi_k (a_{kd} - \mu_d)^2 / \sum_k \pi_k$, the weighted mean of the
# squared residuals.


# %%
def fit_policy(x, actions, share, smallest_scale=0.05):
    """x [B, D], actions [B, K, D], share of visits [B, K] -> weights [D + 1, D], scale [D]."""
    D = x.shape[1]
    inputs = np.repeat(with_one(x), actions.shape[1], axis=0)
    actions, share = actions.reshape(-1, D).astype(float), share.reshape(-1, 1)
    square = inputs.T @ (share * inputs) + 1e-3 * np.eye(D + 1)
    weights = np.linalg.solve(square, inputs.T @ (share * actions))
    variance = (share * (actions - inputs @ weights) ** 2).sum(0) / share.sum()
    return weights, np.maximum(np.sqrt(variance), smallest_scale)


# Two positions on a line, visits 3 : 1 between -1 and 1: the mean is -0.5, the variance 0.75.
visited, share = np.array([[[-1], [1]]] * 2), np.array([[0.75, 0.25]] * 2)
weights, scale = fit_policy(np.zeros((2, 1)), visited, share)
assert np.isclose(weights[1, 0], -0.5, atol=1e-3) and np.isclose(scale[0] ** 2, 0.75, atol=1e-5), (
    "the weighted fit should find the mean -0.5 and the variance 0.75"
)

# %% [markdown]
# And the model? Nobody gives us the reward of positions that are not in the data. We *fit* the
# reward and the value (the return to the end of the episode) to the recorded episodes. The
# fit is a network with one hidden layer of 64 ReLUs, of which the first layer is random and the last is
# solved by ridge regression. It behaves as networks do: good between the data, arbitrary far away.


# %%
class Network:
    """A scalar function of the position, fitted to x [N, D] and y [N]."""

    def __init__(self, x, y, rng, width=64, ridge=0.01):
        direction = rng.standard_normal((x.shape[1], width))
        self.kernel = direction / np.linalg.norm(direction, axis=0)
        self.bias = rng.uniform(-1.5, 1.5, width)
        self.offset = y.mean()
        hidden = self.hidden(x)
        square = hidden.T @ hidden + ridge * np.eye(width)
        self.out = np.linalg.solve(square, hidden.T @ (y - self.offset))

    def hidden(self, x):
        return np.maximum(x @ self.kernel + self.bias, 0)

    def __call__(self, x):
        return self.hidden(x) @ self.out + self.offset


def fit_model(world, data, rng):
    """data = (positions, actions, rewards) -> reward function and one value function per time."""
    positions, _, rewards = data
    returns = rewards[:, ::-1].cumsum(axis=1)[:, ::-1]
    reward = Network(positions[:, 1:].reshape(-1, world.D), rewards.ravel(), rng)
    return reward, [Network(positions[:, t], returns[:, t], rng) for t in range(world.steps)]


def learn(world, data, model, rounds, rng, injection, config=CONFIG):
    """Searches all stored positions and fits the policy to the visits, `rounds` times.

    Returns the policies [(weights, scale), ...], the first one included, and for each round the
    error of the model's reward at the candidates, weighted by their visits.
    """
    positions, actions, _ = data
    x = positions[:, :-1].reshape(-1, world.D)
    times = np.tile(np.arange(world.steps), len(positions))
    observations = observations_at(x, times)
    stored = actions.reshape(-1, world.D).astype(np.float32) if injection else None
    policies, errors = [first_policy(world.D)], []
    for _ in range(rounds):
        seen = PointModel(world, *model, *policies[-1])
        result = search(seen, observations, config, rng, injected_actions=stored)
        policies.append(fit_policy(x, result.actions, result.policy))
        arrived = world.move(x[:, None], result.actions)
        wrong = np.abs(model[0](arrived) - world.reward(arrived))
        errors.append((result.policy * wrong).sum(axis=1).mean())
    return policies, errors


def returns_of(world, policy):
    """The true mean return of a policy's mean action."""
    weights, _ = policy
    _, _, rewards = world.play(lambda x: with_one(x) @ weights, 100, np.random.default_rng(123))
    return rewards.sum(axis=1).mean()


def clone(data):
    """Behaviour cloning: the policy fitted to the stored actions themselves."""
    positions, actions, _ = data
    D = actions.shape[-1]
    actions = actions.reshape(-1, 1, D)
    return fit_policy(positions[:, :-1].reshape(-1, D), actions, np.ones(actions.shape[:2]))


# %% [markdown]
# Three ways to learn from the same data, five seeds each: with injection; without; and without, but
# with the *true* reward in the model, to separate the two possible reasons of a failure.

# %%
SEEDS, ROUNDS = (2, 3) if FAST else (5, 20)
VARIANTS = ["injection, fitted model", "no injection, fitted model", "no injection, true reward"]
true_returns = np.zeros((3, 3, SEEDS, ROUNDS + 1))
errors = np.zeros((3, 3, SEEDS, ROUNDS))
data_return, cloned = np.zeros((3, SEEDS)), np.zeros((3, SEEDS))
for i, D in enumerate(DIMENSIONS):
    for seed in range(SEEDS):
        rng = np.random.default_rng([D, seed])
        world = four_steps(D)
        data = world.play(walker(world, world.goal, rng), 20, rng)
        fitted = fit_model(world, data, rng)
        data_return[i, seed] = data[2].sum(axis=1).mean()
        cloned[i, seed] = returns_of(world, clone(data))
        for j, name in enumerate(VARIANTS):
            model = (world.reward, fitted[1]) if name.endswith("true reward") else fitted
            injection = name.startswith("injection")
            policies, errors[i, j, seed] = learn(world, data, model, ROUNDS, rng, injection)
            true_returns[i, j, seed] = [returns_of(world, policy) for policy in policies]

print("true return after the last round: mean and range over seeds")
for i, D in enumerate(DIMENSIONS):
    print(f"D = {D}: data {data_return[i].mean():.2f}, cloned {cloned[i].mean():.2f}")
    for j, name in enumerate(VARIANTS):
        last = true_returns[i, j, :, -1]
        print(f"       {name:27} {last.mean():5.2f} ({last.min():5.2f} to {last.max():5.2f})")

# %%
figure, axes = plt.subplots(1, 3, figsize=(12, 4), sharey=True)
for i, (ax, D) in enumerate(zip(axes, DIMENSIONS, strict=True)):
    for j, style in enumerate(("o-", "s--", "^-.")):
        runs = true_returns[i, j]
        ax.plot(runs.mean(axis=0), style, markevery=4, color=f"C{j}", label=VARIANTS[j])
        ax.fill_between(range(ROUNDS + 1), runs.min(0), runs.max(0), color=f"C{j}", alpha=0.2)
    ax.axhline(data_return[i].mean(), color="black", linestyle=":", label="the data")
    ax.set(xlabel="rounds of search and fit", title=f"D = {D}")
axes[0].set(ylabel="true return (at most 4)")
axes[0].legend(fontsize=8, loc="lower right")
figure.suptitle(f"Learning from 20 recorded episodes (mean and range of {SEEDS} seeds)")
figure.tight_layout()
plt.show()

if not FAST:
    last = true_returns[..., -1]
    assert np.all(last[:, 0] > data_return - 0.1), (
        "with injection every run should be as good as its data"
    )
    assert np.all(last[:, 0].mean(axis=1) > data_return.mean(axis=1)), (
        "with injection the mean should be better than the data"
    )
    assert np.all(last[:2, 1] > 0.95 * data_return[:2]), (
        "in one and two dimensions it should work without injection, too"
    )
    assert np.all(last[2, 1:] < 0.85 * data_return[2]), (
        "in six dimensions it should not work without injection"
    )
    assert np.all(true_returns[2, 0, :, 5] > true_returns[2, 1, :, -1]), (
        "in six dimensions 5 rounds with injection should beat 20 without"
    )

# %% [markdown]
# * **One dimension:** no injection needed. The samples cover the line, the search finds what is good.
# * **Two:** it takes longer, and nearly arrives: 3.50 of the 3.54 that the data have. With the true
#   reward one seed is still at 3.05 after twenty rounds.
# * **Six:** with injection the policy is as good as the data after five rounds, and a little better
#   at the end. Without, it is far from that after twenty, and where it gets depends on the seed.
# * **The true reward does not rescue it.** Far from the goal the truth is almost flat, so there is
#   next to nothing to climb. The fitted network is even better off here: between the origin and the
#   data it has drawn a slope that is not there. That is luck, and the wide band shows it.
#
# And where do the searches look? The second quantity we kept is the error of the fitted reward at
# the candidates, weighted by their visits. A search without injection plans where nobody has
# recorded anything, so it plans with invented rewards. The injected action, of all candidates, is
# the one whose outcome the model was trained on.

# %%
figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), sharey=True)
for i, (ax, D) in enumerate(zip(axes, DIMENSIONS, strict=True)):
    for j, style in ((0, "o-"), (1, "s--")):
        runs = errors[i, j]
        rounds = np.arange(1, ROUNDS + 1)
        ax.plot(rounds, runs.mean(axis=0), style, markevery=4, color=f"C{j}", label=VARIANTS[j])
        ax.fill_between(rounds, runs.min(0), runs.max(0), color=f"C{j}", alpha=0.2)
    ax.set(xlabel="rounds of search and fit", title=f"D = {D}")
axes[0].set(ylabel="error of the model's reward", ylim=(0, None))
axes[0].legend(fontsize=8)
figure.suptitle("How wrong the model is where the search looks")
figure.tight_layout()
plt.show()
for i, D in enumerate(DIMENSIONS):
    print(f"D = {D}: mean error over all rounds {errors[i, 0].mean():.3f} with injection, "
          f"{errors[i, 1].mean():.3f} without")
if not FAST:
    assert errors[2, 1].mean() > errors[2, 0].mean(), (
        "without injection the searches should look where the model is more wrong"
    )

# %% [markdown]
# ## 5. Is it only copying?
#
# The cloned policy of the last section did just as well: where all data come from one good agent,
# copying is all there is to learn. So let us take data of two agents. Three episodes in ten are by
# the walker that we know; seven are by one that walks *away* from the goal. One step, 100 episodes.
#
# Behaviour cloning fits one Gaussian to both and lands between them, where neither of them
# went. Injection offers the stored action of each position to the search, the good and the bad,
# and the search decides how often to visit it.
#
# There is one more thing to compare. Our searches evaluate all candidates first. What if they do not
# (`search.first_evaluations=false`), and a candidate that was never taken counts as the lowest value
# seen, which is MuZero's rule?


# %%
def mixed_data(world, episodes, rng, share=0.3):
    """-> data, and which episodes are good [E]."""
    good = rng.random((episodes, 1)) < share
    aim = np.where(good, world.goal, -0.5 * world.goal)
    return world.play(walker(world, aim, rng), episodes, rng), good[:, 0]


MIXED_SEEDS, MIXED_ROUNDS = (1, 2) if FAST else (3, 10)


def mixed_problem(D, seed):
    """-> world, data, good [E], the fitted model, and the generator to go on with."""
    rng = np.random.default_rng([5, D, seed])
    world = one_step(D)
    data, good = mixed_data(world, 100, rng)
    return world, data, good, fit_model(world, data, rng), rng


def learn_mixed(D, seed, injection=True, **settings):
    """Learns from mixed data in one step -> world, data, good [E], the last policy."""
    world, data, good, model, rng = mixed_problem(D, seed)
    config = dataclasses.replace(CONFIG, **settings)
    policies, _ = learn(world, data, model, MIXED_ROUNDS, rng, injection, config)
    return world, data, good, policies[-1]


def stored_share(D, seed, **settings):
    """Before anything is learned: the share of visits of a good and of a bad stored action."""
    world, data, good, model, rng = mixed_problem(D, seed)
    seen = PointModel(world, *model, *first_policy(D))
    config = dataclasses.replace(CONFIG, **settings)
    result = search(seen, observations_at(data[0][:, 0], 0), config, rng,
                    injected_actions=data[1][:, 0].astype(np.float32))
    share = result.policy[np.arange(len(good)), result.injected]
    return share[good].mean(), share[~good].mean()


WAYS = {
    "no injection": {"injection": False},
    "injection": {},
    "injection, no first evaluations": {"first_evaluations": False},
}
reached = {name: np.zeros((3, MIXED_SEEDS)) for name in ["behaviour cloning", *WAYS]}
for i, D in enumerate(DIMENSIONS):
    for seed in range(MIXED_SEEDS):
        for name, settings in WAYS.items():
            world, data, good, policy = learn_mixed(D, seed, **settings)
            reached[name][i, seed] = returns_of(world, policy)
        reached["behaviour cloning"][i, seed] = returns_of(world, clone(data))

# %%
world, data, good, learned = learn_mixed(2, seed=0)
figure, (left, right) = plt.subplots(1, 2, figsize=(11.5, 4.6))
for rows, marker, name in ((good, "o", "good agent"), (~good, "x", "bad agent")):
    points = left.scatter(*data[1][rows, 0].T, c=data[2][rows, 0], marker=marker, cmap="cividis",
                          vmin=0, vmax=1, s=28, label=f"stored, {name}")
figure.colorbar(points, ax=left, label="true reward")
angle = np.linspace(0, 2 * np.pi, 60)
shown = (("behaviour cloning", clone(data), "C3", "--"),
         ("injection and search", learned, "C0", "-"))
for name, (weights, scale), colour, line in shown:
    mean = weights[-1]  # the mean action at the origin
    left.plot(mean[0] + scale[0] * np.cos(angle), mean[1] + scale[1] * np.sin(angle), line,
              color=colour, linewidth=2.5, label=name)
left.set(xlabel="action, first dimension", ylabel="action, second dimension", xlim=(-1.1, 1.3),
         ylim=(-1.3, 1.1), title="D = 2: stored actions, and policies (one scale)")
left.legend(fontsize=8, loc="upper right")
looks = (("C3", ""), ("C1", ".."), ("C0", "//"), ("C4", "xx"))
for k, (name, (colour, hatch)) in enumerate(zip(reached, looks, strict=True)):
    centre = np.arange(3) + 0.2 * (k - 1.5)
    right.bar(centre, reached[name].mean(axis=1), width=0.19, hatch=hatch, edgecolor="white",
              color=colour, label=name)
    right.plot(np.repeat(centre, MIXED_SEEDS), reached[name].ravel(), "k.", markersize=4)
right.set_xticks(range(3), [f"D = {D}" for D in DIMENSIONS])
right.set(ylabel="true reward of the learned policy", ylim=(0, 1.45),
          title="Good and bad data, 3 : 7 (dots: seeds)")
right.legend(fontsize=8, loc="upper right")
figure.tight_layout()
plt.show()

print(f"{'mean over seeds':31}", "  ".join(f"D={D} " for D in DIMENSIONS))
for name, values in reached.items():
    print(f"{name:31}", "  ".join(f"{value:.2f}" for value in values.mean(axis=1)))
print("\nvisits of the stored action in the first round, D = 6: of a good one, of a bad one")
for name in list(WAYS)[1:]:
    shares = np.mean([stored_share(6, seed, **WAYS[name]) for seed in range(MIXED_SEEDS)], axis=0)
    print(f"{name:31} {shares[0]:.0%}, {shares[1]:.0%}")
if not FAST:
    searched, copied = reached["injection"], reached["behaviour cloning"]
    assert np.all(searched > copied + 0.3), (
        "injection with a search should earn far more than copying"
    )
    assert searched[2].min() > reached["no injection"][2].max(), (
        "in six dimensions every run with injection should beat every run without"
    )
    assert np.all(searched[:2] > reached["no injection"][:2] - 0.02), (
        "in one and two dimensions injection should do no harm"
    )
    assert np.all(np.abs(reached["injection, no first evaluations"] - copied) < 0.1), (
        "without first evaluations injection should earn what copying earns"
    )

# %% [markdown]
# * **Cloning averages.** Its mean lies between the two groups of actions, its scale covers both.
# * **Injection with a search that compares is not copying.** Before the first simulation the search
#   knows what each candidate is worth. A good stored action gets nearly all visits, a bad one a fifth.
# * **Where it is not needed it does no harm.** In one and two dimensions no injection is as good. In
#   six it is the only way of these that gets anywhere in every seed.
# * **Without first evaluations it *is* copying, here.** The injected action is taken first, since it
#   has the largest prior. All rewards are positive, so its value is above "the lowest", and the prior
#   terms of the other twenty, 0.0375 each, do not make up for that within 50 simulations. They are
#   hardly ever tried, even where the stored action is bad (notebook 05, section 6, has the same without
#   injection). Look at the visits of your searches before you say that they searched.

# %% [markdown]
# ## 6. How large a prior?
#
# The paper takes 0.25 and says that "the algorithm is not sensitive to the exact value". In our
# small world we can look. The same mixed data in six dimensions:

# %%
PRIORS = (0.05, 0.25, 0.5, 0.9)
by_prior, bad_share = np.zeros((2, len(PRIORS), MIXED_SEEDS))
for row, prior in enumerate(PRIORS):
    for seed in range(MIXED_SEEDS):
        bad_share[row, seed] = stored_share(6, seed, injected_prior=prior)[1]
        world, _, _, policy = learn_mixed(6, seed, injected_prior=prior)
        by_prior[row, seed] = returns_of(world, policy)
figure, ax = plt.subplots(figsize=(7, 3.8))
ax.plot(PRIORS, by_prior.mean(axis=1), "o-", label="injection, mean")
for seed in range(MIXED_SEEDS):
    ax.plot(PRIORS, by_prior[:, seed], "k.", markersize=5, label="seeds" if seed == 0 else None)
for name, colour, line in (("behaviour cloning", "C3", "--"), ("no injection", "C1", "-.")):
    ax.axhline(reached[name][2].mean(), color=colour, linestyle=line, label=name)
ax.set(xlabel="prior of the injected action", ylabel="true reward of the learned policy",
       title="Good and bad data, D = 6: how large a prior?", xlim=(0, 1), ylim=(0, 1))
ax.legend(fontsize=9)
plt.show()
for prior, value, share in zip(PRIORS, by_prior.mean(1), bad_share.mean(1), strict=True):
    print(f"prior {prior:4}: reward {value:.2f}, "
          f"visits of a bad stored action in the first round {share:.0%}")
if not FAST:
    assert np.ptp(by_prior[:3].mean(axis=1)) < 0.1, (
        "from 0.05 to 0.5 the prior should hardly matter"
    )
    assert by_prior[3].mean() < by_prior[:3].mean() - 0.3, (
        "with a prior of 0.9 the reward should fall"
    )

# %% [markdown]
# From 0.05 to 0.5 it hardly matters, as the paper says: every candidate has been evaluated, so the
# stored action needs no large prior to be seen, and no prior in this range hides the value of a bad
# one. With a prior of 0.9 even a bad stored action has most of the visits at first. That part of the
# target is behaviour cloning by a detour, and ten rounds do not leave it behind.
#
# **A caution.** Injection is for data of *others*. The paper says of an agent's own games that "no
# modifications are required": what it did, its policy sampled. If own games are injected all the
# same, whatever the agent happened to do gets a quarter of the prior on top, at every reanalysis of
# that position. With a model that cannot tell good from bad the policy then closes in on its own
# accidents (exercise 4). The library injects at every *stored* position, so for a run that plays
# itself set `reanalyse.inject_actions=false` if you see that.

# %% [markdown]
# ## 7. In the full system
#
# Our world has four steps. Does the effect survive real dynamics, deep networks, and a model that is
# learned as well? Measured in this project: DM Control's cheetah run, **six** action
# dimensions, 100 recorded episodes with a mean return of 232, 3,000 learner steps, two seeds each:
#
# | | seed 0 | seed 1 |
# |---|---|---|
# | with injection | 264.6 | 317.3 |
# | without | 1.3 | 1.3 |
#
# The same preset, the same data, one switch. Without injection the cheetah does not move. You can
# repeat it, it takes a while:
#
#     pytest -m slow -s tests/training/test_learning.py -k must_be_injected
#
# (`test_the_trajectory_s_action_must_be_injected_to_learn_from_data_with_six_action_dimensions`).
#
# The paper's own table is in its appendix, "Impact of injecting the trajectory action when
# reanalysing":
#
# | task | dimensions | no inject | inject |
# |---|---|---|---|
# | fish.swim | 5 | 79.7 | 585.4 |
# | manipulator.insert_ball | 5 | 21.2 | 557.0 |
# | manipulator.insert_peg | 5 | 90.1 | 432.7 |
# | walker.stand | 6 | 735.6 | 759.8 |
# | cheetah.run | 6 | 101.3 | 798.9 |
# | humanoid.run | 21 | 3.3 | 633.4 |
#
# Its finding: without injection five of the six tasks are lost, and most of all the one with 21
# dimensions; only walker.stand does almost as well. Networks, data and training are larger there
# than here, so compare the pattern, not the numbers.

# %% [markdown]
# ## What the library adds
#
# * `search(..., injected_actions=..., inject=...)` takes a whole batch, in which stored and played
#   positions may be mixed; `SearchResult.injected` says which candidate holds the stored action.
# * The same for *discrete* actions, where they are sampled (`inject_index`). Where all actions are
#   candidates anyway, as in Atari, the search sees the stored one without it; what is left of injection
#   is the prior, for those who ask what really followed that action (`search.stored_value=data`).
# * The games that are reanalysed (`mzu/games/player.py`) hand their stored actions to the
#   search by themselves; `reanalyse.inject_actions` switches it, `search.injected_prior` is the prior.
# * Stored actions may lie a rounding error outside of $[-1, 1]$; they are clipped first.
# * The policy target has room for the candidate K + 1 in the replay, and the loss is the
#   log-likelihood above, for a deep network (`mzu/learning/losses.py`).
#
# ## Summary
#
# * A search over samples sees only what the policy samples. The probability to come near the data's
#   action falls exponentially with the dimensions; at six it does not happen.
# * More samples hardly help: in the direction that matters, the best of $K$ grows as slowly as
#   $\sqrt{2 \log K}$, while the way grows as $\sqrt D$.
# * Injection: the stored action is one more candidate at the root, prior 0.25, the others share
#   0.75, no noise, no doubles.
# * In one dimension it makes hardly a difference, in six it decides whether anything is learned.
# * It also keeps the search where the model has seen something.
# * It is not copying, provided that the search compares: a prior of 0.9, or candidates that are never
#   evaluated, turn it into copying.
#
# ## Exercises
#
# Write the functions below. The last lines of a cell check yours and say which idea is missing, if one is;
# `check.hint("06.1")` gives one hint more at each call, and the solution opens at a click. More of it,
# with derivations and figures: `tutorials/solutions/06_action_injection.md`.

# %%
from mzu.classroom import check

# %% [markdown]
# ### 1. Narrow enough
#
# A policy has the right mean already. How small must its scale be so that one of 20 samples comes
# within 0.1 of the stored action with probability 1/2, for D = 1, 2, 6 and 21?


# %%
def scale_for_one_half(dimensions, epsilon, count):
    """How small must the scale be so that one of `count` samples comes within epsilon of the
    stored action in every dimension, with probability 1/2? The mean is the stored action. To
    three digits.

    >>> round(scale_for_one_half(6, 0.1, 20), 3)
    0.127
    """
    raise NotImplementedError


check.exercise_06_1(scale_for_one_half)
check.solution("06.1")

# %% [markdown]
# ### 2. What the prior alone does
#
# Take a model whose rewards and values are all 0. How many of 50 visits does the injected action get
# with prior 0.25, and how many with 0.9, if 20 sampled ones share the rest? Guess before you run it. (All
# value terms are equal, so the pUCT score leaves prior / (1 + visits).)


# %%
def visits_by_prior(priors, simulations):
    """All values are equal, so only the priors speak: how are the visits shared?

    priors [K] -> visits [K]. The next visit goes to the largest prior / (1 + visits), the first
    of equals.

    >>> visits_by_prior(np.array([0.7, 0.3]), 3)
    [2, 1]
    """
    raise NotImplementedError


check.exercise_06_2(visits_by_prior)
check.solution("06.2")

# %% [markdown]
# ### 3. A thousand buttons
#
# Discrete actions can be sampled too. With 1,000 equally likely actions and 20 samples, how likely is
# the stored one among them? Write injection for discrete actions. (It should equal `search` with a
# `TabularModel`, `num_sampled_actions=20` and `injected_actions`.)


# %%
def inject_discrete(actions, prior, stored, injected_prior):
    """The stored action among sampled discrete ones.

    actions [n] different numbers, prior [n] in any unit, stored: a number -> (actions, prior,
    place). The stored action has injected_prior, the sampled ones share the rest in proportion to
    their priors; one that was sampled anyway is not listed twice, and has its share and
    injected_prior together.

    >>> actions, prior, place = inject_discrete(np.array([7, 3]), np.array([0.5, 0.5]), 4, 0.2)
    >>> actions.tolist(), prior.tolist(), place
    ([7, 3, 4], [0.4, 0.4, 0.2], 2)
    """
    raise NotImplementedError


check.exercise_06_3(inject_discrete)
check.solution("06.3")

# %% [markdown]
# ### 4. One's own accidents
#
# A policy with mean 0 and scale 0.5 acts once in a position. The model knows nothing (all values 0),
# so the visits are the priors. Reanalyse the position again and again with the agent's own action
# injected, and fit mean and scale to the visits each time. What becomes of them?


# %%
def closing_in(own, mean, scale, rounds, injected_prior):
    """Mean and scale after a position was searched again `rounds` times with the agent's own
    action injected, by a model that knows nothing: the visits are the priors.

    Each time, injected_prior of the weight lies on `own`, the rest on samples of the policy (so
    many that they have its mean and scale), and both are fitted to all of it -> (mean, scale).

    >>> closing_in(1.0, 0.0, 0.5, 1, 0.25)[0]
    0.25
    """
    raise NotImplementedError


check.exercise_06_4(closing_in)
check.solution("06.4")

# %% [markdown]
# ### 5. Find the bug
#
# Somebody writes `prior[place] = injected_prior` in the place of `prior[place] += injected_prior`.
# All tests with random stored actions pass. Which input shows the mistake, and what do the priors sum
# to?


# %%
def sum_with_the_bug(actions, prior, stored, injected_prior):
    """What the priors sum to if somebody writes prior[place] = injected_prior instead of +=.

    actions [n], prior [n] that sum to 1, stored: a number -> a number

    >>> round(sum_with_the_bug(np.array([1.0, 0.2]), np.array([0.6, 0.4]), 1.0, 0.25), 2)
    0.55
    """
    raise NotImplementedError


check.exercise_06_5(sum_with_the_bug)
check.solution("06.5")
