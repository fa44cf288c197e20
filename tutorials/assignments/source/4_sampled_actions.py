# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Assignment 4. Sampled and injected actions
#
# Where there are too many actions to list, or endlessly many, a search looks at a few that the policy proposes.
# This is everything that a search over sampled actions needs beside the search itself.
#
# | | |
# |---|---|
# | **You will write** | how candidates are drawn, which prior each of them gets, how the action of the data joins them, and what the network learns from their visits |
# | **Follows** | notebooks `05_sampled_actions` and `06_action_injection` |
# | **Takes** | about two hours |
# | **Points** | 20, for six functions of 3 to 12 lines |
# | **Check yourself** | the cell below each question calls `check`, as often as you like. It says on which input your function differs from the library's, and often why. When you hand in, the same check is made with other inputs |
#
# Write your answer in place of `raise NotImplementedError()`. Arrays, as arguments and as results, are NumPy
# arrays: [A] is an array of A numbers, [n, D] one with n rows and D columns. Do not change an argument: work on a copy. Nothing here is
# random. Whatever a function needs of chance, it is given as numbers that were drawn before.

# %%
import math

import numpy as np

from mzu.classroom import check

np.set_printoptions(precision=4, suppress=True)

# %% [markdown]
# ## Question 4.1: the proposal (2 points)
#
# Candidates are drawn from a *proposal* $\beta$ that is made of the policy $\pi$ and a *temperature*
# $\tau > 0$:
#
# $$\beta(a) = \frac{\pi(a)^{1/\tau}}{\sum_b \pi(b)^{1/\tau}}.$$
#
# Write `proposal(policy, temperature)`. `policy` [A] are probabilities that add up to 1; some of them may be 0.
# The result is the array of the probabilities $\beta$ [A].
#
# Example: $\pi = (0.64, 0.32, 0.04)$ and $\tau = 2$ give the roots $0.8, 0.5657, 0.2$, and
# $\beta = (0.5110, 0.3613, 0.1277)$: flatter than the policy.

# %% nbgrader={"grade": false, "grade_id": "4-1", "locked": false, "schema_version": 3, "solution": true, "task": false}
def proposal(policy, temperature):
    """policy [A], a number -> beta [A]."""
    ### BEGIN SOLUTION
    powers = policy ** (1 / temperature)
    return powers / powers.sum()
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "4-1-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("4.1", proposal)
### BEGIN HIDDEN TESTS
check("4.1", proposal, hidden=True)
### END HIDDEN TESTS

# %% [markdown]
# ## Question 4.2: candidates and their priors (4 points)
#
# $K$ actions are drawn from $\beta$, by $K$ given numbers $u$ with $0 \le u < 1$. The action that $u$ draws is
# the first $a$ with
#
# $$u < \beta(0) + \beta(1) + \dots + \beta(a).$$
#
# Some action may be drawn several times, say $m_a$ times. It is **one** candidate, and $\hat\beta(a) = m_a / K$
# is its share of the draws. Its prior is
#
# $$\hat\pi(a) = \pi(a)\, \frac{\hat\beta(a)}{\beta(a)}.$$
#
# The priors add up to 1 on average, but not in every draw. Leave them as they are.
#
# Write `sampled_candidates(policy, temperature, uniforms)`. `uniforms` [K] are the numbers $u$, in any order.
# The result is a pair of arrays: the distinct actions that were drawn, in increasing order, and their priors. You
# may call your `proposal`.
#
# Example: $\pi = (0.64, 0.32, 0.04)$, $\tau = 2$ and $u = (0.05, 0.95, 0.4, 0.2)$. The sums of $\beta$ are
# $0.5110, 0.8723, 1$, so that the actions $0, 2, 0, 0$ are drawn. The candidates are $0$ and $2$, with
# $\hat\beta = 3/4$ and $1/4$ and the priors $0.64 \cdot 0.75 / 0.5110 = 0.9394$ and
# $0.04 \cdot 0.25 / 0.1277 = 0.0783$.

