# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Assignment 1. Values and better policies
#
# | | |
# |---|---|
# | **You will write** | action values in a world with chance, the exact value of a policy, a greedy policy with ties, a test for when a change of policy is sure to be better, and what it is worth to look further ahead |
# | **It follows** | notebook 01, Planning with a model (sections 1 to 6) |
# | **Takes** | about two hours |
# | **Points** | 15, for six questions |
# | **Check yourself** | run the cell below each answer; it says what is wrong and which idea is probably missing. Grading also calls your functions with other inputs, so an answer that was typed in is not enough |
#
# Write each function in the place of `raise NotImplementedError()`. NumPy is all you need; if you want
# more, import it in the cell of your answer. A function must not change the arrays that it is given.
# Questions 1.4 and 1.5 may call what you wrote for earlier ones.
#
# The world of notebook 01 had no surprises: an action led to one state, and life went on for ever.
# Here an action may lead to several states, by chance, and an episode may end. Both will matter for
# the rest of the course.

# %%
import matplotlib.pyplot as plt
import numpy as np

from mzu.classroom import check

plt.style.use("tableau-colorblind10")
plt.rcParams.update({"figure.constrained_layout.use": True, "axes.grid": True, "grid.alpha": 0.3})
np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# ## The mountain
#
# You are on your way to a hut. There are four states, valley, wood, ridge and gully, and in each two
# actions, *careful* (0) and *bold* (1). Arriving at the hut pays 10 and ends the episode.
#
# | state | careful | bold |
# |---|---|---|
# | 0 valley | to the wood; costs 1 | to the ridge (0.5) or into the gully (0.5); costs 1 |
# | 1 wood | to the ridge (0.8), or lost in the wood (0.2); costs 1 | to the ridge (0.6) or back to the valley (0.4); costs nothing |
# | 2 ridge | to the hut (0.6), or no step further (0.4); costs 1 | to the hut (0.7) or into the gully (0.3); costs 1 |
# | 3 gully | back to the valley; costs 2 | up to the ridge (0.1), or no step further (0.9); costs 1 |
#
# With $S$ states and $A$ actions, two arrays hold all of it:
#
# * `transition` [S, A, S]: `transition[s, a, t]` is $P(t \mid s, a)$, the probability that action $a$ in
#   state $s$ leads to state $t$. **A row `transition[s, a]` adds up to 1 or less. What it lacks to 1 is
#   the probability that the episode ends.** The hut has no row and no column.
# * `reward` [S, A]: $u(s, a)$, the reward that action $a$ in state $s$ pays on average. On the ridge
#   *careful* pays $-1 + 0.6 \cdot 10 = 5$ and *bold* $-1 + 0.7 \cdot 10 = 6$.

# %%
STATES, ACTIONS = ["valley", "wood", "ridge", "gully"], ["careful", "bold"]
VALLEY, WOOD, RIDGE, GULLY = range(4)

TRANSITION = np.zeros((4, 2, 4))
TRANSITION[VALLEY, 0, WOOD] = 1
TRANSITION[VALLEY, 1, [RIDGE, GULLY]] = 0.5, 0.5
TRANSITION[WOOD, 0, [RIDGE, WOOD]] = 0.8, 0.2
TRANSITION[WOOD, 1, [RIDGE, VALLEY]] = 0.6, 0.4
TRANSITION[RIDGE, 0, RIDGE] = 0.4
TRANSITION[RIDGE, 1, GULLY] = 0.3
TRANSITION[GULLY, 0, VALLEY] = 1
TRANSITION[GULLY, 1, [RIDGE, GULLY]] = 0.1, 0.9
REWARD = np.array([[-1.0, -1], [-1, 0], [5, 6], [-2, -1]])
DISCOUNT = 0.9

print("probability that the episode ends:\n", 1 - TRANSITION.sum(axis=2))

# %% [markdown]
# ## Question 1.1: What an action is worth (2 points)
#
# Somebody gives you a value $v(t)$ for every state, right or wrong. An action is then worth its reward
# and the discounted value of where it leads, on average. With $\gamma$ = `discount`:
#
# $$q(s, a) = u(s, a) + \gamma \sum_t P(t \mid s, a)\, v(t).$$
#
# After the end of an episode nothing is paid, so the end is worth 0: it adds nothing to the sum.
#
# Example: for $v = (2, 3, 4, 9)$ and $\gamma = 0.9$, going boldly from the valley is worth
# $-1 + 0.9\,(0.5 \cdot 4 + 0.5 \cdot 9) = 4.85$. Going boldly from the ridge is worth
# $6 + 0.9 \cdot 0.3 \cdot 9 = 8.43$.
#
# Write a function that gives $q$ for all states and actions, as an array [S, A]. It must work for any
# number of states and actions, and so must all functions of this assignment.


