"""Exercises of notebook 11, scale and scores."""

import numpy as np

from mzu.classroom.question import exercise

# --- 1 ---


def parameters(observation, actions, width, blocks, bins):
    """How many numbers the three parts of a fully-connected network have, biases and norms
    included.

    h: a layer from `observation` to `width`, then `blocks` blocks; g: a layer from `width` +
    `actions` to `width`, blocks, and a layer to `bins`; f: a layer from `width` to 2 * `actions`,
    one to `bins`. A block is two layers from `width` to `width`. h and g have 2 * blocks + 1
    norms each, with 2 * `width` numbers.

    >>> parameters(1, 1, 1, 0, 1)
    17
    """

    def layer(inputs, outputs):
        return (inputs + 1) * outputs

    tower = 2 * blocks * layer(width, width) + (2 * blocks + 1) * 2 * width
    h = layer(observation, width) + tower
    g = layer(width + actions, width) + tower + layer(width, bins)
    f = layer(width, 2 * actions) + layer(width, bins)
    return h + g + f


# --- 2 ---


def zeros_needed(scores, threshold):
    """How many of the best games must be replaced by 0 before the mean, and before the median,
    falls below the threshold?

    scores [G] -> (for the mean, for the median)

    >>> zeros_needed(np.array([9.0, 1.0, 1.0]), 1.0)
    (1, 2)
    """

    def needed(statistic):
        order = np.argsort(scores)[::-1]
        for count in range(len(scores) + 1):
            changed = scores.copy()
            changed[order[:count]] = 0
            if statistic(changed) < threshold:
                return count

    return needed(np.mean), needed(np.median)


def _zeros(scores, threshold, change):
    def needed(statistic):
        for count in range(len(scores)):
            if statistic(change(np.sort(scores)[::-1].copy(), count)) < threshold:
                return count
        return len(scores)

    return needed(np.mean), needed(np.median)


def _worst_first(scores, count):
    scores[len(scores) - count :] = 0
    return scores


# --- 3 ---


def work(h, g, f, unroll, simulations, learned, searched):
    """The operations of a run: of learning, and of searching.

    h, g, f: operations of representation, dynamics and prediction for one position; learned:
    positions drawn for batches, each unrolled so many steps, and the gradients cost twice the pass;
    searched: positions searched, with so many simulations, one of which evaluates one step. The
    prediction of the first position is left out in both -> (learning, searching)

    >>> work(10, 2, 1, 5, 50, 1, 0)
    (75, 0)
    """
    return 3 * learned * (h + unroll * (g + f)), searched * (h + simulations * (g + f))


