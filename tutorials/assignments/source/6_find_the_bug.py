# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Assignment 6. Find the bug
#
# Five systems learn from stored games. All of them run without an error, and each has one bug. The bugs are
# real: every one of them was made in a program like this one. You will find them with the target explainer,
# mend the function that holds each, and say in a few sentences what it did.
#
# | | |
# |---|---|
# | **Follows** | the whole course, and `tutorials/debug_reanalyse_targets.md`, which shows how to read an explanation. Read that first |
# | **Takes** | two to three hours |
# | **Points** | 20: for each of five patients 2 for the function and 2 for the words. The words are read by a person |
# | **Check yourself** | the cell below each function calls `check`, as often as you like. When you hand in, the same check is made with other inputs |
#
# **The world.** All five live in the corridor of that page: cells 0 to 6 in a row. An agent goes left (action
# 0), rests (1) or goes right (2). Who moves pays 0.1 and gets what lies in the cell that is reached; who rests
# gets nothing. Left of cell 0 is a wall: who goes left there stays in cell 0, and pays. The episode terminates
# in cell 6.
#
# | cell | 0 | 1 | 2 | 3 | 4 | 5 | 6 |
# |---|---|---|---|---|---|---|---|
# | what lies there | 0 | 0.3 | -0.4 | 0.6 | -0.2 | 0.1 | 2 |
#
# So to go from cell 0 to cell 1 earns $0.3 - 0.1 = 0.2$. The observation is the number of the cell. Tables take
# the place of the networks: the model's moves and rewards are **right**, its policy and values those of a
# network that has learned for a while. The settings: 16 simulations, discount 0.9, $n = 2$ TD steps, 2 unrolled
# steps, noise fraction 0.25, segments of 4 positions, $\alpha = \beta = 1$, and a tenth of each batch drawn uniformly.
#
# **The episodes.** There are three, with the same walks in all patients: episode 0 goes through the cells 0, 1,
# 2, 1, 2, 3, 3, 4, 3, 4, 5, 6, and terminates; episode 1 through 4, 3, 2, 2, 3, 2, 3, and is cut off; episode 2
# through 4, 5, 6, and terminates.
#
# **How to go about it.** `mzu.explain(patient("A"), episode=0, step=1)` takes one target of patient A apart.
# `print` shows all of it, and begins with what the checks of the explainer find implausible. That is the right
# tool for work, and the wrong one for practice: the checks know these bugs. So look at the numbers first.
# `show` prints the sections that you name, without the verdict: Position, Root, Simulation 1 (or 2, 3, 16), Tree,
# Result, Policy target, Value target, Priority, Loss, Change. For each patient
#
# 1. look at the sections that are shown, and at any others and at any other positions, in cells that you add;
# 2. name the first number that has no good reason, and work out what it should be;
# 3. read the function that the patient uses, and write it as it should be, in place of
#    `raise NotImplementedError()`. Copy what is right: only one or two lines have to change;
# 4. run the check, and the cell behind it, which plants your function in the patient and asks all checks of the
#    explainer again.
#
# The first import takes a while.

# %%
import numpy as np

from mzu.classroom import check

np.set_printoptions(precision=4, suppress=True)

# %% nbgrader={"grade": false, "grade_id": "6-tools", "locked": true, "schema_version": 3, "solution": false, "task": false}
from mzu.quiet import import_tensorflow

import_tensorflow()

import mzu.explain
from mzu.classroom.patients import file_record, patient


def show(explanation, *titles):
    """Prints the sections of an explanation whose titles begin like this."""
    for section in str(explanation).split("\n\n"):
        if section.startswith(titles):
            print(section, end="\n\n")


def verdict(system):
    """What the explainer's checks find at all positions: {check: at how many positions}."""
    found = {}
    for number, episode in enumerate(system.episodes):
        for step in range(len(episode)):
            for flag in mzu.explain(system, episode=number, step=step).flags:
                found[flag["name"]] = found.get(flag["name"], 0) + 1
    return found or "nothing"


