# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Assignment 5. Prioritised replay and the unrolled loss
#
# | | |
# |---|---|
# | **You will write** | the probabilities with which positions are drawn, the weights that correct for them, the sum tree that does it fast, numbers as distributions, and the loss of one head over the unrolled steps |
# | **It follows** | notebook 07, the training system; for question 5.5 also notebook 02, networks |
# | **Takes** | about two and a half hours |
# | **Points** | 18, for six questions |
# | **Check yourself** | run the cell below each answer; it says what is wrong and which idea is probably missing. Grading also calls your functions with other inputs, so an answer that was typed in is not enough |
#
# Write each function in the place of `raise NotImplementedError()`. NumPy is all you need. All arrays
# are NumPy arrays of floats. Where an array is asked for, return one and not a list: the pictures go
# on with it. A function must not change the arrays that it is given, unless the question says so.
#
# A learner does two things over and over: it draws some positions from the replay (questions 5.1 to
# 5.4), and it takes a step that makes their loss smaller (5.5 and 5.6). The formulas are those of
# the paper, appendix "Other Hyperparameters" and section "Reanalyse".

# %%
import matplotlib.pyplot as plt
import numpy as np

from mzu.classroom import check

plt.style.use("tableau-colorblind10")
plt.rcParams.update({"figure.constrained_layout.use": True, "axes.grid": True, "grid.alpha": 0.3})
np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# ## Question 5.1: How often a position is drawn (3 points)
#
# The replay holds $N$ positions. For position $i$ the search said $\nu_i$, and the data and the target
# network say $z_i$. How far they are apart is its **priority** $p_i = |\nu_i - z_i|$: where both agree
# there is little to learn. A position is drawn with probability
#
# $$P(i) = (1 - s)\,\frac{p_i^\alpha}{\sum_k p_k^\alpha} + \frac{s}{N}.$$
#
# $\alpha$ = `alpha` says how much priorities matter. $s$ = `uniform_share` is the part of all draws that
# do not look at priorities. The paper's formula has $s = 0$; this library takes 0.1, so that no
# position is forgotten (`tutorials/deviations_and_choices.md`, item 22).
#
# * If $\alpha = 0$, all $p_i^\alpha$ are 1, also for $p_i = 0$. (NumPy agrees: `0.0**0` is 1.)
# * If all $p_i^\alpha$ are 0, there is nothing to prefer: every $P(i)$ is $1 / N$, whatever $s$ is.
#
# Example: $\nu$ = [1, 2, 4] and $z$ = [1.5, 2, 2.5], so $p$ = [0.5, 0, 1.5].
#
# | $\alpha$ | $s$ | $P$ |
# |---|---|---|
# | 1 | 0 | [0.25, 0, 0.75] |
# | 2 | 0 | [0.1, 0, 0.9] |
# | 1 | 0.3 | [0.275, 0.1, 0.625] |


# %% nbgrader={"grade": false, "grade_id": "5-1", "locked": false, "schema_version": 3, "solution": true, "task": false}
def draw_probabilities(search_values, targets, alpha, uniform_share):
    """nu [N] and z [N] of all positions -> P [N]."""
    ### BEGIN SOLUTION
    powers = np.abs(search_values - targets) ** alpha
    if powers.sum() == 0:
        return np.full(len(powers), 1 / len(powers))
    return (1 - uniform_share) * powers / powers.sum() + uniform_share / len(powers)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "5-1-check", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("5.1", draw_probabilities)
### BEGIN HIDDEN TESTS
check("5.1", draw_probabilities, hidden=True)
### END HIDDEN TESTS