# %% nbgrader={"grade": false, "grade_id": "1-1", "locked": false, "schema_version": 3, "solution": true, "task": false}
def action_values(transition, reward, value, discount):
    """transition [S, A, S], reward [S, A], value [S], discount -> q [S, A]."""
    ### BEGIN SOLUTION
    return reward + discount * transition @ value
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "1-1-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("1.1", action_values)
### BEGIN HIDDEN TESTS
check("1.1", action_values, hidden=True)
### END HIDDEN TESTS

# %% [markdown]
# A message of a check shows the first input on which something is wrong. To try that input yourself,
# fetch it. The examples of a question are a list, each with the arguments of one call:

# %%
from mzu.classroom.assignments import question

arguments = question("1.1").examples[1]
for name, argument in zip(["transition", "reward", "value", "discount"], arguments, strict=True):
    print(name, argument, sep="\n")

# %% [markdown]
# ## Question 1.2: What a policy is worth (3 points)
#
# A policy $\pi(a \mid s)$ is an array `policy` [S, A] whose rows add up to 1. Its value is
#
# $$v_\pi(s) = \sum_a \pi(a \mid s) \Big( u(s, a) + \gamma \sum_t P(t \mid s, a)\, v_\pi(t) \Big).$$
#
# These are $S$ linear equations for the $S$ numbers $v_\pi(s)$. Bring them into the form
# $v = u_\pi + \gamma P_\pi v$, with a vector $u_\pi$ [S] and a matrix $P_\pi$ [S, S], and solve them with
# `np.linalg.solve`. The answer must be exact (to six digits), for every discount from 0 to 1. With
# $\gamma = 1$ the checks only use worlds in which every episode ends sooner or later.
#
# Example: one state, one action, which pays 1 and ends the episode with probability 0.5. With
# $\gamma = 0.9$ the equation is $v = 1 + 0.9 \cdot 0.5\, v$, so $v = 1 / 0.55 = 1.818$.


# %% nbgrader={"grade": false, "grade_id": "1-2", "locked": false, "schema_version": 3, "solution": true, "task": false}
def policy_value(transition, reward, policy, discount):
    """transition [S, A, S], reward [S, A], policy [S, A], discount -> its value [S], exactly."""
    ### BEGIN SOLUTION
    step = (policy[:, :, None] * transition).sum(axis=1)  # from s to t, under the policy
    gain = (policy * reward).sum(axis=1)
    return np.linalg.solve(np.eye(len(gain)) - discount * step, gain)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "1-2-check", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("1.2", policy_value)
### BEGIN HIDDEN TESTS
check("1.2", policy_value, hidden=True)
### END HIDDEN TESTS

# %% [markdown]
# What you built, for three policies: your habit, which we come back to, and the two policies that
# never change their mind.

# %%
HABIT = np.array([[0.5, 0.5], [0.5, 0.5], [0.8, 0.2], [0.7, 0.3]])
CAREFUL, BOLD = np.eye(2)[[0, 0, 0, 0]], np.eye(2)[[1, 1, 1, 1]]


def draw_table(rows, columns, numbers, title, label):
    """A table of numbers, coloured by their size."""
    figure, ax = plt.subplots(figsize=(6.5, 0.55 * len(rows) + 1.2))
    picture = ax.imshow(numbers, cmap="cividis", aspect="auto")
    dark = np.asarray(numbers) < (np.min(numbers) + np.max(numbers)) / 2
    for (i, j), number in np.ndenumerate(numbers):
        colour = "white" if dark[i, j] else "black"
        ax.text(j, i, f"{number:.2f}", ha="center", va="center", color=colour)
    ax.set_xticks(range(len(columns)), columns)
    ax.set_yticks(range(len(rows)), rows)
    ax.grid(False)
    ax.set_title(title)
    figure.colorbar(picture, label=label)
    plt.show()


policies = {"habit": HABIT, "always careful": CAREFUL, "always bold": BOLD}
table = [policy_value(TRANSITION, REWARD, policy, DISCOUNT) for policy in policies.values()]
draw_table(list(policies), STATES, table, "What three policies are worth", "value")

