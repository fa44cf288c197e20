# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Assignment 3. Targets, and how episodes end
#
# | | |
# |---|---|
# | **You will write** | n-step returns for one position and for a batch, the masks that say which targets exist, three kinds of value targets, and the loop in which values travel back from a reward |
# | **It follows** | notebook 04, Reanalyse (sections 1 to 3) |
# | **Takes** | about two and a half hours |
# | **Points** | 16, for five questions |
# | **Check yourself** | run the cell below each answer; it says what is wrong and which idea is probably missing. Grading also calls your functions with other inputs, so an answer that was typed in is not enough |
#
# Write each function in the place of `raise NotImplementedError()`. NumPy is all you need. All arrays
# are NumPy arrays of floats, unless the question says something else. Where an array is asked for,
# return one and not a list: the pictures go on with it. A function must not change the arrays that it
# is given. It may call your functions of earlier questions.
#
# A network learns a value only if somebody says what the value should be. Most mistakes in that sum
# are made where an episode ends, and no error message ever appears: the agent just learns less, or
# believes in rewards that do not exist. So this assignment is about ends. There are two kinds, and a
# border that is none:
#
# * **terminated**: the game is over. Nothing follows, so what follows is worth 0.
# * **truncated**: somebody stopped the clock. More would have followed, and nobody knows what.
# * **the end of a segment**: the replay stores an episode in pieces. The game went on, and the data,
#   too.

# %%
import matplotlib.pyplot as plt
import numpy as np

from mzu.classroom import check

plt.style.use("tableau-colorblind10")
plt.rcParams.update({"figure.constrained_layout.use": True, "axes.grid": True, "grid.alpha": 0.3})
np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# ## Question 3.1: One n-step return (3 points)
#
# An episode has $T$ steps. `rewards` [T] and `values` [T + 1] are arrays:
#
# * `rewards[t]` is $u_{t+1}$, what the action at step $t$ earned;
# * `values[t]` is $v^-(o_t)$, what the target network says of the observation at step $t$. There is
#   one more of them: `values[T]` belongs to the last observation, after which nobody acted.
#
# With $n$ = `td_steps`, at least 1, and $\gamma$ = `discount`, the value target of step $t$ is
#
# $$z_t = u_{t+1} + \gamma u_{t+2} + \dots + \gamma^{n-1} u_{t+n} + \gamma^n\, v^-(o_{t+n}).$$
#
# Near the end there may be fewer than $n$ rewards. Then the sum stops with the last one. What is
# added to it depends on the kind of end:
#
# * `terminated` is True: **nothing**. The last observation is worth 0, whatever the network says of
#   it. This holds whenever the sum arrives at the last observation: after fewer than $n$ steps, or after exactly
#   $n$.
# * `terminated` is False, the episode was truncated: the value of the last observation, discounted by
#   the number of rewards in the sum.
#
# Example: `rewards = [1, 2, 3]`, `values = [10, 20, 30, 40]`, $\gamma = 0.5$, $n = 2$.
#
# | t | terminated | truncated |
# |---|---|---|
# | 0 | 1 + 0.5 · 2 + 0.25 · 30 = 9.5 | the same |
# | 1 | 2 + 0.5 · 3 = 3.5 | 2 + 0.5 · 3 + 0.25 · 40 = 13.5 |
# | 2 | 3 | 3 + 0.5 · 40 = 23 |
#
# Write a function that gives $z_t$ for one step $t$ with $0 \le t < T$.


# %% nbgrader={"grade": false, "grade_id": "3-1", "locked": false, "schema_version": 3, "solution": true, "task": false}
def n_step_return(rewards, values, terminated, discount, td_steps, t):
    """rewards [T], values [T + 1], terminated: bool -> z at step t, a number."""
    ### BEGIN SOLUTION
    end = min(t + td_steps, len(rewards))  # the observation where the sum arrives
    steps = np.arange(end - t)
    z = (discount**steps * rewards[t:end]).sum()
    is_terminal = terminated and end == len(rewards)
    return z if is_terminal else z + discount ** (end - t) * values[end]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "3-1-check", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("3.1", n_step_return)
### BEGIN HIDDEN TESTS
check("3.1", n_step_return, hidden=True)
### END HIDDEN TESTS

