# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Assignment 2. A tree search
#
# | | |
# |---|---|
# | **You will write** | MuZero's search twice: the pUCT score, expansion and backup on Python dictionaries, then selection and a new node on flat arrays, and with these a whole search that equals the library's |
# | **It follows** | notebook 03, Search (sections 1 to 4 and 7) |
# | **Takes** | about three hours |
# | **Points** | 20, for six questions |
# | **Check yourself** | run the cell below each answer; it says what is wrong and which idea is probably missing. Grading also calls your functions with other inputs, so an answer that was typed in is not enough |
#
# Write each function in the place of `raise NotImplementedError()`. You need `math` and NumPy, and no
# function of the library; if you want more, import it in the cell of your answer. Question 2.6 calls
# what you write for 2.4 and 2.5.
#
# Notebook 03 has nodes *and* edges. Here we do with nodes alone. An edge leads to exactly one child,
# and each visit of the edge is a visit of that child: so the child can keep what belongs to the edge,
# its visits $n_a$ and its reward. With that the tree becomes smaller, and the formulas stay the same.

# %%
import math

import matplotlib.pyplot as plt
import numpy as np

from mzu.classroom import check
from mzu.classroom.assignments import question
from mzu.networks.model import TabularModel

plt.style.use("tableau-colorblind10")
plt.rcParams.update({"figure.constrained_layout.use": True, "axes.grid": True, "grid.alpha": 0.3})
np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# ## The house
#
# You stand in the hall of a house. In each place there are three actions, left, straight and right. In
# the kitchen there is a biscuit (0.5), in the attic, behind the stairs, a treasure (2). On the street
# nothing happens any more. The network, as networks do, knows something and not everything: it
# likes the kitchen.

# %%
PLACES = ["hall", "kitchen", "stairs", "garden", "attic", "street"]
HALL, KITCHEN, STAIRS, GARDEN, ATTIC, STREET = range(6)
ACTIONS = ["left", "straight", "right"]

HOUSE = TabularModel(
    next_state=[
        [KITCHEN, STAIRS, GARDEN], [STREET, KITCHEN, STREET], [ATTIC, HALL, STAIRS],
        [STREET, GARDEN, HALL], [STAIRS, STREET, STAIRS], [STREET, STREET, STREET],
    ],
    reward=[[0.5, 0, 0.2], [0.1, 0.05, 0], [0, 0, -0.1], [0, 0.1, 0], [0, 2, 0], [0, 0, 0]],
    logits=[
        [0.6, 0.2, 0], [0.9, 0.4, 0], [0.9, 0.4, 0], [0.9, 0.4, 0], [0, 0.3, 0.1], [0.5, 0.3, 0],
    ],
    value=[0.4, 0.3, 0.7, 0.2, 0.9, 0],
)

# %% [markdown]
# # Part one: dictionaries
#
# A node is a dictionary. This one is a root with three actions, of which two have been tried:
#
# | key | meaning |
# |---|---|
# | `"state"` | the model's hidden state; for a `TabularModel` a number |
# | `"reward"` | what the step *into* this node paid; 0 at the root |
# | `"prior"` | list of $K$ numbers: the policy's probability for each action |
# | `"value"` | mean of the values that were backed up through this node; the network's own value for it is the first of them |
# | `"visits"` | how many those are |
# | `"children"` | list of $K$ nodes; `None` where an action has not been tried yet |

# %%
example = {
    "state": 0, "reward": 0.0, "prior": [0.6, 0.15, 0.25], "value": 1.2, "visits": 6,
    "children": [
        {"state": 1, "reward": 0.5, "prior": [0.2, 0.5, 0.3], "value": 0.9, "visits": 3,
         "children": [None, None, None]},
        {"state": 2, "reward": 0.0, "prior": [0.3, 0.3, 0.4], "value": 2.0, "visits": 2,
         "children": [None, None, None]},
        None,
    ],
}  # fmt: skip

