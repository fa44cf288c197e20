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
# real: every one of them was made in a program like this one. You do not get to see the code that is wrong, only
# what it does: every number of every target, in the target explainer. Find the number that has no good reason, say
# which part made it, and write that part as it should be.
#
# | | |
# |---|---|
# | **Follows** | the whole course, and `tutorials/debug_reanalyse_targets.md`, which shows how to read an explanation. Read that first |
# | **Takes** | two to three hours |
# | **You will write** | five diagnoses in words, and five functions |
# | **Points** | 22: for each of five patients 2 for the words and 2 for the function, and 2 for all diagnoses. The words are read by a person |
# | **Check yourself** | the cell below each function calls `check`, as often as you like. When you hand in, the same check is made with other inputs |
#
# **The world.** All five live in the corridor of that page: cells 0 to 6 in a row. An agent goes left (action
# 0), rests (1) or goes right (2). Who moves pays 0.1 and gets what lies in the cell that is reached; who rests
# gets nothing. Left of cell 0 is a wall: who goes left there stays in cell 0, and pays. The episode terminates
# in cell 6; in the model, whatever one does there leads to cell 6 again and earns nothing.
#
# | cell | 0 | 1 | 2 | 3 | 4 | 5 | 6 |
# |---|---|---|---|---|---|---|---|
# | what lies there | 0 | 0.3 | -0.4 | 0.6 | -0.2 | 0.1 | 2 |
# | the network's value | 0.9 | 1.1 | 1.5 | 1.3 | 1.6 | 1.8 | 0.4 |
# | the target network's value | 0.7 | 0.8 | 1.2 | 1.2 | 1.3 | 1.6 | 0.5 |
#
# So to go from cell 0 to cell 1 earns $0.3 - 0.1 = 0.2$. The observation is the number of the cell. Tables take
# the place of the networks: the model's moves and rewards are **right**, its policy and values those of a
# network that has learned for a while (it does not know yet that nothing follows after cell 6). The settings: 16
# simulations with the usual constants (1.25 and 19652), noise fraction 0.25 with Dirichlet(0.25), discount 0.9, $n = 2$ TD
# steps, 2 unrolled steps, segments of 4 positions, priorities and weights with $\alpha = \beta = 1$, and a tenth of each batch
# drawn uniformly.
#
# **The episodes.** There are three, with the same walks in all patients: episode 0 goes through the cells 0, 1,
# 2, 1, 2, 3, 3, 4, 3, 4, 5, 6, and terminates; episode 1 through 4, 3, 2, 2, 3, 2, 3, and is cut off; episode 2
# through 4, 5, 6, and terminates. They were read from a file, and every position was searched again. Then the learner
# took **all** positions of the replay as one batch, in a random order, and gave each of them its new priority
# $p = |\nu - z|$. Nothing has changed since.
#
# **The parts.** A patient is made of these functions, in the order in which data pass through them. Nine of the ten are
# right.
#
# | part | what it does | look at |
# |---|---|---|
# | `read` | a record of the file -> observations, actions, rewards | Position |
# | `add_noise` | mixes noise into the priors of the root, before the first simulation | Root, Simulation 1 |
# | `select` | pUCT: the scores, and which action a simulation takes | Simulation |
# | `backup` | carries the value of a new leaf to the root | Simulation, Result |
# | `record_step` | what the replay keeps of a position that was searched again | Policy target, Loss |
# | `value_targets` | the targets $z$ of a batch of positions | Value target, Priority |
# | `priority` | $p = \lvert \nu - z \rvert$ | Priority |
# | `write_back` | writes the $p^\alpha$ of a batch into the replay, position by position | Priority |
# | `weight` | the probability $P$ to be drawn, and the importance weight | Priority |
# | `loss` | unrolls the model with the replay's actions, and compares with the targets | Loss |
#
# **How to go about it.** `mzu.explain(patient("A"), episode=0, step=1)` takes one target of patient A apart.
# `print` shows all of it, and begins with what the checks of the explainer find implausible. That is the right
# tool for work, and the wrong one for practice: the checks know these bugs. So look at the numbers first.
# `show` prints all sections without the verdict, or those that you name: Position, Root, Simulation 1 (or 2, 3, 16), Tree,
# Result, Policy target, Value target, Priority, Loss, Change. For each patient
#
# 1. go through the sections in their order, and ask of each number whether you can get it from the ones before it, or
#    from what you know of the corridor. What comes later is wrong because of what came first;
# 2. where you have a suspicion, look at other positions: is it everywhere, or only somewhere?
# 3. name the first number that has no good reason, and work out what it should be.
#
# **Whose numbers are these?** Some the explainer works out by itself, from their definitions; others are what the patient really
# did. Where both stand side by side, they should be equal.
#
# | section | worked out | what the patient did |
# |---|---|---|
# | Position | | the episode, as it was read |
# | Root | noise and prior | visits, q, policy |
# | Simulation | terms and scores; returns and values of the way back | the priors that it read, what was chosen, the leaf |
# | Tree | values, from the leaves | visits, priors, rewards |
# | Result | | the policy and the value $\nu$ that the search came to |
# | Policy target, Value target | the terms of each sum | its result: the target that the learner is given, for a batch of this position alone |
# | Priority | p now | $\nu$ of the replay; p^alpha, P and weight, from the replay |
# | Loss | | predictions, targets and losses, from what the replay holds |
#
# Root to Result are a search of now. Policy target to Loss are about the search that filled the replay, which had other noise:
# its policy and its $\nu$ may differ, and *Change* shows both. A segment keeps the search's results of its own positions only;
# a step beyond it is "not searched" there. In the table of the loss, row $k$ is $k$ steps further: the model was unrolled with the
# actions that the replay holds. Its last four columns are the value and its target, the reward and its target.
#
# **A batch.** An explanation is about one position. `batch_of(system, (0, 0), (2, 1))` is what the learner gets if it draws step 0 of episode 0
# and step 1 of episode 2: a batch of two rows. `batch.actions` [B, 3], `batch.rewards` [B, 4] and `batch.search_value` [B, 3] are
# what the replay holds from each position on (behind a terminal end the actions are any), and `system.targets(batch).values` [B, 3] the targets $z$ at $t$, $t + 1$ and $t + 2$.
#
# The first import takes a while.