# %% [markdown]
# This is what you built, on a walk through the corridor of notebook 04. Only the last $n$ targets know
# how the episode ended, and there the kind of end makes a large difference.

# %%
walk_rewards = np.array([0.2, -0.5, 0.5, -0.3, 0.0, 1.9])
walk_values = np.array([0.7, 0.8, 1.2, 1.2, 1.3, 1.6, 0.5])  # of cells 0..6

figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), sharey=True)
for ax, n in zip(axes, (1, 3, 6), strict=True):
    for terminated, style in ((True, "ks-"), (False, "o--")):
        z = [n_step_return(walk_rewards, walk_values, terminated, 0.9, n, t) for t in range(6)]
        ax.plot(z, style, label="terminated" if terminated else "truncated")
    ax.axvspan(5.5 - n, 5.5, color="C4", alpha=0.25, label="the sum reaches the end")
    ax.set(xlabel="step t", title=f"n = {n}", xlim=(-0.5, 5.5), ylim=(0, 2.5))
axes[0].set(ylabel="value target z")
axes[2].legend(loc="lower right")
figure.suptitle("The same rewards, two kinds of end")
plt.show()

# %% [markdown]
# ## Question 3.2: n-step returns of a batch (4 points)
#
# The learner wants targets for $B$ rows at once. A row begins at some step $t$ of an episode and has
# the $U + 1$ positions $t, t + 1, \dots, t + U$, since the model is unrolled for $U$ steps. Here
# `k` counts them: 0..U. ($U$ is no argument; `bootstrap_values` tells it.) Some of these positions may lie **past the end** of the episode. The
# arguments:
#
# * `rewards` [B, U + n]: `rewards[b, i]` is the reward of step $t + i$; past the end it is 0.
# * `bootstrap_values` [B, U + 1]: `bootstrap_values[b, k]` is $v^-$ of the observation at
#   $t + k + n$, or of the last observation where the data end earlier.
# * `steps_left` [B], integers: how many steps there are from $t$ to the end. Position `k` therefore has
#   `steps_left[b] - k` steps left: 0 at the last observation, less past it.
# * `terminated` [B], bool: whether that end is terminal.
# * `discount` and `td_steps` ($n$, at least 1): numbers.
#
# The result is $z$ [B, U + 1], by the same rules as before. For position `k`, with $l$ steps left:
#
# * The sum has the $n$ rewards from `rewards[b, k]` on. Those past the end are 0, so they do no harm.
# * The value is discounted by the number of steps that lie before it: $n$, or $l$ where that is
#   less, or 0 where $l$ is negative: between 0 and $n$ in any case.
# * At a terminal end with $l \le n$ no value is added. So past a terminal end $z = 0$: nothing happens
#   there any more. This is the **absorbing** state.
# * Past a truncated end nothing is known. By the rules above $z$ is the value of the last observation
#   there; the next question keeps anybody from using it.
#
# Example: one row, $U = 2$, $n = 2$, $\gamma = 0.5$, `steps_left = [2]`,
# `rewards = [[1, 2, 0, 0]]`, `bootstrap_values = [[30, 30, 30]]`.
#
# | k | 0 | 1 | 2 |
# |---|---|---|---|
# | terminated | 1 + 0.5 · 2 = 2 | 2 | 0 |
# | truncated | 1 + 0.5 · 2 + 0.25 · 30 = 9.5 | 2 + 0.5 · 30 = 17 | 30 |
#
# Loops are allowed. Without loops over rows and positions it takes five lines:
# `np.arange`, `np.clip` and `np.where` are useful, and `x[:, None]` makes a column of an array [B].


# %% nbgrader={"grade": false, "grade_id": "3-2", "locked": false, "schema_version": 3, "solution": true, "task": false}
def n_step_returns(rewards, bootstrap_values, steps_left, terminated, discount, td_steps):
    """rewards [B, U + n], bootstrap_values [B, U + 1], the rest as above -> z [B, U + 1]."""
    ### BEGIN SOLUTION
    positions = bootstrap_values.shape[1]
    left = steps_left[:, None] - np.arange(positions)  # [B, U + 1]
    z = sum(discount**i * rewards[:, i : i + positions] for i in range(td_steps))
    is_over = terminated[:, None] & (left <= td_steps)
    return z + np.where(is_over, 0.0, discount ** np.clip(left, 0, td_steps) * bootstrap_values)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "3-2-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("3.2", n_step_returns)
