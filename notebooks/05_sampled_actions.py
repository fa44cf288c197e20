# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 05. Sampled actions
#
# ← [04 Reanalyse](04_reanalyse.ipynb) · [the course](README.md) · [06 Action injection](06_action_injection.ipynb) →
#
# ![Where this notebook stands in the circle of data: search](pictures/circle_05.svg)
#
# | | |
# |---|---|
# | **You will build** | candidates drawn from a categorical and from a Gaussian policy, their priors, the first evaluations of the root's candidates, the policy target and its gradient by hand |
# | **Lives in** | `mzu/search/sampled_actions.py` (proposals), `mzu/search/randomness.py` (the draws), `mzu/search/kernels.py` (`value_term`, `attach_first`), `mzu/learning/losses.py` (`policy_losses`); the plain form is in `mzu/search/reference.py` and `mzu/search/reference_candidates.py` |
# | **Takes** | about a minute to run on two cores; an hour and a half to work through |
# | **You need** | notebook 03 (pUCT, visits); the density of a Gaussian, expectations |
#
# The search of notebook 03 has an edge for every action. A robot arm has no such list: its action is
# a vector of real numbers. The paper's section "Offline RL and Continuous Action Spaces" therefore
# uses the extension of Sampled MuZero (Hubert et al. 2021, [arXiv:2104.06303](https://arxiv.org/abs/2104.06303)): at every node the policy proposes $K$
# actions, and the search considers those only. The policy is then trained towards the visits of the
# sampled actions. We find out which prior a sampled action must have, what the sampling costs, and
# how a setting that looks harmless can stop all learning.

# %%
import os

FAST = os.environ.get("MZU_FAST") == "1"  # the test suite's short version

import math
from statistics import NormalDist

import matplotlib.pyplot as plt
import numpy as np

from mzu import SearchConfig, TabularModel, search
from mzu.networks.model import GaussianPolicy
from mzu.search import reference
from mzu.search.history import prefix
from mzu.search.kernels import SAMPLED_GAUSSIAN
from mzu.search.search import make_settings

plt.style.use("tableau-colorblind10")
plt.rcParams.update({"figure.constrained_layout.use": True, "axes.grid": True, "grid.alpha": 0.3})
np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# ## 1. Why not a grid?
#
# The obvious way out is to cut each of the $D$ numbers of an action into $m$ levels. That makes $m^D$
# actions. The tasks of DM Control in the paper have $D = 1$ to $21$.

# %%
for dimensions in (1, 2, 6, 21):
    counts = "  ".join(f"{levels**dimensions:8.1e}" for levels in (3, 5, 11))
    print(f"D = {dimensions:2}: actions with 3, 5 and 11 levels in each dimension:  {counts}")
assert 3**21 > 10**10, "three values in 21 joints are more than ten thousand million actions"

# %% [markdown]
# Three levels per joint are coarse, and already ten thousand million actions. But a search with 50
# simulations cannot try more than 50 of them anyway. Which ones? The policy knows best.
#
# ## 2. Draw K actions, and weigh them
#
# Let $p(a)$ be the policy at a node, the network's. (Sampled MuZero calls it $p$; here $p$ stays what a search
# makes of it.) We draw $K$ actions from a *proposal* $\beta$. The natural choice is $\beta = p$;
# a *temperature* $\tau > 1$ makes the proposal flatter, so that less likely actions are tried too:
#
# $$\beta(a) \;\propto\; p(a)^{1/\tau}.$$
#
# The same action may be drawn several times. Write $\hat\beta(a) = m_a / K$ for the share of the draws
# that fell on $a$: the empirical distribution.
#
# **Which prior?** Suppose the search had all actions. It would turn $p$ into a better policy
# $\mathcal I p$. Many improvements, and roughly that of MCTS too, have the form
#
# $$\mathcal I p(a) = \frac{p(a)\, f(a)}{Z}, \qquad Z = \sum_a p(a) f(a),$$
#
# where $f(a)$ is large for good actions. What we use of $\mathcal I p$ are expectations,
# $\mathbb E_{\mathcal I p}[X] = \frac1Z \sum_a p(a) f(a) X(a)$: the value, the gradient of a loss.
# Both sums are expectations under $p$. Under *another* distribution they are the same with a weight:
#
# $$\sum_a p(a) f(a) X(a) = \sum_a \beta(a)\, \frac{p(a)}{\beta(a)} f(a) X(a)
# = \mathbb E_{a\sim\beta}\Big[\tfrac{p(a)}{\beta(a)} f(a) X(a)\Big].$$
#
# That is *importance sampling*. Now replace the expectation by the mean of the $K$ draws, that is,
# $\beta$ in front by $\hat\beta$. Its expectation is right for every $K$, because
# $\mathbb E[\hat\beta(a)] = \beta(a)$:
#
# $$\sum_a \underbrace{\hat\beta(a)\,\frac{p(a)}{\beta(a)}}_{\hat p(a)} f(a) X(a)
# \;\longrightarrow\; \sum_a p(a) f(a) X(a) \quad (K \to \infty),$$
#
# and by the law of large numbers it gets there, with an error of order $1/\sqrt K$. The same holds for $Z$, so the
# quotient converges as well. Read the left side again: it is *the same operator, applied to*
# $\hat p = p\,\hat\beta / \beta$. So the search need not know that its actions were sampled. It gets
# $\hat p$ as the prior, which is 0 for all that was not drawn, and works as ever.
#
# For $\tau = 1$, $p/\beta = 1$ and the prior is $m_a/K$. The policy does not enter a second time: it
# is already in the sampling.


# %%
def softmax(logits):
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


def propose_categorical(logits, uniforms, temperature):
    """logits [A], sorted uniforms [K] -> the distinct actions drawn from beta, and their priors."""
    policy, beta = softmax(logits), softmax(logits / temperature)
    drawn = np.searchsorted(np.cumsum(beta), uniforms, side="right")  # the inverse of beta's sums
    actions, times = np.unique(drawn, return_counts=True)
    return actions, policy[actions] * (times / len(uniforms)) / beta[actions]


# By hand: p = (1/2, 1/3, 1/6) and temperature 2 give beta proportional to (0.707, 0.577, 0.408).
example = np.log([1 / 2, 1 / 3, 1 / 6])
beta = np.sqrt([1 / 2, 1 / 3, 1 / 6]) / np.sqrt([1 / 2, 1 / 3, 1 / 6]).sum()
actions, priors = propose_categorical(example, np.array([0.1, 0.2, 0.3, 0.9]), 2.0)
print("beta:", beta, " drawn: 0, 0, 0, 2   candidates:", actions, " priors:", priors)
assert np.array_equal(actions, [0, 2]), "0 and 2 were drawn, and each is one candidate"
assert np.allclose(priors, [1 / 2 * (3 / 4) / beta[0], 1 / 6 * (1 / 4) / beta[2]]), (
    "a prior is p times how often the action was drawn, divided by beta"
)

# %% [markdown]
# Two things to notice. Three equal draws became **one candidate** with three times the share: as three
# edges of the tree they would be three separate actions whose visits the search has to collect one by
# one. And the priors need not add up to 1. Their sum is 1 *on average*; dividing by it would make each
# single prior biased. The library leaves it as it is.
#
# For pictures we take forty-one actions on a line, $a = -1, -0.95, \dots, 1$. The policy prefers
# $-0.3$; the best action is $0.5$.

# %%
BEST = 0.5
GRID = np.linspace(-1, 1, 41)
LOGITS = -((GRID + 0.3) ** 2) / (2 * 0.4**2)
POLICY = softmax(LOGITS)


def reward(a):
    """The bandit of this notebook: between 0 and 1, best at 0.5."""
    return 1 - ((a - BEST) / 1.5) ** 2


rng = np.random.default_rng(1)
figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), sharey=True)
for ax, temperature in zip(axes, (1.0, 2.0, 5.0), strict=True):
    actions, priors = propose_categorical(LOGITS, np.sort(rng.random(20)), temperature)
    ax.plot(GRID, POLICY, "-", color="black", label=r"policy $p$")
    ax.plot(GRID, softmax(LOGITS / temperature), "--", color="C1", label=r"proposal $\beta$")
    ax.vlines(GRID[actions], 0, priors, color="C0")
    ax.plot(GRID[actions], priors, "o", color="C0", label=r"prior $p\,\hat\beta/\beta$")
    ax.set(xlabel="action a", title=f"temperature {temperature:g}: {len(actions)} candidates, "
           f"sum {priors.sum():.2f}")
    ax.title.set_fontsize(10)