# %% nbgrader={"grade": false, "grade_id": "4-2", "locked": false, "schema_version": 3, "solution": true, "task": false}
def sampled_candidates(policy, temperature, uniforms):
    """policy [A], a number, uniforms [K] -> distinct actions [n], their priors [n]."""
    ### BEGIN SOLUTION
    beta = proposal(policy, temperature)
    drawn = np.searchsorted(np.cumsum(beta), uniforms, side="right")
    actions, times = np.unique(drawn, return_counts=True)
    return actions, policy[actions] * (times / len(uniforms)) / beta[actions]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "4-2-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("4.2", sampled_candidates)
### BEGIN HIDDEN TESTS
check("4.2", sampled_candidates, hidden=True)
### END HIDDEN TESTS

# %% [markdown]
# What does "on average" mean? Many draws of four actions, and the mean of each action's prior (0 where it was
# not drawn), for three temperatures:

# %% nbgrader={"grade": false, "grade_id": "4-average", "locked": true, "schema_version": 3, "solution": false, "task": false}
policy = np.array([0.64, 0.32, 0.04])
for temperature in (0.5, 1.0, 2.0):
    rng, mean, total = np.random.default_rng(0), np.zeros(3), []
    for _ in range(5000):
        actions, priors = sampled_candidates(policy, temperature, rng.random(4))
        mean[actions] += priors / 5000
        total.append(priors.sum())
    print(f"temperature {temperature}: mean priors {mean}, "
          f"sums from {min(total):.2f} to {max(total):.2f}")

# %% [markdown]
# ## Question 4.3: candidates of a Gaussian (4 points)
#
# A continuous action is a vector of $D$ numbers in $[-1, 1]$. Its policy is a Gaussian with a mean $\mu_d$ and
# a scale $\sigma_d$ in each dimension, independent of each other. Then $\pi^{1/\tau}$ is a Gaussian again, with
# the same mean and $\sqrt\tau$ times as wide. The $k$-th draw is therefore
#
# $$a_k = \mu + \sqrt\tau\,\sigma\, n_k$$
#
# in every dimension, where $n_k$ is a vector of $D$ given standard normal numbers. At this point
#
# $$\frac{\pi(a_k)}{\beta(a_k)} = \tau^{D/2}\, \exp\!\Big(\frac{1 - \tau}{2}\, \lVert n_k \rVert^2\Big).$$
#
# * A draw outside of the bounds is clipped to $[-1, 1]$, each dimension for itself.
# * The ratio $\pi/\beta$ is that of the point where the draw fell *before* it was clipped.
# * Each of the $K$ draws brings the prior $\frac1K \pi/\beta$. Draws that are equal after clipping (in all
#   dimensions) are one candidate: their priors add up.
#
# Write `gaussian_candidates(mean, scale, temperature, normals)` with `mean` and `scale` [D] and `normals` [K,
# D]. The result is a pair of arrays: the distinct actions [n, D], in the order in which each was first drawn, and
# their priors [n].
#
# Example with $D = 1$: $\mu = 0.5$, $\sigma = 0.4$, $\tau = 4$ and the normals $0.25, 1, -0.5, 2$. The draws
# fall on $0.7, 1.3, 0.1, 2.1$ and become $0.7, 1, 0.1, 1$. The ratio is $2\, e^{-1.5 n^2}$, that is
# $1.8210, 0.4463, 1.3746, 0.0050$. So the candidates are $0.7, 1, 0.1$ with the priors
# $0.4553,\; (0.4463 + 0.0050) / 4 = 0.1128$ and $0.3436$.