# %%
import numpy as np

from mzu.classroom import check

np.set_printoptions(precision=4, suppress=True)

# %% nbgrader={"grade": false, "grade_id": "6-tools", "locked": true, "schema_version": 3, "solution": false, "task": false}
import mzu.explain
from mzu.classroom.patients import batch_of, file_record, patient

VERDICT = ("Implausible", "Checks")


def show(explanation, *titles):
    """Prints the sections whose titles begin like this; without titles all but the verdict."""
    for section in str(explanation).split("\n\n")[1:]:
        wanted = section.startswith(titles) if titles else not section.startswith(VERDICT)
        if wanted:
            print(section, end="\n\n")


def everywhere(system):
    """The explanations of all positions of a patient."""
    for number, episode in enumerate(system.episodes):
        for step in range(len(episode)):
            yield mzu.explain(system, episode=number, step=step)


def verdict(system):
    """What the explainer's checks find: {check: at how many of the positions it shows}."""
    found = [flag["name"] for explanation in everywhere(system) for flag in explanation.flags]
    return {name: found.count(name) for name in found} or "nothing"

# %% [markdown]
# ## Patient P, to practise
#
# P is the patient of `tutorials/debug_reanalyse_targets.md`. Its last simulation, and what the search came to:

# %% nbgrader={"grade": false, "grade_id": "6-P-look", "locked": true, "schema_version": 3, "solution": false, "task": false}
show(mzu.explain(patient("P"), episode=2, step=0), "Simulation 16 ", "Result")

# %% [markdown]
# At the root, action 2 has the largest score, and yet action 1 was chosen: the search itself saw other numbers. The table below the
# leaf is about the way back: each return $G$ is the reward plus 0.9 times the return below it, and in its last line the root comes
# to a value of 1.764. But the value that the search came to, $\nu$, is 1.025. Both are said to be the mean of what the simulations
# brought to the root. The first is worked out from the leaves, so it is the second that has no good reason, and the part that
# carries values to the root is to blame: `backup`. (The choices are wrong, too, but because of these values; `select`
# does what it should.) This is the tree as it should have been valued along the same paths:

# %% nbgrader={"grade": false, "grade_id": "6-P-tree", "locked": true, "schema_version": 3, "solution": false, "task": false}
mzu.explain(patient("P"), episode=2, step=0).tree_picture()

# %% [markdown]
# A batch of two positions, which P makes as it should:

# %% nbgrader={"grade": false, "grade_id": "6-P-batch", "locked": true, "schema_version": 3, "solution": false, "task": false}
system = patient("P")
batch = batch_of(system, (0, 0), (2, 1))
print("actions\n", batch.actions)
print("targets\n", system.targets(batch).values)

# %% [markdown]
# ## Patient A

# %% nbgrader={"grade": false, "grade_id": "6-A-look", "locked": true, "schema_version": 3, "solution": false, "task": false}
show(mzu.explain(patient("A"), episode=0, step=1))

# %% [markdown]
# ## Question 6.1: Patient A, in words (2 points)
#
# In two to five sentences: which number of which section, at which position, is the first that is wrong, and what
# should it be? Which part made it, and what does it seem to do in place of what it should? What does that do to learning?

# %% [markdown] nbgrader={"grade": true, "grade_id": "6-1-words", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# *Position*, episode 0, step 0: the reward is 0, but going right from cell 0 earns 0.2; step 1 shows that 0.2
# in its place, where going from cell 1 to cell 2 earns -0.5. `read` puts every reward one step too late: beside the action
# that follows the one that earned it; the last reward, 1.9 for reaching the end, is lost. Every action is praised for what
# the one before it did: the model learns wrong rewards, and the search goes after rewards that are already paid.

# %% [markdown]
# ## Patient B

# %% nbgrader={"grade": false, "grade_id": "6-B-look", "locked": true, "schema_version": 3, "solution": false, "task": false}
show(mzu.explain(patient("B"), episode=1, step=2))

# %% [markdown]
# ## Question 6.2: Patient B, in words (2 points)
#
# In two to five sentences: which number of which section, at which position, is the first that is wrong, and what
# should it be? Which part made it, and what does it seem to do in place of what it should? What does that do to learning?

# %% [markdown] nbgrader={"grade": true, "grade_id": "6-2-words", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# *Priority*, episode 0, step 0: the replay has p^alpha = 0.914, but p is 0.229 now, and since the learner has just written
# it back with alpha = 1, it should be 0.229. (It is like that at every position, and all numbers are there: 0.914 is
# the p of step 2.) `write_back` puts the priorities of a batch at other positions of the batch than those they belong to: as
# if one of the two arrays had been sorted. Positions are drawn for the errors of others: surprising ones too rarely, dull ones
# too often, and the importance weights correct for nothing.

# %% [markdown]
# ## Patient C

# %% nbgrader={"grade": false, "grade_id": "6-C-look", "locked": true, "schema_version": 3, "solution": false, "task": false}
show(mzu.explain(patient("C"), episode=0, step=0))

# %% [markdown]
# ## Question 6.3: Patient C, in words (2 points)
#
# In two to five sentences: which number of which section, at which position, is the first that is wrong, and what
# should it be? Which part made it, and what does it seem to do in place of what it should? What does that do to learning?

# %% [markdown] nbgrader={"grade": true, "grade_id": "6-3-words", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# *Simulation 1*, episode 0, step 0: action 2 has prior 0.5405 at the root, the policy's own; *Root* says that with noise it
# should be 0.5021 (and 0.263 and 0.2348 for the others). `add_noise` leaves the array that the search reads as it
# was: perhaps it works on a copy. So there is no noise: nothing is explored that the policy does not propose already, and a
# mistake of the policy stays.

# %% [markdown]
# ## Patient D

# %% nbgrader={"grade": false, "grade_id": "6-D-look", "locked": true, "schema_version": 3, "solution": false, "task": false}
show(mzu.explain(patient("D"), episode=0, step=2))

# %% [markdown]
# ## Question 6.4: Patient D, in words (2 points)
#
# In two to five sentences: which number of which section, at which position, is the first that is wrong, and what
# should it be? Which part made it, and what does it seem to do in place of what it should? What does that do to learning?

# %% [markdown] nbgrader={"grade": true, "grade_id": "6-4-words", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# *Loss*, episode 0, step 2, k = 1: the predicted reward is 0.5, but the model, whose rewards are right, should predict 0.2 for
# action 0 in cell 2, which *Position* shows; 0.5 is what action 2 earns there. So the replay has another action than the
# episode: `record_step` keeps the one that the new search chose, beside the reward and the next observation of the stored
# one. The model learns that an action leads to where another one led, with that one's reward, so that plans made with it are
# wrong.

# %% [markdown]
# ## Patient E