axes[0].set(ylabel="probability")
axes[0].legend()
plt.show()

# %% [markdown]
# On the left every draw weighs the same, $1/20$; the policy shows in *where* the points stand. On the right
# they stand almost evenly, and the policy shows in *how high* they are. Both say the same on average.
#
# ## 3. Bias and spread
#
# Now the claim about $K \to \infty$. Take $f(a) = e^{u(a)/0.1}$ with our reward $u$ and ask for $X = u$: what
# is the improved policy worth? The truth is a sum over 41 actions. The estimate uses $\hat p$ in the
# place of $p$. We repeat the draw many times and look at mean and spread, for the right prior and for two
# wrong ones that one might well write: $\hat\beta$ alone (forgets the policy), and $p\,\hat\beta$ (forgets
# that the policy was in the sampling already).

# %%
REPEATS = 500 if FAST else 20_000
PROMISE = np.exp(reward(GRID) / 0.1)  # f(a)
IMPROVED = POLICY * PROMISE / (POLICY * PROMISE).sum()
TRUTH = (IMPROVED * reward(GRID)).sum()


def improved_value(temperature, count, weigh, seed=0):
    """The value of the improved policy by `count` draws, [REPEATS] times."""
    beta = softmax(LOGITS / temperature)
    beta_hat = np.random.default_rng(seed).multinomial(count, beta, size=REPEATS) / count
    weights = weigh(beta, beta_hat) * PROMISE
    return (weights * reward(GRID)).sum(axis=1) / weights.sum(axis=1)


PRIORS = {
    r"$p\,\hat\beta/\beta$": (lambda beta, beta_hat: POLICY * beta_hat / beta, "o-"),
    r"$\hat\beta$ alone": (lambda beta, beta_hat: beta_hat, "s--"),
    r"$p\,\hat\beta$": (lambda beta, beta_hat: POLICY * beta_hat, "^-."),
}
COUNTS = [2, 5, 10, 20, 50, 100, 200, 500, 1000]
TEMPERATURES = [0.5, 0.7, 1, 1.4, 2, 3, 4, 6, 10]
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.8))
means = {}
for name, (weigh, style) in PRIORS.items():
    means[name] = [improved_value(2.0, count, weigh).mean() for count in COUNTS]
    left.semilogx(COUNTS, means[name], style, label=name)
left.axhline(TRUTH, color="black", linestyle=":", label="all actions")
left.set(xlabel="draws K", ylabel="mean estimate (reward)", title=r"Bias, $\tau = 2$")
left.legend()
right_prior = PRIORS[r"$p\,\hat\beta/\beta$"][0]
spread = {}
for temperature, style in ((1, "o-"), (2, "s--"), (5, "^-.")):
    spread[temperature] = [improved_value(temperature, n, right_prior).std() for n in COUNTS]
    middle.loglog(COUNTS, spread[temperature], style, label=rf"$\tau = {temperature}$")
middle.loglog(COUNTS, 0.3 / np.sqrt(COUNTS), "k:", label=r"$\propto 1/\sqrt{K}$")
middle.set(xlabel="draws K", ylabel="standard deviation (reward)", title="Spread over draws")
middle.legend()
errors = [np.sqrt(np.mean((improved_value(t, 20, right_prior) - TRUTH) ** 2)) for t in TEMPERATURES]
right.semilogx(TEMPERATURES, errors, "o-")
right.set(xlabel=r"temperature $\tau$", ylabel="root mean square error (reward)",
          title="K = 20: which temperature?")
right.set_xticks([0.5, 1, 2, 4, 10], ["0.5", "1", "2", "4", "10"])
plt.show()

worth = (POLICY * reward(GRID)).sum()
print(f"policy {worth:.3f}, improved policy {TRUTH:.3f}; estimates with K = {COUNTS[-1]}:")
names = ("right prior", "beta_hat alone", "p * beta_hat")
for name, values in zip(names, means.values(), strict=True):
    print(f"   {name:15} {values[-1]:.3f}")
best_temperature = TEMPERATURES[int(np.argmin(errors))]
print("temperature with the smallest error at K = 20:", best_temperature)

# %% [markdown]
# Left: with the right prior the bias is there for small $K$ (a quotient of two unbiased estimates is not
# unbiased) and goes away like $1/K$. With the wrong priors it stays, however many actions are drawn:
# they improve *another* policy. Middle: the spread falls like $1/\sqrt K$. Right: here the good actions lie
# at the edge of the policy, and a proposal that only repeats what $p$ likes rarely sees them. A
# temperature of 3 makes the error smaller by a quarter; beyond that there is nothing to gain. On a short
# line a flat proposal costs little. In many dimensions it costs a lot (exercise 2), and the library's
# default is $\tau = 1$.

# %%
bias = np.abs(np.array(means[r"$p\,\hat\beta/\beta$"]) - TRUTH)
assert bias[-1] < 0.01, "with many draws the prior of the paper should give the true mean"
assert min(abs(means[name][-1] - TRUTH) for name in list(PRIORS)[1:]) > 0.01, (
    "the other two priors should stay wrong, however many draws"
)
if not FAST:
    assert bias[COUNTS.index(100)] < bias[COUNTS.index(10)] / 4, (
        "ten times the draws should leave a quarter of the bias, or less"
    )
    for temperature, values in spread.items():  # ten times the draws, about a third of the spread
        ratio = values[COUNTS.index(100)] / values[COUNTS.index(1000)]
        assert 0.8 * math.sqrt(10) < ratio < 1.3 * math.sqrt(10), (
            f"temperature {temperature}: ten times the draws leave 1 / {ratio:.1f} of the spread"
        )
    assert errors[TEMPERATURES.index(3)] < 0.8 * errors[TEMPERATURES.index(1)], (
        "a temperature of 3 should make the error smaller by a fifth at least"
    )

# %% [markdown]
# ## 4. The Gaussian
#
# For continuous actions the paper uses a single Gaussian with diagonal covariance (appendix "Policy
# Representation"): the network gives a mean $\mu_d$ and a scale $\sigma_d$ for each dimension. Then $\beta$
# is easy to work out. In one dimension
#
# $$p(a)^{1/\tau} \;\propto\; \exp\Big(-\frac{(a - \mu)^2}{2\sigma^2}\Big)^{1/\tau}
# = \exp\Big(-\frac{(a-\mu)^2}{2\,(\sqrt\tau\,\sigma)^2}\Big),$$
#
# a Gaussian with the same mean, $\sqrt\tau$ times as wide. So a draw is $a = \mu + \sqrt\tau\,\sigma\, n$
# with a standard normal $n$. Put that into both densities, and mean and scale drop out:
#
# $$\frac{p(a)}{\beta(a)} =
# \frac{\frac{1}{\sigma}\, e^{-\tau n^2/2}}{\frac{1}{\sqrt\tau\,\sigma}\, e^{-n^2/2}}
# = \sqrt\tau\; e^{\,n^2 (1-\tau)/2}, \qquad
# \text{in } D \text{ dimensions} \quad \tau^{D/2}\, e^{\,\lVert n\rVert^2 (1-\tau)/2}.$$
#
# No two draws are equal now, so $\hat\beta = 1/K$ for each, with one exception: **the bounds.** Actions live
# in $[-1, 1]$, and a draw outside is clipped. All draws above 1 become the *same* action 1. They are
# duplicates and are merged, their priors added. Where does one take $p/\beta$ for such a draw? Where it fell,
# before it was clipped. Then the sum of the priors at the bound is an ordinary importance sampling
# estimate, of the mass that the clipped policy puts there:
#
# $$\mathbb E\Big[\sum_{k:\, a_k > 1} \tfrac1K\, \tfrac{p(a_k)}{\beta(a_k)}\Big]
# = \int_1^\infty \beta(a)\,\frac{p(a)}{\beta(a)}\, da = \Pr_p(a > 1).$$


