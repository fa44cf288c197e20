"""Assignment 5: prioritised replay and the unrolled loss, in NumPy (notebook 07_training_system).

The library does the same in its replay, in compiled code and in Keras, none of which is wanted here (it starts slowly);
tests/classroom/checks/test_learning.py shows that what is right here is what the library does.
"""

from functools import partial

import numpy as np

from mzu.classroom.question import Question
from mzu.networks.constants import SCALAR_EPSILON
from mzu.replay.priorities import find_by_definition

# --- 5.1: how often a position is drawn ---


def draw_probabilities(search_values, targets, alpha, uniform_share):
    """P [N] of positions with search values nu [N] and value targets z [N]."""
    powers = np.abs(search_values - targets) ** alpha
    if powers.sum() == 0:
        return np.full(len(powers), 1 / len(powers))
    return (1 - uniform_share) * powers / powers.sum() + uniform_share / len(powers)


def _mistaken_probabilities(
    search_values,
    targets,
    alpha,
    uniform_share,
    distance=np.abs,
    power=lambda priorities, alpha: priorities**alpha,
    normalised=lambda powers: powers / powers.sum(),
    mixed=lambda shares, uniform_share: (1 - uniform_share) * shares + uniform_share / len(shares),
    none_left=lambda positions: np.full(positions, 1 / positions),
):
    """The probabilities, with a part that can be exchanged for a wrong one."""
    with np.errstate(all="ignore"):
        powers = power(distance(search_values - targets), alpha)
        if not powers.any() and none_left is not None:
            return none_left(len(powers))
        return mixed(normalised(powers), uniform_share)


def _alpha_after_normalising(search_values, targets, alpha, uniform_share):
    shares = draw_probabilities(search_values, targets, 1.0, 0.0) ** alpha
    return (1 - uniform_share) * shares + uniform_share / len(shares)


def _values(rng, positions: int, alpha: float, uniform_share: float, equal: int = 0) -> tuple:
    """Random search values and targets, of which some are equal."""
    search_values, targets = rng.normal(size=(2, positions)).round(2)
    targets[:equal] = search_values[:equal]
    return search_values, targets, alpha, uniform_share


DRAW_PROBABILITIES = Question(
    number="5.1",
    title="How often a position is drawn",
    points=3,
    name="draw_probabilities",
    right=draw_probabilities,
    examples=(
        (np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 2.5]), 1.0, 0.0),
        (np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 2.5]), 0.5, 0.1),
        (np.array([3.0, -1.0, 0.0, 5.0]), np.array([1.0, -2.0, 4.0, 5.0]), 2.0, 0.2),
        (np.array([3.0, -1.0, 0.0, 5.0]), np.array([1.0, -2.0, 4.0, 5.0]), 0.0, 0.0),
        (np.array([3.0, -1.0]), np.array([3.0, -1.0]), 1.0, 0.0),
        (np.array([3.0, -1.0]), np.array([3.0, -1.0]), 1.0, 0.5),
    ),
    more=lambda rng: [
        _values(rng, 5, 1.0, 0.0),
        _values(rng, 6, 0.6, 0.1),
        _values(rng, 7, 2.0, 0.3, equal=2),
        _values(rng, 3, 0.0, 0.2),
        _values(rng, 4, 1.0, 0.1, equal=4),
    ],
    mistakes={
        "a priority is a distance, |nu - z|: too high and too low count the same": (
            partial(_mistaken_probabilities, distance=lambda difference: difference)
        ),
        "a priority is the distance |nu - z| itself, not its square": (
            partial(_mistaken_probabilities, distance=np.square)
        ),
        "alpha belongs to the priorities: first p^alpha, then the share of each in the sum": _alpha_after_normalising,
        "alpha is an exponent, p^alpha, and not a factor": (
            partial(_mistaken_probabilities, power=lambda priorities, alpha: priorities * alpha)
        ),
        "probabilities add up to 1: divide by the sum of all p^alpha, not by the largest": (
            partial(_mistaken_probabilities, normalised=lambda powers: powers / powers.max())
        ),
        "P is the share of p^alpha in the sum, not a softmax": (
            partial(_mistaken_probabilities, normalised=lambda powers: np.exp(powers) / np.exp(powers).sum())
        ),
        "only the rest, 1 - uniform_share, is drawn by priority": (
            partial(_mistaken_probabilities, mixed=lambda shares, share: shares + share / len(shares))
        ),
        "the uniform part is shared by all N positions: each gets uniform_share / N": (
            partial(_mistaken_probabilities, mixed=lambda shares, share: (1 - share) * shares + share)
        ),
        "where all priorities are 0, all positions are equally likely": partial(
            _mistaken_probabilities, none_left=None
        ),
    },
)