# %% [markdown]
# ## Question 1.3: A better policy, with ties (2 points)
#
# A policy that takes the action with the largest $q(s, a)$ in every state is called *greedy*. But
# which one, if several are the largest? Notebook 01 took the first of them. Here they **share**: if
# $m$ actions are equally good and no other is better, each gets the probability $1/m$, and the
# others get 0.
#
# Action values are computed with rounding errors, so that what should be equal may differ in the
# last digit: `0.1 + 0.2 == 0.3` is False. An action whose value is at most $10^{-9}$ below the largest counts as best
# here. That is an absolute difference: 1000 and 1000.004 are different.
#
# | q(s, ·) | greedy policy |
# |---|---|
# | 1, 3, 2 | 0, 1, 0 |
# | 2, 5, 5 | 0, 0.5, 0.5 |
# | 0.3, 0.1 + 0.2, 0 | 0.5, 0.5, 0 |


# %% nbgrader={"grade": false, "grade_id": "1-3", "locked": false, "schema_version": 3, "solution": true, "task": false}
def greedy(q):
    """q [S, A] -> the greedy policy [S, A], in which equally good actions share."""
    ### BEGIN SOLUTION
    best = q >= q.max(axis=1, keepdims=True) - 1e-9
    return best / best.sum(axis=1, keepdims=True)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "1-3-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("1.3", greedy)
### BEGIN HIDDEN TESTS
check("1.3", greedy, hidden=True)
### END HIDDEN TESTS

# %% [markdown]
# ## Question 1.4: When an improvement is guaranteed (3 points)
#
# Somebody proposes a new policy in the place of the old one. Is it better? You could evaluate both.
# In a large world you cannot; but there is a test that looks *one step* ahead. Do what the new policy
# does **once** and follow the **old** one ever after. What this gains in state $s$ is the *advantage*
#
# $$\mathrm{adv}(s) = \sum_a \pi_{\text{new}}(a \mid s)\; q_{\text{old}}(s, a) \;-\; v_{\text{old}}(s),$$
#
# where $v_{\text{old}}$ is the exact value of the old policy and $q_{\text{old}}$ are the action values that
# come with it (question 1.1 with $v = v_{\text{old}}$). The *policy improvement theorem* says: if
# $\mathrm{adv}(s) \ge 0$ **in every state**, then $v_{\text{new}}(s) \ge v_{\text{old}}(s)$ in every state.
#
# Write a function that returns two things: the advantage of every state, and whether the theorem
# guarantees that the new policy is nowhere worse, True or False. Because of rounding errors an
# advantage of $-10^{-9}$ or more counts as not negative.
#
# Example: in the world of question 1.2's example (one state) there is now a second action, which pays
# 2 and ends the episode. The old policy takes action 0, the new one each with probability 0.5. Then
# $v_{\text{old}} = 1.818$, $q_{\text{old}} = (1.818, 2)$, the advantage is $0.5 \cdot 1.818 + 0.5 \cdot 2 - 1.818 =
# 0.091$, and the answer is `(array([0.091]), True)`.


# %% nbgrader={"grade": false, "grade_id": "1-4", "locked": false, "schema_version": 3, "solution": true, "task": false}
def improvement(transition, reward, old, new, discount):
    """Policies old and new [S, A] -> (advantage [S] of new over old, is it guaranteed? a bool)."""
    ### BEGIN SOLUTION
    value = policy_value(transition, reward, old, discount)
    q = action_values(transition, reward, value, discount)
    advantage = (new * q).sum(axis=1) - value
    return advantage, bool((advantage >= -1e-9).all())
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "1-4-check", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("1.4", improvement)
### BEGIN HIDDEN TESTS
check("1.4", improvement, hidden=True)
### END HIDDEN TESTS

# %% [markdown]
# Four new policies in the place of your habit: the greedy one, half of the way to it, the best policy
# of this world, and one that is bolder everywhere but in the gully.