# %%
def propose_gaussian(mean, scale, normals, temperature):
    """mean, scale [D], normals [K, D] -> distinct actions [k, D] in [-1, 1], priors [k]."""
    normals = normals.astype(float)
    count, dimensions = normals.shape
    unclipped = mean + scale * math.sqrt(temperature) * normals
    squares = (normals**2).sum(axis=1)
    ratio = temperature ** (dimensions / 2) * np.exp(squares * (1 - temperature) / 2)
    priors = {}  # equal actions meet here; a dictionary keeps the order of the draws
    for action, weight in zip(np.clip(unclipped, -1, 1).astype(np.float32), ratio, strict=True):
        priors[tuple(action)] = priors.get(tuple(action), 0.0) + weight / count
    return np.array(list(priors), np.float32), np.array(list(priors.values()))


# The formula against the two densities themselves.
mean, scale, temperature = 0.2, 0.3, 2.5
normals = np.array([[-1.3], [0.0], [0.4], [2.1]])
drawn = mean + scale * math.sqrt(temperature) * normals[:, 0]
policy, beta = NormalDist(mean, scale), NormalDist(mean, scale * math.sqrt(temperature))
ratios = [policy.pdf(a) / beta.pdf(a) for a in drawn]
formula = math.sqrt(temperature) * np.exp(normals[:, 0] ** 2 * (1 - temperature) / 2)
assert np.allclose(ratios, formula), "the ratio of the densities is not that of the formula"
actions, priors = propose_gaussian(np.array([mean]), np.array([scale]), normals, temperature)
print("drawn  :", drawn, "\nactions:", actions[:, 0], "\npriors :", priors)
assert np.allclose(priors, formula / 4) and actions.max() == 1, (
    "a clipped draw keeps the ratio of the draw itself"
)

# %% [markdown]
# A policy near the upper bound, to see the clipping: mean 0.7, scale 0.5. More than a quarter of its draws
# land on 1. We compare the mean prior there with the true mass, and with what comes out if one takes
# $p/\beta$ at the *clipped* action.

# %%
NEAR = NormalDist(0.7, 0.5)
MASS = 1 - NEAR.cdf(1)
temperatures = [0.6, 0.8, 1, 1.5, 2, 3, 4, 6]
where_it_fell, at_the_bound = [], []
for temperature in temperatures:
    normals = np.random.default_rng(1).standard_normal(REPEATS * 20)
    above = 0.7 + 0.5 * math.sqrt(temperature) * normals > 1
    ratio = math.sqrt(temperature) * np.exp(normals**2 * (1 - temperature) / 2)
    clipped = (1 - 0.7) / (0.5 * math.sqrt(temperature))  # the normal that lands just on 1
    ratio_at_1 = math.sqrt(temperature) * math.exp(clipped**2 * (1 - temperature) / 2)
    where_it_fell.append((above * ratio).mean())
    at_the_bound.append((above * ratio_at_1).mean())

figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 3.8))
line = np.linspace(-1.2, 2.8, 300)
wide = NormalDist(0.7, 0.5 * math.sqrt(2))
left.plot(line, [NEAR.pdf(a) for a in line], "-", color="black", label=r"policy $p$")
left.plot(line, [wide.pdf(a) for a in line], "--", color="C1",
          label=r"proposal $\beta$ ($\tau = 2$)")
normals = np.random.default_rng(3).standard_normal((20, 1))
actions, priors = propose_gaussian(np.array([0.7]), np.array([0.5]), normals, 2.0)
left.vlines(actions[:, 0], 0, 4 * priors, color="C0")
left.plot(actions[:, 0], 4 * priors, "o", color="C0", label="candidates: 4 x prior")
left.axvspan(1, 2.8, color="grey", alpha=0.2, label="outside: becomes 1")
left.set(xlabel="action a", ylabel="density (1 / unit of a)", title="20 draws, merged at the bound")
left.legend(fontsize=8)
right.axhline(MASS, color="black", linestyle=":", label=r"truth: $\Pr_p(a > 1)$")
right.plot(temperatures, where_it_fell, "o-", label=r"$p/\beta$ where the draw fell")
right.plot(temperatures, at_the_bound, "s--", label=r"$p/\beta$ at the clipped action")
right.set(xlabel=r"temperature $\tau$", ylabel="mean prior of the action 1", ylim=(0, 0.9),
          title="Where to take the ratio")
right.legend()
plt.show()
assert np.allclose(where_it_fell, MASS, atol=0.03 if FAST else 0.006), (
    "what falls on the bound should be the policy's mass beyond it"
)
assert abs(at_the_bound[-1] - MASS) > 0.1, "clipping first should be visibly wrong"

# %% [markdown]
# ## 5. The same numbers as the library (optional)
#
# *Random-number plumbing: that our draws are the library's, one by one. Whoever believes it may go on with section 6, with the
# class `OneStep` below in mind.*
#
# A search draws all its random numbers before it starts (`mzu/search/randomness.py`), so that it is a
# plain function of arrays. We draw the same ones in the same order: noise for the root, then a seed for
# a second generator, which makes the uniforms or normals of every node. (`first_evaluations=False` in the settings
# means that a candidate is evaluated when a simulation takes it, as in notebook 03. Section 7 changes that.)


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def draw(rng, config, shape, gaussian):
    """The normals or sorted uniforms [1, N, K, ...] that a search of one position will use."""
    noise = (1, config.num_sampled_actions)
    rng.standard_gamma(config.dirichlet_alpha + 1.0, noise)  # root noise comes first; not used here
    rng.random(noise)
    own = np.random.Generator(np.random.SFC64(rng.integers(2**63, size=1)[0]))
    if gaussian:
        return own.standard_normal(shape, dtype=np.float32)
    return np.sort(own.random(shape), axis=-1)


def candidates_of(tree, node):
    """The actions and priors that the library's search has at a node."""
    priors = tree.edges["prior"][0, node]
    return tree.actions[0, node][priors > 0], priors[priors > 0]


# %% [markdown]
# First a categorical policy: a random world of six states with forty-one actions, of which each node draws
# eight. We look at every node of the tree, not at the root only.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
world = np.random.default_rng(2)
tables = TabularModel(
    next_state=world.integers(6, size=(6, 41)), reward=world.normal(size=(6, 41)),
    logits=world.normal(size=(6, 41)), value=world.normal(size=6),
)
categorical = SearchConfig(
    num_simulations=30, num_sampled_actions=8, sampling_temperature=2.0, dirichlet_fraction=0.0,
    first_evaluations=False,
)
result = search(tables, [0], categorical, np.random.default_rng(7), record=True)
uniforms = draw(np.random.default_rng(7), categorical, (1, 31, 8), gaussian=False)
for node in range(31):
    state = result.tree.hidden[0, node]
    ours = propose_categorical(tables.logits[state], uniforms[0, node], 2.0)
    theirs = candidates_of(result.tree, node)
    assert np.array_equal(ours[0], theirs[0]), "our distinct actions are not the library's"
    assert np.allclose(ours[1], theirs[1], rtol=1e-12, atol=0), "our priors are not the library's"
print("31 nodes, the same candidates and priors; at the root:")
print("actions", candidates_of(result.tree, 0)[0])
print("priors ", candidates_of(result.tree, 0)[1])

# %% [markdown]
# Now the Gaussian. Anything with `initial` and `recurrent` can be searched, so we write the smallest world
# with continuous actions: **one step**, whose reward is known, and then nothing more. A search sees it as
# any other model: reward, next state, a policy and a value there. The model's value of the start is the
# policy's expected reward, $1 - \frac{(\mu - 0.5)^2 + \sigma^2}{1.5^2}$: as if it were trained perfectly.


# %%
class OneStep:
    """One action, one reward, best at 0.5 in every dimension; then the world ends.

    mean, scale  [D], or [B, D] for a policy of its own in each row
    hidden       [B, 2]: how many actions were taken, and the row, which has the policy
    """

    def __init__(self, mean, scale):
        self.mean = np.atleast_2d(np.asarray(mean, float))
        self.scale = np.atleast_2d(np.asarray(scale, float))

    def policy(self, hidden):
        rows = hidden[:, 1].astype(int)
        return GaussianPolicy(self.mean[rows], self.scale[rows])

    def initial(self, observations):
        rows = np.arange(len(observations)) % len(self.mean)
        hidden = np.column_stack([np.zeros(len(rows)), rows])
        value = 1 - (((self.mean - BEST) ** 2 + self.scale**2) / 1.5**2).mean(axis=-1)
        return hidden, self.policy(hidden), value[rows]

    def recurrent(self, hidden, actions):
        rewards = np.where(hidden[:, 0] == 0, reward(actions).mean(axis=1), 0.0)
        return hidden + np.array([1, 0]), rewards, self.policy(hidden), np.zeros(len(hidden))