# %% [markdown]
# ## Patient A
#
# The episodes of patient A were read from a file. Here are the first three steps of episode 0:

# %% nbgrader={"grade": false, "grade_id": "6-A-look", "locked": true, "schema_version": 3, "solution": false, "task": false}
for step in (0, 1, 2):
    show(mzu.explain(patient("A"), episode=0, step=step), "Position")

# %% [markdown]
# And this is what the file holds of episode 2, the short one. A record has one row for each observation,
# $T + 1$ rows for $T$ steps: the observation, the action that was taken in it (0 in the last row, where nothing
# was done any more), and a reward. Which action earned which reward? You know the corridor.

# %% nbgrader={"grade": false, "grade_id": "6-A-file", "locked": true, "schema_version": 3, "solution": false, "task": false}
record = file_record(2)
print("observation  action  reward")
for cell, action, reward in zip(*record.values(), strict=True):
    print(f"{cell[0]:11g} {action:7} {reward:7.1f}")

# %% [markdown]
# The function that reads a record:

# %% nbgrader={"grade": false, "grade_id": "6-A-wrong", "locked": true, "schema_version": 3, "solution": false, "task": false}
def wrong_read(record):
    """A record of the file -> observations [T + 1, ...], actions [T] and rewards [T]."""
    observations = record["observation"]
    actions = record["action"][:-1]  # in the last observation nothing was done any more
    rewards = record["reward"][:-1]
    return observations, actions, rewards


# %% [markdown]
# ## Question 6.1: patient A, mended (2 points)
#
# Write `read(record)` as it should be. `record` is a dictionary of three arrays with $T + 1$ rows, as printed
# above. The result is a tuple of three arrays: the observations [T + 1, ...], the actions [T], and the rewards [T], where
# `rewards[t]` is what `actions[t]` earned, which was taken in `observations[t]`.

# %% nbgrader={"grade": false, "grade_id": "6-1", "locked": false, "schema_version": 3, "solution": true, "task": false}
def read(record):
    """A record of the file -> observations [T + 1, ...], actions [T] and rewards [T]."""
    ### BEGIN SOLUTION
    observations = record["observation"]
    actions = record["action"][:-1]  # in the last observation nothing was done any more
    rewards = record["reward"][1:]  # before the first observation nothing was earned yet
    return observations, actions, rewards
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "6-1-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("6.1", read)
### BEGIN HIDDEN TESTS
check("6.1", read, hidden=True)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "6-A-healed", "locked": true, "schema_version": 3, "solution": false, "task": false}
print("before:", verdict(patient("A")))
print("after: ", verdict(patient("A", read)))

# %% [markdown]
# ## Question 6.2: patient A, in words (2 points)
#
# In two to four sentences: which number of which section is the first that is wrong, and what should it be?
# What does the function do, in place of what it should? What does that do to learning?

# %% [markdown] nbgrader={"grade": true, "grade_id": "6-2-words", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# *Position*, episode 0, step 0: the reward is 0, but going right from cell 0 earns 0.2; step 1 shows that 0.2
# in its place. In the file a reward stands beside the observation that it came with, and the reader puts it
# beside the action that is taken there, one step too late; the last reward, 1.9 for reaching the end, is lost.
# Every action is praised for what the one before it did: the model learns wrong rewards, and the search goes
# after rewards that are already paid.

# %% [markdown]
# ## Patient B
#
# Patient B reads its data well. Here are the root of a search, and its first simulation. The explainer works out
# the priors of the root by itself, from the policy and the random draws; a simulation shows the priors that the
# search really read.

# %% nbgrader={"grade": false, "grade_id": "6-B-look", "locked": true, "schema_version": 3, "solution": false, "task": false}
show(mzu.explain(patient("B"), episode=0, step=0), "Root", "Simulation 1 ")