# %% [markdown]
# (The two children were visited 3 and 2 times, so they have children of their own, which are left out
# here: a score only looks at the node and its children.)
#
# ## Question 2.1: The pUCT score (4 points)
#
# The score of action $a$ at a node is a value term and a prior term:
#
# $$\text{score}(a) = \bar q_a + p_a \, \frac{\sqrt N}{1 + n_a} \Bigl(\log\frac{N + 19652 + 1}{19652} + 1.25\Bigr).$$
#
# $N$ is the node's own `visits`, its own evaluation included. $p_a$ is the prior. $n_a$ is the `visits` of
# child $a$, and 0 where there is no child. The logarithm is the natural one.
#
# The value term $\bar q_a$ comes from $q_a = r + \gamma v$ with the reward $r$ and the value $v$ **of the child**. It is
# normalised by `bounds = [low, high]`, the smallest and the largest $q$ that the search has met anywhere
# in the tree so far:
#
# * There is no child: $\bar q_a = 0$. (After normalisation 0 is the lowest value of all.)
# * There is a child and `high > low`: $\bar q_a = (q_a - \text{low}) / (\text{high} - \text{low})$.
# * There is a child, but `high` is not larger than `low`: a single number is no range, and $\bar q_a = q_a$ as it
#   is. Before the first simulation there is no $q$ at all and `bounds` is `[inf, -inf]`.
#
# Example: the node above, with `bounds = [-1, 3]` and $\gamma = 0.9$.
#
# | a | $q_a$ | $\bar q_a$ | prior term | score |
# |---|---|---|---|---|
# | 0 | 0.5 + 0.9 · 0.9 = 1.31 | 2.31 / 4 = 0.5775 | 0.6 · 3.0627 / 4 = 0.4594 | 1.0369 |
# | 1 | 0 + 0.9 · 2 = 1.8 | 2.8 / 4 = 0.7 | 0.15 · 3.0627 / 3 = 0.1531 | 0.8531 |
# | 2 | | 0 | 0.25 · 3.0627 = 0.7657 | 0.7657 |
#
# Write a function that gives the scores of all actions of a node, as a list or an array.


# %% nbgrader={"grade": false, "grade_id": "2-1", "locked": false, "schema_version": 3, "solution": true, "task": false}
def scores(node, bounds, discount):
    """A node (dictionary), bounds [low, high], discount -> the pUCT score of each action [K]."""
    ### BEGIN SOLUTION
    low, high = bounds
    total = node["visits"]
    growth = math.sqrt(total) * (math.log((total + 19652 + 1) / 19652) + 1.25)
    result = []
    for prior, child in zip(node["prior"], node["children"], strict=True):
        value, visits = 0.0, 0
        if child is not None:
            value, visits = child["reward"] + discount * child["value"], child["visits"]
            if high > low:
                value = (value - low) / (high - low)
        result.append(value + prior * growth / (1 + visits))
    return result
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "2-1-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("2.1", scores)
### BEGIN HIDDEN TESTS
check("2.1", scores, hidden=True)
### END HIDDEN TESTS

# %% [markdown]
# Trees are large, and a message shows only the beginning of one. To see an input whole, fetch it:
# `question("2.1").examples` is a list with the arguments of each call, in the order in which the check
# makes them.

# %%
print(*question("2.1").examples[1], sep="\n")

# %% [markdown]
# ## Question 2.2: Expansion (2 points)
#
# A simulation ends at an action that has no child yet. The model is asked about it once and answers
# with `output = (state, reward, logits, value)`: the new hidden state, what the step there paid, the
# policy there as $K$ logits, and the network's value of the new state.
#
# Write a function that hangs the new node below `node`, as its child number `action`. It changes `node`
# **in place** and returns nothing. The new node is a dictionary with the six keys of the table above:
#
# * its prior is the softmax of the logits, $p_a = e^{l_a} / \sum_b e^{l_b}$, a list. Logits may be as large as
#   1000, and $e^{1000}$ does not fit into a floating-point number. Subtract the largest logit from all of
#   them first; that changes nothing in the result;
# * its own evaluation counts: it begins with one visit and the network's value;
# * it has $K$ children, none of which is there yet.
#
# Nothing else in `node` changes; the visit is counted by the backup.
#
# Example: `output = (2, -0.5, [0.0, 2.0], 2.0)` makes the child
# `{"state": 2, "reward": -0.5, "prior": [0.1192, 0.8808], "value": 2.0, "visits": 1, "children": [None, None]}`.