def same_proposals(model, temperature, dimensions):
    """A library search, its normals, and a check of every node against our own proposals."""
    config = SearchConfig(num_simulations=30, discount=1.0, num_sampled_actions=8,
                          sampling_temperature=temperature, dirichlet_fraction=0.0,
                          first_evaluations=False)
    result = search(model, [0], config, np.random.default_rng(7), record=True)
    normals = draw(np.random.default_rng(7), config, (1, 31, 8, dimensions), gaussian=True)
    for node in range(31):
        ours = propose_gaussian(model.mean[0], model.scale[0], normals[0, node], temperature)
        theirs = candidates_of(result.tree, node)
        assert np.array_equal(ours[0], theirs[0]), "our candidates are not the library's"
        assert np.allclose(ours[1], theirs[1], rtol=1e-12, atol=0), (
            "our priors are not the library's: is the ratio that of the draw, not of the action?"
        )
    return config, result, normals


for temperature in (1.0, 2.0):
    same_proposals(OneStep([0.7], [0.5]), temperature, dimensions=1)
model = OneStep([0.7, -0.3, 0.0], [0.5, 0.4, 0.2])
config, result, normals = same_proposals(model, 2.0, dimensions=3)
print("three dimensions, temperature 2, the root's candidates and priors:")
print(np.column_stack(candidates_of(result.tree, 0)))

# %% [markdown]
# And the whole search: the loop of `mzu/search/reference.py`, which takes the proposal as an argument,
# with *our* proposal, visits what the library visits.


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def propose(policy, normals, temperature):
    """Our proposal as the reference search wants it: policy [2, D] -> edges."""
    pairs = zip(*propose_gaussian(policy[0], policy[1], normals, temperature), strict=True)
    return [reference.Edge(action, prior) for action, prior in pairs]


hidden, policy, value = model.initial([0])
edges = propose(np.stack(policy, axis=1)[0], normals[0, 0], config.sampling_temperature)
root = reference.Node(0, hidden[0], value[0], value[0], edges)
reference.search_one(model, root, propose, normals[0], config)
print("our visits          :", [edge.visits for edge in root.edges])
print("the library's visits:", list(map(int, result.visits[0])))
assert [edge.visits for edge in root.edges] == list(result.visits[0]), (
    "the reference search visits otherwise"
)
assert math.isclose(root.value, result.value[0], rel_tol=1e-12), (
    "the reference search has another root value"
)

# %% [markdown]
# ## 6. Where did the visits go?
#
# Everything is right, and yet look at that row of visits: one candidate has them all. Again with the numbers
# of DM Control: one dimension, $K = 20$ candidates, 32 simulations, policy $\mu = -0.3$, $\sigma = 0.4$,
# temperature 1. (The seed is one whose first draw is an ordinary one; averages over many draws follow in section 8.)

# %%
bandit = OneStep([-0.3], [0.4])


def settings(unvisited_value, candidates=20, simulations=32, first=False):
    return SearchConfig(num_simulations=simulations, discount=1.0, num_sampled_actions=candidates,
                        dirichlet_fraction=0.0, unvisited_value=unvisited_value,
                        first_evaluations=first)


lowest = search(bandit, [0], settings("lowest"), np.random.default_rng(27), record=True)
print("visits:", *lowest.visits[0])
print("before simulation   value term: visited, others   prior term: visited, others")
for simulation in (0, 1, 2, 3, 31):
    value_terms = lowest.history.value_terms[0, simulation, 0]
    prior_terms = lowest.history.prior_terms[0, simulation, 0]
    print(f"{simulation + 1:9} {value_terms[0]:25.3f} {value_terms[1]:8.3f}"
          f" {prior_terms[0]:21.3f} {prior_terms[1]:8.3f}")
assert lowest.visits[0, 0] == 32, "with `lowest` the first candidate should keep all visits"

# %% [markdown]
# The table says why. With $\tau = 1$ all priors are $1/20$, so the first simulation takes the first
# candidate: *a random draw from the policy*. Its value is positive. A candidate that was never visited has
# value term 0, and 0 after normalisation means: as bad as the worst value seen anywhere in the tree (that
# is MuZero's rule). Against that, the exploration term has little to say. Let the visited candidate have
# value term 1 and $n = N - 1$ visits. Another one is tried only when its score is higher,
#
# $$\frac{C(N)}{K} > 1 + \frac{C(N)}{K N}, \qquad C(N) \approx 1.25 \sqrt N
# \quad\Rightarrow\quad N \gtrsim \Big(\frac{K}{1.25}\Big)^2 .$$
#
# With the four actions of a small Atari game that is a dozen simulations, and a learned prior
# helps. With twenty equal candidates it is some 250 simulations. We have 32.


# %%
def second_try(candidates):
    """The first simulation that leaves the first candidate: as derived, and as searched."""
    def exploration(visits):
        return math.sqrt(visits) * (math.log((visits + 19653) / 19652) + 1.25)

    derived = next(n for n in range(3, 1000) if exploration(n) * (1 - 1 / n) > candidates)
    config = settings("lowest", candidates, simulations=derived + 5)
    # A policy well inside the bounds: no draw is clipped, so all priors are equal.
    result = search(OneStep([0.0], [0.1]), [0], config, np.random.default_rng(0))
    choices = root_choices(result.tree)
    return derived, 1 + int(np.argmax(choices != choices[0]))


def root_choices(tree):
    """The root's candidate that each simulation passed through: climb from every new node."""
    nodes = tree.nodes[0]
    choices = []
    for node in range(1, len(nodes)):
        while nodes[node]["parent"] != 0:
            node = nodes[node]["parent"]
        choices.append(nodes[node]["parent_candidate"])
    return np.array(choices)


for count in (4, 8, 12, 20):
    derived, searched = second_try(count)
    rule = (count / 1.25) ** 2
    print(f"K = {count:2}: rule of thumb {rule:4.0f}, derived {derived:4}, searched {searched:4}")
    assert derived == searched, "the number derived by hand is not that of the search"

# %% [markdown]
# So the search returns one draw from the policy, and calls it the improved policy. *There is no improvement.*
# `search.unvisited_value=parent` changes one thing: an unvisited candidate counts as good as its node
# (`value_term` in `mzu/search/kernels.py`). What is worse than the node's mean then loses against
# what was never tried, and the others get their turn. The same bandit, the same candidates:

# %%
parent = search(bandit, [0], settings("parent"), np.random.default_rng(27))
assert np.array_equal(lowest.actions, parent.actions), (
    "the same seed should draw the same candidates"
)
line = np.linspace(-1.05, 1.05, 300)
density = [NormalDist(-0.3, 0.4).pdf(a) for a in line]


def picture(ax, result, best, title):
    """Prior density, candidates and visits over the action."""
    ax.plot(line, density, "-", color="black", label=r"prior density (1 / unit of a)")
    ax.axvline(best, color="C5", linestyle="--", label="best action")
    ax.set(xlabel="action a", ylabel="prior density", ylim=(0, 1.75), title=title)
    visits = ax.twinx()
    visits.grid(False)
    ax.set_zorder(1)  # candidates and density stay visible in front of the bars
    ax.patch.set_visible(False)
    visits.bar(result.actions[0, :, 0], result.visits[0], width=0.03, color="C1", alpha=0.8)
    ax.plot(result.actions[0, :, 0], np.full(result.actions.shape[1], 0.02), "|", color="C0",
            markersize=14, markeredgewidth=2, label="candidates")
    ax.bar(0, 0, color="C1", label="visits (right axis)")
    visits.set(ylabel="visits", ylim=(0, 1.75 * result.visits.max()))
    mean = (result.policy[0] * result.actions[0, :, 0]).sum()
    visits.plot(mean, 1.1 * result.visits.max(), "v", color="C1", markersize=9)
    ax.plot([], [], "v", color="C1", label="mean action by visits")
    return mean


figure, axes = plt.subplots(1, 2, figsize=(11, 4))
for ax, result, name in zip(axes, (lowest, parent), ("lowest", "parent"), strict=True):
    mean = picture(ax, result, BEST, f"unvisited_value={name}")
    expected = (result.policy[0] * reward(result.actions[0, :, 0])).sum()
    tried = (result.visits[0] > 0).sum()
    print(f"{name}: {tried:2} of 20 candidates tried, mean action {mean:.2f}, "
          f"expected reward {expected:.3f}")
