"""Exercises of notebook 07, the training system."""

import math

import numpy as np

from mzu.classroom.question import exercise

# --- 1 ---


def set_leaf(sums, leaf, value):
    """Sets a leaf of a sum tree and brings all its ancestors up to date, in place.

    sums [2 L]: sums[1] is the root, node i has the children 2 i and 2 i + 1, leaf number l is
    sums[L + l]. An ancestor must be exact, whatever its leaves were before.

    >>> sums = [0.0, 5.0, 2.0, 3.0]
    >>> set_leaf(sums, 1, 4.0)
    >>> sums
    [0.0, 6.0, 2.0, 4.0]
    """
    node = len(sums) // 2 + leaf
    sums[node] = value
    while node > 1:
        node //= 2
        sums[node] = sums[2 * node] + sums[2 * node + 1]


def _add_the_change(sums, leaf, value):
    node = len(sums) // 2 + leaf
    change = value - sums[node]
    sums[node] = value
    while node > 1:
        node //= 2
        sums[node] += change


def _parent_only(sums, leaf, value):
    node = len(sums) // 2 + leaf
    sums[node] = value
    sums[node // 2] = sums[node // 2 * 2] + sums[node // 2 * 2 + 1]


def _leaf_by_place(sums, leaf, value):
    sums[leaf] = value


HUGE = [0.0, 1e12 + 3e-3, 1e12 + 1e-3, 2e-3, 1e12, 1e-3, 1e-3, 1e-3]  # one leaf of 1e12 among small ones
PLAIN = [0.0, 10.0, 3.0, 7.0, 1.0, 2.0, 3.0, 4.0]


# --- 2 ---


def minimised_power(alpha, beta):
    """Which power of the error is minimised by draws with P ~ |e|^alpha and weights w ~ P^-beta,
    if each drawn position's loss is e^2?

    >>> minimised_power(1.0, 0.0)
    3.0
    """
    return 2 + alpha * (1 - beta)


# --- 3 ---


def value_with_a_limit(limit, discount, taken_for_an_end):
    """A world pays 1 a step for ever, games are cut off after `limit` steps, and the observation
    does not show the clock. Which value is learned with n = 1?

    >>> value_with_a_limit(20, 0.5, False)
    2.0
    """
    goes_on = 1 - 1 / limit if taken_for_an_end else 1.0
    return 1 / (1 - discount * goes_on)


# --- 4 ---


def arriving_at(step, applications):
    """The factor with which the loss of step k reaches each application of g, if every one halves
    the gradient of its input.

    step: k; applications: U -> [U]: the factors at applications 1..U, 0 behind step k.

    >>> arriving_at(2, 3)
    [0.5, 1.0, 0.0]
    """
    return [0.5 ** (step - j) if j <= step else 0.0 for j in range(1, applications + 1)]


# --- 5 ---


def update(priorities, added, handles, new):
    """New priorities for drawn positions, by handle: those whose position is gone are left out.

    priorities [C]: of the slots of a ring; `added` positions have come so far, number h is in slot
    h % C until number h + C comes; handles, new [B]: the numbers that were drawn, and their new
    priorities -> priorities [C], as a new array.

    >>> update(np.array([1.0, 1.0]), 3, [1, 0], [5.0, 7.0]).tolist()
    [1.0, 5.0]
    """
    priorities = priorities.copy()
    capacity = len(priorities)
    for handle, priority in zip(handles, new, strict=True):
        if handle >= added - capacity:
            priorities[handle % capacity] = priority
    return priorities


def _update_where(priorities, handles, new, there, slot=None):
    priorities = priorities.copy()
    for handle, priority in zip(handles, new, strict=True):
        if there(handle):
            priorities[(handle if slot is None else slot(handle)) % len(priorities)] = priority
    return priorities


RING = np.array([1.0, 2.0, 3.0, 4.0])


# --- 6 ---


def steps_to_see(discount, n, period, share):
    """After how many learner steps can the labels hold `share` of 1 / (1 - discount)?

    n rewards in a label, plus what the target network knew; it is copied every `period` steps. At
    first it knows nothing; after m copies the labels hold n (m + 1) rewards -> a number of steps.

    >>> steps_to_see(0.997, 5, 100, 0.9)
    15300
    """
    rewards = math.log(1 - share) / math.log(discount)
    return period * (math.ceil(rewards / n) - 1)


def _leaf_only(sums, leaf, value):
    sums[len(sums) // 2 + leaf] = value


def _gone_to_zero(priorities, added, handles, new):
    changed, capacity = priorities.copy(), len(priorities)
    for handle, priority in zip(handles, new, strict=True):
        changed[handle % capacity] = priority if handle >= added - capacity else 0.0
    return changed


EXERCISES = (
    exercise(
        "07.1",
        "Drift",
        set_leaf,
        examples=((PLAIN, 2, 9.0), (HUGE, 0, 1e-3), (PLAIN, 0, 0.0)),
        in_place=True,
        tolerance=1e-9,
        mistakes={
            "adding the change keeps every rounding error of the large numbers that were there before; add the two "
            "children again": _add_the_change,
            "all ancestors change, up to the root, not the parent alone": _parent_only,
            "the leaves are the second half of the array": _leaf_by_place,
            "the ancestors hold sums: they have to be brought up to date as well": _leaf_only,
        },
        hints=(
            "Node i has the parent i // 2.",
            "Go up until the root, number 1; each node on the way is the sum of its two children.",
        ),
        because="Each addition rounds to the last bit of the larger number. While priorities of 1e8 come and go, an "
        "ancestor collects errors, which stay when all priorities have become small: some subtrees are drawn too "
        "often, and the weights do not know it.",
    ),
    exercise(
        "07.2",
        "Exponents",
        minimised_power,
        examples=((1.0, 0.0), (1.0, 1.0), (2.0, 1.0), (1.0, 0.5), (0.6, 0.4)),
        mistakes={
            "the weights undo a part of the drawing: alpha (1 - beta)": lambda alpha, beta: 2 + alpha,
            "the weight is P^-beta, and P is |e|^alpha: the exponents multiply": lambda alpha, beta: 2 + alpha - beta,
            "the gradient of e^2 is e, of which the power is one less": lambda alpha, beta: 1 + alpha * (1 - beta),
        },
        hints=(
            "The mean gradient is the sum over positions of P * w * e. Put in the powers of |e|.",
            "The gradient of |e|^k is |e|^(k - 1), up to a constant and the sign.",
        ),
        because="The mean gradient is |e|^(alpha (1 - beta)) e, that of |e|^(2 + alpha (1 - beta)). With beta = 1 "
        "every alpha gives the square; the paper has alpha = beta = 1.",
    ),
    exercise(
        "07.3",
        "A time limit is not an end",
        value_with_a_limit,
        examples=((5, 0.9, False), (5, 0.9, True), (20, 0.9, True), (100, 0.99, True)),
        mistakes={
            "a cut is bootstrapped from, so the limit does not show: 1 / (1 - discount)": (
                lambda limit, discount, taken_for_an_end: (1 - discount**limit) / (1 - discount)
            ),
            "taken for an end, one label in `limit` says 1; the network learns the mean of its labels": (
                lambda limit, discount, taken_for_an_end: 1 / (1 - discount)
            ),
            "the mean over the steps that are left is not what is learned: each label uses the learned value itself": (
                lambda limit, discount, taken_for_an_end: (
                    float(np.mean((1 - discount ** np.arange(1, limit + 1)) / (1 - discount)))
                    if taken_for_an_end
                    else 1 / (1 - discount)
                )
            ),
            "that is what the first position really brings; the observation does "
            "not show the clock, so one value has to do for all positions": lambda limit, discount, taken_for_an_end: (
                (1 - discount**limit) / (1 - discount) if taken_for_an_end else 1 / (1 - discount)
            ),
            "where the cut is not taken for an end, it is "
            "bootstrapped from like every other step: 1 / (1 - discount)": lambda limit, discount, taken_for_an_end: (
                value_with_a_limit(limit, discount, True)
            ),
        },
        hints=(
            "The label of a position is 1 + discount * v, and 1 at the limit if that is taken for an end.",
            "v = 1 + discount * (1 - 1 / limit) * v. Solve for v.",
        ),
        because="With a discount of 0.9 and a limit of 5, 3.57 in the place of 10. In CartPole it bites those who are "
        "good: a game of 500 steps was cut off in full health.",
    ),
    exercise(
        "07.4",
        "What arrives at g",
        arriving_at,
        examples=((1, 5), (3, 5), (5, 5)),
        mistakes={
            "the last application before the loss gets it in full; only inputs are halved": (
                lambda step, applications: [0.5 * one for one in arriving_at(step, applications)]
            ),
            "the factor falls with the distance from the loss, not from the beginning": (
                lambda step, applications: [0.5 ** (j - 1) if j <= step else 0.0 for j in range(1, applications + 1)]
            ),
            "what comes after step k has no part in its loss": (
                lambda step, applications: [0.5 ** abs(step - j) for j in range(1, applications + 1)]
            ),
            "the halving": lambda step, applications: [float(j <= step) for j in range(1, applications + 1)],
            "the "
            "factor counts from step k, whose loss it is, not from the last application": lambda step, applications: [
                0.5 ** (applications - j) if j <= step else 0.0 for j in range(1, applications + 1)
            ],
            "earlier applications get their part, too, each half of the next one's": lambda step, applications: [
                float(j == step) for j in range(1, applications + 1)
            ],
        },
        hints=(
            "How many halvings lie between application j and the hidden state of step k?",
            "k - j of them; and applications behind k have no part in it.",
        ),
        because="So g mostly learns to make one good step from wherever it stands, and a little to prepare for those "
        "that follow.",
    ),
    exercise(
        "07.5",
        "Two names",
        update,
        examples=(
            (RING, 4, [0, 3], [9.0, 8.0]),
            (RING, 7, [2, 3, 6], [9.0, 8.0, 7.0]),
            (RING, 9, [0, 4, 5], [9.0, 8.0, 7.0]),
        ),
        mistakes={
            "a slot may hold something else by now: leave out handles that are gone": (
                lambda priorities, added, handles, new: _update_where(priorities, handles, new, lambda h: True)
            ),
            "number h is still there until number h + C comes: h >= added - C": (
                lambda priorities, added, handles, new: _update_where(
                    priorities, handles, new, lambda h: h > added - len(priorities)
                )
            ),
            "the slot of number h is h % C": lambda priorities, added, handles, new: _update_where(
                priorities,
                handles,
                new,
                lambda h: h >= added - len(priorities),
                lambda h: h - (added - len(priorities)),
            ),
            "handles that are still there are updated, whatever becomes of the others": (
                lambda priorities, added, handles, new: (
                    update(priorities, added, handles, new)
                    if min(handles) >= added - len(priorities)
                    else priorities.copy()
                )
            ),
            "a handle that is gone is left out; its slot holds another position, whose priority stays": _gone_to_zero,
        },
        hints=(
            "The ring holds the last C numbers: added - C up to added - 1.",
            "Skip the others; for those that are there the slot is handle % C.",
        ),
        because="If a segments arrive between draw and update, a of C slots hold something new: that share of updates "
        "by leaf is wrong. Nothing crashes and no shape is wrong; a test must fill the replay over its capacity "
        "between draw and update.",
    ),
    exercise(
        "07.6",
        "How far values see",
        steps_to_see,
        examples=((0.997, 5, 100, 0.9), (0.99, 10, 100, 0.9), (0.97, 5, 50, 0.9), (0.9, 3, 10, 0.5)),
        mistakes={
            "the first labels hold n rewards before any copy: subtract 1": (
                lambda discount, n, period, share: period * math.ceil(math.log(1 - share) / math.log(discount) / n)
            ),
            "copies are whole: round up": lambda discount, n, period, share: (
                period * (math.log(1 - share) / math.log(discount) / n - 1)
            ),
            "a label looks n rewards further with each copy, not one": (
                lambda discount, n, period, share: period * (math.ceil(math.log(1 - share) / math.log(discount)) - 1)
            ),
            "the share is reached when discount^rewards is 1 - share": (
                lambda discount, n, period, share: period * (math.ceil(math.log(share) / math.log(discount) / n) - 1)
            ),
        },
        hints=(
            "k rewards hold 1 - discount**k of 1 / (1 - discount). How many rewards give the share?",
            "log(1 - share) / log(discount) rewards; n (m + 1) of them after m copies.",
        ),
        because="15,300 steps in the paper's Atari, one and a half percent of a million; 2,200 with the notebook's "
        "settings, more than its whole training; 750 in the preset pendulum.",
    ),
)
