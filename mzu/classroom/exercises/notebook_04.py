"""Exercises of notebook 04, Reanalyse."""

import dataclasses

import numpy as np

from mzu.classroom.question import exercise

LEFT, REST, RIGHT = range(3)
STEP = np.array([-1, 0, 1])
CELLS, LAST, DISCOUNT = 7, 6, 0.9
PAY = np.array([0.0, 0.3, -0.4, 0.6, -0.2, 0.1, 2.0])
NEXT = np.clip(np.arange(CELLS)[:, None] + STEP, 0, LAST)
REWARD = np.where(STEP == 0, 0.0, PAY[NEXT] - 0.1)
NEXT[LAST], REWARD[LAST] = LAST, 0.0
WAY = REWARD[:LAST, RIGHT]  # the rewards of walking straight through
BEST = np.append([WAY[cell:] @ DISCOUNT ** np.arange(LAST - cell) for cell in range(LAST)], 0.0)


def softmax(logits):
    weights = np.exp(logits)
    return weights / weights.sum(axis=1, keepdims=True)


# --- 1 ---


def forgotten_end(rewards, discount, end):
    """The values that are learned if the terminal state is bootstrapped from, too, by whoever
    walks straight through.

    rewards [T] of the steps from cell 0 to the last -> values [T] of the cells before the last
    one, where nothing changes any more. `end` is what the network says of the last cell; None: it
    cannot tell that cell from the one before it and says the same of both.

    >>> forgotten_end(np.array([1.0, 2.0]), 0.5, 4.0).tolist()
    [3.0, 4.0]
    """
    values = np.zeros(len(rewards))
    values[-1] = rewards[-1] / (1 - discount) if end is None else rewards[-1] + discount * end
    for cell in reversed(range(len(rewards) - 1)):
        values[cell] = rewards[cell] + discount * values[cell + 1]
    return values


def _forgotten(rewards, discount, last):
    values = np.zeros(len(rewards))
    values[-1] = last
    for cell in reversed(range(len(rewards) - 1)):
        values[cell] = rewards[cell] + discount * values[cell + 1]
    return values


def _not_the_last_round(answer, rewards, discount, end):
    """Whether another round of learning changes the values."""
    following = np.append(answer[1:], answer[-1] if end is None else end)
    change = float(np.abs(rewards + discount * following - answer).max())
    if change < 1e-6:
        return ""
    return f"another round, u + discount * (what is said of the next cell or of the end), changes one by {change:.3g}"


# --- 2 ---


def mean_z(policy, value, n):
    """The mean of z over many games of `policy` in the corridor: n rewards, then `value`.

    policy [7, 3], value [7] -> [7]. NEXT and REWARD [7, 3] and DISCOUNT are the notebook's; the
    last cell is an end, worth nothing whatever `value` says of it.

    >>> mean_z(np.full((7, 3), 1 / 3), np.zeros(7), 1).round(2).tolist()
    [0.03, -0.2, 0.23, -0.27, 0.17, 0.53, 0.0]
    """
    for _ in range(n):
        following = np.where(np.arange(CELLS) == LAST, 0.0, value)
        value = (policy * (REWARD + DISCOUNT * following[NEXT])).sum(axis=1)
    return value


def _sweeps(policy, value, n, following=lambda value: value, reduce=np.sum, discount=DISCOUNT):
    for _ in range(n):
        q = REWARD + discount * following(value)[NEXT]
        value = q.max(axis=1) if reduce is np.max else (policy * q).sum(axis=1)
    return value


def _without_end(value):
    return np.where(np.arange(CELLS) == LAST, 0.0, value)


def _first_reward_only(policy, value, n):
    rest = mean_z(policy, value, n) - mean_z(policy, 0 * value, n)
    return mean_z(policy, 0 * value, 1) + rest


def _nearly_the_mean(answer, policy, value, n):
    off = float(np.abs(answer - mean_z(policy, value, n)).max())
    return (
        f"it is off by {off:.3g}: near, but games that are played have chance in them; sweeps are exact"
        if off < 0.05
        else ""
    )


PLAYER = softmax(np.tile(0.6 * STEP, (CELLS, 1)))
BAD = softmax(np.tile(-2.0 * STEP, (CELLS, 1)))
STRAIGHT = np.eye(3)[np.full(CELLS, RIGHT)]
BLIND = np.array([1.9, 1.4, 1.0, 0.7, 0.4, 0.2, 0.5])


# --- 3 ---