# %% nbgrader={"grade": false, "grade_id": "2-2", "locked": false, "schema_version": 3, "solution": true, "task": false}
def expand(node, action, output):
    """output (state, reward, logits [K], value) becomes node["children"][action], in place."""
    ### BEGIN SOLUTION
    state, reward, logits, value = output
    weights = [math.exp(logit - max(logits)) for logit in logits]
    node["children"][action] = {
        "state": state,
        "reward": reward,
        "prior": [weight / sum(weights) for weight in weights],
        "value": value,
        "visits": 1,
        "children": [None] * len(logits),
    }
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "2-2-check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check("2.2", expand)
### BEGIN HIDDEN TESTS
check("2.2", expand, hidden=True)
### END HIDDEN TESTS

# %% [markdown]
# ## Question 2.3: Backup (4 points)
#
# The list `actions` is the path of a simulation: from the root take `actions[0]`, at that child
# `actions[1]`, and so on. The last one leads to the new leaf, which `expand` has just made. Its value now
# goes up the path, from the leaf to the root. Let $G$ be the leaf's value. Then, for every step of the
# path, from the last to the first, with `node` above and `child` below:
#
# 1. `bounds` takes in the $q$ of this step, $q = r + \gamma v$ with the child's reward and the child's **mean value**
#    as it is now: `low` becomes the smaller of `low` and $q$, `high` the larger of `high` and $q$. (The child's
#    mean is up to date already, since we come from below.)
# 2. The return grows by one step: $G \leftarrow r + \gamma G$, with the child's reward.
# 3. $G$ enters the mean of `node`: its value becomes the mean of one number more, and its visits grow by 1.
#
# The leaf itself is not changed: its own evaluation was counted when it was made. The function changes
# the tree and `bounds` **in place** and returns nothing.
#
# Example: a root with value 1.0 and 2 visits, below it a child (reward 0.5, value 2.0, 1 visit), below
# that the new leaf (reward −1, value 4.0, 1 visit); $\gamma = 0.9$, `bounds = [2.3, 2.3]`.
#
# | step | q of the step | bounds | G | the node above becomes |
# |---|---|---|---|---|
# | child → leaf | −1 + 0.9 · 4 = 2.6 | [2.3, 2.6] | −1 + 0.9 · 4 = 2.6 | value (2.0 + 2.6) / 2 = 2.3, 2 visits |
# | root → child | 0.5 + 0.9 · 2.3 = 2.57 | [2.3, 2.6] | 0.5 + 0.9 · 2.6 = 2.84 | value (2 · 1.0 + 2.84) / 3 = 1.6133, 3 visits |


# %% nbgrader={"grade": false, "grade_id": "2-3", "locked": false, "schema_version": 3, "solution": true, "task": false}
def backup(root, actions, bounds, discount):
    """Sends the value of the leaf at the end of `actions` up; changes root and bounds in place."""
    ### BEGIN SOLUTION
    nodes = [root]
    for action in actions:
        nodes.append(nodes[-1]["children"][action])
    value = nodes[-1]["value"]
    for node, child in zip(nodes[-2::-1], nodes[:0:-1], strict=True):
        q = child["reward"] + discount * child["value"]
        bounds[0], bounds[1] = min(bounds[0], q), max(bounds[1], q)
        value = child["reward"] + discount * value
        node["value"] = (node["value"] * node["visits"] + value) / (node["visits"] + 1)
        node["visits"] += 1
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "2-3-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("2.3", backup)
### BEGIN HIDDEN TESTS
check("2.3", backup, hidden=True)
### END HIDDEN TESTS

# %% [markdown]
# Your three functions are a search. What is between them is short: from the root take the best score
# until there is no child, ask the model, expand, back up. The model is batched, so it gets arrays
# with one entry and gives arrays with one entry.


# %%
def ask(model, state, action):
    """One question to the model -> (state, reward, logits, value)."""
    outputs = model.recurrent(np.array([state]), np.array([action]))
    return tuple(output[0].tolist() for output in outputs)