# %% [markdown]
# ## Question 5.2: Importance weights in the loss (3 points)
#
# A batch of $B$ positions was drawn, each with its probability $P(i)$ of question 5.1. Each has a loss
# $l_i$. The mean of these losses is not the mean over the replay: positions of high priority are
# over-represented. So each loss gets a weight,
#
# $$w_i = \left(\frac{1}{N} \cdot \frac{1}{P(i)}\right)^\beta, \qquad
# l = \frac{1}{B} \sum_{i} w_i\, l_i,$$
#
# and $l$ is what is minimised. With $\beta = 1$ its average over many batches is the mean loss of all
# $N$ positions, as if nobody had looked at priorities; with $\beta = 0$ nothing is corrected. The paper
# has $\beta = 1$. (Other implementations divide all weights by the largest of the batch. The paper does
# not, and neither should you.)
#
# `losses` and `probabilities` [B] belong to the drawn positions, `num_positions` is $N$. Return two
# things, the weights [B] and the number $l$: `return weights, loss`.
#
# Example: $N = 5$, `probabilities = [0.5, 0.1]`, `losses = [3, 1]`.
#
# * $\beta = 1$: weights [0.4, 2], loss (1.2 + 2) / 2 = 1.6.
# * $\beta = 0$: weights [1, 1], loss 2.


# %% nbgrader={"grade": false, "grade_id": "5-2", "locked": false, "schema_version": 3, "solution": true, "task": false}
def weighted_loss(losses, probabilities, num_positions, beta):
    """losses [B], probabilities [B] -> importance weights [B], loss of the batch (a number)."""
    ### BEGIN SOLUTION
    weights = (1 / (num_positions * probabilities)) ** beta
    return weights, (weights * losses).mean()
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "5-2-check", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("5.2", weighted_loss)
### BEGIN HIDDEN TESTS
check("5.2", weighted_loss, hidden=True)
### END HIDDEN TESTS

# %% [markdown]
# ## Question 5.3: A sum tree: a priority changes (3 points)
#
# With a million positions, adding up all priorities for every draw is slow. A **sum tree** keeps the
# sums: each node holds the sum of its two children, and the leaves are the priorities (to the power
# $\alpha$, but that does not matter here). The tree of the four priorities 3, 1, 0, 2:
#
# ```
#                  node 1: 6
#           node 2: 4      node 3: 2
#       node 4: 3  5: 1   6: 0    7: 2
#          leaf 0     1      2       3
# ```
#
# It is one flat array, `sums = [0, 6, 4, 2, 3, 1, 0, 2]`, indexed by the number of the node. Node 1 is
# the root. The children of node $i$ are $2i$ and $2i + 1$, so its parent is `i // 2`. With $n$ leaves, a
# power of two and at least 2, the array has length $2n$, and leaf $j$ = 0..n - 1 is node $n + j$.
# Entry 0 is not used.
#
# Write a function that gives one leaf a new priority and keeps all sums right, by changing the array
# `sums` **in place**. It touches the leaf and the nodes above it, no more, and need not return
# anything. Example: after `set_priority(sums, 1, 5.0)` the array above is `[0, 10, 8, 2, 3, 5, 0, 2]`.


# %% nbgrader={"grade": false, "grade_id": "5-3", "locked": false, "schema_version": 3, "solution": true, "task": false}
def set_priority(sums, leaf, priority):
    """sums [2 n] is changed in place: leaf 0..n - 1 gets this priority."""
    ### BEGIN SOLUTION
    node = len(sums) // 2 + leaf
    sums[node] = priority
    while node > 1:
        node //= 2
        # From the children rather than by the difference: rounding errors cannot pile up.
        sums[node] = sums[2 * node] + sums[2 * node + 1]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "5-3-check", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("5.3", set_priority)
### BEGIN HIDDEN TESTS
check("5.3", set_priority, hidden=True)
### END HIDDEN TESTS

