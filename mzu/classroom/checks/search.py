"""Assignment 2, a tree search: on dictionaries, on flat arrays, as a whole (notebook 03_search).

A node as a dictionary has state, reward (on the way in), prior [K], value (mean of what was backed up), visits, and
children, a list of nodes with None where there is none yet. A tree as flat arrays has the same with a row for each
node, see `new_tree`. In both an edge is known by the node it leads to.

What is right comes from `mzu/search/reference.py` wherever that has it. What is wrong is a twin of it (a name with an
underscore) that has its parts as arguments: a mistake exchanges one of them.
"""

import itertools
import math
from functools import partial

import numpy as np

from mzu.classroom.question import Question
from mzu.config import SearchConfig
from mzu.networks.model import TabularModel
from mzu.search import reference

BASE, INIT = SearchConfig().puct_base, SearchConfig().puct_init
ROOT, NONE = 0, -1


def leaf(state: int, reward: float, prior, value: float, visits: int = 1) -> dict:
    """A node without children."""
    node = {"state": state, "reward": reward, "prior": list(prior), "value": value, "visits": visits}
    return {**node, "children": [None] * len(node["prior"])}


def family(node: dict, *children) -> dict:
    """The node with these children."""
    return {**node, "children": list(children)}


def evaluate(model, state: int, action: int) -> tuple:
    """What the model says of one edge: (state, reward, logits, value), without the batch."""
    state, reward, logits, value = (output[0] for output in model.recurrent(np.array([state]), np.array([action])))
    return int(state), float(reward), logits.tolist(), float(value)


def evaluate_root(model, state: int) -> tuple:
    """The same for the root, where no reward is paid."""
    state, logits, value = (output[0] for output in model.initial(np.array([state])))
    return int(state), 0.0, logits.tolist(), float(value)


# --- 2.1: scores ---


def scores(node, bounds, discount):
    """pUCT of every action of a node."""
    return _scores(node, bounds, discount)


def exploration(visits: float) -> float:
    return math.sqrt(visits) * (math.log((visits + BASE + 1) / BASE) + INIT)


def q_of(node, child, discount):
    return child["reward"] + discount * child["value"]


def minmax(q, low, high):
    """A range of one number normalises nothing."""
    return (q - low) / (high - low) if high > low else q


def divided(q, low, high):
    """The same without that care: stops for numbers of Python, NaN for those of NumPy."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return (q - low) / (high - low)


def nothing(node, low, high):
    return 0.0


def of_tree(node, bounds, discount):
    return bounds


def of_siblings(node, bounds, discount):
    values = [q_of(node, child, discount) for child in node["children"] if child]
    return (min(values), max(values)) if values else bounds


def _scores(
    node,
    bounds,
    discount,
    explore=exploration,
    q=q_of,
    normalise=minmax,
    unvisited=nothing,
    limits=of_tree,
    divisor=lambda visits: 1 + visits,
):
    low, high = limits(node, bounds, discount)
    result = []
    for prior, child in zip(node["prior"], node["children"], strict=True):
        value = normalise(q(node, child, discount), low, high) if child else unvisited(node, low, high)
        result.append(value + prior * explore(node["visits"]) / divisor(child["visits"] if child else 0))
    return result


# --- 2.2: expansion ---


def expand(node, action, output):
    """Hangs a new child below (node, action); output is what the model says: (state, reward, logits, value)."""
    _expand(node, action, output)


def softmax(logits) -> list[float]:
    """The priors, by the library."""
    return [edge.prior for edge in reference.all_actions(logits, None, None)]


def softmax_to_nan(logits) -> list[float]:
    with np.errstate(over="ignore", invalid="ignore"):
        weights = np.exp(np.asarray(logits, float))
        return (weights / weights.sum()).tolist()


def softmax_that_stops(logits) -> list[float]:
    weights = [math.exp(logit) for logit in logits]
    return [weight / sum(weights) for weight in weights]


def _expand(node, action, output, priors=softmax, visits=1, value_counts=1.0, parent_visits=0):
    state, reward, logits, value = output
    node["children"][action] = leaf(state, reward, priors(logits), value_counts * value, visits)
    node["visits"] += parent_visits


def expand_with_reward_above(node, action, output):
    state, reward, logits, value = output
    _expand(node, action, (state, 0.0, logits, value))
    node["reward"] = reward


# --- 2.3: backup ---


def backup(root, actions, bounds, discount):
    """Sends the value of the leaf at the end of `actions` up to the root, by the library's own backup."""
    nodes = path_of(root, actions)
    twins = [reference.Node(0, None, 0.0, node["value"], [], node["visits"]) for node in nodes]
    edges = [reference.Edge(None, 1.0, 0, node["reward"], twin) for node, twin in zip(nodes, twins, strict=True)]
    reference.backup(list(zip(twins[:-1], edges[1:], strict=True)), nodes[-1]["value"], bounds, discount)
    for node, twin in zip(nodes, twins, strict=True):
        node["value"], node["visits"] = twin.value, twin.visits