### BEGIN HIDDEN TESTS
check("3.2", n_step_returns, hidden=True)
### END HIDDEN TESTS

# %% [markdown]
# ## Question 3.3: Which targets exist (3 points)
#
# A loss is multiplied by a **mask**: 1 where there is a target, 0 where there is none. The replay keeps
# episodes as segments. A segment has positions, each of which was searched, and behind them a
# *tail*: some more steps of the same episode, which were not searched as part of this segment. For
# each of $B$ rows you know
#
# * `steps_left` [B], integers: steps from $t$ to the end of the data, tail included (at least 1);
# * `positions_left` [B], integers: how many positions of the segment are left from $t$ on, $t$ itself included.
#   Position $t + k$ was searched if $k$ is less than that. It is at least 1 and never more than
#   `steps_left`;
# * `terminated` [B], bool: whether the data end in a terminal end. If not, the end is a truncated
#   one;
# * `unroll_steps`, $U$, and `td_steps`, $n$, which may be 0 here.
#
# What there is at position $t + k$, $k = 0..U$:
#
# | where is $t + k$? | reward | value | policy |
# |---|---|---|---|
# | searched | yes | yes | yes |
# | in the tail: steps are left, but it was not searched | yes | yes, if $n > 0$ | no |
# | behind a terminal end: no steps are left | yes (it is 0) | yes (it is 0) | no: nothing to decide |
# | behind a truncated end: no steps are left | no | no | no |
#
# "No steps are left" begins at the last observation itself: no action was taken there. With $n = 0$
# the value target is the search value $\nu$ (question 3.4), so as long as steps are left it exists
# only where there was a search; that is the "if" in the table. Behind a terminal end it is 0 as ever.
#
# Return a dictionary of three arrays of zeros and ones (or of bools): `"reward"` [B, U], for
# $k = 0..U - 1$, and `"value"` and `"policy"` [B, U + 1]. The unroll takes $U$ actions, so there is
# one reward less than there are positions.
#
# Example: $U = 3$, $n = 2$, one row with `steps_left = [2]` and `positions_left = [1]`.
#
# | | reward | value | policy |
# |---|---|---|---|
# | terminated | 1 1 1 | 1 1 1 1 | 1 0 0 0 |
# | truncated | 1 1 0 | 1 1 0 0 | 1 0 0 0 |
# | terminated, $n = 0$ | 1 1 1 | 1 0 1 1 | 1 0 0 0 |


# %% nbgrader={"grade": false, "grade_id": "3-3", "locked": false, "schema_version": 3, "solution": true, "task": false}
def target_masks(steps_left, positions_left, terminated, unroll_steps, td_steps):
    """Three arrays [B] -> {"reward": mask [B, U], "value" and "policy": masks [B, U + 1]}."""
    ### BEGIN SOLUTION
    k = np.arange(unroll_steps + 1)
    happened = k < steps_left[:, None]  # an action was taken at t + k
    searched = k < positions_left[:, None]
    absorbing = ~happened & terminated[:, None]
    reward = (happened | absorbing)[:, :unroll_steps]
    value = (happened if td_steps > 0 else searched) | absorbing
    return {"reward": reward, "value": value, "policy": searched}
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "3-3-check", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("3.3", target_masks)
### BEGIN HIDDEN TESTS
check("3.3", target_masks, hidden=True)
### END HIDDEN TESTS

# %% [markdown]
# The masks of eight rows, each beginning one step later. The segment has the positions 0..7 and a tail of
# 2 steps; then the episode ends. Policies stop at the border of the segment, whatever the end.
# Rewards and values stop two steps later, but only where the episode was truncated.