# %% nbgrader={"grade": false, "grade_id": "4-3", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gaussian_candidates(mean, scale, temperature, normals):
    """mean [D], scale [D], a number, normals [K, D] -> actions [n, D], their priors [n]."""
    ### BEGIN SOLUTION
    count, dimensions = normals.shape
    drawn = np.clip(mean + math.sqrt(temperature) * scale * normals, -1, 1)
    squares = (normals**2).sum(axis=1)
    ratios = temperature ** (dimensions / 2) * np.exp((1 - temperature) / 2 * squares)
    priors = {}  # a dictionary keeps the order in which its keys came
    for action, ratio in zip(drawn, ratios, strict=True):
        priors[tuple(action)] = priors.get(tuple(action), 0.0) + ratio / count
    return np.array(list(priors)), np.array(list(priors.values()))
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "4-3-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("4.3", gaussian_candidates)
### BEGIN HIDDEN TESTS
check("4.3", gaussian_candidates, hidden=True)
### END HIDDEN TESTS

# %% [markdown]
# Twenty candidates of a policy near the bound. With temperature 1 all draws weigh the same, except where
# several of them meet; with a larger one they stand further apart, and those far from the mean weigh less.

# %% nbgrader={"grade": false, "grade_id": "4-picture", "locked": true, "schema_version": 3, "solution": false, "task": false}
import matplotlib.pyplot as plt

line = np.linspace(-1.5, 2.5, 200)
density = np.exp(-0.5 * ((line - 0.6) / 0.4) ** 2) / (0.4 * math.sqrt(2 * math.pi))
normals = np.random.default_rng(2).standard_normal((20, 1))
figure, axes = plt.subplots(1, 2, figsize=(10.5, 3.2), sharey=True, constrained_layout=True)
for ax, temperature in zip(axes, (1.0, 3.0), strict=True):
    actions, priors = gaussian_candidates(np.array([0.6]), np.array([0.4]), temperature, normals)
    ax.plot(line, density / 4, color="black", label="policy (a quarter of its density)")
    ax.vlines(actions[:, 0], 0, priors, color="C0")
    ax.plot(actions[:, 0], priors, "o", color="C0", label="candidates (prior)")
    ax.axvspan(1, 2.5, color="grey", alpha=0.2, label="outside: becomes 1")
    ax.set(xlabel="action", title=f"temperature {temperature:g}")
axes[0].set(ylabel="prior")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", fontsize=8)
plt.show()

# %% [markdown]
# ## Question 4.4: injection (3 points)
#
# The policy hardly ever samples what somebody else did. When a stored position is searched again, the action of
# the trajectory therefore joins the candidates of the root (the paper's section "Offline RL and Continuous
# Action Spaces"):
#
# * It is one more candidate, behind the sampled ones, with the prior `injected_prior` (0.25 in the paper).
# * The sampled candidates share the rest, $1 -$ `injected_prior`, in proportion to their priors. Those need not
#   add up to 1 beforehand; afterwards all priors together do.
# * If it was sampled anyway, that is, if a candidate equals it in every dimension, it is not listed a second
#   time. That candidate has its part of the rest, and `injected_prior` in addition.
#
# Write `inject(actions, priors, stored, injected_prior)` with the sampled `actions` [n, D], no two of them
# equal, their `priors` [n] and the `stored` action [D]. The result is a pair: the actions and the priors of all
# candidates, n or n + 1 of them.
#
# Example: actions $0.1$ and $-0.3$ with priors $0.6$ and $0.4$, injected prior $0.25$. If the stored action is
# $0.7$, the actions are $0.1, -0.3, 0.7$ with priors $0.45, 0.3, 0.25$. If it is $-0.3$, they are $0.1, -0.3$
# with $0.45, 0.55$.

# %% nbgrader={"grade": false, "grade_id": "4-4", "locked": false, "schema_version": 3, "solution": true, "task": false}
def inject(actions, priors, stored, injected_prior):
    """actions [n, D], priors [n], stored [D], a number -> actions, priors of all candidates."""
    ### BEGIN SOLUTION
    priors = (1 - injected_prior) * priors / priors.sum()
    same = (actions == stored).all(axis=1)
    if same.any():
        return actions, priors + injected_prior * same
    return np.vstack([actions, stored]), np.append(priors, injected_prior)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "4-4-check", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("4.4", inject)