print(f"the policy itself: reward {bandit.initial([0])[2][0]:.3f}, best possible 1")
axes[0].legend(fontsize=8, loc="upper left")
plt.show()
assert (parent.visits[0] > 0).sum() > 15, "with `parent` nearly all candidates should be tried"

# %% [markdown]
# On the right every candidate was tried, and those near the best action were tried again. That is
# the policy improvement as a picture: the prior's bell on the left, the visits' weight to its right.
#
# **What it did to learning** in this project, measured on `cartpole_swingup` of dm_control, trained online,
# with 20 candidates and 32 simulations, each candidate evaluated when it was taken: with `lowest` the policy
# collapsed to one action, and the return was 70 after 4,000 learner steps. With `parent` it was 222 and
# rising after 3,000. All rewards there are between 0 and 1, so that values are positive. Where they are
# negative the search does leave the first candidate, but not by much (exercise 4). Noise at the root, switched
# off here, does not cure it (exercise 5). `lowest` is MuZero's rule and the default of `SearchConfig`
# (`tutorials/deviations_and_choices.md`, number 34).
#
# ## 7. Evaluate all candidates first
#
# `parent` guesses better. But why guess? The candidates of the root are few, and they are known before the first
# simulation. Sampled MuZero (appendix A) evaluates *all* of them then: one call of the model with $K$ actions. Each
# candidate gets its reward $r$ and a node with the value $v$, so pUCT knows its $Q = r + \gamma v$, and the range
# that normalises values holds all $K$ of them from the start. What it does not get is a visit. Visits are the policy
# target, and an evaluation that every candidate gets alike says nothing about which one is better.


# %%
def evaluate_first(model, root, normals, config):
    """All candidates of the root in one batch: child, reward and value of each edge; no visits."""
    hidden = np.repeat(root.hidden[None], len(root.edges), axis=0)
    actions = np.stack([edge.action for edge in root.edges])
    hidden, rewards, policy, values = model.recurrent(hidden, actions)
    for k, edge in enumerate(root.edges):
        below = propose(np.stack([policy.mean[k], policy.scale[k]]), normals[k + 1],
                        config.sampling_temperature)
        edge.reward = rewards[k]
        edge.child = reference.Node(k + 1, hidden[k], values[k], values[k], below)
    q = rewards + config.discount * values
    return [q.min(), q.max()]  # the bounds of the tree before the first simulation


def simulate(model, root, normals, config, bounds, index):
    """One simulation, as ever; its node has number `index`."""
    path, node = [], root
    while node is not None:
        edge = reference.best_edge(node, bounds, config)
        path.append((node, edge))
        node = edge.child
    node = reference.evaluate(model, path[-1][0], edge, index, propose, normals[index], config)
    reference.backup(path, node.raw_value, bounds, config.discount)


config = settings("lowest", first=True)
normals = draw(np.random.default_rng(27), config, (1, 1 + 20 + 32, 20, 1), gaussian=True)[0]
hidden, policy, value = bandit.initial([0])
edges = propose(np.stack(policy, axis=1)[0], normals[0], config.sampling_temperature)
root = reference.Node(0, hidden[0], value[0], value[0], edges)
bounds = evaluate_first(bandit, root, normals, config)
known = np.array([edge.q(config.discount) for edge in root.edges])
print("Q of the 20 candidates:", known)
print("visits of the candidates:", sum(edge.visits for edge in root.edges),
      "  visits of the root:", root.visits)

# %% [markdown]
# The library's search, and its tree as it was before the first simulation (`prefix`). The candidates are nodes 1 to 20;
# simulation $s$ will create node $20 + s + 1$. Draws that were merged at a bound would leave a place empty; here none is.

# %%
first = search(bandit, [0], config, np.random.default_rng(27), record=True)
before = prefix(first.tree, make_settings(config, SAMPLED_GAUSSIAN, 20, first=20), 0)
library = before.edges[0, 0]
assert np.array_equal(first.actions, lowest.actions), (
    "the same seed should draw the same candidates, with first evaluations too"
)
assert first.tree.first == 20 and first.tree.nodes.shape[1] == 1 + 20 + 32, (
    "there should be a node for the root, for 20 candidates and for 32 simulations"
)
assert (
    library["child"].tolist() == [edge.child.index for edge in root.edges] == list(range(1, 21))
), "each candidate should have its node before the first simulation"
assert np.allclose(library["reward"], [edge.reward for edge in root.edges], rtol=1e-12, atol=0), (
    "our first rewards are not the library's"
)
assert library["value"].tolist() == [edge.child.value for edge in root.edges], (
    "our first values are not the library's"
)
assert library["visits"].sum() == sum(edge.visits for edge in root.edges) == 0, (
    "a first evaluation is no visit"
)
assert np.allclose(before.bounds[0], bounds, rtol=1e-12, atol=0), (
    "the range should hold the values of all candidates from the start"
)

for index in range(21, 53):
    simulate(bandit, root, normals, config, bounds, index)
assert [edge.visits for edge in root.edges] == list(first.visits[0]), (
    "our visits after first evaluations are not the library's"
)
assert math.isclose(root.value, first.value[0], rel_tol=1e-12), (
    "our root value after first evaluations is not the library's"
)
print("visits without:", *lowest.visits[0])
print("visits with   :", *first.visits[0], "  (ours and the library's)")

# %%
figure, axes = plt.subplots(1, 2, figsize=(11, 4))
panels = (("without", lowest), ("with", first))
for ax, (name, result) in zip(axes, panels, strict=True):
    mean = picture(ax, result, BEST, f"{name} first evaluations, unvisited_value=lowest")
    expected = (result.policy[0] * reward(result.actions[0, :, 0])).sum()
    tried = (result.visits[0] > 0).sum()
    print(f"{name:7} first evaluations: {tried:2} of 20 candidates visited, "
          f"mean action {mean:.2f}, expected reward {expected:.3f}")
axes[0].legend(fontsize=8, loc="upper left")
plt.show()
same = search(bandit, [0], settings("parent", first=True), np.random.default_rng(27))
assert np.array_equal(same.visits, first.visits), "evaluated first, both rules should visit alike"

# %% [markdown]
# The same candidates, the same seed, the same rule for the unvisited. Without, the first candidate was compared with
# what lies below it on its own path, never with its alternatives. With, the visits are where the reward is, and a
# candidate that is known to be bad gets none. Whether `lowest` or `parent` makes no difference to this search any more:
# no candidate of its root is unknown. Below the root, where nothing is evaluated in advance, the rule still counts.
#
# **What it costs:** $K$ more evaluations, 52 in the place of 32. But they are one call of the model with a batch of
# 20, and a batch is cheaper than as many calls in a row. One could also spend them on 20 more simulations. On average
# over many draws of candidates:

# %%
ROWS = 32 if FAST else 512


def search_many(config):
    """ROWS searches, each with its own candidates: how many of them are visited, and the reward."""
    result = search(bandit, np.zeros(ROWS), config, np.random.default_rng(0))
    rewards = np.where(result.prior > 0, reward(result.actions[..., 0]), -np.inf)
    most_visited = rewards[np.arange(ROWS), result.visits.argmax(axis=1)]
    drawn = (result.policy * reward(result.actions[..., 0])).sum(axis=1)
    visited = (result.visits > 0).sum(axis=1)
    return np.mean([drawn, most_visited, rewards.max(axis=1), visited], axis=1)


print("                    evaluations   visited of 20   reward: by visits   most visited")
spent = {}
for mode, simulations, is_first in (("lowest", 32, False), ("lowest", 52, False),
                                    ("parent", 32, False), ("parent", 52, False),
                                    ("lowest", 32, True)):
    name = "first evaluations" if is_first else mode
    spent[name, simulations] = row = search_many(settings(mode, 20, simulations, is_first))
    evaluations = simulations + 20 * is_first
    print(f"{name:18} {evaluations:12} {row[3]:15.1f} {row[0]:19.3f} {row[1]:14.3f}")
ours = spent["first evaluations", 32]
assert ours[0] > max(spent[name, 52][0] for name in ("lowest", "parent")) + 0.05, (
    "first evaluations should be worth more than 20 simulations more"
)
assert spent["lowest", 52][3] < 2 < ours[3], "`lowest` should hardly look beyond one candidate"