# %%
starts = np.arange(8)
figure, axes = plt.subplots(2, 3, figsize=(9, 5.4), sharex=True, sharey=True)
for row, terminated in zip(axes, (True, False), strict=True):
    masks = target_masks(10 - starts, 8 - starts, np.full(8, terminated), 5, 3)
    for ax, name in zip(row, ("reward", "value", "policy"), strict=True):
        shown = np.full((8, 6), np.nan)
        shown[:, : masks[name].shape[1]] = masks[name]
        ax.imshow(shown, cmap="cividis", vmin=0, vmax=1, aspect="auto")
        ax.set(title=f"{name}, {'terminated' if terminated else 'truncated'}")
        ax.grid(False)
for ax in axes[1]:
    ax.set(xlabel="unrolled step k")
for ax in axes[:, 0]:
    ax.set(ylabel="row begins at step t")
figure.suptitle("Masks: yellow is trained, blue is not (there is no reward for k = 5)")
plt.show()

# %% [markdown]
# ## Question 3.4: Three kinds of value targets (3 points)
#
# Where does the value at the end of the sum come from? There are three answers, for the $L$ positions
# of a segment. The data are `rewards` [T] with $T \ge L$ (the last $T - L$ of them are the tail; the
# data end after these $T$ steps, and `terminated` says how) and `search_values` [L]: $\nu_t$, what the
# search found when the position was last searched. They are **stored** and may be old.
#
# 1. `td_steps` is 0 (the paper's DM Control): $z_t = \nu_t$. No rewards, no target network, even if one
#    is given.
# 2. `target_values` [T + 1] is given (the paper's Atari): the n-step return of question 3.1, with
#    $v^-(o_{t+n})$ = `target_values[t + n]`, computed just now.
# 3. `target_values` is `None`: the n-step return with the stored $\nu_{t+n}$ = `search_values[t + n]`
#    in place of $v^-(o_{t+n})$. There are only $L$ of them. Where $t + n \ge L$, the last one,
#    `search_values[L - 1]`, takes its place, for lack of anything better, with the same discount as
#    $v^-$ would have had. (This is how the library makes the first priority of a position.)
#
# In 2 and 3 both kinds of end are treated as in question 3.1. That includes the discount: by $n$ steps, or by the
# $T - t$ that are left, where these are fewer.
#
# Example: `rewards = [1, 2, 3]`, `search_values = [10, 20]` ($L = 2$, a tail of one step), truncated,
# $\gamma = 0.5$, $n = 2$.
#
# * `target_values = [4, 8, 12, 16]`: $z$ = [1 + 0.5 · 2 + 0.25 · 12, 2 + 0.5 · 3 + 0.25 · 16]
#   = [5, 7.5].
# * `target_values = None`: $z$ = [1 + 0.5 · 2 + 0.25 · 20, 2 + 0.5 · 3 + 0.25 · 20] = [7, 8.5]. Neither
#   position 2 nor 3 was searched in this segment, so the 20 of position 1 stands in for both.
# * `td_steps = 0`: $z$ = [10, 20].


# %% nbgrader={"grade": false, "grade_id": "3-4", "locked": false, "schema_version": 3, "solution": true, "task": false}
def value_targets(rewards, search_values, target_values, terminated, discount, td_steps):
    """rewards [T], search_values [L], target_values [T + 1] or None -> z [L]."""
    ### BEGIN SOLUTION
    if td_steps == 0:
        return search_values
    values, positions = target_values, len(search_values)
    if values is None:
        # For all T + 1 observations: those that were not searched get the last search value.
        values = search_values[np.minimum(np.arange(len(rewards) + 1), positions - 1)]
    arguments = (terminated, discount, td_steps)
    return np.array([n_step_return(rewards, values, *arguments, t) for t in range(positions)])
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "3-4-check", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("3.4", value_targets)
### BEGIN HIDDEN TESTS
check("3.4", value_targets, hidden=True)
### END HIDDEN TESTS