def path_of(root, actions) -> list[dict]:
    """The nodes from the root to the leaf, both included."""
    nodes = [root]
    for action in actions:
        nodes.append(nodes[-1]["children"][action])
    return nodes


def step_back(node, child, discount, value):
    return child["reward"] + discount * value


def enter_mean(node, value):
    node["value"] = (node["value"] * node["visits"] + value) / (node["visits"] + 1)
    node["visits"] += 1


def enter_latest(node, value):
    node["value"] = value
    node["visits"] += 1


def widen_by_q(bounds, q, value):
    bounds[:] = min(bounds[0], q), max(bounds[1], q)


def widen_by_return(bounds, q, value):
    widen_by_q(bounds, value, value)


def _backup(
    root,
    actions,
    bounds,
    discount,
    order=reversed,
    step=step_back,
    enter=enter_mean,
    widen=widen_by_q,
    leaf_again=False,
    steps=None,
):
    nodes = path_of(root, actions)
    if leaf_again:
        enter(nodes[-1], nodes[-1]["value"])
    value = nodes[-1]["value"]
    for node, child in list(order(list(itertools.pairwise(nodes))))[:steps]:
        value = step(node, child, discount, value)
        widen(bounds, q_of(node, child, discount), value)
        enter(node, value)


# --- 2.4: selection on flat arrays ---


def new_tree(nodes: int, actions: int) -> dict:
    """Room for `nodes` nodes; visits 0 marks a row that is not used yet."""
    return {
        "state": np.zeros(nodes, int),
        "parent": np.full(nodes, NONE),
        "action": np.full(nodes, NONE),
        "reward": np.zeros(nodes),
        "value": np.zeros(nodes),
        "visits": np.zeros(nodes, int),
        "prior": np.zeros((nodes, actions)),
        "children": np.full((nodes, actions), NONE),
        "bounds": np.array([math.inf, -math.inf]),
    }


def select(tree, discount):
    """(node, action) of the edge without a child that the best scores lead to, by the library's own choice."""
    config, node = SearchConfig(discount=discount), as_reference(tree)[ROOT]
    while True:
        edge = reference.best_edge(node, tree["bounds"], config)
        if edge.child is None:
            return node.index, edge.action
        node = edge.child


def as_reference(tree) -> list[reference.Node]:
    """The nodes of a flat tree as the reference search has them."""
    used = np.flatnonzero(tree["visits"])
    nodes = [reference.Node(int(n), None, 0.0, tree["value"][n], [], int(tree["visits"][n])) for n in used]
    for node in nodes:
        for action, child in enumerate(tree["children"][node.index]):
            edge = reference.Edge(action, tree["prior"][node.index, action])
            if child != NONE:
                edge.visits, edge.reward, edge.child = nodes[child].visits, tree["reward"][child], nodes[child]
            node.edges.append(edge)
    return nodes


def as_node(tree, index: int, none=NONE) -> dict:
    """A node of a flat tree as a dictionary, with its children; a child number `none` is not there."""

    def row(n):
        return leaf(tree["state"][n], tree["reward"][n], tree["prior"][n], tree["value"][n], tree["visits"][n])

    return family(row(index), *(row(n) if n != none else None for n in tree["children"][index]))


def first_best(values) -> int:
    return int(np.argmax(values))


def last_best(values) -> int:
    return len(values) - 1 - int(np.argmax(values[::-1]))


def _select(tree, discount, rule=scores, best=first_best, none=NONE, deep=True):
    node = ROOT
    while True:
        action = best(rule(as_node(tree, node, none), tree["bounds"], discount))
        child = int(tree["children"][node, action])
        if child == NONE or not deep:
            return node, action
        node = child