### BEGIN HIDDEN TESTS
check("4.4", inject, hidden=True)
### END HIDDEN TESTS

# %% [markdown]
# ## Question 4.5: noise or injection (4 points)
#
# A search works on $B$ positions at once, the rows of a batch. Some rows are stored positions that are
# reanalysed, others come from games that are being played and have no stored action. In both a quarter of the
# root's prior is for what the policy would overlook, but not for the same thing:
#
# * **A reanalysed row, at the root:** injection with prior $0.25$, and no noise. Injection takes its place.
# * **Another row, at the root:** noise, $0.75$ times the prior plus $0.25$ times a Dirichlet draw over the
#   candidates that exist. Such a draw is made of given positive numbers, one $g$ for each place: the
#   candidate's own $g$ divided by the sum over the candidates that exist.
# * **Below the root:** neither, in all rows: the priors stay as they were proposed.
#
# In arrays, every row has $K + 1$ places. A place whose proposed prior is 0 holds no candidate. The last place
# is free (its proposed prior is 0) for the stored action of a row in which it was not sampled.
#
# Write `node_priors(node, proposed, place, reanalysed, gammas)`, which gives the priors [B, K + 1] that the
# search will read:
#
# | argument | shape | meaning |
# |---|---|---|
# | `node` | a number | 0 is the root, larger numbers are nodes below it |
# | `proposed` | [B, K + 1] | priors as proposed; in a row they need not add up to 1 |
# | `place` | [B] | the place where the stored action belongs: that of an equal candidate, or the last; -1 in rows that are not reanalysed |
# | `reanalysed` | [B], True or False | whether the row is a stored position |
# | `gammas` | [B, K + 1] | the numbers $g$ |
#
# The actions themselves do not matter here: `place` says where the stored one stands. As in question 4.4, all
# sampled candidates of an injected row share $0.75$ in proportion to their priors, and the stored action's place
# gets $0.25$ on top of what it has, so that the row adds up to 1. In other rows the noise is added to priors that
# are not divided by their sum.
#
# Example at the root with two rows, $K = 2$: the row $(0.6, 0.4, 0)$, reanalysed with place 2, becomes
# $(0.45, 0.3, 0.25)$. The row $(0.6, 0.4, 0)$, not reanalysed, with $g = (1, 3, 2)$ becomes
# $(0.75 \cdot 0.6 + 0.25 \cdot \frac14,\; 0.75 \cdot 0.4 + 0.25 \cdot \frac34,\; 0) = (0.5125, 0.4875, 0)$.

# %% nbgrader={"grade": false, "grade_id": "4-5", "locked": false, "schema_version": 3, "solution": true, "task": false}
def node_priors(node, proposed, place, reanalysed, gammas):
    """The priors [B, K + 1] of a node, with noise or injection where they belong."""
    ### BEGIN SOLUTION
    priors = proposed.copy()
    if node > 0:
        return priors
    for row in range(len(priors)):
        if reanalysed[row]:
            priors[row] *= 0.75 / priors[row].sum()
            priors[row, place[row]] += 0.25
        else:
            noise = np.where(priors[row] > 0, gammas[row], 0)
            priors[row] = 0.75 * priors[row] + 0.25 * noise / noise.sum()
    return priors
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "4-5-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("4.5", node_priors)
### BEGIN HIDDEN TESTS
check("4.5", node_priors, hidden=True)
### END HIDDEN TESTS