# --- 5.2: what the weights are for ---


def weighted_loss(losses, probabilities, num_positions, beta):
    """losses and probabilities [B] of the drawn positions -> importance weights [B] and the loss of the batch."""
    weights = (1 / (num_positions * probabilities)) ** beta
    return weights, float(np.mean(weights * losses))


def _mistaken_loss(
    losses,
    probabilities,
    num_positions,
    beta,
    ratio=lambda probabilities, num_positions: 1 / (num_positions * probabilities),
    power=lambda ratio, beta: ratio**beta,
    scaled=lambda weights: weights,
    mean=lambda weights, losses: np.mean(weights * losses),
):
    """The weights and the loss, with a part that can be exchanged for a wrong one."""
    weights = scaled(power(ratio(probabilities, num_positions), beta))
    return weights, float(mean(weights, losses))


def _drawn(rng, batch: int, num_positions: int, beta: float) -> tuple:
    return rng.uniform(0, 3, batch).round(2), rng.uniform(0.2, 4, batch).round(2) / num_positions, num_positions, beta


WEIGHTED_LOSS = Question(
    number="5.2",
    title="Importance weights in the loss",
    points=3,
    name="weighted_loss",
    right=weighted_loss,
    examples=(
        (np.array([3.0, 1.0]), np.array([0.5, 0.1]), 5, 1.0),
        (np.array([3.0, 1.0, 2.0]), np.array([0.5, 0.1, 0.1]), 5, 0.5),
        (np.array([3.0, 1.0, 2.0, 0.0]), np.array([0.02, 0.01, 0.04, 0.01]), 100, 1.0),
        (np.array([3.0, 1.0, 2.0, 0.0]), np.array([0.02, 0.01, 0.04, 0.01]), 100, 0.0),
    ),
    more=lambda rng: [_drawn(rng, 4, 20, 1.0), _drawn(rng, 6, 1000, 0.4), _drawn(rng, 3, 7, 0.0)],
    mistakes={
        "the weights must meet the losses: weights that are computed and not used correct nothing": (
            partial(_mistaken_loss, mean=lambda weights, losses: losses.mean())
        ),
        "the paper's weights are used as they are, not divided by the largest": (
            partial(_mistaken_loss, scaled=lambda weights: weights / weights.max())
        ),
        "the sum of weight times loss is divided by the batch size B, not by the sum of the weights": (
            partial(_mistaken_loss, mean=lambda weights, losses: (weights * losses).sum() / weights.sum())
        ),
        "the loss of a batch is a mean, not a sum": (
            partial(_mistaken_loss, mean=lambda weights, losses: (weights * losses).sum())
        ),
        "N is the number of positions in the replay, not the size of the batch": (
            partial(_mistaken_loss, ratio=lambda probabilities, num_positions: 1 / (len(probabilities) * probabilities))
        ),
        "what is drawn more often weighs less: the weight is 1 / (N P), not N P": (
            partial(_mistaken_loss, ratio=lambda probabilities, num_positions: num_positions * probabilities)
        ),
        "beta is an exponent, not a factor": partial(_mistaken_loss, power=lambda ratio, beta: ratio * beta),
        "beta is part of the weight: (1 / (N P))^beta": partial(_mistaken_loss, power=lambda ratio, beta: ratio),
    },
)

# --- 5.3: a sum tree changes ---


def set_priority(sums, leaf, priority):
    """Changes the flat sum tree `sums` [2 n] in place: leaf 0..n - 1 gets a new priority."""
    node = len(sums) // 2 + leaf
    sums[node] = priority
    while node > 1:
        node //= 2
        sums[node] = sums[2 * node] + sums[2 * node + 1]