# --- 2.5: a new node in flat arrays ---


def add_node(tree, index, parent, action, output, discount):
    """Writes row `index`, links it to its parent and backs its value up; parent -1 for the root."""
    fill_row(tree, index, parent, action, output)
    twins, path, node = as_reference(tree), [], index
    while node != ROOT:
        above = tree["parent"][node]
        path.append((twins[above], twins[above].edges[tree["action"][node]]))
        node = above
    bounds = tree["bounds"].tolist()
    reference.backup(path[::-1], tree["value"][index], bounds, discount)
    tree["bounds"][:] = bounds
    for twin in twins:
        tree["value"][twin.index], tree["visits"][twin.index] = twin.value, twin.visits


def fill_row(tree, index, parent, action, output, priors=softmax):
    """All of a new node but its backup."""
    state, reward, logits, value = output
    tree["state"][index], tree["reward"][index], tree["value"][index] = state, reward, value
    tree["parent"][index], tree["action"][index], tree["visits"][index] = parent, action, 1
    tree["prior"][index] = priors(logits)
    if parent != NONE:
        tree["children"][parent, action] = index


def _add_node(
    tree,
    index,
    parent,
    action,
    output,
    discount,
    priors=softmax,
    step=step_back,
    widen=widen_by_q,
    linked=True,
    counted=1,
    top=NONE,
):
    fill_row(tree, index, parent, action, output, priors)
    if not linked:
        tree["children"][parent, action] = NONE
    value, child, node = output[3], index, parent
    while node not in (top, NONE):
        above, below = ({"reward": tree["reward"][n], "value": tree["value"][n]} for n in (node, child))
        value = step(above, below, discount, value)
        widen(tree["bounds"], q_of(above, below, discount), value)
        tree["value"][node] += (value - tree["value"][node]) / (tree["visits"][node] + counted)
        tree["visits"][node] += 1
        node, child = tree["parent"][node], node


def add_wrapped(tree, index, parent, action, output, discount):
    _add_node(tree, index, parent, action, output, discount)
    tree["children"][parent, action] = index


# --- 2.6: the whole search ---


def tree_search(model, state, simulations, discount):
    """(visits [K] of the root's actions, mean value of the root) by the library's search, without noise."""
    config = SearchConfig(num_simulations=simulations, discount=discount, dirichlet_fraction=0.0)
    (root,) = reference.search(model, np.array([state]), config, np.random.default_rng(0))
    return np.array([edge.visits for edge in root.edges]), float(root.value)


def grow(model, state, simulations, discount, room=0, choose=_select, add=_add_node, root_visits=1, asked=None):
    """The flat tree after so many simulations, with room for some nodes more; the rest are parts to exchange.

    `asked` is the node whose state the model is asked about, None for the one that is expanded.
    """
    output = evaluate_root(model, state)
    tree = new_tree(1 + simulations + room, len(output[2]))
    add(tree, ROOT, NONE, NONE, output, discount)
    tree["visits"][ROOT] = root_visits
    for index in range(1, simulations + 1):
        parent, action = choose(tree, discount)
        output = evaluate(model, tree["state"][parent if asked is None else asked], action)
        add(tree, index, parent, action, output, discount)
    return tree


def _tree_search(model, state, simulations, discount, fewer=0, **parts):
    tree = grow(model, state, simulations - fewer, discount, **parts)
    children = tree["children"][ROOT]
    return np.where(children == NONE, 0, tree["visits"][children]), float(tree["value"][ROOT])


def search_with_network_value(model, state, simulations, discount):
    visits, _ = tree_search(model, state, simulations, discount)
    return visits, float(model.value[state])


# --- inputs ---