# %% [markdown]
# ## Question 4.6: the policy loss (3 points)
#
# The search has visited candidate $k$ at action $a_k$ some $N_k$ times. The policy target is made of the shares
# $\pi_k = N_k / \sum_j N_j$ at these actions, and the policy is trained to make them likely (the paper's
# appendix "Policy Representation"): the loss is minus the log-likelihood of the candidates, each weighted by
# its share,
#
# $$l^p = -\sum_k \pi_k \log \mathcal N(a_k; \mu, \sigma), \qquad
# \mathcal N(a; \mu, \sigma) = \prod_{d=1}^{D} \frac{1}{\sqrt{2\pi}\,\sigma_d}
# \exp\!\Big(-\frac{(a_d - \mu_d)^2}{2 \sigma_d^2}\Big).$$
#
# (The $\pi$ under the root is the number 3.14...) The density is the plain Gaussian's, on a bound too.
#
# Write `policy_loss(visits, actions, mean, scale)` with `visits` [n], whole numbers, `actions` [n, D], `mean`
# and `scale` [D]. The result is a number.
#
# Example: visits $3$ and $1$ at the actions $0.5$ and $-0.5$, $\mu = 0$, $\sigma = 0.5$. Both log-likelihoods
# are $-\frac12 - \log 0.5 - \frac12 \log 2\pi = -0.7258$, and the loss is
# $\frac34 \cdot 0.7258 + \frac14 \cdot 0.7258 = 0.7258$.

# %% nbgrader={"grade": false, "grade_id": "4-6", "locked": false, "schema_version": 3, "solution": true, "task": false}
def policy_loss(visits, actions, mean, scale):
    """visits [n], actions [n, D], mean [D], scale [D] -> a number."""
    ### BEGIN SOLUTION
    logs = -(((actions - mean) / scale) ** 2) / 2 - np.log(scale) - math.log(2 * math.pi) / 2
    return -(visits / visits.sum() * logs.sum(axis=1)).sum()
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "4-6-check", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("4.6", policy_loss)
### BEGIN HIDDEN TESTS
check("4.6", policy_loss, hidden=True)
### END HIDDEN TESTS

# %% [markdown]
# ## All of it together
#
# Nothing to write here. One step in six dimensions is paid by how near the action comes to a goal. The policy
# has mean 0 and scale 0.3; the data hold an action near the goal. Your candidates are searched (by the loop of
# `mzu/search/reference.py`), with and without your injection. The Gaussian that makes your `policy_loss`
# smallest has the mean of the visited actions: where does each search send the policy?

# %% nbgrader={"grade": false, "grade_id": "4-together", "locked": true, "schema_version": 3, "solution": false, "task": false}
from mzu.config import SearchConfig
from mzu.search import reference

GOAL = 0.8 * np.array([1, -1, 1, -1, 1, -1])


class OneStep:
    """One action, one reward, then nothing more. hidden [B]: how many actions were taken."""

    def recurrent(self, hidden, actions):
        rewards = np.exp(-((actions - GOAL) ** 2).sum(axis=1) / 0.5) * (hidden == 0)
        return hidden + 1, rewards, (np.zeros((1, 6)), np.full((1, 6), 0.3)), np.zeros(1)


def propose(policy, normals, temperature):
    """Your candidates, as edges of the tree."""
    found = gaussian_candidates(policy[0], policy[1], temperature, normals)
    return [reference.Edge(action, prior) for action, prior in zip(*found, strict=True)]


config = SearchConfig(num_simulations=50, discount=1.0, unvisited_value="parent")
numbers = np.random.default_rng(0).standard_normal((51, 20, 6))
stored = GOAL + 0.1 * np.random.default_rng(1).standard_normal(6)
mean, scale = np.zeros(6), np.full(6, 0.3)
for name in ("sampled candidates only", "with the stored action"):
    actions, priors = gaussian_candidates(mean, scale, 1.0, numbers[0])
    if name == "with the stored action":
        actions, priors = inject(actions, priors, stored, 0.25)
    edges = [reference.Edge(action, prior) for action, prior in zip(actions, priors, strict=True)]
    root = reference.Node(0, np.array(0), 0.0, 0.0, edges)
    reference.search_one(OneStep(), root, propose, numbers, config)
    visits = np.array([edge.visits for edge in root.edges])
    target = visits / visits.sum() @ actions
    print(f"{name:23}: the target's mean is {np.linalg.norm(target - GOAL):.2f} from the goal, "
          f"the policy's {np.linalg.norm(mean - GOAL):.2f}; "
          f"loss {policy_loss(visits, actions, mean, scale):.1f}")
