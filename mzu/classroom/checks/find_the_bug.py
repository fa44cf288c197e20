"""Assignment 6: five wrong functions, to be found with the target explainer and mended.

`WRONG` has the functions that the patients use, each a bug of the gallery (`mzu/explain/bugs.py`) in a few lines. The
notebook does not show them: what they do is seen in the numbers. `mzu/classroom/patients.py` plants them in a system.
"""

import numpy as np

from mzu.classroom.question import Question, WrittenQuestion
from mzu.config import Config
from mzu.games.piece import Piece
from mzu.games.stored_game import StoredGame
from mzu.replay.priorities import Priorities
from mzu.replay.returns import n_step_returns
from mzu.search.reference_candidates import Edge, add_noise

# Reading data ---------------------------------------------------------------------------------------------------------


def wrong_read(record):
    """A record of the file -> observations [T + 1, ...], actions [T] and rewards [T]."""
    observations = record["observation"]
    actions = record["action"][:-1]  # in the last observation nothing was done any more
    rewards = record["reward"][:-1]
    return observations, actions, rewards


def read(record):
    return record["observation"], record["action"][:-1], record["reward"][1:]


def _first_row_left_out(record):
    return record["observation"][1:], record["action"][1:-1], record["reward"][1:-1]


def _shifted_by_two(record):
    return record["observation"], record["action"][:-1], np.append(record["reward"][2:], np.float32(0))


def _last_reward_lost(record):
    return record["observation"], record["action"][:-1], np.append(record["reward"][1:-1], np.float32(0))


def _actions_moved(record):
    return record["observation"], record["action"][1:], record["reward"][1:]


def _record(cells, actions, rewards) -> dict:
    """T + 1 observations, T actions and T rewards as the file has them."""
    return {
        "observation": np.float32(cells)[:, None],
        "action": np.append(np.int32(actions), np.int32(0)),
        "reward": np.append(np.float32(0), np.float32(rewards)),
    }


def _random_record(rng) -> tuple:
    steps = int(rng.integers(2, 8))
    actions, rewards = rng.integers(1, 4, steps), rng.integers(1, 9, steps) / 4
    return (_record(rng.permutation(20)[: steps + 1], actions, rewards),)


READ = Question(
    number="6.7",
    title="Reading a file",
    points=2,
    name="read",
    right=read,
    examples=(
        (_record([4, 5, 6], [2, 2], [0.0, 1.9]),),
        (_record([0, 1, 2, 1], [2, 2, 0], [0.2, -0.5, 0.2]),),
        (_record([3, 4], [2], [-0.3]),),
    ),
    more=lambda rng: [_random_record(rng) for _ in range(8)],
    mistakes={
        "a reward of the file came with the observation beside it, so the action one row above earned it": wrong_read,
        "rewards have to move against the actions; a first row that is left out everywhere moves nothing": (
            _first_row_left_out
        ),
        "rewards are one row off, not two": _shifted_by_two,
        "the reward of the last row, which the last action earned": _last_reward_lost,
        "an action of the file was taken in the observation beside it; it stands where it belongs": _actions_moved,
    },
)


# Searching ------------------------------------------------------------------------------------------------------------


def wrong_add_noise(priors, log_gamma, fraction):
    """Mixes Dirichlet noise into the priors [K] of the root, in place.

    A prior of 0 is no candidate and stays 0. log_gamma [K]: logarithms of Gamma draws, whose
    softmax over the candidates is the noise.
    """
    exists = priors > 0
    draws = np.exp(np.where(exists, log_gamma, -np.inf) - log_gamma[exists].max())
    noise = draws / draws.sum()
    priors = (1 - fraction) * priors + fraction * noise


def add_noise_to_array(priors, log_gamma, fraction):
    edges = [Edge(action, prior) for action, prior in enumerate(priors)]
    add_noise(edges, log_gamma, fraction)
    priors[:] = [edge.prior for edge in edges]


def _noise(priors, log_gamma, exists) -> np.ndarray:
    draws = np.exp(np.where(exists, log_gamma, -np.inf))
    return draws / draws.sum()