# %% nbgrader={"grade": false, "grade_id": "6-E-look", "locked": true, "schema_version": 3, "solution": false, "task": false}
show(mzu.explain(patient("E"), episode=2, step=0))

# %% [markdown]
# ## Question 6.5: Patient E, in words (2 points)
#
# In two to five sentences: which number of which section, at which position, is the first that is wrong, and what
# should it be? Which part made it, and what does it seem to do in place of what it should? What does that do to learning?

# %% [markdown] nbgrader={"grade": true, "grade_id": "6-5-words", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# *Priority*, episode 2, step 1: the replay has p^alpha = 0.737, but p is 0.235 now; it is so in the last two steps of the
# episodes that terminate, and nowhere else. Alone in its batch the position has the targets 1.9, 0, 0; behind position 0, in
# the batch of both, it has 2.872, 0.648, 0.972. That is too large by 0.972, 0.648 and 0.972, the discounted bootstrap values of
# the first row (0.81 * 1.2, 0.81 * 0.8, 0.81 * 1.2). `value_targets` adds what an earlier row left behind where a row has no
# bootstrap of its own. Targets near the end of an episode depend on chance, on what else is in the batch, and are
# bootstrapped across the end with values of other games.

# %% [markdown]
# ## Question 6.6: All diagnoses (2 points)
#
# Write `diagnosis(letter)`: the part of this patient that is wrong, one of the ten names of the table. The check asks for
# patient P only; A to E are asked by the last cell, and when you hand in.

# %% nbgrader={"grade": false, "grade_id": "6-6", "locked": false, "schema_version": 3, "solution": true, "task": false}
def diagnosis(letter):
    """A patient's letter -> the name of its wrong part, such as "backup"."""
    ### BEGIN SOLUTION
    parts = {"P": "backup", "A": "read", "B": "write_back", "C": "add_noise"}
    parts |= {"D": "record_step", "E": "value_targets"}
    return parts[letter]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "6-6-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("6.6", diagnosis)
### BEGIN HIDDEN TESTS
check("6.6", diagnosis, hidden=True)
### END HIDDEN TESTS

# %% [markdown]
# ## Mending
#
# Below are the five parts, in the order of the table, to be written as they should be. Which patient needs which you have said
# already; the last cell plants your functions by your diagnoses, and asks all checks of the explainer again.
#
# ## Question 6.7: Reading a file (2 points)
#
# This is what the file holds of episode 2, the short one. A record has one row for each observation, $T + 1$ rows for $T$ steps:
# the observation, the action that was taken in it (0 in the last row, where nothing was done any more), and a
# reward. Which action earned which reward? You know the corridor.

# %% nbgrader={"grade": false, "grade_id": "6-file", "locked": true, "schema_version": 3, "solution": false, "task": false}
record = file_record(2)
print("observation  action  reward")
for cell, action, reward in zip(*record.values(), strict=True):
    print(f"{cell[0]:11g} {action:7} {reward:7.1f}")

# %% [markdown]
# Write `read(record)`. `record` is a dictionary of three arrays with $T + 1$ rows, `observation`, `action` and `reward`, as printed above. The result is a tuple of
# three arrays: the observations [T + 1, ...], the actions [T], and the rewards [T], where `rewards[t]` is what `actions[t]`
# earned, which was taken in `observations[t]`.

# %% nbgrader={"grade": false, "grade_id": "6-7", "locked": false, "schema_version": 3, "solution": true, "task": false}
def read(record):
    """A record of the file -> observations [T + 1, ...], actions [T] and rewards [T]."""
    ### BEGIN SOLUTION
    observations = record["observation"]
    actions = record["action"][:-1]  # in the last observation nothing was done any more
    rewards = record["reward"][1:]  # before the first observation nothing was earned yet
    return observations, actions, rewards
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "6-7-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("6.7", read)
### BEGIN HIDDEN TESTS
check("6.7", read, hidden=True)
### END HIDDEN TESTS