def _set_in_copy(sums, leaf, priority):
    set_priority(sums.copy(), leaf, priority)


def _set_leaf_only(sums, leaf, priority):
    sums[len(sums) // 2 + leaf] = priority


def _set_parent_only(sums, leaf, priority):
    _set_leaf_only(sums, leaf, priority)
    parent = (len(sums) // 2 + leaf) // 2
    sums[parent] = sums[2 * parent] + sums[2 * parent + 1]


def _set_without_root(sums, leaf, priority):
    root = sums[1]
    set_priority(sums, leaf, priority)
    sums[1] = root


def _set_by_number(sums, leaf, priority):
    """Takes the number of the leaf for that of its node."""
    sums[leaf] = priority
    while leaf > 1:
        leaf //= 2
        sums[leaf] = sums[2 * leaf] + sums[2 * leaf + 1]


def _set_one_further(sums, leaf, priority):
    """Leaves counted from 1."""
    set_priority(sums, min(leaf + 1, len(sums) // 2 - 1), priority)


def _set_adds_priority(sums, leaf, priority):
    """Adds the new priority to all sums, and the old one stays in them."""
    node = len(sums) // 2 + leaf
    sums[node] = priority
    while node > 1:
        node //= 2
        sums[node] += priority


def _set_wrong_difference(sums, leaf, priority):
    node = len(sums) // 2 + leaf
    difference = sums[node] - priority
    sums[node] = priority
    while node > 1:
        node //= 2
        sums[node] += difference


def _set_beyond_the_root(sums, leaf, priority):
    set_priority(sums, leaf, priority)
    sums[0] += sums[1]


def _set_largest(sums, leaf, priority):
    node = len(sums) // 2 + leaf
    sums[node] = priority
    while node > 1:
        node //= 2
        sums[node] = max(sums[2 * node], sums[2 * node + 1])


def sum_tree(priorities) -> np.ndarray:
    """The flat sum tree [2 n] of n priorities, a power of two of them."""
    sums = np.append(np.zeros(len(priorities)), priorities)
    for node in reversed(range(1, len(priorities))):
        sums[node] = sums[2 * node] + sums[2 * node + 1]
    return sums


def _random_tree(rng, leaves: int) -> np.ndarray:
    """Priorities in quarters, so that all sums are exact, of which some are 0."""
    return sum_tree(rng.integers(1, 12, leaves) / 4 * (rng.random(leaves) < 0.8))


SET_PRIORITY = Question(
    number="5.3",
    title="A sum tree: a priority changes",
    points=3,
    name="set_priority",
    right=set_priority,
    examples=(
        (sum_tree([3.0, 1.0, 0.0, 2.0]), 1, 5.0),
        (sum_tree([3.0, 1.0, 0.0, 2.0]), 3, 0.0),
        (sum_tree([3.0, 1.0, 0.0, 2.0]), 0, 0.5),
        (sum_tree(np.arange(8.0)), 6, 2.0),
        (sum_tree([3.0, 4.0]), 0, 1.0),
    ),
    more=lambda rng: [(_random_tree(rng, leaves), leaf, 3.5) for leaves in (4, 16) for leaf in (0, 2, leaves - 1)],
    mistakes={
        "the array itself is changed, in place; a copy is lost when the function returns": _set_in_copy,
        "all sums above the leaf change with it, up to the root": _set_leaf_only,
        "not only the parent: the change goes on from parent to parent, up to the root": _set_parent_only,
        "the root, sums[1], is a sum, too": _set_without_root,
        "leaf i is node n + i: the leaves are the second half of the array": _set_by_number,
        "leaves are counted from 0: leaf 0 is node n": _set_one_further,
        "the old priority leaves the sums when the new one arrives": _set_adds_priority,
        "the sums change by the new priority minus the old one": _set_wrong_difference,
        "the way ends at the root, node 1; sums[0] belongs to no node and stays as it is": _set_beyond_the_root,
        "each node is the sum of its two children, not the larger of them": _set_largest,
    },
    in_place=True,
)

# --- 5.4: a sum tree is asked ---


def find_leaf(sums, mass):
    """The leaf of the flat sum tree at which the running sum of the priorities first exceeds `mass`."""
    return int(find_by_definition(sums[len(sums) // 2 :], np.array([mass]))[0])


def _mistaken_find(
    sums,
    mass,
    goes_left=lambda mass, left, right: left > 0 and (mass < left or right == 0),
    rest=lambda mass, left: mass - left,
    leaf=lambda node, leaves: node - leaves,
):
    """The descent, with a part that can be exchanged for a wrong one."""
    leaves, node = len(sums) // 2, 1
    while node < leaves:
        left, right = sums[2 * node], sums[2 * node + 1]
        if goes_left(mass, left, right):
            node = 2 * node
        else:
            mass, node = rest(mass, left), 2 * node + 1
    return int(leaf(node, leaves))


def _hidden_masses(rng) -> list[tuple]:
    """Masses within, on the borders between leaves, and at the end."""
    inputs = []
    for leaves in (2, 4, 16):
        sums = _random_tree(rng, leaves)
        sums = sum_tree(np.where(np.arange(leaves) == 1, 1.5, sums[leaves:]))  # at least one has a priority
        borders = np.cumsum(sums[leaves:])
        masses = [0.0, borders[leaves // 2 - 1], borders[-1], *rng.uniform(0, borders[-1], 4).round(3)]
        inputs += [(sums, float(mass)) for mass in masses]
    return [*inputs, (sum_tree([0.25, 0.75, *[0.0] * 6]), 1.0), (sum_tree([0.0, 0.0, 0.5, 1.0]), 0.0)]


FIND_LEAF = Question(
    number="5.4",
    title="A sum tree: a leaf is drawn",
    points=3,
    name="find_leaf",
    right=find_leaf,
    examples=(
        (sum_tree([3.0, 1.0, 0.0, 2.0]), 0.0),
        (sum_tree([3.0, 1.0, 0.0, 2.0]), 2.5),
        (sum_tree([3.0, 1.0, 0.0, 2.0]), 3.0),  # on the border of two leaves
        (sum_tree([3.0, 1.0, 0.0, 2.0]), 4.0),
        (sum_tree([3.0, 1.0, 0.0, 2.0]), 5.5),
        (sum_tree([0.0, 1.0, 0.0, 2.0]), 0.0),
        (sum_tree([3.0, 1.0, 2.0, 0.0]), 6.0),  # the whole sum
        (sum_tree([3.0, 1.0, 0.0, 0.0]), 4.0),
        (sum_tree(np.arange(8.0)), 17.25),
    ),
    more=_hidden_masses,
    mistakes={
        "who goes right has passed the left sum, which is taken off the mass": (
            partial(_mistaken_find, rest=lambda mass, left: mass)
        ),
        "on the border, where the mass is just the left sum, the way goes right: a leaf of 0 must not be found": (
            partial(_mistaken_find, goes_left=lambda mass, left, right: mass <= left or right == 0)
        ),
        "a side whose sum is 0 is never entered, even where the mass is the whole sum": (
            partial(_mistaken_find, goes_left=lambda mass, left, right: mass < left)
        ),
        "the leaf is asked for, counted from 0, and not its node": (
            partial(_mistaken_find, leaf=lambda node, leaves: node)
        ),
        "the mass is compared with the left sum: the leaves to the left come first": (
            partial(_mistaken_find, goes_left=lambda mass, left, right: left > 0 and (mass < right or right == 0))
        ),
    },
)

# --- 5.5: a number as a distribution ---


def two_hot(x, support):
    """x [B] -> [B, 2 M + 1]: the distribution over -M..M with mean h(x); M = support."""
    return _spread(_transform(np.asarray(x, float)), support)


def _transform(x):
    return np.sign(x) * (np.sqrt(np.abs(x) + 1) - 1) + SCALAR_EPSILON * x


def _spread(y, support):
    categories = np.arange(-support, support + 1)
    return np.maximum(0, 1 - np.abs(np.clip(y, -support, support)[:, None] - categories))


def _nearest(x, support):
    return np.eye(2 * support + 1)[np.rint(np.clip(_transform(x), -support, support)).astype(int) + support]


def _shares_exchanged(x, support):
    """The lower integer gets the share of the upper one."""
    spread = two_hot(x, support)
    for row in spread:
        used = np.flatnonzero(row)
        row[used] = row[used[::-1]]
    return spread


def _cut_towards_zero(x, support):
    """int() in place of floor(): negative numbers are cut towards 0."""
    y = np.clip(_transform(x), -support, support)
    lower = y.astype(int)
    spread = np.zeros((len(x), 2 * support + 1))
    for row, (whole, part) in enumerate(zip(lower + support, y - lower, strict=True)):
        spread[row, whole] = 1 - part
        if part:
            spread[row, whole + 1] = part
    return spread


def _unclipped(x, support):
    """Numbers beyond the support have no category at all."""
    categories = np.arange(-support, support + 1)
    return np.maximum(0, 1 - np.abs(_transform(x)[:, None] - categories))


TWO_HOT = Question(
    number="5.5",
    title="A number as a distribution",
    points=3,
    name="two_hot",
    right=two_hot,
    examples=(
        (np.array([0.0, 3.0]), 2),
        (np.array([-1.5, 1.5]), 2),
        (np.array([8.0, -8.0, 1000.0, -1000.0]), 3),
        (np.array([0.3, -0.01, 24.0]), 5),
    ),
    more=lambda rng: [(rng.normal(0, scale, 6).round(3), support) for scale, support in ((1, 2), (10, 4), (300, 10))],
    mistakes={
        "the number is squashed by h first": lambda x, support: _spread(x, support),
        "h keeps the sign: a negative number goes to negative categories": (
            lambda x, support: _spread(np.sqrt(np.abs(x) + 1) - 1 + SCALAR_EPSILON * x, support)
        ),
        "h has a second term, 0.001 x, besides the root": lambda x, support: _spread(
            _transform(x) - SCALAR_EPSILON * x, support
        ),
        "the two integers around h(x) share the probability, so that the mean is h(x), and not only the nearest": (
            _nearest
        ),
        "the nearer integer gets the larger share": _shares_exchanged,
        "the lower integer is the floor, which for negative numbers is not where `int` cuts": _cut_towards_zero,
        "numbers beyond the support go to its end, with probability 1": _unclipped,
        "the categories begin at -M: 0 stands in the middle": (
            lambda x, support: np.roll(two_hot(x, support), -support, axis=1)
        ),
    },
)

# --- 5.6: the loss over the unrolled steps ---


def head_loss(logits, targets, mask):
    """logits and targets [B, U + 1, K], mask [B, U + 1] -> [B]: step 0 counts in full, the U others 1 / U each."""
    losses = -(targets * _log_softmax(logits)).sum(axis=-1) * mask
    return _over_steps(losses)


def _log_softmax(logits):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def _over_steps(losses):
    return losses[:, 0] + losses[:, 1:].sum(axis=1) / max(losses.shape[1] - 1, 1)


def _mistaken_head_loss(
    logits,
    targets,
    mask,
    log_probabilities=_log_softmax,
    cross_entropy=lambda targets, logs: -(targets * logs).sum(axis=-1),
    over_steps=lambda losses, mask: _over_steps(losses * mask),
):
    """The loss of a head, with a part that can be exchanged for a wrong one."""
    with np.errstate(all="ignore"):
        return over_steps(cross_entropy(targets, log_probabilities(logits)), mask)


def _overflowing_log_softmax(logits):
    powers = np.exp(logits)
    return np.log(powers / powers.sum(axis=-1, keepdims=True))


def _mean_of_existing(losses, mask):
    others = (losses * mask)[:, 1:].sum(axis=1)
    return losses[:, 0] * mask[:, 0] + others / np.maximum(mask[:, 1:].sum(axis=1), 1)


def _head(rng, rows: int, unroll_steps: int, categories: int, scale: float = 1.0) -> tuple:
    """Random outputs and targets of a head; the first row has all targets, the others end somewhere."""
    shape = (rows, unroll_steps + 1)
    logits = (scale * rng.normal(size=(*shape, categories))).round(1)
    targets = rng.dirichlet(np.ones(categories), shape).round(1)
    targets[..., 0] = 1 - targets[..., 1:].sum(axis=-1)
    ends = np.append(unroll_steps + 1, rng.integers(1, unroll_steps + 1, rows - 1)) if unroll_steps else np.ones(rows)
    return logits, targets.round(1), np.float64(np.arange(unroll_steps + 1) < ends[:, None])


def _rewards_head(rng, rows: int, unroll_steps: int, categories: int) -> tuple:
    """The same where step 0 has no target, as it is for rewards."""
    logits, targets, mask = _head(rng, rows, unroll_steps, categories)
    return logits, targets, mask * (np.arange(unroll_steps + 1) > 0)


HEAD_LOSS = Question(
    number="5.6",
    title="The loss over the unrolled steps",
    points=3,
    name="head_loss",
    right=head_loss,
    examples=(
        (np.zeros((1, 1, 2)), np.array([[[0.25, 0.75]]]), np.ones((1, 1))),  # U = 0
        (np.array([[[0.0, 1.0], [2.0, 0.0], [0.0, 3.0]]]), np.tile([0.0, 1.0], (1, 3, 1)), np.ones((1, 3))),
        (np.array([[[0.0, 1.0], [2.0, 0.0], [0.0, 3.0]]]), np.tile([0.5, 0.5], (1, 3, 1)), np.array([[1.0, 1.0, 0.0]])),
        (np.array([[[0.0, 1000.0], [1000.0, 999.0]]]), np.tile([0.0, 1.0], (1, 2, 1)), np.ones((1, 2))),  # large logits
        _head(np.random.default_rng(0), 2, 3, 3),
        _rewards_head(np.random.default_rng(1), 2, 3, 3),
    ),
    more=lambda rng: [
        _head(rng, 3, 0, 4),
        _head(rng, 4, 2, 3),
        _head(rng, 4, 5, 5),
        _rewards_head(rng, 3, 4, 3),
        _head(rng, 3, 2, 3, scale=900.0),
    ],
    mistakes={
        "logits are not log-probabilities yet: the log-softmax is missing": (
            partial(_mistaken_head_loss, log_probabilities=lambda logits: logits)
        ),
        "large logits overflow in exp: take the largest one of each row off first": (
            partial(_mistaken_head_loss, log_probabilities=_overflowing_log_softmax)
        ),
        "a cross-entropy is positive: minus the sum of target times log-probability": (
            partial(_mistaken_head_loss, cross_entropy=lambda targets, logs: (targets * logs).sum(axis=-1))
        ),
        "a cross-entropy is a sum over the K categories, not a mean": (
            partial(_mistaken_head_loss, cross_entropy=lambda targets, logs: -(targets * logs).mean(axis=-1))
        ),
        "the loss is a cross-entropy, not a squared error of probabilities": (
            partial(
                _mistaken_head_loss,
                cross_entropy=lambda targets, logs: np.square(targets - np.exp(logs)).sum(axis=-1),
            )
        ),
        "the U unrolled steps weigh 1 / U each": (
            partial(_mistaken_head_loss, over_steps=lambda losses, mask: (losses * mask).sum(axis=1))
        ),
        "step 0 counts in full; only the others share a weight of 1": (
            partial(_mistaken_head_loss, over_steps=lambda losses, mask: (losses * mask).mean(axis=1))
        ),
        "there are U unrolled steps after step 0, so they weigh 1 / U and not 1 / (U + 1)": (
            partial(
                _mistaken_head_loss,
                over_steps=lambda losses, mask: (losses * mask)[:, 0] + (losses * mask)[:, 1:].sum(1) / mask.shape[1],
            )
        ),
        "where U is 0 there is only step 0, and no mean over other steps": (
            partial(
                _mistaken_head_loss,
                over_steps=lambda losses, mask: (
                    (losses * mask)[:, 0] + (losses * mask)[:, 1:].sum(1) / (mask.shape[1] - 1)
                ),
            )
        ),
        "where the mask is 0 there is no target, and nothing is to be learned": (
            partial(_mistaken_head_loss, over_steps=lambda losses, mask: _over_steps(losses))
        ),
        "a step weighs 1 / U whether the others have targets or not": (
            partial(_mistaken_head_loss, over_steps=_mean_of_existing)
        ),
    },
)

QUESTIONS = (DRAW_PROBABILITIES, WEIGHTED_LOSS, SET_PRIORITY, FIND_LEAF, TWO_HOT, HEAD_LOSS)