def _mixed(mix, everywhere=False):
    """A mistaken `add_noise`: mix(priors, noise, fraction) is written into the array."""

    def mistaken(priors, log_gamma, fraction):
        exists = np.ones(len(priors), bool) if everywhere else priors > 0
        priors[:] = mix(priors, _noise(priors, log_gamma, exists), fraction)

    return mistaken


def _without_exp(priors, log_gamma, fraction):
    draws = np.where(priors > 0, log_gamma, 0.0)
    priors[:] = (1 - fraction) * priors + fraction * draws / draws.sum()


def _without_sum(priors, log_gamma, fraction):
    priors[:] = (1 - fraction) * priors + fraction * np.where(priors > 0, np.exp(log_gamma), 0.0)


def _random_noise(rng, i: int) -> tuple:
    count = int(rng.integers(2, 6))
    priors = rng.dirichlet(np.ones(count))
    if i % 2:
        priors[int(rng.integers(count))] = 0.0
    return priors, np.log(rng.gamma(1.0, size=count) + 0.01), float(rng.choice([0.1, 0.25, 0.4]))


ADD_NOISE = Question(
    number="6.8",
    title="Noise at the root",
    points=2,
    name="add_noise",
    right=add_noise_to_array,
    examples=(
        (np.array([0.25, 0.75]), np.log([3.0, 1.0]), 0.4),
        (np.array([0.2, 0.3, 0.5]), np.log([0.5, 2.0, 1.5]), 0.25),
        (np.array([0.6, 0.0, 0.4]), np.log([1.0, 5.0, 3.0]), 0.25),
    ),
    more=lambda rng: [_random_noise(rng, i) for i in range(8)],
    mistakes={
        "the caller's array must change; `priors = ...` gives the name to a new array, which the search never sees": (
            wrong_add_noise
        ),
        "noise is mixed in, so the old priors keep the share 1 - fraction": _mixed(
            lambda priors, noise, fraction: priors + fraction * noise
        ),
        "`fraction` is the share of the noise, not that of the old priors": _mixed(
            lambda priors, noise, fraction: fraction * priors + (1 - fraction) * noise
        ),
        "noise is mixed into the priors, it does not replace them": _mixed(lambda priors, noise, fraction: noise),
        "a candidate that does not exist (prior 0) gets no noise": _mixed(
            lambda priors, noise, fraction: (1 - fraction) * priors + fraction * noise, everywhere=True
        ),
        "the softmax is over the candidates: a place of prior 0 takes no share of the noise from the others": _mixed(
            lambda priors, noise, fraction: np.where(priors > 0, (1 - fraction) * priors + fraction * noise, 0.0),
            everywhere=True,
        ),
        "log_gamma holds logarithms: `exp` comes before the division by the sum": _without_exp,
        "the draws are divided by their sum, so that the noise adds up to 1": _without_sum,
    },
    in_place=True,
)


# Recording what the search found --------------------------------------------------------------------------------------


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


def record_step(stored, found):
    """What the library's stored game puts into a segment, for an episode of this one step."""
    frames = np.float32([stored["observation"]] * 2)
    actions, rewards = np.int32([stored["action"]]), np.float32([stored["reward"]])
    piece = Piece(frames, actions, rewards, length=1, ended=True, terminated=False)
    game = StoredGame(piece, Config())
    game.take(found["action"], np.float32(found["policy"]), None, found["value"], found["value"])
    (segment,) = game.pop_segments()
    return {
        "observation": segment.observations[0],
        "action": int(segment.actions[0]),
        "reward": float(segment.rewards[0]),
        "policy": segment.search_policy[0],
        "value": float(segment.search_value[0]),
    }


def _recording(**changed):
    """A mistaken `record_step`: each of `changed` is a function (stored, found) -> what is kept under that name."""

    def mistaken(stored, found):
        kept = stored | {"policy": found["policy"], "value": found["value"]}
        return kept | {name: change(stored, found) for name, change in changed.items()}

    return mistaken