# %% [markdown]
# ## Question 6.8: Noise at the root (2 points)
#
# Write `add_noise(priors, log_gamma, fraction)`. It is called once for every root, before the first simulation, changes the array
# `priors`, which the search goes on reading, and returns nothing. Afterwards `priors` holds
# $(1 - \text{fraction}) \cdot \text{prior} + \text{fraction} \cdot \text{noise}$. Where a prior is 0, there is
# no candidate: it stays 0, and the noise, which adds up to 1, is shared by the others.
#
# Example: priors $(0.25, 0.75)$, `log_gamma` $(\log 3, \log 1)$ and fraction $0.4$. The noise is
# $(0.75, 0.25)$, and `priors` becomes
# $(0.6 \cdot 0.25 + 0.4 \cdot 0.75,\; 0.6 \cdot 0.75 + 0.4 \cdot 0.25) = (0.45, 0.55)$.

# %% nbgrader={"grade": false, "grade_id": "6-8", "locked": false, "schema_version": 3, "solution": true, "task": false}
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

# %% nbgrader={"grade": true, "grade_id": "6-8-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("6.8", add_noise)
### BEGIN HIDDEN TESTS
check("6.8", add_noise, hidden=True)
### END HIDDEN TESTS

# %% [markdown]
# ## Question 6.9: What the replay keeps (2 points)
#
# Write `record_step(stored, found)`. A position of a stored game was searched again: `stored` is what happened there, `found` what
# the search found. The result is what the replay keeps, a dictionary with the keys `observation`, `action`, `reward`, `policy` and
# `value`. The next observation is not part of it: in the replay the next step of the episode follows.

# %% nbgrader={"grade": false, "grade_id": "6-9", "locked": false, "schema_version": 3, "solution": true, "task": false}
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

# %% nbgrader={"grade": true, "grade_id": "6-9-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("6.9", record_step)
### BEGIN HIDDEN TESTS
check("6.9", record_step, hidden=True)
### END HIDDEN TESTS

# %% [markdown]
# ## Question 6.10: Targets of a batch (2 points)
#
# Write `value_targets(...)`, with a loop over the rows or without. For row $b$ and
# $k = 0 \dots U$, with $\ell =$ `steps_left[b]` $- k$ steps from $t + k$ to the end,
#
# $$z_{b,k} = \sum_{i=0}^{n-1} \gamma^i\, u_{b,k+i} + \gamma^{\min(n, \max(\ell, 0))}\, v_{b,k}.$$
#
# Where the end is terminal and $\ell \le n$, the last term is left out. $u$ are the `rewards`, 0 past the end,
# and $v$ the `bootstrap_values`.

# %% nbgrader={"grade": false, "grade_id": "6-10", "locked": false, "schema_version": 3, "solution": true, "task": false}
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

# %% nbgrader={"grade": true, "grade_id": "6-10-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("6.10", value_targets)
### BEGIN HIDDEN TESTS
check("6.10", value_targets, hidden=True)
### END HIDDEN TESTS

# %% [markdown]
# ## Question 6.11: Writing priorities back (2 points)
#
# Write `write_back(table, positions, priorities, alpha)`. It changes the array `table` and returns nothing. Positions that are
# not in the batch keep what they have. The positions of a batch come in any order, no two of them equal.
#
# Example: a table of six numbers, positions $(4, 0, 2)$, priorities $(4, 1, 9)$, $\alpha = 1$. Afterwards
# `table[4]` is 4, `table[0]` is 1 and `table[2]` is 9.

# %% nbgrader={"grade": false, "grade_id": "6-11", "locked": false, "schema_version": 3, "solution": true, "task": false}
def write_back(table, positions, priorities, alpha):
    """Writes a batch's new priorities into the table [N] of all positions' p^alpha, in place.

    positions   [B]  which positions were in the batch, no two equal
    priorities  [B]  the new p of each of them
    """
    ### BEGIN SOLUTION
    table[positions] = priorities**alpha
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "6-11-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("6.11", write_back)
### BEGIN HIDDEN TESTS
check("6.11", write_back, hidden=True)
### END HIDDEN TESTS

# %% [markdown]
# ## Discharged
#
# Each patient with your function in the place of the part that you named. Where a diagnosis is wrong, the patient keeps its bug.

# %% nbgrader={"grade": false, "grade_id": "6-healed", "locked": true, "schema_version": 3, "solution": false, "task": false}
mended = {part.__name__: part for part in (read, add_noise, record_step, value_targets, write_back)}
for letter in "ABCDE":
    print(f"{letter} before:", verdict(patient(letter)))
    if diagnosis(letter) in mended:
        print(f"{letter} after: ", verdict(patient(letter, mended[diagnosis(letter)])))
    else:
        print(f"{letter} after:  {diagnosis(letter)} is not among the functions above; look again")