def search_dictionaries(model, state, simulations, discount):
    _, logits, value = model.initial(np.array([state]))
    above = {"children": [None]}  # just to make the root with `expand`
    expand(above, 0, (state, 0.0, logits[0].tolist(), float(value[0])))
    root, bounds = above["children"][0], [math.inf, -math.inf]
    for _ in range(simulations):
        node, actions = root, []
        while node is not None:
            parent, action = node, int(np.argmax(scores(node, bounds, discount)))
            actions.append(action)
            node = parent["children"][action]
        expand(parent, action, ask(model, parent["state"], action))
        backup(root, actions, bounds, discount)
    return root


def draw(ax, node, left=0.0, depth=0):
    """Draws the tree below a node and returns the node's place and the next free column."""
    places, colours = [], ["C0", "C1", "C3"]
    for a, child in enumerate(node["children"]):
        if child is not None:
            place, left = draw(ax, child, left, depth + 1)
            places.append((a, child, place))
    x = np.mean([place for _, _, place in places]) if places else left
    for a, child, place in places:
        line, width = ["-", "--", ":"][a], 1 + child["visits"] / 3
        ax.plot([x, place], [-depth, -depth - 1], line, c=colours[a], lw=width, zorder=1)
    label = f"{PLACES[node['state']]}\n{node['value']:.2f} ({node['visits']})"
    box = {"boxstyle": "round", "fc": "white", "ec": "black"}
    ax.text(x, -depth, label, ha="center", va="center", fontsize=8, bbox=box)
    return x, left + (0 if places else 1)


root = search_dictionaries(HOUSE, HALL, simulations=16, discount=0.9)
figure, ax = plt.subplots(figsize=(11, 5))
draw(ax, root)
for a, name in enumerate(ACTIONS):
    ax.plot([], [], ["-", "--", ":"][a], c=["C0", "C1", "C3"][a], label=name)
ax.legend(loc="lower right", title="action")
ax.set_title("Your tree after 16 simulations: place, mean value, (visits)")
ax.margins(0.07)
ax.axis("off")
plt.show()

# %% [markdown]
# The search begins in the kitchen, because the prior likes it; the biscuit is real, and nothing
# follows it. Then it tries the stairs, goes up, and finds the treasure, which pays on the way out of
# the attic. From there on it hardly looks at anything else.

# %% [markdown]
# # Part two: flat arrays
#
# The same tree without dictionaries: one array for each key, one row for each node. Row 0 is the root,
# and simulation number $i$ makes row $i$, so $S$ simulations need $S + 1$ rows. References become row
# numbers, and $-1$ stands for "none". In this form a tree can be compiled, and many trees can be
# searched at once.
#
# | key | shape | meaning |
# |---|---|---|
# | `"state"`, `"reward"`, `"value"`, `"visits"` | [rows] | as before; `visits` is 0 in rows that are not used yet |
# | `"prior"` | [rows, K] | as before |
# | `"children"` | [rows, K] | row number of each child; −1: not there yet |
# | `"parent"` | [rows] | row number of the parent; −1 for the root |
# | `"action"` | [rows] | the action at the parent that led here; −1 for the root |
# | `"bounds"` | [2] | low and high of the whole tree |


# %%
def new_tree(rows, actions):
    """An empty tree with room for so many nodes."""
    return {
        "state": np.zeros(rows, int),
        "parent": np.full(rows, -1),
        "action": np.full(rows, -1),
        "reward": np.zeros(rows),
        "value": np.zeros(rows),
        "visits": np.zeros(rows, int),
        "prior": np.zeros((rows, actions)),
        "children": np.full((rows, actions), -1),
        "bounds": np.array([math.inf, -math.inf]),
    }


for key, array in question("2.4").examples[1][0].items():
    print(f"{key:9}", array.tolist() if array.ndim == 1 else array.round(2).tolist())