def _most_visited(stored, found) -> int:
    return int(np.argmax(found["policy"]))


def _only_where_they_agree(stored, found) -> np.ndarray:
    return found["policy"] * (found["action"] == stored["action"])


def _step(cell, action, reward, chosen, policy, value) -> tuple:
    stored = {"observation": np.float32([cell]), "action": action, "reward": reward}
    return stored, {"action": chosen, "policy": np.float32(policy), "value": value}


def _random_step(rng) -> tuple:
    visits = rng.multinomial(16, rng.dirichlet(np.ones(4)))
    # An action that is neither the chosen one nor the most visited one, so that each of them can be told apart.
    others = np.argsort(-visits)[1:]
    chosen, action = rng.permutation(others)[:2].tolist()
    return _step(int(rng.integers(9)), action, float(rng.normal()), chosen, visits / 16, float(rng.normal()))


RECORD_STEP = Question(
    number="6.9",
    title="What the replay keeps",
    points=2,
    name="record_step",
    right=record_step,
    examples=(
        _step(2, 0, 0.25, 2, [0.25, 0.125, 0.625], 1.5),
        _step(2, 0, 0.25, 1, [0.25, 0.125, 0.625], 1.5),
        _step(5, 2, 1.75, 2, [0.125, 0.0, 0.875], 2.0),
    ),
    more=lambda rng: [_random_step(rng) for _ in range(8)],
    mistakes={
        "reward and next observation belong to the stored action; what the search chose was never done": (
            wrong_record_step
        ),
        "the most visited action was not done in the episode either; only the stored one was": _recording(
            action=_most_visited
        ),
        "the stored action is what happened, the search's policy what is learned; neither is made from the other": (
            _recording(policy=lambda stored, found: np.eye(len(found["policy"]))[stored["action"]])
        ),
        "the search's policy is kept where it prefers another action too; that is the improvement": _recording(
            policy=_only_where_they_agree
        ),
        "the value is that of the search, not the reward of one step": _recording(
            value=lambda stored, found: stored["reward"]
        ),
    },
)


# The replay -----------------------------------------------------------------------------------------------------------


def wrong_write_back(table, positions, priorities, alpha):
    """Writes a batch's new priorities into the table [N] of all positions' p^alpha, in place.

    positions   [B]  which positions were in the batch, no two equal
    priorities  [B]  the new p of each of them
    """
    places = np.sort(positions)  # one after the other in memory is faster
    table[places] = priorities**alpha


def write_back(table, positions, priorities, alpha):
    tree = Priorities(len(table))
    tree.set(np.arange(len(table)), table)
    tree.set(positions, priorities**alpha)
    table[:] = tree.get(np.arange(len(table)))


def _sorted_both(table, positions, priorities, alpha):
    table[np.sort(positions)] = np.sort(priorities) ** alpha


def _order_for_positions(table, positions, priorities, alpha):
    table[np.argsort(positions)] = priorities**alpha


def _order_backwards(table, positions, priorities, alpha):
    order = np.argsort(positions)
    table[np.sort(positions)] = priorities[np.argsort(order)] ** alpha


def _without_the_power(table, positions, priorities, alpha):
    table[positions] = priorities


def _others_forgotten(table, positions, priorities, alpha):
    table[:] = 0
    table[positions] = priorities**alpha


def _random_batch(rng, i: int) -> tuple:
    size = int(rng.integers(6, 14))
    batch = int(rng.integers(4, size))
    positions = rng.permutation(size)[:batch]
    alpha = (1.0, 0.5, 2.0)[i % 3]
    return rng.uniform(0, 2, size), positions, rng.uniform(0, 3, batch), alpha