# %% [markdown]
# With the same number of evaluations the first evaluations are ahead. They are on wherever actions are sampled
# (`search.first_evaluations`; leave it unset). Where all actions are candidates they are off, as in MuZero.
#
# ## 8. How good is the improved policy?
#
# We know the best action, so we can ask what acting by the visits is worth, for more candidates and more simulations.
# Every row of a batch draws its own candidates, so one call does them all. No search can be better
# than the best of its $K$ candidates (dotted, on average).

# %%
SIMULATIONS = [4, 8, 16, 32, 64, 128]
NUM_CANDIDATES = {3: "v", 10: "o", 20: "s", 50: "^"}
WAYS = {"lowest": ("lowest", False), "parent": ("parent", False), "first": ("lowest", True)}
TITLES = {"lowest": "without, lowest", "parent": "without, parent", "first": "first evaluations"}

table = {}
for way, (mode, is_first) in WAYS.items():
    for count in NUM_CANDIDATES:
        rows = [search_many(settings(mode, count, n, is_first)) for n in SIMULATIONS]
        table[way, count] = np.array(rows)
figure, axes = plt.subplots(2, 3, figsize=(12.5, 7), sharey=True, sharex=True)
for row, kind in enumerate(("drawn by visits", "most visited")):
    for ax, way in zip(axes[row], WAYS, strict=True):
        for colour, (count, marker) in enumerate(NUM_CANDIDATES.items()):
            rows = table[way, count]
            ax.semilogx(SIMULATIONS, rows[:, row], marker + "-", color=f"C{colour}", base=2,
                        label=f"K = {count}")
            ax.axhline(rows[:, 2].mean(), color=f"C{colour}", linestyle=":")
        ax.axhline(bandit.initial([0])[2][0], color="black", label="the policy")
        ax.set(title=f"{TITLES[way]}: {kind}")
    axes[row, 0].set(ylabel="expected reward")
for ax in axes[1]:
    ax.set_xticks(SIMULATIONS, [str(n) for n in SIMULATIONS])
    ax.set(xlabel="simulations")
axes[0, 0].legend(fontsize=8)
plt.show()

for way in WAYS:
    print(f"{TITLES[way]:17}: K = 20, 32 simulations, by visits {table[way, 20][3, 0]:.3f}, "
          f"most visited {table[way, 20][3, 1]:.3f}")
assert table["parent", 20][3, 1] > table["lowest", 20][3, 1] + 0.1, (
    "`parent` should find better actions than `lowest`"
)
assert table["first", 20][3, 0] > table["parent", 20][3, 0] + 0.1, (
    "first evaluations should find better actions than `parent`"
)
if not FAST:
    gain = table["parent", 20][3] - bandit.initial([0])[2][0]
    assert gain[0] < gain[1] / 2, "a draw by the visits should gain less than half as much"
    assert table["parent", 20][-1, 0] > table["parent", 3][-1, 0], (
        "more candidates should have a higher ceiling"
    )
    assert table["parent", 3][1, 0] > table["parent", 50][1, 0], (
        "many candidates should want more simulations than eight"
    )
    for count in (20, 50):  # first evaluations: 4 simulations suffice, and more spread the visits
        drawn, most_visited, ceiling, _ = table["first", count].T
        assert np.all(ceiling - most_visited < 0.01), (
            "the most visited action should be nearly the best candidate"
        )
        assert drawn[0] > drawn[-1], "more simulations should spread the visits"

# %% [markdown]
# Without first evaluations two limits pull against each other. The *ceiling* is the best candidate: with $K = 3$ it is
# low, and no number of simulations helps. The *work* is telling candidates apart: with $K = 50$ and 8 simulations
# most have not been tried. Where the simulations just suffice to try each once, the visits are almost
# flat, and a draw from them gains less than half of what the most visited action does (`parent`, $K = 20$, 32
# simulations). With `lowest`, small $K$ escapes: $K = 3$ soon, $K = 10$ after 64 simulations, $K = 20$ not at all in
# this picture. $K = 50$ even starts below the policy. Of fifty draws about two are clipped to $-1$; merged they
# have the largest prior, are tried first, and pay nothing.
#
# With first evaluations the work is done before the first simulation, and the most visited action is nearly the best
# candidate from 4 simulations on. The visits of 20 and 50 candidates even become *worse* with more simulations. That is
# this world's doing: after one step there is nothing more to find out, and pUCT's exploration, which grows
# with $\sqrt N$, spreads the visits.
#
# **Two steps.** Does it work deeper in the tree, where candidates are sampled too? A world with a trap: the
# first action pays most at $0.6$, but what is far from $-0.2$ must be paid for in the second step,
#
# $$u_1 = 1 - (a_1 - 0.6)^2, \qquad u_2 = 1 - (a_1 + 0.2)^2 - (a_2 - 0.5)^2 .$$
#
# With $\gamma = 1$ and the best second action $0.5$ the sum is $2 - (a_1 - 0.6)^2 - (a_1 + 0.2)^2$; its derivative
# vanishes half way, at $a_1 = 0.2$.


# %%
class TwoStep:
    """Two actions, two rewards. hidden [B, 2]: number of actions taken, and the first of them."""

    mean, scale = np.array([0.6, 0.0, 0.0]), 0.4  # the policy after 0, 1 and 2 actions

    def outputs(self, hidden):
        """Policy and value; the value is what the policy can expect from here."""
        taken, first = hidden[:, 0].astype(int), hidden[:, 1]
        mean = self.mean[np.minimum(taken, 2)][:, None]
        second_step = 1 - (first + 0.2) ** 2 - (0.5**2 + self.scale**2)
        start = 1 - self.scale**2 + 1 - (0.8**2 + self.scale**2) - (0.5**2 + self.scale**2)
        value = np.select([taken == 0, taken == 1], [start, second_step], 0.0)
        return GaussianPolicy(mean, np.full_like(mean, self.scale)), value

    def initial(self, observations):
        hidden = np.zeros((len(observations), 2))
        return hidden, *self.outputs(hidden)

    def recurrent(self, hidden, actions):
        taken, first, action = hidden[:, 0], hidden[:, 1], actions[:, 0].astype(float)
        first_reward = 1 - (action - 0.6) ** 2
        second_reward = 1 - (first + 0.2) ** 2 - (action - 0.5) ** 2
        rewards = np.select([taken == 0, taken == 1], [first_reward, second_reward], 0.0)
        hidden = np.column_stack([taken + 1, np.where(taken == 0, action, first)])
        return hidden, rewards, *self.outputs(hidden)


density = [NormalDist(0.6, 0.4).pdf(a) for a in line]
config = settings("lowest", simulations=200, first=True)
result = search(TwoStep(), [0], config, np.random.default_rng(4))
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
picture(left, result, 0.2, "Two steps, first action: 20 candidates, 200 simulations")
left.axvline(0.6, color="black", linestyle=":", label="best for the first reward alone")
left.legend(fontsize=8, loc="upper left")
curves = {}
for name, count, mode, is_first, style in (
    ("K = 20, without, lowest", 20, "lowest", False, "v:"),
    ("K = 20, without, parent", 20, "parent", False, "^-."),
    ("K = 5, first evaluations", 5, "lowest", True, "o-"),
    ("K = 20, first evaluations", 20, "lowest", True, "s--"),
):
    curves[name] = []
    for simulations in (10, 20, 50, 100, 200):
        config = settings(mode, count, simulations, is_first)
        batch = search(TwoStep(), np.zeros(ROWS), config, np.random.default_rng(0))
        curves[name].append((batch.policy * batch.actions[..., 0]).sum(axis=1).mean())
    right.semilogx((10, 20, 50, 100, 200), curves[name], style, label=name)
clipped_mean = np.clip(0.6 + 0.4 * np.random.default_rng(0).standard_normal(10**6), -1, 1).mean()
right.axhline(clipped_mean, color="black", label="the policy's mean action, clipped")
right.axhline(0.2, color="C5", linestyle="--", label="best action")
right.set(xlabel="simulations", ylabel="mean first action by visits", ylim=(0, 1.35),
          title=f"Mean over {ROWS} searches")
right.set_xticks([10, 20, 50, 100, 200], ["10", "20", "50", "100", "200"])
right.minorticks_off()
right.legend(fontsize=8, loc="upper right", ncols=2)
plt.show()
most_visited = result.actions[0, result.visits[0].argmax(), 0]
print(f"most visited first action: {most_visited:.2f}")
for name, means in curves.items():
    print(f"{name:26}", *(f"{mean:.2f}" for mean in means))