EXERCISES = (
    exercise(
        "11.1",
        "Width and work",
        parameters,
        examples=((5, 1, 63, 10, 601), (67, 21, 548, 10, 601), (4, 2, 32, 2, 21)),
        mistakes={
            "a layer has a bias for each output": lambda observation, actions, width, blocks, bins: (
                parameters(observation, actions, width, blocks, bins)
                - (2 * (2 * blocks + 1) * width + 2 * bins + 2 * actions)
            ),
            "the norms have numbers, too: a scale and an offset per feature": (
                lambda observation, actions, width, blocks, bins: (
                    parameters(observation, actions, width, blocks, bins) - 2 * (2 * blocks + 1) * 2 * width
                )
            ),
            "the dynamics takes the action beside the hidden state": (
                lambda observation, actions, width, blocks, bins: (
                    parameters(observation, actions, width, blocks, bins) - actions * width
                )
            ),
            "a block is two layers": lambda observation, actions, width, blocks, bins: (
                parameters(observation, actions, width, blocks, bins) - 2 * blocks * (width + 1) * width
            ),
            "one norm more than layers of "
            "blocks: 2 * blocks + 1, the last one behind the tower": lambda observation, actions, width, blocks, bins: (
                parameters(observation, actions, width, blocks, bins) - 4 * width
            ),
            "the policy has two numbers per action, mean and scale": lambda observation, actions, width, blocks, bins: (
                parameters(observation, actions, width, blocks, bins) - (width + 1) * actions
            ),
        },
        hints=(
            "A layer from i to o has (i + 1) * o numbers.",
            "The tower of h and that of g are alike: 2 * blocks layers and 2 * blocks + 1 norms.",
        ),
        because="The 40 w^2 weights of the towers make 4 per stored step by construction of the automatic width. What "
        "is added grows only as w: half as much again for the smallest network, little for the largest.",
    ),
    exercise(
        "11.2",
        "Whose mean is it?",
        zeros_needed,
        examples=(
            (np.array([9.0, 1.0, 1.0]), 1.0),
            (np.array([0.2, 3.0, 1.1, 0.9, 7.0, 1.3, 1.2]), 1.0),
            (np.array([2.0, 0.5, 1.6, 4.0]), 0.5),
        ),
        mistakes={
            "the games are replaced by 0, they stay in the count": lambda scores, threshold: _zeros(
                scores, threshold, lambda ordered, count: ordered[count:]
            ),
            "you may choose the games: the best ones do most": lambda scores, threshold: _zeros(
                scores, threshold, _worst_first
            ),
            "the mean comes first": lambda scores, threshold: zeros_needed(scores, threshold)[::-1],
            "below the threshold, not at it": lambda scores, threshold: zeros_needed(scores, threshold + 1e-9),
            "the mean divides by the number of games": lambda scores, threshold: (
                zeros_needed(scores, threshold / len(scores))[0],
                zeros_needed(scores, threshold)[1],
            ),
        },
        hints=(
            "Sort by score, the best first; replace one more at a time and look.",
            "count = 0, 1, 2, ...: the first for which the statistic is below the threshold.",
        ),
        because="For MuZero Unplugged's 46 games it is 19 for the mean and 21 for the median: the claim does not hang "
        "on a few games, the size of the mean does.",
    ),
    exercise(
        "11.3",
        "The work of a run",
        work,
        examples=((10, 2, 1, 5, 50, 1, 1), (1000, 300, 20, 5, 50, 1024, 32), (7, 3, 2, 1, 8, 4, 9)),
        mistakes={
            "the gradients cost twice the pass again: three passes for learning": (
                lambda h, g, f, unroll, simulations, learned, searched: (
                    work(h, g, f, unroll, simulations, learned, searched)[0] // 3,
                    work(h, g, f, unroll, simulations, learned, searched)[1],
                )
            ),
            "a search needs no gradients": lambda h, g, f, unroll, simulations, learned, searched: (
                work(h, g, f, unroll, simulations, learned, searched)[0],
                3 * work(h, g, f, unroll, simulations, learned, searched)[1],
            ),
            "the representation is asked once, however far one unrolls or searches": (
                lambda h, g, f, unroll, simulations, learned, searched: (
                    3 * learned * unroll * (h + g + f),
                    searched * simulations * (h + g + f),
                )
            ),
            "a simulation asks the prediction as well as the dynamics": (
                lambda h, g, f, unroll, simulations, learned, searched: work(
                    h, g, 0, unroll, simulations, learned, searched
                )
            ),
            "the pass itself is one of the three: "
            "twice that for the gradients comes on top": lambda h, g, f, unroll, simulations, learned, searched: (
                2 * work(h, g, f, unroll, simulations, learned, searched)[0] // 3,
                work(h, g, f, unroll, simulations, learned, searched)[1],
            ),
            "the prediction "
            "of the first position is left out in both": lambda h, g, f, unroll, simulations, learned, searched: work(
                h + f, g, f, unroll, simulations, learned, searched
            ),
        },
        hints=(
            "One position of a batch: h once, then g and f for each unrolled step; times 3 with the gradients.",
            "One search: h once, then g and f for each simulation.",
        ),
        because="In the paper's Atari learning takes most of it: 1024 positions are learned from for every 32 that we "
        "search. At classroom size the two are closer.",
    ),
)