# %% [markdown]
# This is the house after four simulations, in arrays with seven rows, of which two are not used. Read
# it before you go on: the hall has one child, in row 1, which is the kitchen; the kitchen has two.
#
# ## Question 2.4: Selection on flat arrays (3 points)
#
# Write the walk down: from the root (row 0) take the action with the highest score, go to that child,
# and again, until the best action has no child. Return that node's row number and that action. If
# several actions have the highest score, take the first.
#
# The score is that of question 2.1, with the rows in the place of dictionaries. Careful: $-1$ is a valid
# index in NumPy. It means the last row, which is not what you want here.
#
# The function returns two integers and changes nothing.


# %% nbgrader={"grade": false, "grade_id": "2-4", "locked": false, "schema_version": 3, "solution": true, "task": false}
def select(tree, discount):
    """A tree of flat arrays -> (row of the node, action) of the edge to be expanded."""
    ### BEGIN SOLUTION
    low, high = tree["bounds"]
    node = 0
    while True:
        children, total = tree["children"][node], tree["visits"][node]
        there = children >= 0
        q = tree["reward"][children] + discount * tree["value"][children]
        if high > low:
            q = (q - low) / (high - low)
        visits = np.where(there, tree["visits"][children], 0)
        growth = math.sqrt(total) * (math.log((total + 19652 + 1) / 19652) + 1.25)
        score = np.where(there, q, 0.0) + tree["prior"][node] * growth / (1 + visits)
        action = int(np.argmax(score))
        if not there[action]:
            return node, action
        node = int(children[action])
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "2-4-check", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("2.4", select)
### BEGIN HIDDEN TESTS
check("2.4", select, hidden=True)
### END HIDDEN TESTS

# %% [markdown]
# ## Question 2.5: A new node in flat arrays (3 points)
#
# Expansion and backup in one function: `add_node` fills row number `index` and sends its value up.
#
# 1. Row `index` gets everything: state, parent, action, reward, value, prior (a softmax as in question
#    2.2), and one visit. Its children are all $-1$ already.
# 2. The parent's row learns of its new child.
# 3. The value goes up to the root, as in question 2.3, and `tree["bounds"]` takes in the $q$ of every step.
#    No list of actions is needed: every row knows its parent.
#
# The same function makes the root: then `index` is 0, `parent` and `action` are $-1$, and there is nothing to
# link and nothing to back up (steps 2 and 3 fall away).
#
# The function changes the arrays of `tree` **in place** and returns nothing.


# %% nbgrader={"grade": false, "grade_id": "2-5", "locked": false, "schema_version": 3, "solution": true, "task": false}
def add_node(tree, index, parent, action, output, discount):
    """output (state, reward, logits [K], value) becomes row `index` and is backed up, in place."""
    ### BEGIN SOLUTION
    state, reward, logits, value = output
    tree["state"][index], tree["reward"][index], tree["value"][index] = state, reward, value
    tree["parent"][index], tree["action"][index], tree["visits"][index] = parent, action, 1
    weights = np.exp(np.array(logits) - max(logits))
    tree["prior"][index] = weights / weights.sum()
    if parent >= 0:
        tree["children"][parent, action] = index
    child = index
    while tree["parent"][child] >= 0:
        node, bounds = tree["parent"][child], tree["bounds"]
        q = tree["reward"][child] + discount * tree["value"][child]
        bounds[0], bounds[1] = min(bounds[0], q), max(bounds[1], q)
        value = tree["reward"][child] + discount * value
        tree["visits"][node] += 1
        tree["value"][node] += (value - tree["value"][node]) / tree["visits"][node]
        child = node
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "2-5-check", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check("2.5", add_node)
### BEGIN HIDDEN TESTS
check("2.5", add_node, hidden=True)
### END HIDDEN TESTS