def cut_return(rewards, actions, best_actions, values, discount, terminated):
    """z that stops before the first action that the best policy would not take, and bootstraps
    there.

    rewards, actions, best_actions [T], values [T + 1] of the observations, terminated: whether
    the last observation is an end, worth nothing -> a number.

    >>> cut_return([1.0, 5.0], [2, 0], [2, 2], [0.0, 3.0, 9.0], 0.5, False)
    2.5
    """
    total, factor = 0.0, 1.0
    for t, reward in enumerate(rewards):
        if actions[t] != best_actions[t]:
            return total + factor * values[t]
        total, factor = total + factor * reward, factor * discount
    return total if terminated else total + factor * values[-1]


def _cut_after(rewards, actions, best_actions, values, discount, terminated):
    total, factor = 0.0, 1.0
    for t, reward in enumerate(rewards):
        total, factor = total + factor * reward, factor * discount
        if actions[t] != best_actions[t]:
            return total + factor * values[t + 1]
    return total if terminated else total + factor * values[-1]


def _cut_with(rewards, actions, best_actions, values, discount, terminated, bootstrap):
    total, factor = 0.0, 1.0
    for t, reward in enumerate(rewards):
        if actions[t] != best_actions[t]:
            return total + bootstrap(factor, values[t])
        total, factor = total + factor * reward, factor * discount
    return total if terminated else total + factor * values[-1]


def _all_of_it(rewards, actions, best_actions, values, discount, terminated):
    return cut_return(rewards, actions, actions, values, discount, terminated)


def _never_behind_an_end(rewards, actions, best_actions, values, discount, terminated):
    cut = cut_return(rewards, actions, best_actions, values, discount, terminated)
    return cut_return(rewards, actions, best_actions, [0.0] * len(values), discount, True) if terminated else cut


def _without_those(rewards, actions, best_actions, values, discount, terminated):
    kept = [reward if done == best else 0.0 for reward, done, best in zip(rewards, actions, best_actions, strict=True)]
    return cut_return(kept, actions, actions, values, discount, terminated)


def _count_of_matches(rewards, actions, best_actions, values, discount, terminated):
    matches = int(np.sum(np.asarray(actions) == np.asarray(best_actions)))
    whole = matches == len(rewards)
    return cut_return(
        rewards[:matches], [0] * matches, [0] * matches, values[: matches + 1], discount, terminated and whole
    )


def _where_it_agrees(rewards, actions, best_actions, values, discount, terminated):
    return cut_return(rewards, np.equal(actions, best_actions), [False] * len(actions), values, discount, terminated)


def _last_step_looked_at(rewards, actions, best_actions, values, discount, terminated):
    total, factor = 0.0, 1.0
    for t, reward in enumerate(rewards):
        if actions[t] != best_actions[t]:
            break
        total, factor = total + factor * reward, factor * discount
    return total + factor * values[t]


def _argmax(rewards, actions, best_actions, values, discount, terminated):
    stop = int(np.argmax(np.asarray(actions) != np.asarray(best_actions)))
    return cut_return(rewards[:stop], actions[:stop], actions[:stop], values[: stop + 1], discount, False)


def _end_counts(rewards, actions, best_actions, values, discount, terminated):
    return cut_return(rewards, actions, best_actions, values, discount, False)


# --- 4 ---


def policy_in_cell_2(simulations):
    """Section 5 with a network that likes the left: its policy in cell 2 after 40 rounds.

    The logits begin as -0.6 * STEP in every cell, the values as toy.EARLY_VALUES; both tables go
    halfway to the mean targets of each cell. The search has so many simulations and no noise:
    dataclasses.replace(config.search, num_simulations=simulations, dirichlet_fraction=0.0)
    -> [3], to two digits

    >>> policy_in_cell_2(8).round(2).tolist()
    [1.0, 0.0, 0.0]
    """
    return reanalysed(simulations, -0.6)[2]


def reanalysed(simulations, preference, again=True, learn_value=True, value=None):
    """40 rounds of reanalyse with one batched search each -> the last policy [7, 3]."""
    from mzu.explain import toy
    from mzu.search.search import search

    system = toy.toy_system()
    cells = np.concatenate([episode.observations[:-1, 0] for episode in system.episodes]).astype(int)
    config = dataclasses.replace(system.config.search, num_simulations=simulations, dirichlet_fraction=0.0)
    policy, value = softmax(np.tile(preference * STEP, (CELLS, 1))), toy.EARLY_VALUES if value is None else value
    rng, result = np.random.default_rng(0), None
    for _ in range(40):
        if again or result is None:
            result = search(toy.SeenTable(NEXT, REWARD, np.log(policy), value), np.float32(cells)[:, None], config, rng)
        targets, values = np.full((CELLS, 3), 1 / 3), np.zeros(CELLS)
        for cell in range(LAST):
            targets[cell] = result.policy[cells == cell].mean(axis=0)
            values[cell] = result.value[cells == cell].mean()
        policy = 0.5 * policy + 0.5 * targets
        value = 0.5 * value + 0.5 * values if learn_value else value
    return policy