# %% [markdown]
# ## Question 5.4: A sum tree: a leaf is drawn (3 points)
#
# Lay the priorities side by side on a line: 3, 1, 0, 2 cover $[0, 3)$, $[3, 4)$, nothing, and $[4, 6)$.
# A number drawn uniformly from $[0, 6)$, the *mass*, falls into the piece of leaf $j$ with the
# right probability, its share of the sum. The tree finds the piece in a few steps. Begin at the root; at each node
#
# * go to the left child if the mass is **less** than the left child's sum;
# * otherwise go to the right child, and take the left child's sum off the mass, since that part of the
#   line is passed.
#
# At a leaf, return its number $j$ (not the number of its node). A mass on the border of two pieces belongs
# to the second one, and a leaf of priority 0 is never found.
#
# One more thing. Because of rounding, a mass may be as large as the whole sum. It then belongs to the
# last leaf that has a priority. The rules above would run to the right, even into a leaf of 0. So a
# child whose sum is 0 is never entered: if the right sum is 0, go left. The whole sum is above 0, and the
# mass lies between 0 and the whole sum, both included.
#
# Example, the tree of question 5.3:
#
# | mass | 0 | 2.5 | 3 | 4 | 5.5 | 6 |
# |---|---|---|---|---|---|---|
# | leaf | 0 | 0 | 1 | 3 | 3 | 3 |
#
# And with the priorities 3, 1, 0, 0 the mass 4 finds leaf 1.


# %% nbgrader={"grade": false, "grade_id": "5-4", "locked": false, "schema_version": 3, "solution": true, "task": false}
def find_leaf(sums, mass):
    """sums [2 n], mass between 0 and sums[1] -> number of the leaf, 0..n - 1."""
    ### BEGIN SOLUTION
    leaves, node = len(sums) // 2, 1
    while node < leaves:
        left, right = sums[2 * node], sums[2 * node + 1]
        if mass < left or right == 0:
            node = 2 * node
        else:
            mass, node = mass - left, 2 * node + 1
    return node - leaves
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "5-4-check", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("5.4", find_leaf)
### BEGIN HIDDEN TESTS
check("5.4", find_leaf, hidden=True)
### END HIDDEN TESTS

# %% [markdown]
# All four together. A replay of 64 positions, in which positions of high priority also have a high loss.
# Left: how often your tree draws them. Right: the loss of 2,000 batches of 16 positions, drawn uniformly or
# by priority. The dashed line is the mean loss of all positions, the truth.

# %%
rng = np.random.default_rng(0)
N, BATCHES, BATCH = 64, 2000, 16
nu, z = rng.normal(size=(2, N))
losses = np.abs(nu - z) + 0.3 * rng.random(N)
P = draw_probabilities(nu, z, 1.0, 0.1)
sums = np.zeros(2 * N)
for leaf in range(N):
    set_priority(sums, leaf, P[leaf])

masses = rng.random((BATCHES, BATCH)) * sums[1]
drawn = np.array([[find_leaf(sums, mass) for mass in batch] for batch in masses])
uniform = rng.integers(N, size=(BATCHES, BATCH))
estimates = {"uniform": [losses[batch].mean() for batch in uniform]}
for name, beta in (("by priority, no weights", 0.0), ("by priority, weights", 1.0)):
    estimates[name] = [weighted_loss(losses[batch], P[batch], N, beta)[1] for batch in drawn]

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8))
left.bar(range(N), np.bincount(drawn.ravel(), minlength=N) / drawn.size, label="drawn")
left.plot(P, "k_", markersize=5, label="P")
left.set(xlabel="position", ylabel="share of all draws", title="How often each position is drawn")
left.legend()
for (name, values), style in zip(estimates.items(), (":", "--", "-"), strict=True):
    right.hist(values, 40, histtype="step", linestyle=style, linewidth=2, label=name)
right.axvline(losses.mean(), color="black", linestyle=(0, (6, 3)), label="all positions")
right.set(xlabel="loss of a batch", ylabel="batches", title="What a batch says of the mean loss")
right.legend(fontsize=8)
plt.show()
assert abs(np.mean(estimates["by priority, weights"]) - losses.mean()) < 0.02

# %% [markdown]
# Without weights a batch speaks of another replay, full of hard positions. With them it is right on average,
# and here even more exact than the uniform draw: it looks where the loss is large.