# Hall, kitchen, stairs, garden, attic, and the street, where nothing happens any more.
HOUSE = TabularModel(
    next_state=[[1, 2, 3], [5, 1, 5], [4, 0, 2], [5, 3, 0], [2, 5, 2], [5, 5, 5]],
    reward=[[0.5, 0, 0.2], [0.1, 0.05, 0], [0, 0, -0.1], [0, 0.1, 0], [0, 2, 0], [0, 0, 0]],
    logits=[[0.6, 0.2, 0], [0.9, 0.4, 0], [0.9, 0.4, 0], [0.9, 0.4, 0], [0, 0.3, 0.1], [0.5, 0.3, 0]],
    value=[0.4, 0.3, 0.7, 0.2, 0.9, 0],
)
ALIKE = TabularModel([[1, 1, 1], [1, 1, 1]], [[1.0, 1.0, 1.0], [0, 0, 0]], value=[0.3, 0.0])  # nothing but ties
UNKNOWN = [math.inf, -math.inf]  # bounds of a tree without edges
TWO_CHILDREN = family(
    leaf(0, 0.0, [0.6, 0.15, 0.25], 1.2, visits=6),
    leaf(1, 0.5, [0.2, 0.5, 0.3], 0.9, visits=3),
    leaf(2, 0.0, [0.3, 0.3, 0.4], 2.0, visits=2),
    None,
)
OFTEN = family(
    leaf(4, 0.2, [0.1, 0.9], -0.5, visits=30_001),
    leaf(1, -1.0, [1.0, 0.0], 2.0, visits=20_000),
    leaf(3, 0.0, [0.5, 0.5], -3.0, visits=10_000),
)
ONE_CHILD = family(leaf(0, 0.0, [0.6, 0.4], 0.5, visits=2), leaf(1, 0.5, [0.5, 0.5], 0.9), None)
TWO_STEPS = family(
    leaf(0, 0.0, [0.7, 0.3], 1.0, visits=2),
    family(leaf(1, 0.5, [0.5, 0.5], 2.0), None, leaf(2, -1.0, [0.5, 0.5], 4.0)),
    None,
)


def random_model(rng, actions: int, states: int = 8) -> TabularModel:
    """Numbers without ties, so that no search hangs on the last digit."""
    return TabularModel(
        rng.integers(states, size=(states, actions)),
        rng.normal(size=(states, actions)),
        rng.normal(size=(states, actions)),
        rng.normal(0, 2, size=states),
    )


def random_node(rng, actions: int, most: int) -> tuple:
    """Arguments of `scores`: a node of which some children were visited up to `most` times, bounds, a discount."""
    visits = rng.integers(0, most, actions) * rng.integers(0, 2, actions)
    visits[rng.integers(actions)] += 1
    discount = float(rng.choice([0.5, 0.9, 0.997]))

    def node(state, count):
        return leaf(
            state, float(rng.normal()), rng.dirichlet(np.ones(actions)).tolist(), float(rng.normal()), int(count)
        )

    children = [node(action, count) if count else None for action, count in enumerate(visits)]
    values = [q_of(None, child, discount) for child in children if child]
    bounds = [min(values) - rng.uniform(0.1, 1), max(values) + rng.uniform(0.1, 1)]
    return family(node(9, 1 + visits.sum()), *children), bounds, discount


def hidden_nodes(rng):
    inputs = [random_node(rng, actions, most) for actions, most in ((2, 5), (3, 30), (4, 10), (3, 30_000), (5, 4))]
    fresh = leaf(0, 0.0, rng.dirichlet(np.ones(3)).tolist(), float(rng.normal()))
    child = leaf(1, 0.25, [0.5, 0.5], float(rng.uniform(1, 2)))
    single = family(leaf(0, 0.0, [0.2, 0.8], float(rng.normal()), visits=2), None, child)
    return [*inputs, (fresh, UNKNOWN, 0.9), (single, [q_of(single, child, 0.5)] * 2, 0.5)]


def hidden_outputs(rng):
    inputs = []
    for actions, shift in ((2, 0.0), (3, 5.0), (4, 1000.0), (1, 0.0), (3, -2000.0)):
        node, _, _ = random_node(rng, actions, 4)
        logits = (shift + rng.normal(size=actions)).round(2).tolist()
        output = (int(rng.integers(10)), float(rng.normal()), logits, float(rng.normal()))
        inputs.append((node, int(rng.integers(actions)), output))
    return inputs


def half_simulation(model, state: int, simulations: int, discount: float) -> tuple:
    """Arguments of `backup`: a tree of so many simulations, and a new leaf whose value still has to go up."""
    state, reward, logits, value = evaluate_root(model, state)
    root, bounds = leaf(state, reward, softmax(logits), value), list(UNKNOWN)
    for simulation in range(simulations + 1):
        node, actions = root, []
        while node is not None:
            parent, action = node, first_best(scores(node, bounds, discount))
            actions.append(action)
            node = parent["children"][action]
        expand(parent, action, evaluate(model, parent["state"], action))
        if simulation < simulations:
            backup(root, actions, bounds, discount)
    return root, actions, bounds, discount