# %% [markdown]
# The function that is called once for every root, before the first simulation; the search goes on reading the
# array that it gave:

# %% nbgrader={"grade": false, "grade_id": "6-B-wrong", "locked": true, "schema_version": 3, "solution": false, "task": false}
def wrong_add_noise(priors, log_gamma, fraction):
    """Mixes Dirichlet noise into the priors [K] of the root, in place.

    A prior of 0 is no candidate and stays 0. log_gamma [K]: logarithms of Gamma draws, whose
    softmax over the candidates is the noise.
    """
    exists = priors > 0
    draws = np.exp(np.where(exists, log_gamma, -np.inf) - log_gamma[exists].max())
    noise = draws / draws.sum()
    priors = (1 - fraction) * priors + fraction * noise


# %% [markdown]
# ## Question 6.3: patient B, mended (2 points)
#
# Write `add_noise(priors, log_gamma, fraction)` as it should be. It changes the array `priors` and returns
# nothing. Afterwards `priors` holds
# $(1 - \text{fraction}) \cdot \text{prior} + \text{fraction} \cdot \text{noise}$. Where a prior is 0, there is
# no candidate: it stays 0, and the noise, which adds up to 1, is shared by the others.
#
# Example: priors $(0.25, 0.75)$, `log_gamma` $(\log 3, \log 1)$ and fraction $0.4$. The noise is
# $(0.75, 0.25)$, and `priors` becomes
# $(0.6 \cdot 0.25 + 0.4 \cdot 0.75,\; 0.6 \cdot 0.75 + 0.4 \cdot 0.25) = (0.45, 0.55)$.

# %% nbgrader={"grade": false, "grade_id": "6-3", "locked": false, "schema_version": 3, "solution": true, "task": false}
def add_noise(priors, log_gamma, fraction):
    """Mixes Dirichlet noise into the priors [K] of the root, in place.

    A prior of 0 is no candidate and stays 0. log_gamma [K]: logarithms of Gamma draws, whose
    softmax over the candidates is the noise.
    """
    ### BEGIN SOLUTION
    exists = priors > 0
    draws = np.exp(np.where(exists, log_gamma, -np.inf) - log_gamma[exists].max())
    noise = draws / draws.sum()
    priors[:] = (1 - fraction) * priors + fraction * noise  # into the caller's array
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "6-3-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("6.3", add_noise)
### BEGIN HIDDEN TESTS
check("6.3", add_noise, hidden=True)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "6-B-healed", "locked": true, "schema_version": 3, "solution": false, "task": false}
print("before:", verdict(patient("B")))
print("after: ", verdict(patient("B", add_noise)))

# %% [markdown]
# ## Question 6.4: patient B, in words (2 points)
#
# In two to four sentences: which number of which section is the first that is wrong, and what should it be?
# What does the function do, in place of what it should? What does that do to learning?

# %% [markdown] nbgrader={"grade": true, "grade_id": "6-4-words", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# *Simulation 1*: action 2 has prior 0.5405 at the root, the policy's own; *Root* says that with noise it should
# be 0.5021 (and 0.263 and 0.2348 for the others). The function works out the mixture and gives the name
# `priors` to that new array; the array of the caller, which the search reads, is as before. So there is no
# noise: nothing is explored that the policy does not propose already, and a mistake of the policy stays.

# %% [markdown]
# ## Patient C
#
# Patient C has read its data well, and its searches are as they should be. A position in the middle of episode
# 0, from which the agent went back (action 0, from cell 2 to cell 1, reward 0.2):

# %% nbgrader={"grade": false, "grade_id": "6-C-look", "locked": true, "schema_version": 3, "solution": false, "task": false}
show(mzu.explain(patient("C"), episode=0, step=2), "Position", "Policy target", "Loss")

