"""Exercises of notebook 02, networks."""

import numpy as np

from mzu.classroom.question import exercise

EPSILON = 0.001
SMALL = np.float32([0.005987562, -0.048808847, 0.4152136, -3.0])  # squashed 0.012, -0.1, 1.0, -14.9


def squash(x, epsilon=EPSILON):
    return np.sign(x) * (np.sqrt(np.abs(x) + 1) - 1) + epsilon * x


# --- 1 ---


def unsquash(y, epsilon):
    """The inverse of h(x) = sign(x) (sqrt(|x| + 1) - 1) + epsilon x, exact also in float32, near
    0, and for epsilon = 0.

    y: an array of any shape -> x of the same shape

    >>> unsquash(np.array([0.0, 1.0, -1.0]), 0.0).tolist()
    [0.0, 3.0, -3.0]
    """
    linear = 1 + 2 * epsilon
    size = np.abs(y)
    t = 2 * size / (linear + np.sqrt(linear**2 + 4 * epsilon * size))
    return np.sign(y) * t * (t + 2)


def _textbook(y, epsilon):
    linear = 1 + 2 * epsilon
    with np.errstate(all="ignore"):
        t = (np.sqrt(linear**2 + 4 * epsilon * np.abs(y)) - linear) / np.asarray(2 * epsilon, y.dtype)
    return np.sign(y) * t * (t + 2)


# --- 2 ---


def learned_value(returns, probabilities):
    """Which number a categorical head says at last of a position that is followed by these
    returns.

    returns [n], probabilities [n] -> a number. Its target is two-hot after squashing with h(x) =
    sign(x) (sqrt(|x| + 1) - 1) + 0.001 x.

    >>> float(round(learned_value(np.array([0.0, 100.0]), np.array([0.5, 0.5])), 1))
    29.7
    """
    return unsquash(probabilities @ squash(returns), EPSILON)


# --- 3 ---


def doubled_distance(observation, kernel, bias):
    """How far apart the hidden states of an observation and of its double are, without blocks.

    observation [O], kernel [O, W], bias [W] -> the Euclidean distance. A hidden state is
    relu(norm(observation @ kernel + bias)); norm subtracts the mean of the W features and divides
    by their standard deviation (forget its epsilon).

    >>> doubled_distance(np.array([1.0]), np.array([[1.0, 3.0]]), np.array([0.0, 0.0]))
    0.0
    """

    def hidden(seen):
        x = seen @ kernel + bias
        return np.maximum((x - x.mean()) / x.std(), 0)

    return float(np.linalg.norm(hidden(observation) - hidden(2 * observation)))


def _distance(one, other):
    return float(np.linalg.norm(one - other))


def _normalised(x):
    return (x - x.mean()) / x.std()


def _relu(x):
    return np.maximum(x, 0)


RNG = np.random.default_rng(0)
LAYERS = tuple((RNG.normal(size=3), RNG.normal(size=(3, 6)), scale * RNG.normal(size=6)) for scale in (1.0, 0.3, 0.0))


# --- 4 ---


def arriving(unroll_steps, scale):
    """The gradient that arrives at s^0, if every loss sends 1 into its own hidden state.

    Step 0 counts 1, steps 1..U count 1 / U each; every application of g multiplies what passes by
    `scale` and does nothing else.

    >>> arriving(2, 0.5)
    1.375
    """
    return 1 + sum(scale**k for k in range(1, unroll_steps + 1)) / unroll_steps


# --- 5 ---


def is_right(scale_gradient):
    """A test that needs no network: does this function pass on the share `scale` of the gradient,
    and leave the number as it is?

    scale_gradient(x, scale) -> (the number that comes out, the slope that a tape finds)

    >>> is_right(lambda x, scale: (x, scale))
    True
    """
    return all(scale_gradient(3.0, scale) == (3.0, scale) for scale in (0.25, 0.5, 1.0))


def passes_on_the_share(x, scale):
    return x, scale


def passes_on_the_rest(x, scale):
    return x, 1 - scale


def passes_on_half(x, scale):
    return x, 0.5


def passes_on_all(x, scale):
    return x, 1.0