def hidden_paths(rng):
    sizes = [(2, 0, 0.9), (1, 3, 0.5), (2, 6, 0.9), (3, 12, 0.997), (2, 15, 0.8), (3, 7, 1.0)]
    return [half_simulation(random_model(rng, actions), 0, count, discount) for actions, count, discount in sizes]


def fresh_tree(actions: int) -> dict:
    """Just the root, and nothing that tells its actions apart."""
    tree = new_tree(3, actions)
    add_node(tree, ROOT, NONE, NONE, (0, 0.0, [0.0] * actions, 0.5), 0.9)
    return tree


def hidden_trees(rng):
    inputs = [(fresh_tree(int(rng.integers(2, 5))), 0.9)]
    sizes = [
        (3, 1, 0),
        (4, 1, 0),
        (5, 1, 0),
        (2, 3, 0),
        (3, 8, 0),
        (2, 20, 5),
        (4, 15, 0),
        (3, 30, 1),
        (1, 4, 0),
        (2, 25, 0),
        (3, 18, 0),
        (4, 25, 0),
    ]
    for actions, count, room in sizes:
        discount = float(rng.choice([0.5, 0.6, 0.9]))
        inputs.append((grow(random_model(rng, actions), 0, count, discount, room), discount))
    return inputs


def next_node(model, state: int, index: int, discount: float, shift: float = 0.0) -> tuple:
    """Arguments of `add_node` for node number `index` of a search; 0 is the root. `shift` is added to its logits."""
    if index == ROOT:
        output = evaluate_root(model, state)
        return new_tree(3, len(output[2])), ROOT, NONE, NONE, output, discount
    tree = grow(model, state, index - 1, discount, room=1)
    parent, action = select(tree, discount)
    state, reward, logits, value = evaluate(model, tree["state"][parent], action)
    return tree, index, parent, action, (state, reward, [logit + shift for logit in logits], value), discount


def hidden_additions(rng):
    sizes = [(2, 0, 0.9), (3, 1, 0.9), (3, 5, 0.5), (2, 12, 0.9), (4, 9, 0.997), (1, 3, 0.5), (2, 20, 0.8)]
    inputs = [next_node(random_model(rng, actions), 0, index, discount) for actions, index, discount in sizes]
    return [*inputs, next_node(random_model(rng, 3), 0, 2, 0.9, shift=1000.0)]


def hidden_searches(rng):
    sizes = [(3, 1, 0.9), (2, 5, 0.5), (3, 20, 0.9), (4, 50, 0.997), (1, 6, 0.9), (5, 40, 0.8), (2, 60, 0.95)]
    inputs = [(random_model(rng, actions), int(rng.integers(8)), count, discount) for actions, count, discount in sizes]
    return [*inputs, (ALIKE, 0, int(rng.integers(4, 6)), 0.9)]


# --- questions ---

SCORES = Question(
    number="2.1",
    title="The pUCT score",
    points=4,
    name="scores",
    right=scores,
    examples=(
        (leaf(0, 0.0, [0.6, 0.15, 0.25], 0.4), UNKNOWN, 0.9),
        (ONE_CHILD, [1.31, 1.31], 0.9),
        (TWO_CHILDREN, [-1.0, 3.0], 0.9),
        (TWO_CHILDREN, [1.1, 1.9], 0.5),
        (OFTEN, [-4.0, 2.0], 0.997),
    ),
    more=hidden_nodes,
    mistakes={
        "the logarithm: log((N + 19652 + 1) / 19652) is added to 1.25, which tells in long searches": partial(
            _scores, explore=lambda visits: math.sqrt(visits) * INIT
        ),
        "the node's own evaluation is one of its N visits; the children's visits alone are one less": partial(
            _scores, explore=lambda visits: exploration(visits - 1)
        ),
        "the prior term is divided by 1 + n, not by n": partial(_scores, divisor=lambda visits: max(visits, 1)),
        "normalisation: the value term is (q - low) / (high - low)": partial(_scores, normalise=lambda q, low, high: q),
        "one number is no range: as long as high is not above low, the value term is q as it is": partial(
            _scores, normalise=lambda q, low, high: minmax(q, low, high) if high > low else 0.0
        ),
        "one number is no range to divide by: as long as high is not above low, the value term is q": partial(
            _scores, normalise=divided
        ),
        "a child that is not there has the value term 0 after normalisation; yours normalises the 0": partial(
            _scores, unvisited=lambda node, low, high: minmax(0.0, low, high)
        ),
        "a child that is not there has the value term 0, not the node's own value": partial(
            _scores, unvisited=lambda node, low, high: minmax(node["value"], low, high)
        ),
        "low and high are those of the whole tree, not of the children of this node": partial(
            _scores, limits=of_siblings
        ),
        "the discount: q is the reward plus discount times the child's value": partial(
            _scores, q=lambda node, child, discount: q_of(node, child, 1.0)
        ),
        "the reward on the way to the child is part of q": partial(
            _scores, q=lambda node, child, discount: discount * child["value"]
        ),
        "q is the reward plus discount times the child's value, not that value alone": partial(
            _scores, q=lambda node, child, discount: child["value"]
        ),
    },
)