# %% [markdown]
# ## Question 5.5: A number as a distribution (3 points)
#
# Values and rewards are predicted as distributions over the integers $-M, \dots, M$ ($M$ = `support`). So
# their targets must be distributions, too. A number $x$ is first squashed,
#
# $$h(x) = \mathrm{sign}(x)\left(\sqrt{|x| + 1} - 1\right) + 0.001\, x,$$
#
# then clipped to $[-M, M]$, and then spread over the **two** integers around it, so that the mean of the
# distribution is that number. With $y$ the clipped $h(x)$ and $m = \lfloor y \rfloor$, the integer $m$ has
# probability $1 - (y - m)$, and $m + 1$ has $y - m$. If $y$ is an integer (also $y = M$, where there is no
# $m + 1$), it has probability 1. All others have 0.
#
# The result for `x` [B] is an array [B, 2 M + 1]. Its columns are the integers in order: column 0 is $-M$,
# column $M$ is 0, the last column is $M$.
#
# Example, $M = 2$:
#
# | $x$ | $h(x)$ | -2 | -1 | 0 | 1 | 2 |
# |---|---|---|---|---|---|---|
# | 0 | 0 | 0 | 0 | 1 | 0 | 0 |
# | 3 | 1.003 | 0 | 0 | 0 | 0.997 | 0.003 |
# | -1.5 | -0.5826 | 0 | 0.5826 | 0.4174 | 0 | 0 |
# | 1000 | 31.64 | 0 | 0 | 0 | 0 | 1 |


# %% nbgrader={"grade": false, "grade_id": "5-5", "locked": false, "schema_version": 3, "solution": true, "task": false}
def two_hot(x, support):
    """x [B] -> [B, 2 M + 1] with M = support: for each number a distribution over -M..M."""
    ### BEGIN SOLUTION
    y = np.sign(x) * (np.sqrt(np.abs(x) + 1) - 1) + 0.001 * x
    y = np.clip(y, -support, support)
    # Every integer gets 1 minus its distance to y, if that is positive: only the two around y.
    distance = np.abs(y[:, None] - np.arange(-support, support + 1))
    return np.maximum(0.0, 1 - distance)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "5-5-check", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("5.5", two_hot)
### BEGIN HIDDEN TESTS
check("5.5", two_hot, hidden=True)
### END HIDDEN TESTS

# %%
numbers = np.array([-20.0, -0.5, 6.0, 50.0])
figure, axes = plt.subplots(1, 4, figsize=(11, 2.8), sharey=True)
for ax, number, distribution in zip(axes, numbers, two_hot(numbers, 5), strict=True):
    ax.bar(range(-5, 6), distribution)
    ax.axvline(distribution @ np.arange(-5, 6), color="C1", linestyle="--", label="mean")
    ax.set(title=f"x = {number:g}", xlabel="category", xticks=range(-4, 5, 2))
axes[0].set(ylabel="probability")
axes[0].legend(loc="upper right")
figure.suptitle("Numbers as two-hot distributions, M = 5; the last one is beyond the support")
plt.show()