# %% [markdown]
# ## Question 2.6: A whole search (4 points)
#
# Put it together with `new_tree`, `select` and `add_node`. The model is any object with two methods; both
# are batched, so pass arrays with one entry and take entry 0 of each result:
#
# * `model.initial(np.array([state]))` gives `states, logits, values`: the root's hidden state, its logits
#   [1, K] and its value. There is no reward; the root's is 0. The number of actions $K$ is known from
#   here.
# * `model.recurrent(np.array([state]), np.array([action]))` gives `states, rewards, logits, values` of the
#   new node, where `state` is the hidden state of the node that is expanded.
#
# The root's own evaluation is not a simulation: after `simulations` simulations the tree has
# `simulations + 1` nodes. Return two things, the visits of the root's $K$ actions as a list or an array (0 for
# an action without a child) and the root's mean value.
#
# Example: one simulation from the hall, with $\gamma = 0.9$. The root's value is 0.4. The largest prior is that
# of *left*, to the kitchen, with reward 0.5 and value 0.3: $G = 0.5 + 0.9 \cdot 0.3 = 0.77$. So
# `tree_search(HOUSE, HALL, 1, 0.9)` is `([1, 0, 0], 0.585)`.


# %% nbgrader={"grade": false, "grade_id": "2-6", "locked": false, "schema_version": 3, "solution": true, "task": false}
def tree_search(model, state, simulations, discount):
    """A search from `state` -> (visits [K] of the root's actions, mean value of the root)."""
    ### BEGIN SOLUTION
    states, logits, values = model.initial(np.array([state]))
    tree = new_tree(simulations + 1, logits.shape[1])
    add_node(tree, 0, -1, -1, (states[0], 0.0, logits[0], values[0]), discount)
    for index in range(1, simulations + 1):
        parent, action = select(tree, discount)
        outputs = model.recurrent(tree["state"][[parent]], np.array([action]))
        add_node(tree, index, parent, action, tuple(output[0] for output in outputs), discount)
    children = tree["children"][0]
    return np.where(children >= 0, tree["visits"][children], 0), tree["value"][0]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "2-6-check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check("2.6", tree_search)
### BEGIN HIDDEN TESTS
check("2.6", tree_search, hidden=True)
### END HIDDEN TESTS

# %% [markdown]
# And this is the library's search, with its exploration noise switched off. (The first search on a
# machine compiles for some ten seconds.) Are they equal?

# %%
from mzu.config import SearchConfig
from mzu.search.search import search

counts = [1, 2, 4, 8, 16, 32, 64, 128, 256]
shares, values = [], []
for simulations in counts:
    visits, value = tree_search(HOUSE, HALL, simulations, 0.9)
    config = SearchConfig(num_simulations=simulations, discount=0.9, dirichlet_fraction=0.0)
    library = search(HOUSE, np.array([HALL]), config, np.random.default_rng(0))
    assert np.array_equal(visits, library.visits[0]) and np.isclose(value, library.value[0])
    print(f"{simulations:3} simulations: visits {library.visits[0]}, value {value:.3f}, equal")
    shares.append(np.array(visits) / simulations)
    values.append(value)

# %%
prior = np.exp(HOUSE.logits[HALL]) / np.exp(HOUSE.logits[HALL]).sum()
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.6))
for a, name in enumerate(ACTIONS):
    style = {"marker": "os^"[a], "ls": ["-", "--", ":"][a], "color": ["C0", "C1", "C3"][a]}
    left.semilogx(counts, [share[a] for share in shares], base=2, label=name, **style)
    left.plot(0.7, prior[a], mfc="white", ms=9, **style)
left.set(xlabel="simulations", ylabel="share of visits")
left.set_title("Open marks: the prior. Then the search")
left.legend()
right.semilogx(counts, values, "o-", base=2, label="root's mean value")
right.axhline(0.9**2 * 2, color="black", ls=":", label="stairs, attic, treasure: 1.62")
right.set(xlabel="simulations", ylabel="value", title="What the search believes of the hall")
right.legend()
plt.show()

# %% [markdown]
# The prior liked the kitchen. The visits, normalised, are the policy that MuZero learns from the search,
# and they have found the way to the attic. The mean value comes after more slowly: it remembers every
# simulation, those to the kitchen, too.
#
# ## What you have now
#
# * The score, expansion and backup of MuZero's search in about forty lines of plain Python.
# * The same on flat arrays, equal to the library, visit by visit.
# * What is still between this and `mzu/search/kernels.py`: a batch of trees, Numba, noise at the root
#   (notebook 03, sections 7, 8 and 10), and actions that are sampled or injected (assignment 4).