EXPAND = Question(
    number="2.2",
    title="Expansion",
    points=2,
    name="expand",
    right=expand,
    examples=(
        (leaf(0, 0.25, [0.6, 0.4], 0.5), 1, (2, -0.5, [0.0, 2.0], 2.0)),
        (leaf(0, 0.25, [1.0], 0.5), 0, (0, 1.0, [7.0], -1.0)),
        (TWO_CHILDREN, 2, (3, 0.2, [1001.0, 1000.0, 999.0], 0.3)),
    ),
    more=hidden_outputs,
    in_place=True,
    mistakes={
        "large logits: exp(1000) is too large a number, so take the largest logit off before exp": partial(
            _expand, priors=softmax_to_nan
        ),
        "large logits: exp(1000) is too large for math.exp, so take the largest logit off first": partial(
            _expand, priors=softmax_that_stops
        ),
        "the prior is a distribution: the softmax of the logits, not the logits": partial(_expand, priors=list),
        "the child's own evaluation is its first visit": partial(_expand, visits=0),
        "the network's value is the first number in the child's mean": partial(_expand, value_counts=0.0),
        "the reward is kept in the child, since it is paid on the way there": expand_with_reward_above,
        "visits of the nodes above are counted by the backup; expansion leaves the parent's alone": partial(
            _expand, parent_visits=1
        ),
    },
)

BACKUP = Question(
    number="2.3",
    title="Backup",
    points=4,
    name="backup",
    right=backup,
    examples=(
        (family(leaf(0, 0.0, [0.7, 0.3], 1.0), leaf(1, 0.5, [0.5, 0.5], 2.0), None), [0], UNKNOWN, 0.9),
        (TWO_STEPS, [0, 1], [2.3, 2.3], 0.9),
        half_simulation(HOUSE, 0, 9, 0.9),
        half_simulation(HOUSE, 2, 15, 0.5),
    ),
    more=hidden_paths,
    in_place=True,
    mistakes={
        "the direction: the value goes from the leaf up to the root, so the path is walked backwards": partial(
            _backup, order=list
        ),
        "the discount, once for every step on the way up": partial(
            _backup, step=lambda node, child, discount, value: child["reward"] + value
        ),
        "the rewards on the way up are part of the return": partial(
            _backup, step=lambda node, child, discount, value: discount * value
        ),
        "the reward is kept in the child: the step from node to child pays child['reward']": partial(
            _backup, step=lambda node, child, discount, value: node["reward"] + discount * value
        ),
        "the leaf's own evaluation is counted already; the backup starts at its parent": partial(
            _backup, leaf_again=True
        ),
        "a node's value is the mean of all that came by, not the latest": partial(_backup, enter=enter_latest),
        "bounds hold the q of an edge, with the child's mean value, not the return that comes by": partial(
            _backup, widen=widen_by_return
        ),
        "bounds changes in place, and every q on the path may be a new smallest or largest one": partial(
            _backup, widen=lambda bounds, q, value: None
        ),
        "the root is on the path, too": partial(_backup, steps=-1),
    },
)