# %% [markdown]
# ## Question 5.6: The loss over the unrolled steps (3 points)
#
# From one observation the model is unrolled for $U$ steps, and each of its heads (policy $p$, value $v$,
# reward $r$) makes a prediction at the steps $k = 0, 1, \dots, U$ (rewards from $k = 1$ on). The loss of a
# position is
#
# $$l_t = \sum_{k=0}^{U} \bigl( l^p(\pi_{t+k}, p^k_t) + l^v(z_{t+k}, v^k_t) + l^r(u_{t+k}, r^k_t) \bigr).$$
#
# With values and rewards as distributions all three are the same: a **cross-entropy**. One function
# therefore serves all heads. For $B$ positions it takes
#
# * `logits` [B, U + 1, K]: what the head says. The softmax over the last axis is its distribution $q$
#   over $K$ categories;
# * `targets` [B, U + 1, K]: the target distributions. The loss of a step is $-\sum_c \text{target}_c
#   \log q_c$;
# * `mask` [B, U + 1]: 1 where there is a target, 0 where there is none. A step without target has loss 0.
#
# and gives [B], the sum over the steps, in which, as in MuZero,
#
# * step 0 has weight 1, and each of the steps 1..U has weight $1 / U$. Together the unrolled steps count as
#   much as the first one;
# * these weights do not depend on the mask: a step with weight $1 / 5$ keeps it where the other four have no
#   target;
# * $U$ may be 0. Then there is only step 0, and nothing is to be divided by 0.
#
# (Rewards have no prediction at step 0, since the first one comes from the first step of the dynamics.
# Their mask is 0 there; your function needs no special case.)
#
# Logits may be large, and `np.exp(1000)` is infinite. The logarithm of the softmax is safe as
# $\log q_c = x_c - x_{\max} - \log \sum_{c'} \exp(x_{c'} - x_{\max})$, with $x$ the logits and
# $x_{\max}$ the largest of them.
#
# Example: $U = 2$, $K = 2$, all logits 0: each cross-entropy is $\log 2 = 0.693$, whatever the target. The
# mask [1, 1, 1] gives 0.693 · (1 + 1/2 + 1/2) = 1.386, [1, 1, 0] gives 0.693 · (1 + 1/2) = 1.040, and
# [0, 1, 1] gives 0.693.


# %% nbgrader={"grade": false, "grade_id": "5-6", "locked": false, "schema_version": 3, "solution": true, "task": false}
def head_loss(logits, targets, mask):
    """logits and targets [B, U + 1, K], mask [B, U + 1] -> loss of each position [B]."""
    ### BEGIN SOLUTION
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_probabilities = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    losses = -(targets * log_probabilities).sum(axis=-1) * mask  # [B, U + 1]
    unroll_steps = losses.shape[1] - 1
    if unroll_steps == 0:
        return losses[:, 0]
    return losses[:, 0] + losses[:, 1:].sum(axis=1) / unroll_steps
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "5-6-check", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("5.6", head_loss)
### BEGIN HIDDEN TESTS
check("5.6", head_loss, hidden=True)
### END HIDDEN TESTS

# %% [markdown]
# Now everything meets. Four positions are drawn, the model is unrolled for five steps, and the loss of the
# batch comes out. The network is fresh: all logits are 0, so it believes in all 3 actions and all 11
# categories alike. That makes the numbers known beforehand, a good first test of any implementation: $2 \log
# 3$ for the policy, $2 \log 11$ for the values, $\log 11$ for the rewards.

# %%
rng = np.random.default_rng(1)
B, U, ACTIONS, M = 4, 5, 3, 5
policies = rng.dirichlet(np.ones(ACTIONS), (B, U + 1))
values, rewards = (two_hot(rng.normal(size=B * (U + 1)), M).reshape(B, U + 1, -1) for _ in range(2))
everywhere, behind_first = np.ones((B, U + 1)), np.tile(np.float64(np.arange(U + 1) > 0), (B, 1))

policy_loss = head_loss(np.zeros_like(policies), policies, everywhere)
value_loss = head_loss(np.zeros_like(values), values, everywhere)
reward_loss = head_loss(np.zeros_like(rewards), rewards, behind_first)
total = policy_loss + value_loss + reward_loss
assert np.allclose(total, 2 * np.log(3) + 2 * np.log(11) + np.log(11))

weights, loss = weighted_loss(total, np.array([0.04, 0.01, 0.01, 0.02]), 50, 1.0)
print("loss of each position", total)
print("importance weights   ", weights)
print(f"loss of the batch     {loss:.3f}")

# %% [markdown]
# Drawn twice as often as the average, a position counts half; drawn half as often, twice. What is left to a
# learner is the gradient, and that is TensorFlow's work: `mzu/learning/losses.py` and
# `mzu/learning/learner.py` do what you did, and a test of this library shows that the numbers are the same.