def _not_settled(answer, simulations):
    most = float(np.max(answer))
    if most > 0.99:
        return ""
    return (
        f"the most likely action has {most:.2f}; without noise one action has all visits in the end: is "
        "dirichlet_fraction 0, and are these 40 rounds with this number of simulations"
    )


# --- 5 ---


def right_coin(share, stored_length, fresh_length):
    """The probability per game of a stored game that gives `share` of stored positions in the
    long run.

    >>> right_coin(0.5, 10, 10)
    0.5
    """
    stored, fresh = share / stored_length, (1 - share) / fresh_length
    return stored / (stored + fresh)


# --- 6 ---


def diagnosis(flags, copies):
    """Which of three systems is it?

    flags: for some stored positions the names of the flags of mzu.explain(system, episode, step);
    copies: for the same positions how often each is in the replay
    (explanation.position["in_replay"]) -> "never_searches_again", "one_piece_for_ever" or
    "healthy"

    >>> diagnosis([[], []], [1, 1])
    'healthy'
    """
    if any("twins" in names or "root prior" in names for names in flags):
        return "never_searches_again"
    if any("stale target" in names for names in flags) and max(copies) > 1:
        return "one_piece_for_ever"
    return "healthy"


def _any(flags, *wanted):
    return any(name in names for names in flags for name in wanted)


NEVER = [["stale target", "root prior", "twins"]] * 2
ONE_PIECE = [[], ["stale target"], ["stale target"]]