WRITE_BACK = Question(
    number="6.11",
    title="Writing priorities back",
    points=2,
    name="write_back",
    right=write_back,
    examples=(
        (np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]), np.array([4, 0, 2]), np.array([4.0, 1.0, 9.0]), 1.0),
        (np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]), np.array([3, 5, 1, 0]), np.array([4.0, 1.0, 9.0, 2.25]), 0.5),
        (np.array([0.5, 0.5]), np.array([1, 0]), np.array([0.0, 3.0]), 2.0),
    ),
    more=lambda rng: [_random_batch(rng, i) for i in range(9)],
    mistakes={
        "priorities[i] belongs to positions[i]; who sorts one of them has to take the other along": wrong_write_back,
        "sorting both arrays, each by itself, tears the pairs apart as well": _sorted_both,
        "argsort gives places in the batch, not positions of the table": _order_for_positions,
        "sorted positions go with priorities[argsort(positions)]; here the order is applied the wrong way round": (
            _order_backwards
        ),
        "the table holds p^alpha, not p": _without_the_power,
        "positions that were not in the batch keep what they have": _others_forgotten,
    },
    in_place=True,
)


# Making targets -------------------------------------------------------------------------------------------------------


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


def _targets_with(goes_on, factor=lambda discount, left, n: discount ** np.clip(left, 0, n)):
    """A mistaken `value_targets`; goes_on(terminated, left, n) says where a value is added."""

    def mistaken(rewards, bootstrap_values, steps_left, terminated, discount, td_steps):
        positions = bootstrap_values.shape[1]
        left = steps_left[:, None] - np.arange(positions)
        adds = goes_on(terminated[:, None], left, td_steps)
        bootstrap = np.where(adds, factor(discount, left, td_steps) * bootstrap_values, 0.0)
        return sum(discount**i * rewards[:, i : i + positions] for i in range(td_steps)) + bootstrap

    return mistaken


def _goes_on(terminated, left, n):
    return ~terminated | (left > n)


def _cleared_too_late(rewards, bootstrap_values, steps_left, terminated, discount, td_steps):
    """As it is handed out, with the variable cleared behind the row rather than before it."""
    positions = bootstrap_values.shape[1]
    targets, bootstrap = np.zeros(bootstrap_values.shape), np.zeros(positions)
    for row in range(len(targets)):
        left = steps_left[row] - np.arange(positions)
        goes_on = _goes_on(terminated[row], left, td_steps)
        bootstrap[goes_on] = (discount ** np.clip(left, 0, td_steps) * bootstrap_values[row])[goes_on]
        summed = sum(discount**i * rewards[row, i : i + positions] for i in range(td_steps))
        targets[row] = summed + bootstrap
        bootstrap[~goes_on] = 0
    return targets


def _random_targets(rng) -> tuple:
    unroll, n, more = int(rng.integers(1, 3)), int(rng.integers(1, 4)), int(rng.integers(0, 3))
    # A row that goes on for long, then two that terminate within reach, to which the first could leak; a truncated one;
    # one that terminates after just n steps; and any others.
    steps_left = np.array([unroll + n + 2, 1, 1, 1, n, *rng.integers(1, unroll + n + 3, more)])
    terminated = np.array([True, True, True, False, True, *(rng.random(more) < 0.5)])
    rewards = rng.normal(size=(len(steps_left), unroll + n)) * (np.arange(unroll + n) < steps_left[:, None])
    values = rng.normal(1, 1, (len(steps_left), unroll + 1))
    return rewards, values, steps_left, terminated, float(rng.uniform(0.5, 0.95)), n