assert curves["K = 20, first evaluations"][-1] < clipped_mean - 0.15, (
    "first evaluations should move the mean towards 0.2, 0.15 below the policy's"
)
assert min(curves["K = 20, without, lowest"]) > clipped_mean, "without, it should go the wrong way"
assert abs(most_visited - 0.2) < abs(most_visited - 0.6), (
    "the most visited action should be nearer to 0.2 than to 0.6, where the policy is"
)

# %% [markdown]
# The policy was perfect for the first reward; the search moves it towards 0.2, because the value of the second step
# is part of what it compares. Without first evaluations and with `lowest` it goes the wrong way: the draws that are clipped
# to 1 are merged, have the largest prior, are tried first and keep the visits. With first evaluations of 20 candidates, ten
# simulations come close to 0.2; more of them spread the visits, as in the bandit.
#
# ## 9. The policy target
#
# The visits are shares over $K$ actions that happened to be drawn. What does the network learn from that?
# The appendix "Policy Representation": maximise "the log-likelihood of each searched action sample, weighted by
# its normalized visit count". With visits $\pi_k$ at actions $a_k$, and a policy with mean $\mu$ and scale $\sigma$,
#
# $$l^p = -\sum_k \pi_k \log \mathcal N(a_k; \mu, \sigma), \qquad
# \log \mathcal N(a;\mu,\sigma) = -\tfrac12 \Big(\frac{a-\mu}{\sigma}\Big)^2 - \log\sigma - \tfrac12\log 2\pi .$$
#
# Its derivatives fit on one line:
#
# $$-\frac{\partial l^p}{\partial \mu} = \sum_k \pi_k \frac{a_k - \mu}{\sigma^2}, \qquad
# -\frac{\partial l^p}{\partial \log\sigma} = \sum_k \pi_k \Big[\Big(\frac{a_k-\mu}{\sigma}\Big)^2 - 1\Big].$$
#
# The mean is pulled towards the visited actions. The scale grows if they lie further from the mean than
# $\sigma$, and shrinks otherwise. The candidates that were drawn and *not* visited do not appear: the
# policy is updated only at the sampled actions.


# %%
def policy_loss(mean, log_scale, actions, weights):
    """Minus the weighted log-likelihood of actions [K]."""
    standard = (actions - mean) / math.exp(log_scale)
    return -(weights * (-0.5 * standard**2 - log_scale - 0.5 * math.log(2 * math.pi))).sum()


def downhill(mean, log_scale, actions, weights):
    """Minus the gradient of the loss with respect to mean and log scale."""
    standard = (actions - mean) / math.exp(log_scale)
    slope_mean = (weights * standard).sum() / math.exp(log_scale)
    return np.array([slope_mean, (weights * (standard**2 - 1)).sum()])


actions, weights = parent.actions[0, :, 0].astype(float), parent.policy[0]
start = np.array([-0.3, math.log(0.4)])
step = downhill(*start, actions, weights)
for i in (0, 1):  # differences instead of derivatives
    shift = 1e-6 * np.eye(2)[i]
    difference = policy_loss(*(start - shift), actions, weights)
    difference -= policy_loss(*(start + shift), actions, weights)
    assert math.isclose(difference / 2e-6, step[i], rel_tol=1e-6, abs_tol=1e-8), (
        "the gradient by hand is not the slope of the loss"
    )
after = start + 0.05 * step
print(f"mean  {start[0]:.3f} -> {after[0]:.3f}   (best action {BEST})")
print(f"scale {math.exp(start[1]):.3f} -> {math.exp(after[1]):.3f}")
print(f"loss  {policy_loss(*start, actions, weights):.4f} -> "
      f"{policy_loss(*after, actions, weights):.4f}")
assert after[0] > start[0], "a step should move the mean towards the visited actions"
assert policy_loss(*after, actions, weights) < policy_loss(*start, actions, weights), (
    "a step along the gradient should lower the loss"
)

# %% [markdown]
# The library's loss is the same number, and TensorFlow finds the same gradient. (Its network puts out not the
# logarithm of the scale but a number $x$ with $\sigma = \mathrm{softplus}(x + 0.5413) + 0.001$, so we compare
# the slope of the mean, and the other by the chain rule.)

# %%
from mzu.learning.losses import policy_losses
from mzu.learning.targets import Targets
from mzu.silent_tensorflow import tf

raw = math.log(math.expm1(0.4 - 0.001)) - 0.5413  # the output that stands for scale 0.4
outputs = tf.constant([[[-0.3, raw]]])  # [B, U + 1, 2 D]: one position, nothing unrolled
nothing = np.zeros((1, 1), np.float32)
targets = Targets(
    rewards=nothing, reward_mask=nothing, values=nothing, value_mask=nothing,
    policy_actions=parent.actions[None].astype(np.float32),  # [B, U + 1, K, D]
    policy_weights=parent.policy[None].astype(np.float32), policy_mask=nothing + 1,
)
with tf.GradientTape() as tape:
    tape.watch(outputs)
    loss = policy_losses(outputs, targets, continuous=True)
slopes = -tape.gradient(loss, outputs).numpy()[0, 0]
sigmoid = 1 / (1 + math.exp(-(raw + 0.5413)))  # the slope of softplus
print(f"loss: ours {policy_loss(*start, actions, weights):.5f}, library {float(loss[0, 0]):.5f}")
assert math.isclose(float(loss[0, 0]), policy_loss(*start, actions, weights), rel_tol=1e-5), (
    "our loss is not the library's"
)
assert np.allclose(slopes, [step[0], step[1] / 0.4 * sigmoid], rtol=1e-4), (
    "our gradient is not the library's"
)

# %% [markdown]
# ## 10. The circle closed, in small
#
# Search, learn, search again. The best fit of a Gaussian to weighted actions needs no small steps: set both
# derivatives to zero, and $\mu = \sum_k \pi_k a_k$, $\sigma^2 = \sum_k \pi_k (a_k - \mu)^2$. We go a fifth of the way
# to that in each round. A round has four searches, each with its own candidates. Eight agents with different
# seeds learn side by side.


# %%
def learn(config, rounds=80, agents=8, searches=4):
    """Means and scales [rounds + 1, agents] of agents that learn from their own searches."""
    rng = np.random.default_rng(0)
    mean, variance = np.full(agents, -0.3), np.full(agents, 0.4**2)
    means, scales = [mean], [np.sqrt(variance)]
    for _ in range(rounds):
        rows = [np.repeat(x, searches)[:, None] for x in (mean, np.sqrt(variance))]
        result = search(OneStep(*rows), np.zeros(agents * searches), config, rng)
        actions = result.actions[..., 0].astype(float).reshape(agents, -1)
        weights = result.policy.reshape(agents, -1) / searches
        fit = (weights * actions).sum(axis=1)
        fit_variance = (weights * (actions - fit[:, None]) ** 2).sum(axis=1)
        mean = mean + 0.2 * (fit - mean)
        variance = np.maximum(variance + 0.2 * (fit_variance - variance), 1e-6)
        means.append(mean)
        scales.append(np.sqrt(variance))
    return np.array(means), np.array(scales)


figure, axes = plt.subplots(1, 2, figsize=(11, 4))
ends = {}
for way, style, colour in (("lowest", "--", "C1"), ("parent", "-.", "C5"), ("first", "-", "C0")):
    mode, is_first = WAYS[way]
    means, scales = learn(settings(mode, first=is_first), rounds=20 if FAST else 80)
    ends[way] = means[-1], scales[-1]
    axes[0].plot(means, style, color=colour)
    axes[1].semilogy(scales, style, color=colour)
    axes[1].plot([], [], style, color=colour, label=TITLES[way])
    print(f"{TITLES[way]:17}: mean actions at the end {means[-1]}")
    near = np.flatnonzero(np.all(np.abs(means - BEST) < 0.1, axis=1))
    print(f"{'':17}  all eight within 0.1 of the best action:",
          f"first after {near[0]} rounds" if len(near) else "never")
axes[0].axhline(BEST, color="black", linestyle=":")
axes[0].set(xlabel="rounds", ylabel="mean of the policy",
            title="Eight agents: where they go (dotted: the best action)")