# %% [markdown]
# The table of the loss is made of what the *replay* holds. Its last four columns are what the model predicts
# and what it is trained towards: value and target, reward and target. Row $k = 1$ is one step further: the
# model was unrolled with the action that the replay has for step 2, and its reward is the one that this action
# earns. Remember that the model's rewards are right.
#
# The function that is called when a stored position has been searched again:

# %% nbgrader={"grade": false, "grade_id": "6-C-wrong", "locked": true, "schema_version": 3, "solution": false, "task": false}
def wrong_record_step(stored, found):
    """One position of a stored game, searched again -> what the replay keeps of it.

    stored  {"observation", "action", "reward"}: what happened in the episode
    found   {"action", "policy", "value"}: the search's choice, its visits' shares, its value
    """
    return {
        "observation": stored["observation"],
        "action": found["action"],
        "reward": stored["reward"],
        "policy": found["policy"],
        "value": found["value"],
    }


# %% [markdown]
# ## Question 6.5: patient C, mended (2 points)
#
# Write `record_step(stored, found)` as it should be. The result is a dictionary with the same five keys. The
# next observation is not part of it: in the replay the next step of the episode follows.

# %% nbgrader={"grade": false, "grade_id": "6-5", "locked": false, "schema_version": 3, "solution": true, "task": false}
def record_step(stored, found):
    """One position of a stored game, searched again -> what the replay keeps of it.

    stored  {"observation", "action", "reward"}: what happened in the episode
    found   {"action", "policy", "value"}: the search's choice, its visits' shares, its value
    """
    ### BEGIN SOLUTION
    return {
        "observation": stored["observation"],
        "action": stored["action"],  # the one that led to this reward and to the next observation
        "reward": stored["reward"],
        "policy": found["policy"],
        "value": found["value"],
    }
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "6-5-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("6.5", record_step)
### BEGIN HIDDEN TESTS
check("6.5", record_step, hidden=True)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "6-C-healed", "locked": true, "schema_version": 3, "solution": false, "task": false}
print("before:", verdict(patient("C")))
print("after: ", verdict(patient("C", record_step)))

# %% [markdown]
# ## Question 6.6: patient C, in words (2 points)
#
# In two to four sentences: which two numbers of one section do not fit together, and what
# should stand in the replay?
# What does the function do, in place of what it should? What does that do to learning?

# %% [markdown] nbgrader={"grade": true, "grade_id": "6-6-words", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# *Loss*, k = 1: the predicted reward is 0.5, but the model, whose rewards are right, should predict 0.2 for
# action 0 in cell 2; 0.5 is what action 2 earns there. The function records the action that the new search
# chose, beside the reward and the next observation of the stored one. The model learns that an action leads to
# where another one led, with that one's reward, so that plans made with it are wrong.

# %% [markdown]
# ## Patient D
#
# Patient D has searches and targets as they should be. It learns with prioritised replay: the learner takes a
# batch of positions, computes the priority $p = |\nu - z|$ of each, and writes $p^\alpha$ back into the replay,
# position by position. It has just done so with **all** positions of the replay in one batch, in a random
# order. Nothing else has changed since. Four positions in a row:

# %% nbgrader={"grade": false, "grade_id": "6-D-look", "locked": true, "schema_version": 3, "solution": false, "task": false}
for step in range(4):
    show(mzu.explain(patient("D"), episode=0, step=step), "Priority")

# %% [markdown]
# The function that writes back:

# %% nbgrader={"grade": false, "grade_id": "6-D-wrong", "locked": true, "schema_version": 3, "solution": false, "task": false}
def wrong_write_back(table, positions, priorities, alpha):
    """Writes a batch's new priorities into the table [N] of all positions' p^alpha, in place.

    positions   [B]  which positions were in the batch, no two equal
    priorities  [B]  the new p of each of them
    """
    places = np.sort(positions)  # one after the other in memory is faster
    table[places] = priorities**alpha