EXERCISES = (
    exercise(
        "04.1",
        "Ends",
        forgotten_end,
        examples=((WAY, 0.9, 0.5), (WAY, 0.9, None), (np.array([1.0, 2.0]), 0.5, 4.0)),
        finding=_not_the_last_round,
        mistakes={
            "this is the right treatment of the end; the exercise asks what becomes of the values without it": (
                lambda rewards, discount, end: _forgotten(rewards, discount, rewards[-1])
            ),
            "the end's value is a step away, so it is discounted once": (
                lambda rewards, discount, end: _forgotten(rewards, discount, rewards[-1] + (end or 0.0))
            ),
            "where the network cannot tell the two cells apart, v = u + discount * v: solve for v": (
                lambda rewards, discount, end: _forgotten(rewards, discount, rewards[-1] + discount * (end or 0.0))
            ),
            "the error travels: each cell before the end is discount times the next one's": (
                lambda rewards, discount, end: np.append(
                    _forgotten(rewards, discount, rewards[-1])[:-1], forgotten_end(rewards, discount, end)[-1]
                )
            ),
            "the last reward in the place of the end's value is one round only: v = u + discount * v holds for ever": (
                lambda rewards, discount, end: _forgotten(
                    rewards, discount, rewards[-1] + discount * (rewards[-1] if end is None else end)
                )
            ),
            "the values of the cells before the last one are asked for, as many as there are rewards": (
                lambda rewards, discount, end: np.append(
                    forgotten_end(rewards, discount, end), rewards[-1] / (1 - discount) if end is None else end
                )
            ),
        },
        hints=(
            "Begin with the last cell before the end, v = u + discount * (what is said of the end), and go left.",
            "With None the same v stands on both sides: v = u + discount * v.",
        ),
        because="(a) Every cell is too high by 0.5 * discount**d, d its distance from the end; nothing ever corrects "
        "it. (b) v = 1.9 / (1 - 0.9) = 19: the goal seems to pay again and again. A real network is close to (b).",
    ),
    exercise(
        "04.2",
        "A wrong model",
        mean_z,
        examples=((PLAYER, BLIND, 5), (BAD, BEST, 5), (STRAIGHT, BLIND, 1), (STRAIGHT, BEST, 5)),
        finding=_nearly_the_mean,
        mistakes={
            "the last cell is an end: nothing follows, whatever the table says of it": (
                lambda policy, value, n: _sweeps(policy, value, n)
            ),
            "z is about what the player does, not about the best action": (
                lambda policy, value, n: _sweeps(policy, value, n, _without_end, np.max)
            ),
            "the discount, at every step": lambda policy, value, n: _sweeps(
                policy, value, n, _without_end, discount=1.0
            ),
            "n rewards, and the value only behind them": (
                lambda policy, value, n: _sweeps(policy, value, n + 1, _without_end)
            ),
            "a reward k steps later counts discount**k; only the value at the end was discounted": (
                lambda policy, value, n: (
                    _sweeps(policy, 0 * value, n, _without_end, discount=1.0)
                    + mean_z(policy, value, n)
                    - mean_z(policy, 0 * value, n)
                )
            ),
            "the player takes every action as often as its policy says, not the likeliest one always": (
                lambda policy, value, n: mean_z(np.eye(3)[policy.argmax(axis=1)], value, n)
            ),
            "n rewards, one in each sweep": lambda policy, value, n: mean_z(policy, _without_end(value), n - 1),
            "every one of the n steps is paid, not the first alone": _first_reward_only,
        },
        hints=(
            "One reward and then the table: (policy * (REWARD + DISCOUNT * following[NEXT])).sum(axis=1).",
            "`following` is the table with 0 at the last cell. Do that n times.",
        ),
        because="z adds up what was really paid, so the best player's data are right in every cell, whatever the model "
        "believes, and the bad player's are about 1 too low. The search value believes the model: with 4 in the last "
        "cell it is up to 1.7 too high. The model gets better with training; the player in the data stays as it is.",
    ),
    exercise(
        "04.3",
        "Cut where the player errs",
        cut_return,
        examples=(
            ([0.2, -0.5, 0.5], [2, 2, 0], [2, 2, 2], [1.0, 0.9, 1.6, 1.2], 0.9, False),
            ([0.0, 1.9], [2, 2], [2, 2], [1.7, 1.9, 0.5], 0.9, True),
            ([1.0, 2.0], [2, 2], [2, 2], [0.0, 3.0, 4.0], 0.5, False),
            ([7.0], [0], [2], [3.0, 5.0], 0.9, False),
            ([0.2, 0.4, 3.0, 1.0], [2, 0, 2, 2], [2, 2, 2, 2], [1.0, 2.0, 0.5, 0.3, 4.0], 0.5, False),
            ([0.5, -0.3, 1.9], [2, 0, 2], [2, 2, 2], [1.6, 1.2, 1.9, 0.5], 0.9, True),
        ),
        mistakes={
            "stop before the action that the best policy would not take; its reward does not belong to the sum": (
                _cut_after
            ),
            "the bootstrap value is as many steps away as there are rewards in the sum, and is discounted as often": (
                lambda *given: _cut_with(*given, bootstrap=lambda factor, value: value)
            ),
            "after the cut the table speaks for the rest; add its value of the position where the sum stops": (
                lambda *given: _cut_with(*given, bootstrap=lambda factor, value: 0.0)
            ),
            "the sum goes on behind a wrong action: compare actions with best_actions": _all_of_it,
            "a terminal end is worth nothing": _end_counts,
            "`terminated` is about the last observation: a sum that stops before it asks the table all the same": (
                _never_behind_an_end
            ),
            "behind the first wrong action nothing counts, whichever actions come later": _without_those,
            "np.argmax gives 0 where no action is wrong; then the sum goes to the end": _argmax,
            "the first action that is not the best one ends the sum, however many agree behind it": _count_of_matches,
            "the sum goes on while the action is the best one, and stops where it is not": _where_it_agrees,
            "where no action is wrong the sum holds "
            "all rewards, and the bootstrap is from the last observation, if that is no end": _last_step_looked_at,
        },
        hints=(
            "Walk through the steps with a running factor, as n_step_return of section 2 does.",
            "At each step look first: is this action the best one? If not, add factor * values[t] and stop.",
        ),
        because="With a perfect table every such z is the best value, whoever played. The price: of the bad player's "
        "data nothing is left, 0.01 rewards on average, and one must know the best policy to know where to cut.",
    ),
    exercise(
        "04.4",
        "Stuck",
        policy_in_cell_2,
        uses=(reanalysed,),
        examples=((12,), (16,), (24,), (32,), (48,)),
        tolerance=0.02,
        finding=_not_settled,
        mistakes={
            "the network begins with a preference for the left, logits of -0.6 * STEP; from even priors the search "
            "needs fewer simulations": lambda simulations: reanalysed(simulations, 0.0)[2],
            "every round searches again; with the first targets for ever nothing turns round": (
                lambda simulations: reanalysed(simulations, -0.6, again=False)[2]
            ),
            "the values learn, too: only so the goal's value travels to the left": (
                lambda simulations: reanalysed(simulations, -0.6, learn_value=False)[2]
            ),
            "the values begin as toy.EARLY_VALUES, high on the left; with the best ones the search is not misled": (
                lambda simulations: reanalysed(simulations, -0.6, value=BEST)[2]
            ),
            "it goes right from the start; "
            "the logits begin as -0.6 * STEP, a preference for the left, and cell 2 is asked for": lambda simulations: (
                reanalysed(simulations, 0.6)[2]
            ),
            "the "
            "search makes as many simulations as the argument says: num_simulations=simulations": lambda simulations: (
                reanalysed(16, -0.6)[2]
            ),
        },
        hints=(
            "All of it stands in section 5; only the first logits and the number of simulations change.",
            "toy.SeenTable(NEXT, REWARD, np.log(policy), value) is a network, search(...) takes all stored cells at "
            "once: np.float32(stored_cells)[:, None].",
        ),
        because="With 16 and 24 simulations the policy ends on the left, with 32 on the right. An action with a small "
        "prior needs many visits of its parent before its turn comes, four times in a row here. What the search has "
        "not seen it does not put into the targets: Reanalyse improves what its search can see.",
    ),
    exercise(
        "04.5",
        "The right coin",
        right_coin,
        examples=((0.8, 8, 40), (0.5, 20, 5), (0.95, 30, 30)),
        mistakes={
            "a share of positions is not a share of games: a longer kind of game must be drawn less often": (
                lambda share, stored_length, fresh_length: share
            ),
            "the lengths the other way round: divide each share by the length of its own games": (
                lambda share, stored_length, fresh_length: (
                    share * stored_length / (share * stored_length + (1 - share) * fresh_length)
                )
            ),
            "the two probabilities have to add up to 1: share / length against (1 - share) / length": (
                lambda share, stored_length, fresh_length: min(share * fresh_length / stored_length, 1.0)
            ),
            "share / length against (1 - share) / length "
            "are odds; a probability is one of them divided by their sum": lambda share, stored_length, fresh_length: (
                share * fresh_length / ((1 - share) * stored_length)
            ),
        },
        hints=(
            "With a coin c, a game brings c * stored_length stored positions on average, and how many fresh ones?",
            "c * stored / (c * stored + (1 - c) * fresh) = share. Solve for c.",
        ),
        because="For 0.8, 8 and 40 it is 20/21. In the long run that is right, but the long run is long, and the coin "
        "must know the lengths of games in advance. The library's controller measures both.",
    ),
    exercise(
        "04.6",
        "Two illnesses, one flag",
        diagnosis,
        examples=(
            (NEVER, [1, 1]),
            (ONE_PIECE, [5, 1, 1]),
            ([[], []], [1, 1]),
            ([["stale target"], []], [1, 1]),
            ([[], []], [3, 3]),
        ),
        mistakes={
            "a stale target alone is no illness: the replay may hold what an older network found": (
                lambda flags, copies: (
                    "never_searches_again"
                    if _any(flags, "twins", "root prior")
                    else "one_piece_for_ever"
                    if _any(flags, "stale target")
                    else "healthy"
                )
            ),
            "both raise `stale target`; whether the search of now is an old one, `twins` and `root prior` say": (
                lambda flags, copies: "never_searches_again" if _any(flags, "stale target") else "healthy"
            ),
            "the copies: one piece is in the replay many times, it is what the player has been searching; the others "
            "are stale": (
                lambda flags, copies: "never_searches_again" if _any(flags, "twins", "root prior") else "healthy"
            ),
            "copies alone are no illness, a healthy replay holds pieces more than once, too; the others are stale": (
                lambda flags, copies: "one_piece_for_ever" if max(copies) > 1 else diagnosis(flags, copies)
            ),
            "flags has a list of names for each position: look into each of them": lambda flags, copies: "healthy",
        },
        hints=(
            'Print the flags of some positions of bugs.planted("never_searches_again") and of the other.',
            "In one of them the search made now is itself an old one, and two checks beside `stale target` notice.",
            'In the other look at explanation.position["in_replay"] of different pieces.',
        ),
        because="Where nothing is ever searched again, `twins` and `root prior` are flagged at every position. With "
        "one piece for ever a search of now is as it should be; one piece is in the replay five times and fresh, all "
        "others once and stale.",
    ),
)