SELECT = Question(
    number="2.4",
    title="Selection on flat arrays",
    points=3,
    name="select",
    right=select,
    examples=(
        (fresh_tree(2), 0.9),
        (grow(HOUSE, 0, 4, 0.9, room=2), 0.9),
        (grow(HOUSE, 3, 1, 0.9), 0.9),
        (grow(HOUSE, 0, 6, 0.9), 0.9),
        (grow(HOUSE, 0, 16, 0.9), 0.9),
        (grow(HOUSE, 2, 15, 0.5), 0.5),
    ),
    more=hidden_trees,
    mistakes={
        "the walk goes on: from the root to the child with the best score, until an edge has no child": partial(
            _select, deep=False
        ),
        "ties: of equal scores the first is taken": partial(_select, best=last_best),
        "-1 means that there is no child; as an index it is the last row of the array": partial(_select, none=None),
        "normalisation by the tree's bounds": partial(_select, rule=partial(_scores, normalise=lambda q, low, high: q)),
        "one number is no range to divide by: as long as high is not above low, the value term is q": partial(
            _select, rule=partial(_scores, normalise=divided)
        ),
        "the discount: q is the reward plus discount times the child's value": partial(
            _select, rule=partial(_scores, q=lambda node, child, discount: q_of(node, child, 1.0))
        ),
        "the reward of an edge stands in the row of the child": partial(
            _select, rule=partial(_scores, q=lambda node, child, discount: node["reward"] + discount * child["value"])
        ),
        "the prior term: a choice by value alone never tries what it does not know": partial(
            _select, rule=partial(_scores, explore=lambda visits: 0.0)
        ),
    },
)

ADD_NODE = Question(
    number="2.5",
    title="A new node in flat arrays",
    points=3,
    name="add_node",
    right=add_node,
    examples=(
        next_node(HOUSE, 0, 0, 0.9),
        next_node(HOUSE, 0, 1, 0.9),
        next_node(HOUSE, 0, 3, 0.9),
        next_node(HOUSE, 0, 12, 0.9),
        next_node(HOUSE, 2, 14, 0.5, shift=1000.0),
    ),
    more=hidden_additions,
    in_place=True,
    mistakes={
        "the root has no parent: children[-1, -1] would be the last row's last child": add_wrapped,
        "large logits: exp(1000) is too large a number, so take the largest logit off before exp": partial(
            _add_node, priors=softmax_to_nan
        ),
        "the parent's row must say that its child is there now": partial(_add_node, linked=False),
        "the discount, once for every step on the way up": partial(
            _add_node, step=lambda node, child, discount, value: child["reward"] + value
        ),
        "the reward of an edge stands in the row of the child": partial(
            _add_node, step=lambda node, child, discount, value: node["reward"] + discount * value
        ),
        "bounds hold the q of an edge, with the child's mean value, not the return that comes by": partial(
            _add_node, widen=widen_by_return
        ),
        "the root is on the way up, too": partial(_add_node, top=ROOT),
        "the mean: with the new number a node has visits + 1 of them": partial(_add_node, counted=0),
    },
)

SEARCH = Question(
    number="2.6",
    title="A whole search",
    points=4,
    name="tree_search",
    right=tree_search,
    examples=(
        (HOUSE, 0, 1, 0.9),
        (HOUSE, 0, 12, 0.9),
        (HOUSE, 5, 50, 0.9),
        (HOUSE, 0, 50, 0.997),
        (ALIKE, 0, 2, 0.9),
    ),
    more=hidden_searches,
    mistakes={
        "counting: the root's own evaluation is not a simulation, all of them come after it": partial(
            _tree_search, fewer=1
        ),
        "the root's own evaluation is its first visit: with N = 0 the prior has no say in the first choice": partial(
            _tree_search, root_visits=0
        ),
        "the model is asked about the state of the node that is expanded, not about the root's": partial(
            _tree_search, asked=ROOT
        ),
        "normalisation by the bounds, which are kept from one simulation to the next": partial(
            _tree_search, choose=partial(_select, rule=partial(_scores, normalise=lambda q, low, high: q))
        ),
        "the discount, once for every step on the way up": partial(
            _tree_search,
            add=partial(_add_node, step=lambda node, child, discount, value: child["reward"] + value),
        ),
        "ties: of equal scores the first is taken": partial(_tree_search, choose=partial(_select, best=last_best)),
        "the result's value is the mean that the search made of it, not what the network said of the root": (
            search_with_network_value
        ),
    },
)

QUESTIONS = (SCORES, EXPAND, BACKUP, SELECT, ADD_NODE, SEARCH)