def scales_the_number_too(x, scale):
    return scale * x, scale


PATIENTS = (passes_on_the_share, passes_on_the_rest, passes_on_half, passes_on_all, scales_the_number_too)


EXERCISES = (
    exercise(
        "02.1",
        "Two ways to invert",
        unsquash,
        examples=((SMALL, np.float32(0.001)), (np.array([0.5, -7.0, 20.0]), 0.001), (np.array([2.0, -0.1]), 0.0)),
        tolerance=3e-6,
        mistakes={
            "the difference of two nearly equal numbers loses the digits; multiply by their sum, so that nothing is "
            "subtracted": _textbook,
            "the sign: h is odd, so is its inverse": lambda y, epsilon: np.abs(unsquash(y, epsilon)),
            "t is sqrt(|x| + 1) - 1, so |x| is t (t + 2), not t squared": (
                lambda y, epsilon: np.sign(y) * (np.sqrt(unsquash(np.abs(y), epsilon) + 1) - 1) ** 2
            ),
            "epsilon: h also adds epsilon x": lambda y, epsilon: unsquash(y, 0.0 * epsilon),
        },
        hints=(
            "In the formula of section 2, which two numbers are subtracted, and how large are they for a small y?",
            "Multiply numerator and denominator by the sum of the two terms of the numerator: (a - b)(a + b) is "
            "a^2 - b^2.",
            "t = 2 |y| / (c + sqrt(c^2 + 4 epsilon |y|)) with c = 1 + 2 epsilon.",
        ),
        because="The root is 1.002 and a little more, 1.002 is taken away, and what remains has two digits in float32. "
        "In the other form nothing is subtracted, and epsilon may even be 0.",
    ),
    exercise(
        "02.2",
        "What a noisy target teaches",
        learned_value,
        examples=(
            (np.array([0.0, 100.0]), np.array([0.5, 0.5])),
            (np.array([-50.0, 10.0, 200.0]), np.array([0.2, 0.5, 0.3])),
            (np.array([7.0]), np.array([1.0])),
        ),
        mistakes={
            "the mean is what the squared error leads to; here categories are averaged after squashing": (
                lambda returns, probabilities: float(probabilities @ returns)
            ),
            "the way back: the mean of the squashed numbers still has to be unsquashed": (
                lambda returns, probabilities: float(probabilities @ squash(returns))
            ),
            "all returns have their share in the expected target, not the most likely one alone": (
                lambda returns, probabilities: float(returns[np.argmax(probabilities)])
            ),
            "the returns are not equally likely": lambda returns, probabilities: unsquash(
                squash(returns).mean(), EPSILON
            ),
        },
        hints=(
            "The cross-entropy is least where the head says the expected target: the mean of the two-hots.",
            "A two-hot's mean category is the squashed number itself.",
            "So average h(return), then apply the inverse of h (exercise 1).",
        ),
        because="h is concave for positive numbers, so the mean of the squashed numbers is less than the squashed "
        "mean: 29.7 instead of 50. The head underestimates large, uncertain values.",
    ),
    exercise(
        "02.3",
        "An observation and its double",
        doubled_distance,
        examples=LAYERS,
        mistakes={
            "the bias is added after the product, and is not doubled with the observation": (
                lambda observation, kernel, bias: _distance(
                    _relu(_normalised(observation @ kernel + bias)),
                    _relu(_normalised(2 * (observation @ kernel + bias))),
                )
            ),
            "the norm comes first, then the relu": lambda observation, kernel, bias: _distance(
                _normalised(_relu(observation @ kernel + bias)), _normalised(_relu(2 * observation @ kernel + bias))
            ),
            "the norm: without it the double is twice as large": lambda observation, kernel, bias: _distance(
                _relu(observation @ kernel + bias), _relu(2 * observation @ kernel + bias)
            ),
            "the norm subtracts the mean, too": lambda observation, kernel, bias: _distance(
                *(_relu(x / x.std()) for x in (observation @ kernel + bias, 2 * observation @ kernel + bias))
            ),
            "the Euclidean distance: the root of the sum of squares": lambda observation, kernel, bias: float(
                np.abs(
                    _relu(_normalised(observation @ kernel + bias))
                    - _relu(_normalised(2 * observation @ kernel + bias))
                ).sum()
            ),
            "the norm divides by the standard deviation, not by the variance": lambda observation, kernel, bias: (
                _distance(
                    *(
                        _relu((x - x.mean()) / x.var())
                        for x in (observation @ kernel + bias, 2 * observation @ kernel + bias)
                    )
                )
            ),
        },
        hints=(
            "Write a function that makes the hidden state of one observation, and call it twice.",
            "x = observation @ kernel + bias; norm is (x - x.mean()) / x.std(); then the relu.",
        ),
        because="Without biases 2x has twice the mean and twice the standard deviation of x, so norm(2x) = norm(x): "
        "the network cannot tell an angle of 0.1 from one of 0.2. Random biases mend it, because b + Wo points in "
        "another direction than b + 2Wo.",
    ),
    exercise(
        "02.4",
        "What arrives at the representation",
        arriving,
        examples=((5, 0.5), (50, 0.5), (5, 1.0), (3, 0.25)),
        mistakes={
            "the steps 1..U are weighted by 1 / U": (
                lambda unroll_steps, scale: 1 + sum(scale**k for k in range(1, unroll_steps + 1))
            ),
            "a gradient is scaled once for each application of g on its way, k times from step k": (
                lambda unroll_steps, scale: 1 + scale
            ),
            "the loss of step 0 sends its 1, too": lambda unroll_steps, scale: arriving(unroll_steps, scale) - 1,
            "step 0 has the weight 1, not 1 / U": (
                lambda unroll_steps, scale: sum(scale**k for k in range(unroll_steps + 1)) / unroll_steps
            ),
            "there are U imagined steps, 1 to U": (
                lambda unroll_steps, scale: 1 + sum(scale**k for k in range(1, unroll_steps)) / unroll_steps
            ),
            "every one of the U steps has the weight 1 / U": lambda unroll_steps, scale: (
                1 + sum(scale**k / k for k in range(1, unroll_steps + 1))
            ),
            "s^0 lies k applications of g before step k, not k - 1": lambda unroll_steps, scale: (
                1 + sum(scale ** (k - 1) for k in range(1, unroll_steps + 1)) / unroll_steps
            ),
        },
        hints=(
            "How many times is the gradient of step k scaled on its way to s^0?",
            "1 + (scale + scale**2 + ... + scale**U) / U.",
        ),
        because="Without scaling the imagined steps bring 1 in all, as much as the present. With halving they bring "
        "(1 - 2^-U) / U: 0.19 for U = 5, and 0.02 for U = 50.",
    ),
    exercise(
        "02.5",
        "Find the bug",
        is_right,
        examples=tuple((patient,) for patient in PATIENTS),
        mistakes={
            "0.5 is its own complement: a scale of 0.5 cannot tell scale from 1 - scale; test at another one": (
                lambda scale_gradient: scale_gradient(3.0, 0.5) == (3.0, 0.5)
            ),
            "the slope: the number alone is right in the buggy functions, too": (
                lambda scale_gradient: all(scale_gradient(3.0, scale)[0] == 3.0 for scale in (0.25, 0.5, 1.0))
            ),
            "the number must stay as it is; look at it as well": (
                lambda scale_gradient: all(scale_gradient(3.0, scale)[1] == scale for scale in (0.25, 0.5, 1.0))
            ),
            "a scale of 1 passes everything on anyway; test at a smaller one": (
                lambda scale_gradient: scale_gradient(3.0, 1.0) == (3.0, 1.0)
            ),
            "the right "
            "function has to pass: it leaves the number as it is, and its slope is `scale`": lambda scale_gradient: (
                False
            ),
        },
        hints=(
            "Which scales tell `scale` from `1 - scale`?",
            "Compare both numbers that come back, for a scale such as 0.25.",
        ),
        because="`stop_gradient(x) * scale + x * (1 - scale)` passes on 1 - scale, which at 0.5 is the same, and the "
        "number itself is always right. Test such a function at a number that is not its own complement.",
    ),
)