VALUE_TARGETS = Question(
    number="6.10",
    title="Targets of a batch",
    points=2,
    name="value_targets",
    right=n_step_returns,
    examples=(
        (
            np.array([[1.0, 2.0, 3.0], [4.0, 0.0, 0.0], [3.0, 0.0, 0.0]]),
            np.array([[8.0, 6.0], [2.0, 2.0], [2.0, 2.0]]),
            np.array([5, 1, 1]), np.array([True, True, True]), 0.5, 2,
        ),
        (
            np.array([[4.0, 0.0, 0.0], [1.0, 2.0, 3.0]]), np.array([[2.0, 2.0], [8.0, 6.0]]),
            np.array([1, 5]), np.array([True, True]), 0.5, 2,
        ),
        (
            np.array([[1.0, 2.0], [1.0, 2.0], [1.0, 0.0]]), np.array([[4.0, 6.0], [4.0, 6.0], [4.0, 4.0]]),
            np.array([2, 2, 1]), np.array([False, True, False]), 0.9, 1,
        ),
        (np.array([[3.0, 0.0, 0.0]]), np.array([[7.0, 7.0]]), np.array([1]), np.array([False]), 0.5, 2),
    ),
    more=lambda rng: [_random_targets(rng) for _ in range(8)],
    mistakes={
        "a row must not see what another row left behind: where it has no bootstrap, it adds 0": wrong_value_targets,
        "the variable is cleared before a row fills it; cleared behind it, the next row still sees what it held": (
            _cleared_too_late
        ),
        "a terminal end has no value: nothing is bootstrapped there": _targets_with(
            lambda terminated, left, n: np.ones(left.shape, bool)
        ),
        "only where the terminal end is within n steps is there no bootstrap; further away there is": _targets_with(
            lambda terminated, left, n: np.broadcast_to(~terminated, left.shape)
        ),
        "a truncated episode would have gone on: its end is bootstrapped": _targets_with(
            lambda terminated, left, n: left > n
        ),
        "after n steps just at the terminal end there is no bootstrap either": _targets_with(
            lambda terminated, left, n: ~terminated | (left >= n)
        ),
        "where the data end earlier, the value is discounted by the steps that are left": _targets_with(
            _goes_on, factor=lambda discount, left, n: discount**n
        ),
        "the discount of the bootstrap": _targets_with(_goes_on, factor=lambda discount, left, n: 1.0),
    },
)  # fmt: skip


# Which part of which patient ----------------------------------------------------------------------------------------

MENDED = (READ, ADD_NOISE, RECORD_STEP, VALUE_TARGETS, WRITE_BACK)
WRONG = {
    "A": wrong_read,
    "B": wrong_write_back,
    "C": wrong_add_noise,
    "D": wrong_record_step,
    "E": wrong_value_targets,
}
# P is the one to practise on.
SICK_PART = {"P": "backup"} | {letter: wrong.__name__.removeprefix("wrong_") for letter, wrong in WRONG.items()}


def diagnosis(letter):
    return SICK_PART[letter]


def _confused(**parts):
    """A mistaken `diagnosis`: for some letters another part."""
    return lambda letter: parts.get(letter, SICK_PART[letter])


DIAGNOSIS = Question(
    number="6.6",
    title="All diagnoses",
    points=2,
    name="diagnosis",
    right=diagnosis,
    examples=(("P",),),
    # A message shows what would have been right, so the letters that count are hidden ones; their order is no secret.
    more=lambda rng: [(letter,) for letter in rng.permutation(list(WRONG)).tolist()],
    mistakes={
        "where a sum of the backup is wrong, the scores that led there can be right; work the first wrong number out": (
            _confused(P="select")
        ),
        "an n-step sum can be right with rewards that are wrong: go back to where they were read": _confused(
            A="value_targets"
        ),
        "the model's rewards are right, so stored ones that do not fit were read wrongly": _confused(A="loss"),
        "p is worked out well; it is another position's p that the replay holds": _confused(B="priority"),
        "P and the weight follow from the p^alpha of the replay, which is wrong already": _confused(B="weight"),
        "the scores are right for the priors that they read; these are not the ones that Root works out": _confused(
            C="select"
        ),
        "a loss is as right as what the replay holds: the model was unrolled with an action that was never taken": (
            _confused(D="loss")
        ),
        "the episode is as it was walked, only the replay's copy is not": _confused(D="read"),
        "each loss belongs to its own row; it is a target that changes with the rows beside it": _confused(E="loss"),
    },
)

QUESTIONS = (DIAGNOSIS, *MENDED)
WRITTEN = tuple(
    WrittenQuestion(f"6.{number}", f"Patient {letter}, in words", points=2)
    for number, letter in enumerate(WRONG, start=1)
)