# %%
habit_value = np.array(policy_value(TRANSITION, REWARD, HABIT, DISCOUNT))
greedy_for_habit = greedy(action_values(TRANSITION, REWARD, habit_value, DISCOUNT))
proposals = {
    "greedy": greedy_for_habit,
    "half way to greedy": (HABIT + greedy_for_habit) / 2,
    "best policy": np.eye(2)[[0, 1, 0, 0]],
    "bolder": HABIT + np.array([[-0.4, 0.4], [-0.4, 0.4], [-0.1, 0.1], [0, 0]]),
}
figure, axes = plt.subplots(1, 4, figsize=(12, 3.2), sharey=True)
for ax, (name, new) in zip(axes, proposals.items(), strict=True):
    advantage, guaranteed = improvement(TRANSITION, REWARD, HABIT, new, DISCOUNT)
    gain = policy_value(TRANSITION, REWARD, new, DISCOUNT) - habit_value
    ax.bar(np.arange(4) - 0.2, advantage, 0.36, ec="black", label="advantage, one step")
    ax.bar(np.arange(4) + 0.2, gain, 0.36, hatch="//", ec="black", label="gain, in the end")
    ax.axhline(0, color="black", lw=1)
    ax.set_xticks(range(4), STATES, rotation=30)
    ax.set_title(f"{name}:\n{'guaranteed' if guaranteed else 'not guaranteed'}")
axes[0].set_ylabel("compared with the habit")
axes[3].legend(loc="upper right", fontsize=8)
plt.show()

# %% [markdown]
# Three things to see:
#
# * The greedy policy is always guaranteed, and so is every step on the way to it. It need not be the
#   best policy.
# * **A guarantee is sufficient, not necessary.** The best policy is better everywhere, but its
#   advantage in the wood is negative: going boldly there pays only if one is careful in the valley
#   afterwards, and one step of lookahead follows the old habit there.
# * Small advantages add up to larger gains. In fact $v_{\text{new}} - v_{\text{old}} =
#   (I - \gamma P_{\text{new}})^{-1}\, \mathrm{adv}$: the gain is the value of a world that pays the advantage at
#   every step. That is the proof of the theorem, too: where nothing negative is paid, no value is
#   negative.
#
# ## Question 1.5: What it is worth to look further (3 points)
#
# In practice nobody knows $v_{\text{old}}$ exactly. An agent has some value `value` [S], from a network,
# that is wrong. It can make up for that by looking further ahead. Looking $n$ steps ahead gives the
# action values $q_n$:
#
# $$q_1(s, a) = u(s, a) + \gamma \sum_t P(t \mid s, a)\, v(t), \qquad
# q_{n+1}(s, a) = u(s, a) + \gamma \sum_t P(t \mid s, a)\, \max_b q_n(t, b).$$
#
# The agent believes what it sees and acts by it: its policy $\pi_n$ is the greedy one for $q_n$ (with
# ties as in question 1.3). Write a function that says what that is *really* worth: row $n - 1$ of the
# result is the exact value of $\pi_n$ [S] (question 1.2), for $n = 1, \dots,$ `depth`. So the result is an
# array of the shape [depth, S].
#
# Example: in the one-state world of question 1.4's example, with $v = 10$ and $\gamma = 0.9$, one step
# ahead gives $q_1 = (1 + 0.45 \cdot 10,\; 2) = (5.5, 2)$. So $\pi_1$ takes action 0, which is worth 1.818, and
# the first row is `[1.818]`. Two steps give $q_2 = (1 + 0.45 \cdot 5.5,\; 2) = (3.475, 2)$: the second row is
# the same. (The third and the fourth are, too; the fifth is `[2.]`.)


# %% nbgrader={"grade": false, "grade_id": "1-5", "locked": false, "schema_version": 3, "solution": true, "task": false}
def worth_of_lookahead(transition, reward, value, discount, depth):
    """value [S], depth >= 1 -> [depth, S]: row n - 1 is the exact value of acting by q_n."""
    ### BEGIN SOLUTION
    rows = []
    for _ in range(depth):
        q = action_values(transition, reward, value, discount)
        rows.append(policy_value(transition, reward, greedy(q), discount))
        value = q.max(axis=1)
    return np.array(rows)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "1-5-check", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("1.5", worth_of_lookahead)
### BEGIN HIDDEN TESTS
check("1.5", worth_of_lookahead, hidden=True)
### END HIDDEN TESTS

# %% [markdown]
# This agent has heard wonders about the gully: it believes in $v = (2, 3, 4, 9)$.