axes[1].set(xlabel="rounds", ylabel="scale of the policy", title="How sure they are")
axes[1].set_yticks([0.02, 0.05, 0.1, 0.2, 0.4], ["0.02", "0.05", "0.1", "0.2", "0.4"])
axes[1].minorticks_off()
axes[1].legend(loc="lower left")
plt.show()
if not FAST:
    assert np.all(np.abs(ends["parent"][0] - BEST) < 0.1), (
        "with `parent` every run should come within 0.1 of the best action"
    )
    assert np.all(np.abs(ends["first"][0] - BEST) < 0.1), (
        "with first evaluations every run should come within 0.1 of the best action"
    )
    assert np.abs(ends["lowest"][0] - BEST).max() > 0.3, (
        "with `lowest` some run should stay far away"
    )
    assert ends["lowest"][1].max() < 0.1, (
        "with `lowest` the scale should have shrunk to nothing: no way back"
    )

# %% [markdown]
# With `parent` all eight end at the best action, and with first evaluations too. With `lowest` alone each agent is
# trained towards draws from its own policy. That teaches nothing about the reward. But four draws vary less about
# their own mean than about the policy's, by a quarter on average, and a fifth of that is 5% of the
# variance in every round: $0.95^{80} = 0.017$, so the scale falls to an eighth. The policy narrows wherever
# it happens to be, and in the end proposes nearly the same action twenty times: a small picture of the collapse
# in the swing-up. Nothing raises an error, and since $l^p$ contains $\log\sigma$, the loss even goes down. So look
# at the visits.

# %% [markdown]
# ## What the library adds
#
# * **Compiled proposals for batches** (`mzu/search/sampled_actions.py`), at every node, in the memory of
#   the tree: the normals wait in the places of the actions that they will become.
# * **First evaluations for batches**: the candidates of all roots in one call of the model (`mzu/search/search.py`,
#   `mzu/search/batched_kernels.py`).
# * **Legal actions** at the root of a categorical search: they are masked before $p$ and $\beta$.
# * **Root noise** over the candidates that exist: `search.dirichlet_fraction`.
# * **A floor**: a prior never becomes exactly 0 by underflow, since 0 says that there is no candidate.
# * **A narrower policy for evaluation**, scale at most 0.05 (appendix "Evaluation"): near its mode, but
#   still with different candidates to search over.
# * **Action injection**: offline, the data's own action joins the candidates (notebook 06).
#
# ## Summary
#
# * Where actions cannot be listed, each node searches over $K$ draws from $\beta \propto p^{1/\tau}$.
# * The prior $p\,\hat\beta/\beta$ makes the search an estimate of the search over all actions, whose bias
#   and spread vanish as $K$ grows. With $\tau = 1$ it is the share of the draws.
# * For a Gaussian, $\beta$ is $\sqrt\tau$ times as wide, and $p/\beta = \tau^{D/2} e^{\lVert n\rVert^2(1-\tau)/2}$. It is
#   taken where the draw fell, before clipping; equal actions are merged.
# * Where unvisited candidates count as the lowest value, a search with many equal candidates and positive values
#   tries only one. So all candidates of the root are evaluated first: their values are known, and they have no visits.
# * That costs $K$ evaluations in one batch. Without it, more candidates raise the ceiling and need more simulations.
# * The policy learns by weighted log-likelihood: the mean moves to the visited actions.
#
# ## Exercises
#
# Write the functions below. The last lines of a cell check yours and say which idea is missing, if one is;
# `check.hint("05.1")` gives one hint more at each call, and the solution opens at a click. More of it,
# with derivations and figures: `tutorials/solutions/05_sampled_actions.md`.

# %%
from mzu.classroom import check

# %% [markdown]
# ### 1. How many candidates?
#
# $K$ draws from a categorical policy have fewer than $K$ distinct actions. Derive the expected number
# for given $\beta$ and $K$, and check it with searches of the library on the 41 actions of section 2,
# for temperatures 1 and 5 and $K = 20$.


# %%
def expected_candidates(beta, count):
    """How many distinct actions `count` draws from a categorical proposal have, on average.

    beta [A]: probabilities -> a number

    >>> expected_candidates(np.array([0.5, 0.5]), 2)
    1.5
    """
    raise NotImplementedError


check.exercise_05_1(expected_candidates)
check.solution("05.1")

# %% [markdown]
# ### 2. The price of temperature
#
# Show that $\mathbb E_\beta[(p/\beta)^2] = (\tau/\sqrt{2\tau - 1})^D$ for a Gaussian policy $p$. Of
# $K = 20$ draws, how many *effective* ones, $K / \mathbb E_\beta[(p/\beta)^2]$, are left with $\tau =
# 2$ in 1, 6 and 21 dimensions? What happens at $\tau = 1/2$?


# %%
def effective_draws(count, temperature, dimensions):
    """Of `count` draws of a Gaussian at a temperature, how many are left: count / E[(p / beta)^2].

    E[(p / beta)^2] = (temperature / sqrt(2 temperature - 1)) ** dimensions; for a temperature of
    1/2 and below it is infinite, and no draw is left.

    >>> effective_draws(20, 1.0, 6)
    20.0
    """
    raise NotImplementedError


check.exercise_05_2(effective_draws)
check.solution("05.2")

# %% [markdown]
# ### 3. Find the bug
#
# Someone clips first, computes $n$ back from the clipped action and puts that into the ratio. Derive
# the mean prior of the action 1 for mean 0.7, scale 0.5, $\tau = 4$, and compare with the right one.
# For which $\tau$ does the bug not show?


# %%
def priors_of_the_bound(mean, scale, temperature):
    """The mean prior of the action 1, to which all draws above it are clipped: (with the bug, as
    it is right).

    Draws are mean + sqrt(temperature) * scale * n; the ratio of a draw is sqrt(temperature) *
    exp(n^2 (1 - temperature) / 2). The bug computes n back from the clipped action, so that every
    clipped draw gets the ratio of the bound.

    >>> [round(prior, 3) for prior in priors_of_the_bound(0.7, 0.5, 1.0)]
    [0.274, 0.274]
    """
    raise NotImplementedError


check.exercise_05_3(priors_of_the_bound)
check.solution("05.3")

# %% [markdown]
# ### 4. Costs instead of rewards
#
# Subtract 1 from the reward (and the value) of `OneStep`, so that the best action pays 0 and all
# others less. How many candidates does a search with `lowest` and without first evaluations try now,
# and why does a mere constant matter? And with `parent`? And with first evaluations?


# %%
def candidates_tried(constant, unvisited_value, first_evaluations):
    """How many of 20 candidates a search of 32 simulations visits, on average over 200 positions
    or more.

    The bandit is OneStep([-0.3], [0.4]) with `constant` added to its reward and to its value;
    discount 1, no noise. unvisited_value "lowest" or "parent", first_evaluations True or False ->
    a number, of which the first digit after the point may differ.

    >>> round(candidates_tried(0.0, "parent", True))
    11
    """
    raise NotImplementedError


check.exercise_05_4(candidates_tried)
check.solution("05.4")

# %% [markdown]
# ### 5. Does noise help?
#
# Switch on the root noise of the library's default (fraction 0.25, alpha 0.25) in the bandit of
# section 6 with `lowest` and without first evaluations. How many of 20 candidates are tried in 32
# simulations, and how good is the most visited action compared with `parent`, and with first
# evaluations, without noise?


# %%
def tried_and_reward(unvisited_value, first_evaluations, noise):
    """Does noise help? The same bandit with constant 0 and root noise of this fraction (alpha
    0.25).

    -> (candidates visited, reward of the most visited action), means over 200 positions or more

    >>> [round(number, 1) for number in tried_and_reward("parent", True, 0.0)]
    [11.3, 1.0]
    """
    raise NotImplementedError


check.exercise_05_5(tried_and_reward)
check.solution("05.5")

# %% [markdown]
# ### 6. Higher dimensions
#
# Search `OneStep` with mean $-0.3$ and scale 0.4 in $D = 1, 4, 16$ dimensions with 20 candidates, 64
# simulations and first evaluations. How much of the way from the policy's reward to 1 does the most
# visited action make? Would more simulations help?


# %%
def share_of_the_way(dimensions, simulations):
    """How much of the way from the policy's mean reward to 1 does the most visited action make?

    OneStep with mean -0.3 and scale 0.4 in so many dimensions, 20 candidates, first evaluations, no
    noise, 50 positions or more. The policy's mean reward is the bandit's own value.

    >>> round(share_of_the_way(2, 64), 1)
    0.8
    """
    raise NotImplementedError


check.exercise_05_6(share_of_the_way)
check.solution("05.6")