# %% [markdown]
# ## Question 6.7: patient D, mended (2 points)
#
# Write `write_back(table, positions, priorities, alpha)` as it should be. It changes the array `table` and
# returns nothing. Positions that are not in the batch keep what they have. The positions of a batch come in any
# order, no two of them equal.
#
# Example: a table of six numbers, positions $(4, 0, 2)$, priorities $(4, 1, 9)$, $\alpha = 1$. Afterwards
# `table[4]` is 4, `table[0]` is 1 and `table[2]` is 9.

# %% nbgrader={"grade": false, "grade_id": "6-7", "locked": false, "schema_version": 3, "solution": true, "task": false}
def write_back(table, positions, priorities, alpha):
    """Writes a batch's new priorities into the table [N] of all positions' p^alpha, in place.

    positions   [B]  which positions were in the batch, no two equal
    priorities  [B]  the new p of each of them
    """
    ### BEGIN SOLUTION
    order = np.argsort(positions)  # one after the other in memory is faster
    table[positions[order]] = priorities[order] ** alpha
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "6-7-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("6.7", write_back)
### BEGIN HIDDEN TESTS
check("6.7", write_back, hidden=True)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "6-D-healed", "locked": true, "schema_version": 3, "solution": false, "task": false}
print("before:", verdict(patient("D")))
print("after: ", verdict(patient("D", write_back)))

# %% [markdown]
# ## Question 6.8: patient D, in words (2 points)
#
# In two to four sentences: which number of which section is the first that is wrong, and what should it be?
# What does the function do, in place of what it should? What does that do to learning?

# %% [markdown] nbgrader={"grade": true, "grade_id": "6-8-words", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# *Priority*, step 0: the replay has p^alpha = 0.914, but p is 0.229 now, and since the learner has just written
# it back with alpha = 1, it should be 0.229. (0.914 is the p of step 2.) The function sorts the positions and
# leaves the priorities as they are, so that they go to other positions. Positions are drawn for the errors of
# others: surprising ones too rarely, dull ones too often, and the importance weights correct for nothing.

# %% [markdown]
# ## Patient E
#
# The last one is different. Here is what the explainer finds, and the targets that it speaks of, at the last
# step of episode 2 (from cell 5 to cell 6, reward 1.9, the end):

# %% nbgrader={"grade": false, "grade_id": "6-E-look", "locked": true, "schema_version": 3, "solution": false, "task": false}
show(mzu.explain(patient("E"), episode=2, step=1), "Implausible", "Value target")

# %% [markdown]
# All targets that are shown are right: 1.9 for the last step, nothing after it. But an explanation is about one
# position, a batch of one row. The learner gets many rows at once. `replay.at(numbers, rng)` makes the batch of
# the positions with these numbers, and `targets(batch).values` are their targets $z$ at $t$, $t + 1$ and
# $t + 2$. Number 0 is step 0 of episode 0 (its explanation shows what its own targets are made of); the replay
# counts in segments of 4 places (episode 0 has three of them, episode 1 two), so step 1 of episode 2, our position,
# is number $5 \cdot 4 + 1 = 21$. Alone, then as the first of two rows, then as the second:

# %% nbgrader={"grade": false, "grade_id": "6-E-rows", "locked": true, "schema_version": 3, "solution": false, "task": false}
system = patient("E")
for numbers in ([21], [21, 0], [0, 21]):
    batch = system.replay.at(np.array(numbers), np.random.default_rng(0))
    print("positions", numbers)
    print(system.targets(batch).values)

# %% [markdown]
# The function that makes the targets of a batch:

# %% nbgrader={"grade": false, "grade_id": "6-E-wrong", "locked": true, "schema_version": 3, "solution": false, "task": false}
def wrong_value_targets(rewards, bootstrap_values, steps_left, terminated, discount, td_steps):
    """The value targets z [B, U + 1] of a batch: rewards, and the value of where they lead.

    rewards           [B, U + n]  from t on, 0 past the end of the episode; n = td_steps
    bootstrap_values  [B, U + 1]  value of the observation at t + k + n, or of the last one
    steps_left        [B]         steps from t to the end of the data
    terminated        [B] bool    whether that end is terminal
    """
    positions = bootstrap_values.shape[1]
    targets, bootstrap = np.zeros(bootstrap_values.shape), np.zeros(positions)
    for row in range(len(targets)):
        left = steps_left[row] - np.arange(positions)  # steps from t + k to the end
        goes_on = ~terminated[row] | (left > td_steps)
        values = discount ** np.clip(left, 0, td_steps) * bootstrap_values[row]
        bootstrap[goes_on] = values[goes_on]
        summed = sum(discount**i * rewards[row, i : i + positions] for i in range(td_steps))
        targets[row] = summed + bootstrap
    return targets


# %% [markdown]
# ## Question 6.9: patient E, mended (2 points)
#
# Write `value_targets(...)` as it should be, with a loop over the rows or without. For row $b$ and
# $k = 0 \dots U$, with $\ell =$ `steps_left[b]` $- k$ steps from $t + k$ to the end,
#
# $$z_{b,k} = \sum_{i=0}^{n-1} \gamma^i\, u_{b,k+i} + \gamma^{\min(n, \max(\ell, 0))}\, v_{b,k}.$$
#
# Where the end is terminal and $\ell \le n$, the last term is left out. $u$ are the `rewards`, 0 past the end,
# and $v$ the `bootstrap_values`. All of that is right in the function above.

# %% nbgrader={"grade": false, "grade_id": "6-9", "locked": false, "schema_version": 3, "solution": true, "task": false}
def value_targets(rewards, bootstrap_values, steps_left, terminated, discount, td_steps):
    """The value targets z [B, U + 1] of a batch: rewards, and the value of where they lead.

    rewards           [B, U + n]  from t on, 0 past the end of the episode; n = td_steps
    bootstrap_values  [B, U + 1]  value of the observation at t + k + n, or of the last one
    steps_left        [B]         steps from t to the end of the data
    terminated        [B] bool    whether that end is terminal
    """
    ### BEGIN SOLUTION
    positions = bootstrap_values.shape[1]
    targets = np.zeros(bootstrap_values.shape)
    for row in range(len(targets)):
        left = steps_left[row] - np.arange(positions)  # steps from t + k to the end
        goes_on = ~terminated[row] | (left > td_steps)
        values = discount ** np.clip(left, 0, td_steps) * bootstrap_values[row]
        bootstrap = np.where(goes_on, values, 0.0)  # a new one for every row
        summed = sum(discount**i * rewards[row, i : i + positions] for i in range(td_steps))
        targets[row] = summed + bootstrap
    return targets
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "6-9-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("6.9", value_targets)
### BEGIN HIDDEN TESTS
check("6.9", value_targets, hidden=True)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "6-E-healed", "locked": true, "schema_version": 3, "solution": false, "task": false}
print("before:", verdict(patient("E")))
print("after: ", verdict(patient("E", value_targets)))

# %% [markdown]
# ## Question 6.10: patient E, in words (2 points)
#
# In two to four sentences: which of the targets above are wrong, by how much, and where does that number come
# from? What does the function do, in place of what it should? What does that do to learning?

# %% [markdown] nbgrader={"grade": true, "grade_id": "6-10-words", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# In the batch [0, 21] the second row is 2.872, 0.648, 0.972 in place of 1.9, 0, 0. It is too large by 0.972,
# 0.648 and 0.972, which are the discounted bootstrap values of the first row (0.81 * 1.2, 0.81 * 0.8, 0.81 *
# 1.2). `bootstrap` is made once for all rows, and a row that terminates within reach does not write to it: what
# an earlier row left there is added. Targets near the end of an episode depend on chance, on what else is in
# the batch, and are bootstrapped across the end with values of other games.