# %%
BELIEF, DEPTH = np.array([2.0, 3, 4, 9]), 7
worth = np.array(worth_of_lookahead(TRANSITION, REWARD, BELIEF, DISCOUNT, DEPTH))
rows = ["habit"] + [f"{n} step{'s' * (n > 1)} ahead" for n in range(1, DEPTH + 1)]
table = np.vstack([habit_value, worth])
draw_table(rows, STATES, table, "What acting by lookahead is worth", "value")

believed = [BELIEF]
for _ in range(DEPTH):
    believed.append(action_values(TRANSITION, REWARD, believed[-1], DISCOUNT).max(axis=1))
figure, axes = plt.subplots(1, 4, figsize=(12, 3), sharey=True)
for s, ax in enumerate(axes):
    ax.plot(range(DEPTH + 1), [value[s] for value in believed], "s--", label="believed")
    ax.plot(range(1, DEPTH + 1), worth[:, s], "o-", label="really worth")
    ax.axhline(habit_value[s], color="black", ls=":", label="habit")
    ax.set(xlabel="steps of lookahead n", title=STATES[s])
axes[0].set_ylabel("value")
axes[0].legend(fontsize=8)
plt.show()

# %% [markdown]
# One step ahead, with a wrong value, is worse than the habit in every state: question 1.4's guarantee
# needs the *exact* value. Five steps ahead the agent acts in the best way everywhere, although what it
# believes is still too high. MuZero is in this agent's place: its value is a network. That is why it
# searches, and why one would like to know how far is far enough.
#
# ## Question 1.6: How far to look to be sure (2 points)
#
# Let $\varepsilon$ = `error` be a bound for the error of the agent's value, $|v(s) - v_*(s)| \le \varepsilon$ in every
# state, where $v_*$ is the value of the best policy. Each step of lookahead multiplies the error by
# $\gamma$ (notebook 01, section 6). Already $q_1$ has made one step, so
#
# $$|q_n(s, a) - q_*(s, a)| \le \gamma^n \varepsilon .$$
#
# In some state the best action is better than the next best one by `gap` $> 0$:
# $q_*(s, a_1) - q_*(s, a_2) = $ `gap`. Lookahead is *sure* to put the two in the right order if that holds in
# the worst case: $q_n(s, a_1)$ too small and $q_n(s, a_2)$ too large, each by as much as the bound allows, and
# still $q_n(s, a_1) > q_n(s, a_2)$, not equal.
#
# Write a function that gives the smallest number of steps $n \ge 1$ for which this is so. `error` is above 0;
# the discount is at least 0 and less than 1, and may be 0.
#
# Example: `error` = 4, `gap` = 1, $\gamma = 0.5$. After 3 steps each may be wrong by 0.5, and in the worst
# case the two look alike. So the answer is 4.


# %% nbgrader={"grade": false, "grade_id": "1-6", "locked": false, "schema_version": 3, "solution": true, "task": false}
def steps_needed(error, gap, discount):
    """The smallest n >= 1 with which lookahead is sure of the order of two actions, an int."""
    ### BEGIN SOLUTION
    n = 1
    while 2 * discount**n * error >= gap:
        n += 1
    return n
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "1-6-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("1.6", steps_needed)
### BEGIN HIDDEN TESTS
check("1.6", steps_needed, hidden=True)
### END HIDDEN TESTS

# %% [markdown]
# How many steps does this ask for on the mountain, and how many were enough?

# %%
best = BELIEF
for _ in range(500):
    best = action_values(TRANSITION, REWARD, best, DISCOUNT).max(axis=1)
error = np.abs(BELIEF - best).max()
best_q = action_values(TRANSITION, REWARD, best, DISCOUNT)
for s, name in enumerate(STATES):
    gap = np.ptp(best_q[s])
    right = worth[:, s] > best[s] - 1e-6
    sure, enough = steps_needed(error, gap, DISCOUNT), np.argmax(right) + 1
    print(f"{name:7} gap {gap:.2f}: sure after {sure} steps; {enough} were enough to act best")

# %% [markdown]
# The bound is safe and far too careful: it knows nothing of the world but $\varepsilon$, and it assumes the worst
# everywhere. A tree search takes the other way. It gives no guarantee, and spends its steps where its
# own numbers say that they matter. That is assignment 2.
#
# ## What you have now
#
# * Action values, exact policy values and greedy policies for any finite world, with chance and ends.
# * The policy improvement theorem as a test, and a policy that is better without passing it.
# * The reason to search: a wrong value makes one step of lookahead worse than none, and enough steps
#   make up for it.