# %% [markdown]
# ## Question 3.5: How fast values travel (3 points)
#
# One stored episode, learned from again and again. The network is an array `values` [T + 1], one
# number per observation, and it learns perfectly: in each round the value of every step $t < T$
# becomes its n-step return $z_t$ (question 3.1). The bootstrap does not come from the
# network itself but from the **target network**, an older copy of it. The rounds are numbered
# 0, 1, 2, ...
#
# * Before round 0, before round `period`, before round 2 · `period` and so on, the target network
#   becomes a copy of the values of that moment. In between it does not change.
# * In every round all $T$ values are replaced by targets that the target network makes: what is
#   learned in a round reaches no other target before the next copy.
# * `values[T]`, of the last observation, is trained as question 3.3 says: at a terminal end it becomes
#   0 in every round; at a truncated end there is no target, and it keeps its value.
#
# Return the values [T + 1] after `rounds` rounds. With `rounds = 0` they are as they were. `td_steps` is
# at least 1. The array that you are given must not be changed.
#
# Example: `rewards = [0, 0, 1]`, `values = [0, 0, 0, 8]`, terminated, $\gamma = 0.5$, $n = 1$.
#
# | after round | period 1 | period 2 |
# |---|---|---|
# | 0 | [0, 0, 1, 0] | [0, 0, 1, 0] |
# | 1 | [0, 0.5, 1, 0] | [0, 0, 1, 0] |
# | 2 | [0.25, 0.5, 1, 0] | [0, 0.5, 1, 0] |
#
# (Truncated, the 8 counts: after round 0 the values are [0, 0, 5, 8].)


# %% nbgrader={"grade": false, "grade_id": "3-5", "locked": false, "schema_version": 3, "solution": true, "task": false}
def learn_values(rewards, values, terminated, discount, td_steps, rounds, period):
    """rewards [T], values [T + 1] at the start -> values [T + 1] after the rounds."""
    ### BEGIN SOLUTION
    values = values.copy()
    for number in range(rounds):
        if number % period == 0:
            target = values.copy()
        for t in range(len(rewards)):
            values[t] = n_step_return(rewards, target, terminated, discount, td_steps, t)
        if terminated:
            values[-1] = 0.0
    return values
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "3-5-check", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("3.5", learn_values)
### BEGIN HIDDEN TESTS
check("3.5", learn_values, hidden=True)
### END HIDDEN TESTS

# %% [markdown]
# What is the point of all this? A long walk with a single reward at its end, 40 steps away. How many
# rounds does it take until each position hears of it? With a target network, your `learn_values`
# answers. With stored search values, your `value_targets` does: each round makes all targets from what
# is stored, but only a tenth of the positions, drawn at random, is searched again and stores what the
# network says by then. (A real search would look a few steps further; that is left out here.)

# %%
STEPS, DISCOUNT = 40, 0.97
sparse = np.append(np.zeros(STEPS - 1), 1.0)


def with_target_network(n, period):
    """The values of all positions after 0, 1, 2, ... rounds."""
    start = np.zeros(STEPS + 1)
    return np.array([learn_values(sparse, start, True, DISCOUNT, n, rounds, period)[:STEPS]
                     for rounds in range(STEPS + 1)])


def with_stored_values(n, share, rng):
    """The same where only a share of the positions is searched again in each round."""
    stored, history = np.zeros(STEPS), [np.zeros(STEPS)]
    for _ in range(200):
        history.append(value_targets(sparse, stored, None, True, DISCOUNT, n))
        again = rng.random(STEPS) < share
        stored[again] = history[-1][again]
    return np.array(history)


histories = {
    "stored search values, n = 5, a tenth new in each round":
        (with_stored_values(5, 0.1, np.random.default_rng(0)), "^:"),
    "target network copied every round, n = 1": (with_target_network(1, 1), "s-."),
    "target network copied every 4 rounds, n = 5": (with_target_network(5, 4), "v--"),
    "target network copied every round, n = 5": (with_target_network(5, 1), "o-"),
}
figure, ax = plt.subplots(figsize=(9, 4.2))
for name, (history, style) in histories.items():
    assert np.allclose(history[-1], DISCOUNT ** np.arange(STEPS)[::-1])  # all arrive in the end
    ax.plot(np.arange(STEPS, 0, -1), (history > 0).argmax(axis=0), style, markersize=4, label=name)
ax.set(xlabel="steps to the reward", ylabel="rounds until the position hears of it",
       title="How fast a reward travels back to where it came from")
ax.legend()
plt.show()

# %% [markdown]
# A copy of the network carries all values $n$ steps further at once. Stored values travel only where a
# position happens to be searched again, and stale ones in between hold them up. Item 32 of
# `tutorials/deviations_and_choices.md` says what that means for the presets of this library.
