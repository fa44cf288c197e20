# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 04. Reanalyse
#
# ← [03 Search](03_search.ipynb) · [the course](README.md) · [05 Sampled actions](05_sampled_actions.ipynb) →
#
# ![Where this notebook stands in the circle of data: episodes, games](pictures/circle_04.svg)
#
# | | |
# |---|---|
# | **You will build** | n-step returns with every kind of end; a stored game that is searched again and never leaves its track; the loop in which targets, tables and searches improve each other; the controller of the reanalyse fraction, and the buffers that stored games are drawn from |
# | **Lives in** | `mzu/replay/returns.py`, `mzu/learning/targets.py`; `mzu/games/stored_game.py`, `mzu/games/searches.py`; `mzu/reanalyse/fraction.py`, `mzu/reanalyse/buffers.py`; what explains a target: `mzu/explain/explanation.py` |
# | **Takes** | under a minute to run on two cores; plan two hours to work through, two more for the exercises |
# | **You need** | notebook 01 (values, lookahead) and the idea of notebook 03: a search returns visit counts and a value |
#
# A game was played, by somebody, some time ago. What can be learned from it today? The record says
# what was seen ($o$), done ($a$) and earned ($u$), and that never changes. But what a network
# should *learn* from it, a policy $\pi$ and a value $z$ for each position, are not in the record:
# they are made. The paper's section "Reanalyse" makes them again and again, by searching the stored
# positions with the network of *today*: better predictions, better searches, better targets, "a
# virtuous cycle of improvement". This notebook makes all targets by hand, in a world so small that
# we know what they should be.

# %%
import os

FAST = os.environ.get("MZU_FAST") == "1"  # the test suite's short version

import dataclasses

import matplotlib.pyplot as plt
import numpy as np

import mzu.explain
from mzu.explain import bugs, toy
from mzu import search
from mzu.plots.worlds import draw_episodes

plt.style.use("tableau-colorblind10")
plt.rcParams.update({"figure.constrained_layout.use": True, "axes.grid": True, "grid.alpha": 0.3})
np.set_printoptions(precision=2, suppress=True)

# %% [markdown]
# ## 1. A corridor and three stored episodes
#
# Seven cells in a row. Actions: one cell to the left (0), rest (1), one to the right (2). Whoever
# moves gets what lies in the cell that is reached, less a tenth for the effort. In the last cell
# lies 2, and there the episode ends: whatever one does, one stays and earns nothing more.

# %%
STEP = np.array([-1, 0, 1])
LEFT, REST, RIGHT = range(3)
PAY = np.array([0.0, 0.3, -0.4, 0.6, -0.2, 0.1, 2.0])
CELLS, LAST, DISCOUNT = 7, 6, 0.9

NEXT = np.clip(np.arange(CELLS)[:, None] + STEP, 0, LAST)  # [S, A]
REWARD = np.where(STEP == 0, 0.0, PAY[NEXT] - 0.1)
NEXT[LAST], REWARD[LAST] = LAST, 0.0


def policy_value(policy):
    """policy [S, A] -> its value in every cell [S], exactly (notebook 01, section 2)."""
    transition = (policy[:, :, None] * np.eye(CELLS)[NEXT]).sum(axis=1)
    return np.linalg.solve(np.eye(CELLS) - DISCOUNT * transition, (policy * REWARD).sum(axis=1))


BEST = np.zeros(CELLS)
for _ in range(200):
    BEST = (REWARD + DISCOUNT * BEST[NEXT]).max(axis=1)
best_policy = np.eye(3)[(REWARD + DISCOUNT * BEST[NEXT]).argmax(axis=1)]
assert np.allclose(policy_value(best_policy), BEST), (
    "the value of the best policy should be the fixed point that we found"
)
print("value of the best policy, cell by cell:", BEST)
print("its actions:", [["left", "rest", "right"][a] for a in best_policy[:LAST].argmax(axis=1)])

# %% [markdown]
# On the way to the goal small gains and losses alternate: 0.2, -0.5, 0.5, -0.3, 0, and then 1.9. The
# best policy walks straight through. This corridor is also a small `System` of the library's
# package `mzu.explain`: tables in the place of networks, three stored episodes, and a replay.

# %%
system = toy.toy_system()
config, episodes = system.config, system.episodes
assert np.array_equal(system.model.next_state, NEXT), (
    "the corridor of mzu.explain has other steps than ours"
)
assert np.allclose(system.model.reward, REWARD), (
    "the corridor of mzu.explain has other rewards than ours"
)

for number, episode in enumerate(episodes):
    end = "terminated" if episode.terminated else "truncated"
    cells = episode.observations[:, 0].astype(int)
    print(f"episode {number}: {len(episode):2} steps, {end:10}, cells {cells}")

# %% [markdown]
# There is every kind of end. Episodes 0 and 2 are **terminated**: they reach the last cell, after
# which nothing can happen. Episode 1 is **truncated**: a time limit cut it off in cell 3, and more
# would have followed. And episode 0 is longer than a **segment**. The replay holds pieces of at
# most 4 positions here (500 in the paper, "Other Hyperparameters"); behind each piece it keeps a
# *tail* of some more steps, so that targets near its end can look ahead.

# %%
figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), sharey=True,
                            width_ratios=[len(episode) + 3 for episode in episodes])
draw_episodes(axes, episodes, segment_length=4)
figure.suptitle("The stored episodes, with rewards; dashed: where a segment ends")
plt.show()

# %% [markdown]
# ## 2. n-step returns, by the double loop
#
# The value target of the paper's loss is $z$, "an n-step return": add up $n$ stored rewards, and
# let a value function speak for all that comes later (appendix "Value Learning": $n = 5$ in Atari),
#
# $$z_t = u_{t+1} + \gamma u_{t+2} + \dots + \gamma^{n-1} u_{t+n} + \gamma^n\, v^-(o_{t+n}).$$
#
# $u_{t+1}$ is the reward that follows action $a_t$; in the code it is `rewards[t]`. $v^-$ is the
# *target network*, a copy of the network that is renewed only from time to time (every 100 steps in
# the paper), so that the target does not run away from whoever follows it. Here it is a table.
#
# What if the episode has fewer than $n$ steps left? That depends on *how* it ends:
#
# * **terminated**: no reward follows, and the last state is worth nothing, *whatever $v^-$ says
#   about it*. Nothing is added.
# * **truncated**: the rewards stop, but the world did not. Ask $v^-$ about the last observation
#   that there is, fewer than $n$ steps away.

# %%
TARGET_VALUE = toy.TARGET_VALUES  # about right, but it does not know that the last cell ends it all
print("v-:", TARGET_VALUE)


def n_step_return(episode, t, n, value):
    """z at step t: up to n rewards, then `value` [S] of the cell reached, unless that is an end."""
    total, position, factor = 0.0, t, 1.0
    while position < len(episode) and position < t + n:
        total += factor * episode.rewards[position]
        position, factor = position + 1, factor * DISCOUNT
    if not (position == len(episode) and episode.terminated):
        total += factor * value[int(episode.observations[position, 0])]
    return total


for t in (0, 9, 10):
    print(f"episode 0, step {t:2}: z = {n_step_return(episodes[0], t, 2, TARGET_VALUE):.3f}")
print(f"episode 1, step  5: z = {n_step_return(episodes[1], 5, 2, TARGET_VALUE):.3f}")

# %% [markdown]
# By hand. Episode 0, step 0: rewards 0.2 and -0.5 (from cell 0 over 1 to 2), where $v^- = 1.2$:
# $0.2 - 0.45 + 0.81 \cdot 1.2 = 0.722$. Step 9: 0 and 1.9, then the end: $0 + 0.9 \cdot 1.9 =
# 1.71$, and the 0.5 that $v^-$ says of the last cell is left out. Step 10: only 1.9. Episode 1,
# step 5, is the last one before the cut: reward 0.5, and one step later $v^-(3) = 1.2$ with *one*
# discount: $0.5 + 0.9 \cdot 1.2 = 1.58$.

# %%
assert np.isclose(n_step_return(episodes[0], 0, 2, TARGET_VALUE), 0.2 - 0.45 + 0.81 * 1.2), (
    "step 0: two rewards, 0.2 and -0.5, and 1.2 after two discounts"
)
assert np.isclose(n_step_return(episodes[0], 9, 2, TARGET_VALUE), 0.9 * 1.9), (
    "step 9: the episode ends after two rewards, and nothing is added"
)
assert np.isclose(n_step_return(episodes[0], 10, 2, TARGET_VALUE), 1.9), (
    "step 10: one reward is left, and then the end"
)
assert np.isclose(n_step_return(episodes[1], 5, 2, TARGET_VALUE), 0.5 + 0.9 * 1.2), (
    "episode 1, step 5: one reward is left, and the bootstrap has one discount, not two"
)

# %% [markdown]
# The library's `n_step_returns` does a batch of rows at once, without loops over positions. One row
# is a stretch of positions of an episode, $t, t + 1, \dots$, each with its own $z$. It wants the rewards (zeros
# behind the end), for each position the value $n$ steps later or at the last observation, and how the data
# end. We give it every episode as one row, for several $n$.

# %%
from mzu.replay.returns import n_step_returns


def by_library(episode, n, value):
    """z of all steps of an episode, as one row of the library's function."""
    steps = len(episode)
    rewards = np.concatenate([episode.rewards, np.zeros(n)])[None]
    reached = np.minimum(np.arange(steps) + n, steps)
    bootstrap = value[episode.observations[reached, 0].astype(int)][None]
    ends = np.array([steps]), np.array([episode.terminated])
    return n_step_returns(rewards, bootstrap, *ends, DISCOUNT, n)[0]


for episode in episodes:
    for n in (1, 2, 5, 20):
        ours = [n_step_return(episode, t, n, TARGET_VALUE) for t in range(len(episode))]
        assert np.allclose(ours, by_library(episode, n, TARGET_VALUE)), (
            f"n = {n}: our returns differ from the library's: is it the end, or the discount?"
        )
print("equal for all steps, all episodes and n = 1, 2, 5, 20")

# %% [markdown]
# ### Masks: which targets exist
#
# In training the model is unrolled: from the observation at $t$ it predicts rewards, values and
# policies at $t, t + 1, \dots, t + U$ (here $U = 2$), and each prediction needs its target. Near an
# end some do not exist. For position $t + k$:
#
# | where is $t + k$? | reward | value | policy |
# |---|---|---|---|
# | inside the segment | $u$ | $z$ | $\pi$ |
# | behind the segment, the episode goes on | $u$ | $z$ | masked: it is not searched here |
# | behind a terminal end | 0 | 0 | masked: there is nothing to decide |
# | behind a truncated end | masked | masked | masked: unknown |
#
# The third row is worth a second look. Behind a terminal end the model *is* trained, towards
# nothing happening: an *absorbing* state. A search runs past the end of a game without noticing,
# and should find nothing there.
#
# `make_targets` is what the learner calls. A position of the replay has a number: segment times
# segment length plus place. We type what should be expected of each position and compare.

# %%
from mzu.learning.targets import make_targets
from mzu.replay.segment import split_lengths

UNROLL, N = config.learning.unroll_steps, config.learning.td_steps
LENGTH = config.replay.segment_length
assert (UNROLL, N, LENGTH) == (2, 2, 4), (
    "the numbers below are for unroll 2, n = 2 and segments of 4"
)


def expected_targets(episode, t, k, segment_end):
    """(reward, its mask), (value, its mask), mask of the policy at t + k."""
    if t + k < len(episode):
        z = n_step_return(episode, t + k, N, TARGET_VALUE)
        return (episode.rewards[t + k], 1), (z, 1), int(t + k < segment_end)
    known = int(episode.terminated)
    return (0, known), (0, known), 0


segments = [(number, start, stop) for number, episode in enumerate(episodes)
            for start, stop in split_lengths(len(episode), LENGTH)]
where = {(number, t): LENGTH * place + t - start
         for place, (number, start, stop) in enumerate(segments) for t in range(start, stop)}
segment_end = {(number, t): stop for number, start, stop in segments for t in range(start, stop)}

batch = system.replay.at(np.array(list(where.values())), np.random.default_rng(0))
targets = make_targets(batch, config, lambda seen: TARGET_VALUE[seen[..., 0].astype(int)])
for row, (number, t) in enumerate(where):
    for k in range(UNROLL + 1):
        stop = segment_end[number, t]
        reward, value, policy_mask = expected_targets(episodes[number], t, k, stop)
        if k < UNROLL:
            assert targets.reward_mask[row, k] == reward[1], (
                f"episode {number}, step {t} + {k}: a reward target exists here and not there"
            )
            assert not reward[1] or np.isclose(targets.rewards[row, k], reward[0]), (
                f"episode {number}, step {t} + {k}: the reward target is another one"
            )
        assert targets.value_mask[row, k] == value[1], (
            f"episode {number}, step {t} + {k}: a value target exists here and not there"
        )
        assert not value[1] or np.isclose(targets.values[row, k], value[0]), (
            f"episode {number}, step {t} + {k}: the value target is another one"
        )
        assert targets.policy_mask[row, k] == policy_mask, (
            f"episode {number}, step {t} + {k}: only positions of the segment have a policy target"
        )
print(f"{len(where)} positions x {UNROLL + 1} unrolled steps: all targets and masks are equal\n")

print("position               value targets         value mask  policy mask")
for at in ((0, 2), (0, 9), (0, 10), (1, 4), (1, 5)):
    row = list(where).index(at)
    shown = " ".join(f"{z:6.2f}" if mask else "     -"
                     for z, mask in zip(targets.values[row], targets.value_mask[row], strict=True))
    masks = f"{targets.value_mask[row]}  {targets.policy_mask[row]}"
    print(f"episode {at[0]}, step {at[1]:2}  {shown}  {masks}")

# %% [markdown]
# Step 2 of episode 0 shows the border of a segment: position 4 has a value target, because the tail
# brings its rewards along, and no policy target. Steps 9 and 10 show the terminal end with its
# zeros, episode 1 the truncated end with its gaps.

# %% [markdown]
# ## 3. What each target knows
#
# There is a second choice for $z$. The search, too, returns a value: the mean $\nu$ of all that it
# backed up to the root. The appendix "Value Learning" uses it for DM Control, "0-step TD": $z_t =
# \nu_t$, no stored reward at all. (`td_steps = 0` in the library.) Which one is better? Each knows
# something that the other does not.
#
# * $z$ with $n$ steps knows the **true rewards** of what really happened. It does not know what
#   would have happened under another policy than the one that played.
# * $\nu$ knows **what the model says** about any action, for today's policy. It does not know the
#   truth.
#
# Take the first kind apart. Let the data come from the policy $\mu$ whose value we want. The mean
# of $z$ over many such games can be computed exactly: $n$ sweeps with $\mu$'s rewards and
# transitions, started from $v^-$. As in notebook 01, a sweep shrinks the error,
#
# $$\mathbb E[z_t] - v_\mu = (\gamma P_\mu)^n\,(v^- - v_\mu),$$
#
# so the **bias** dies out in the end. (The largest error of all cells shrinks with every sweep; that of one
# cell may grow at first.) But each further reward brings its own chance with it: the **spread** of $z$ goes
# from that of one reward to that of a whole game's return, and may be larger on the way. We check both with
# played games, once with a blank $v^-$ that says 0 everywhere, and once with a good one.


# %%
def softmax(logits):
    weights = np.exp(logits)
    return weights / weights.sum(axis=1, keepdims=True)


def sweep(policy, value):
    """One step of expectation under a policy: value [S] -> [S]. The last cell is worth nothing."""
    following = np.where(np.arange(CELLS) == LAST, 0.0, value)
    return (policy * (REWARD + DISCOUNT * following[NEXT])).sum(axis=1)


def play(policy, cell, steps, games, rng):
    """Many games at once -> cells [games, steps + 1], rewards [games, steps]."""
    cells, rewards = [np.full(games, cell)], []
    for _ in range(steps):
        draw = rng.random(games)[:, None]
        actions = (draw > policy[cells[-1]].cumsum(axis=1)).sum(axis=1)
        rewards.append(REWARD[cells[-1], actions])
        cells.append(NEXT[cells[-1], actions])
    return np.stack(cells, axis=1), np.stack(rewards, axis=1)


agent = softmax(np.tile(0.6 * STEP, (CELLS, 1)))  # goes right a little more often than left
START, LONGEST, GAMES = 2, 16, 2000 if FAST else 20_000
tables = {"blank": np.zeros(CELLS), "good": policy_value(agent) + 0.1 * np.cos(np.arange(CELLS))}

cells, rewards = play(agent, START, LONGEST, GAMES, np.random.default_rng(0))
truth = policy_value(agent)[START]
figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True)
root_mean_square = {}
for ax, (name, table) in zip(axes, tables.items(), strict=True):
    exact, bias, spread = table, [], []
    for n in range(1, LONGEST + 1):
        exact = sweep(agent, exact)
        last = np.where(cells[:, n] == LAST, 0.0, table[cells[:, n]])
        z = rewards[:, :n] @ DISCOUNT ** np.arange(n) + DISCOUNT**n * last
        assert abs(z.mean() - exact[START]) < 5 * z.std() / np.sqrt(GAMES), (
            f"n = {n}: the played games and the exact mean disagree"
        )
        bias.append(abs(exact[START] - truth))
        spread.append(z.std())
    root_mean_square[name] = np.hypot(bias, spread)
    steps = range(1, LONGEST + 1)
    ax.plot(steps, bias, "o--", label="bias: distance of the mean from the truth")
    ax.plot(steps, spread, "s-.", label="spread (standard deviation) of z")
    ax.plot(steps, root_mean_square[name], "k-", linewidth=2, label="both: root mean square error")
    ax.set(xlabel="rewards in the sum, n", title=f"a {name} value table $v^-$")
axes[0].set(ylabel=f"error of z in cell {START}", ylim=(0, None))
axes[1].legend(fontsize=8)
plt.show()
print({name: f"best n: {1 + errors.argmin()}" for name, errors in root_mean_square.items()})

# %% [markdown]
# On the left the bias is most of the error at first: a blank table and one to three rewards know nothing
# of the goal, and what they meet on the way makes it worse (0.67, then 0.75). The spread is largest
# around $n = 8$, where about half of the games have reached the goal and the others still count as 0;
# with longer sums nearly all have, and it sinks from 0.64 to 0.50, towards the 0.45 of a whole game's return. On
# the right each further reward adds more chance than knowledge, the spread only grows, up to the same
# 0.45, and the shortest sum is the best. So there is no
# best $n$ as such: it depends on how good $v^-$ is, and $v^-$ gets better while one trains. $n$ is
# a setting, 5 in the paper's Atari.
#
# ### Data of another player
#
# All this was for data of the policy whose value we want. Stored data are not like that: they were
# played by an older self, or by somebody else. The sum of $n$ rewards then belongs to *that*
# player. The bias no longer dies out as $n$ grows, it grows: after many steps $z$ is the value of
# the player in the data. To see this error alone, we give $v^-$ the best values, without any
# mistake, and ask for the best value.

# %%
bad = softmax(np.tile(-2.0 * STEP, (CELLS, 1)))  # goes left nearly always
players = {"the best player": (best_policy, "^-"), "the agent": (agent, "o--"),
           "a bad player": (bad, "s-.")}
colours = ["C0", "C1", "C5"]
# A TabularModel whose observations are [cell]: the agent's policy, the best values.
perfect = toy.SeenTable(NEXT, REWARD, np.log(agent), BEST)
rng = np.random.default_rng(1)
nu = [search(perfect, np.float32([[START]]), config.search, rng).value[0] for _ in range(100)]

figure, ax = plt.subplots(figsize=(9.5, 4))
drift = {}
for (name, (player, style)), colour in zip(players.items(), colours, strict=True):
    drift[name] = [BEST]
    for _ in range(LONGEST):
        drift[name].append(sweep(player, drift[name][-1]))
    drift[name] = np.array(drift[name])[:, START]
    ax.plot(drift[name], style, color=colour, label=f"mean of z, data of {name}")
    if player is not best_policy:
        ax.axhline(policy_value(player)[START], color=colour, linewidth=1)
ax.axhspan(np.mean(nu) - np.std(nu), np.mean(nu) + np.std(nu), color="C4", alpha=0.5,
           label=r"search value $\nu$, whoever played")
ax.axhline(BEST[START], color="black", linestyle=":", label="the best value")
ax.set(xlabel="rewards in the sum, n", ylabel=f"value target in cell {START}", ylim=(-1, 1.9),
       title="Perfect bootstrap values: each reward of the data pulls towards its player")
ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()
print(f"n = 5: best {drift['the best player'][5]:.2f}, agent {drift['the agent'][5]:.2f}, "
      f"bad {drift['a bad player'][5]:.2f}; search {np.mean(nu):.2f} +- {np.std(nu):.2f}")

# %% [markdown]
# The thin lines are the players' own values, to which their curves go. For the best player's data
# every $n$ is right. For the agent's, five rewards make 1.19 of 1.62; for the bad player's 0.57,
# and nobody who follows the best policy would ever do what these sums describe. The search value
# does not ask who played: $1.53 \pm 0.04$, where the spread comes from the noise at the root. It
# lies a little too low, because it is a mean over all simulations, also those that only explored.
#
# So is $\nu$ the better target? Here it has a perfect model; section 10 of notebook 01 shows what a
# search believes with a wrong one, and exercise 2 goes on from there. The paper found both answers
# ("Value Learning"): in DM Control it takes $\nu$, which does not depend on the trajectory and
# prevents overfitting where data are few. In Atari the 5-step sum was better, even when the agent may play
# only 20 million frames (a tenth of the usual 200) and nearly all targets are reanalysed ones. It makes no correction for other players'
# data.

# %%
assert np.allclose(drift["the best player"], BEST[START]), (
    "the best player's sums should be right for every n"
)
assert np.all(np.diff(drift["a bad player"][:6]) < 0), (
    "each reward of the bad player should pull the mean further down"
)
assert abs(np.mean(nu) - BEST[START]) < abs(drift["a bad player"][1] - BEST[START]), (
    "the search value should be nearer to the truth than one reward of the bad player"
)

# %% [markdown]
# ## 4. A stored game
#
# Now the policy target $\pi$ and the value $\nu$. Algorithm 1 of the paper in this notebook's
# words:
#
# | the paper | here |
# |---|---|
# | $t \sim \mathrm{random}(1:T)$ | a piece of a stored episode is drawn (section 6), later a position of it from the replay |
# | $\pi, \nu = \mathrm{improve}(\mathrm{representation}(o_{1:t+i}))$ | `search` at each position of the piece |
# | $p, v = \mathrm{predict}$; $r, s = \mathrm{dynamics}$; loss; optimise | the learner, notebook 07; in section 5 below, halfway to the target |
#
# "During reanalysis, no actions are selected", says the paper. The walk goes where the stored
# episode went. What the search would have liked to do is *recorded*, as the policy target, and
# never *done*: nobody knows which reward it would have brought. (Only the model has an opinion.) So
# a stored game is a short loop. (In the table above $o_{1:t+i}$ is all that was seen up to step $t + i$, the
# $i$-th of the unrolled ones; one observation says it all here.)

# %%
from mzu.search.tree import ROOT


def reanalyse(piece, model, rng):
    """Searches the stored positions of a piece -> policies [L, A], search values [L]."""
    policies, values = [], []
    for t in range(piece.length):
        result = search(model, piece.observations[t][None], config.search, rng)
        policies.append(result.visits[0] / result.visits[0].sum())
        values.append(result.value[0])
        # And on to t + 1, where the stored action led, whatever the visits say.
    return np.array(policies), np.array(values)


piece = system.game(episode=0, step=4).piece  # the second segment: positions 4..7, and a tail
policies, values = reanalyse(piece, system.model, np.random.default_rng(0))
print("step  cell  stored action  shares of left, rest, right    nu")
for t in range(piece.length):
    action = ["left", "rest", "right"][piece.actions[t]]
    cell = int(piece.observations[t, 0])
    print(f"{t + 4:4}  {cell:4}  {action:>13}  {policies[t]!s:>27}  {values[t]:4.2f}")

# %% [markdown]
# Steps 5 and 6 are in the same cell, and their rows differ: each search has noise of its own at the root.
#
# One more number is recorded: a first priority, by which the replay will choose (notebook 07). It
# is $|\nu - z|$, how much the search and the data disagree. For lack of anything newer, $z$ is
# bootstrapped from the search value $n$ steps later, or from the last one of the piece. The double
# loop again:


# %%
def priorities(piece, values):
    """|nu - z| of each position of a piece."""
    result = []
    for t in range(piece.length):
        z, left = 0.0, len(piece.rewards) - t
        for i in range(min(N, left)):
            z += DISCOUNT**i * piece.rewards[t + i]
        if not (piece.terminated and left <= N):
            z += DISCOUNT ** min(N, left) * values[min(t + N, piece.length - 1)]
        result.append(abs(values[t] - z))
    return np.array(result)


# %% [markdown]
# The library's `StoredGame` looks like a fresh game to whoever plays it: it shows an `observation`,
# and one may `take` an action, which it ignores. Its `Searches` keep what the searches found,
# until the piece is complete and becomes a `Segment` for the replay. So fresh and stored games can
# sit side by side in one batch, and the search need not know which is which. We play all pieces
# both ways, with the same random numbers.

# %%
from mzu.games.stored_game import StoredGame


def play_stored_game(piece, model, rng):
    """-> the segment, and how often the search preferred another action than the stored one."""
    game, differs = StoredGame(piece, config), 0
    while not game.finished:
        result = search(model, game.observation[None], config.search, rng)
        preferred = int(result.visits[0].argmax())
        differs += preferred != game.action
        raw_value = result.tree.nodes["raw_value"][0, ROOT]  # the network's own, before the search
        game.take(preferred, np.float32(result.policy[0]), None, result.value[0], raw_value)
    (segment,) = game.pop_segments()
    return segment, differs


total = 0
for number, start, _ in segments:
    piece = system.game(number, start).piece
    policies, values = reanalyse(piece, system.model, np.random.default_rng([number, start]))
    game_rng = np.random.default_rng([number, start])
    segment, differs = play_stored_game(piece, system.model, game_rng)
    assert np.array_equal(segment.search_policy, np.float32(policies)), (
        "the segment's policies are not those of our searches"
    )
    assert np.array_equal(segment.search_value, np.float32(values)), (
        "the segment's values are not those of our searches"
    )
    assert np.allclose(segment.priorities, priorities(piece, values), atol=1e-6), (
        "the priorities are |nu - z|, with z bootstrapped from the search value n steps later"
    )
    assert np.array_equal(segment.actions, piece.actions), (
        "a stored game must keep its stored actions, whatever the search prefers"
    )
    total += differs
print(f"{len(segments)} pieces, {len(where)} positions: policies, values and priorities are equal")
print(f"at {total} positions the search preferred another action; none of them was taken")
assert total > 0, "nowhere the search preferred another action: then nothing was shown"

# %% [markdown]
# ## 5. The same position, better and better networks
#
# The paper: Reanalyse "can be repeatedly applied to the same state to generate better and better
# training targets". Let us watch. The data stay as they are: three episodes, 19 positions. The
# network is a pair of tables, and at the start it knows less than nothing: a uniform policy, and
# values that are high on the left and low near the goal. A round of reanalyse searches all stored
# positions. Then the tables go halfway towards the targets: the policy to the mean $\pi$ of each
# cell, the value to the mean $\nu$, and the value of the terminal cell to 0 (the absorbing state of
# section 2). The model's moves and rewards are right all the time, so that we see policy and value
# improve and nothing else.

# %%
pieces = [system.game(number, start).piece for number, start, _ in segments]
stored_cells = np.array([int(episodes[number].observations[t, 0]) for number, t in where])


def targets_of_all(model, rng):
    """One round: policy targets [19, A] and search values [19] of all stored positions."""
    found = [reanalyse(piece, model, rng) for piece in pieces]
    return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))


def by_cell(policies, values):
    """Mean targets of each cell: policy [S, A], value [S]; nothing follows after the last one."""
    policy, value = np.full((CELLS, 3), 1 / 3), np.zeros(CELLS)
    for cell in range(LAST):
        policy[cell] = policies[stored_cells == cell].mean(axis=0)
        value[cell] = values[stored_cells == cell].mean()
    return policy, value


def learned(model, policy, value):
    """The tables, half a step closer to the targets."""
    closer = 0.5 * softmax(model.logits) + 0.5 * policy
    return toy.SeenTable(NEXT, REWARD, np.log(closer), 0.5 * model.value + 0.5 * value)


ROUNDS = 24
rng = np.random.default_rng(0)
networks = [toy.SeenTable(NEXT, REWARD, np.zeros((CELLS, 3)), toy.EARLY_VALUES.copy())]
found = []  # of each round: targets of all positions
for _ in range(ROUNDS):
    found.append(targets_of_all(networks[-1], rng))
    networks.append(learned(networks[-1], *by_cell(*found[-1])))

print("values at first", networks[0].value)
print("values at last ", networks[-1].value)
print("best values    ", BEST)

# %% [markdown]
# Now one position: step 7 of episode 0, in cell 4, where the player went left, away from the goal.
# What was its target in each round, and what was the network worth that made it?

# %%
POSITION, CELL = (0, 7), 4
row = list(where).index(POSITION)
assert stored_cells[row] == CELL and episodes[0].actions[7] == LEFT, (
    "this position should be cell 4, where the player went left"
)
policy_targets = np.array([policies[row] for policies, _ in found])
search_values = np.array([values[row] for _, values in found])
z_values = [n_step_return(episodes[0], 7, N, network.value) for network in networks[:-1]]
worth_of_policy = [policy_value(softmax(network.logits))[CELL] for network in networks[:-1]]
worth_of_targets = [policy_value(by_cell(*targets)[0])[CELL] for targets in found]

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
for action, (name, hatch) in enumerate((("left", "//"), ("rest", ".."), ("right", ""))):
    below = policy_targets[:, :action].sum(axis=1)
    left.bar(range(ROUNDS), policy_targets[:, action], bottom=below, hatch=hatch, width=1,
             edgecolor="white", linewidth=0.5, label=name)
left.set(xlabel="rounds that the network has learned for", ylabel="share of the visits",
         title=r"policy target $\pi$ of one stored position")
left.legend(loc="center right")
right.plot(search_values, "o-", label=r"search value $\nu$")
right.plot(z_values, "s--", label="z (n = 2)")
right.plot(worth_of_targets, "^-.", label=r"true value of the policy $\pi$")
right.plot(worth_of_policy, "k-", linewidth=1, label="true value of the network's policy p")
right.axhline(BEST[CELL], color="black", linestyle=":", label="best value")
right.set(xlabel="rounds that the network has learned for", ylabel="value of cell 4",
          title="value targets, and what the policies are worth")
right.legend(fontsize=8, loc="lower right")
plt.show()

# %% [markdown]
# The data have not changed, and the target has turned round. At first the misled search goes
# *left*, as the player did: its targets define a policy that is even worse than the uniform one.
# But the values near the goal become right first, because there the search sees the true reward;
# from there they spread to the left, a little further in each round. In the second half of the
# rounds more than two visits in three go right, and at last all of them.
#
# Both value targets rise as well. $\nu$ arrives at the best value. $z$ stays a tenth below, for
# ever: its two rewards are those of the player's detour, left and right again, and no network can
# change them. That is the off-policy error of section 3 in a single position. The *policy* target
# has no such memory: it does not contain the stored action at all.

# %%
assert policy_targets[0].argmax() == LEFT and policy_targets[-1].argmax() == RIGHT, (
    "the target should turn round: left at first, right at last"
)
print(f"true value of the policy that the targets define: {worth_of_targets[0]:.2f} at first, "
      f"{worth_of_targets[-1]:.2f} at last; the best is {BEST[CELL]:.2f}")
assert worth_of_targets[0] < worth_of_policy[0] and worth_of_targets[-1] > 0.95 * BEST[CELL], (
    "the first targets should be worse than the network, the last ones nearly the best"
)
assert np.all(policy_targets[ROUNDS // 2 :, RIGHT] > 2 / 3), (
    "in the second half of the rounds more than two visits in three should go right"
)
assert abs(search_values[-1] - BEST[CELL]) < 0.1, (
    f"nu is {search_values[-1]:.2f} at last, the best value {BEST[CELL]:.2f}"
)

# %% [markdown]
# ### One target, taken apart
#
# `mzu.explain` takes one stored position and says where each number of its targets comes from. Our
# tables are a `System`, so it can explain them. Let the replay hold what the first network found
# (`toy.played` plays all stored games again), and let the last network be the one of today.


# %%
def with_network(system, model, steps):
    """The system with another network, which is its own target network."""
    return dataclasses.replace(system, model=model, steps=steps, target_steps=steps,
                               target_values=lambda seen: model.value[seen[..., 0].astype(int)])


def show(explanation, *titles):
    """Some sections of the text that print(explanation) writes."""
    for section in str(explanation).split("\n\n"):
        if section.startswith(titles):
            print(section, end="\n\n")


early = toy.played(with_network(system, networks[0], steps=0))
today = with_network(early, networks[-1], steps=ROUNDS)  # a new network, the old replay
explanation = mzu.explain(today, *POSITION)
show(explanation, "Position", "Value target", "Change")

# %% [markdown]
# "Value target" writes the sum of section 2 out, term by term. "Change" puts the policy (0, 1, 2 are left,
# rest, right) and the value that the replay holds beside those of a search made now. The same numbers as data:

# %%
change = explanation.change
half = np.abs(np.subtract(change["old_policy"], change["new_policy"])).sum() / 2
first = explanation.value_target["steps"][0]
assert np.isclose(change["total_variation"], half), (
    "the explanation's total variation is half the sum of the differences"
)
assert np.isclose(first["total"], n_step_return(episodes[0], 7, N, networks[-1].value)), (
    "the explanation's value target is the sum of section 2"
)
print(f"half the sum of the differences of the policies (total variation): {half:.2f}")

# %% [markdown]
# *Why* did the search change its mind? The trees show it: first the one that the early network grew
# at this position, then today's.

# %%
mzu.explain(early, *POSITION).tree_picture()

# %%
explanation.tree_picture()

# %% [markdown]
# Or step through today's search: the tree after each simulation, the scores that chose its path, the backup.
# The slider begins at the end; push it to 0 and go from there.

# %%
explanation.walk()

# %% [markdown]
# Both trees rest on the same model. The early one (above) walks left, towards the 1.9 that its network
# promises in cell 0, and its one visit to the right sees a value of 0.2. Today's goes right twice,
# meets the true reward of 1.9, and finds nothing behind the end: 5e-09 is what 24 halvings have left
# of the 0.1 that the last cell began with. That is what the absorbing targets are good for.
#
# An explanation also *checks*: some twenty kinds of mistakes are looked for, and `flags` holds the
# checks that found something.

# %%
for flag in explanation.flags:
    print(f"{flag['name']}: {flag['says']}")

reanalysed = toy.played(today)  # all stored games are played again, with the network of today
again = mzu.explain(reanalysed, *POSITION)
print("\nafter another round of reanalyse:", again.flags)
print(f"replay and a search of now differ by {again.change['total_variation']:.2f}")
assert [flag["name"] for flag in explanation.flags] == ["stale target"] and not again.flags, (
    "the old replay should be called stale, and nothing after another round of reanalyse"
)

# %% [markdown]
# All of it on one page: what `mzu explain RUN --html` writes for a run of your own, and `--serve` shows in a
# browser. The arrow keys go through the simulations.

# %%
again.page()

# %% [markdown]
# "Stale target" is no bug here. It says what is the case: the replay was filled by an older
# network. One more round of reanalyse and it is gone; what remains is the difference between two
# searches with different noise.

# %% [markdown]
# ## 6. The reanalyse fraction (optional)
#
# *How a fraction is held and where stored games are drawn from. Whoever wants the idea may go on with section 7.*
#
# A search of a stored position and a search of a fresh one are the same search, so both can be
# mixed. The *reanalyse fraction* $f$ is the share of targets that come from stored games: 0 is a
# player that only plays, 1 is offline learning, and the paper trains Atari agents at
# 50 %, 95 % and 99.5 %. Same number of searches, ever less new data.
#
# To hold a fraction sounds like a coin: when a game is over, the next one is a stored one with
# probability $f$. But $f$ is a share of *positions*, and the coin is tossed per *game*. If stored
# pieces have 8 positions and fresh games 40, a coin of 0.8 gives a share of $0.8 \cdot 8 / (0.8
# \cdot 8 + 0.2 \cdot 40) = 0.44$.
#
# Games are played in lockstep, in some number of places, one position of each per search. So what
# counts is how many places hold stored games *now*: it should be $f$ times the places, a few more
# while stored positions are missing. A place that becomes free asks:
#
# 1. How many stored games should there be? $f \cdot \text{places} + \text{missing} /
#    \text{length}$, where *missing* is $f$ times all positions so far minus the stored ones, and
#    *length* that of the longer kind of game: what is missing is made up for within about one game.
# 2. Minus the stored games in the other places, cut to 0..1: the *share* of this place.
# 3. A share of positions is not a share of games. A kind of game is drawn the less often the longer
#    it is: share / length against (1 - share) / length.


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def chance_of_stored(fraction, places, stored_elsewhere, positions, games):
    """The probability of a stored game next; positions and games so far are [stored, fresh]."""
    stored_length, fresh_length = (max(positions[kind], 1) / max(games[kind], 1) for kind in (0, 1))
    missing = fraction * sum(positions) - positions[0]
    wanted = fraction * places + missing / max(stored_length, fresh_length)
    share = min(max(wanted - stored_elsewhere, 0.0), 1.0)
    stored, fresh = share / stored_length, (1 - share) / fresh_length
    return stored / (stored + fresh)


from mzu.reanalyse.fraction import FractionController

rng = np.random.default_rng(0)
for _ in range(200):
    controller = FractionController(rng.uniform(0.05, 0.95))
    positions, games = rng.integers(0, 500, 2).tolist(), rng.integers(0, 30, 2).tolist()
    controller.restore({"counts": np.array(positions + games)})
    places = int(rng.integers(1, 33))
    elsewhere = int(rng.integers(places))
    ours = chance_of_stored(controller.fraction, places, elsewhere, positions, games)
    assert np.isclose(ours, controller.chance(places, elsewhere)), (
        "our probability is not the controller's"
    )
print("200 situations: the same probability")

# %% [markdown]
# A small simulation: 32 places, stored pieces of 1 to 15 positions, fresh games of 10 to 70,
# fraction 0.8. The coin against the controller, both watched from the first search on.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
PLACES, FRACTION, SEARCHES = 32, 0.8, 200


def simulate(next_is_stored, rng):
    """Games in lockstep -> the share of stored positions after each search [SEARCHES]."""
    kinds, left, shares, counts = [None] * PLACES, [0] * PLACES, [], {True: 0, False: 0}
    for _ in range(SEARCHES):
        for place in range(PLACES):  # free places get a new game
            if left[place] == 0:
                elsewhere = sum(kinds[other] for other in range(PLACES) if left[other])
                kinds[place] = next_is_stored(elsewhere, counts)
                left[place] = int(rng.integers(1, 16) if kinds[place] else rng.integers(10, 71))
        for place in range(PLACES):  # one position of each game is searched
            left[place] -= 1
            counts[kinds[place]] += 1
        shares.append(counts[True] / (counts[True] + counts[False]))
    return np.array(shares)


def with_controller(seed):
    rng, controller = np.random.default_rng(seed), FractionController(FRACTION)

    def next_is_stored(elsewhere, counts):
        controller.stored_positions, controller.fresh_positions = counts[True], counts[False]
        return controller.choose_stored(rng, places=PLACES, stored_elsewhere=elsewhere)

    return simulate(next_is_stored, rng)


def with_coin(seed):
    rng = np.random.default_rng(seed)
    return simulate(lambda elsewhere, counts: bool(rng.random() < FRACTION), rng)


figure, ax = plt.subplots(figsize=(8, 4))
searched = PLACES * np.arange(1, SEARCHES + 1)
runs = {}
for name, run, colour, style in (("controller", with_controller, "C0", "-"),
                                 ("coin", with_coin, "C5", "--")):
    runs[name] = np.array([run(seed) for seed in range(5)])
    for number, shares in enumerate(runs[name]):
        ax.semilogx(searched, shares, style, color=colour, linewidth=1.2,
                    label=f"{name}, five runs" if number == 0 else None)
ax.axhline(FRACTION, color="black", linestyle=":", label="wanted")
ax.set(xlabel="positions searched so far", ylabel="share of stored positions", ylim=(0.2, 1.02),
       title="The controller holds 0.8 from the first search on, a coin per game does not")
ax.legend()
plt.show()
print("first search:", runs["controller"][:, 0], " last:", runs["controller"][:, -1])
print("coin, last  :", runs["coin"][:, -1])

# %% [markdown]
# With 32 places 25.6 of them should hold stored games. The controller fills 26 right away,
# and what this is off by is made up for later. The coin, too, *begins* around 0.8, since every place
# has just drawn its first game; with 32 places chance moves that by up to 0.15. Then the long fresh games stay where they are while the short
# stored ones end, and the share sinks towards the 0.44 that we have computed.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
assert np.all(np.abs(runs["controller"] - FRACTION) < 0.05), (
    "the controller should be within 0.05 of the fraction from the first search on"
)
assert np.all(np.abs(runs["controller"][:, -1] - FRACTION) < 0.005), (
    "in the end the controller should be within 0.005 of the fraction"
)
assert np.all(runs["coin"][:, -1] < 0.5), "a coin per game should end below one half"

# %% [markdown]
# ### Where stored games come from
#
# The section "Reanalyse" lists four uses, and says that they differ only in the source of the data:
#
# | use | buffer | holds |
# |---|---|---|
# | data efficiency | `MostRecent` | the latest fresh episodes |
# | offline RL, demonstrations | `Demonstrations` | a dataset that never changes |
# | exploitation of good episodes | `HighestReturn` | the fresh episodes with the highest return |
#
# Each is a rule about who must leave. Typed, for buffers that hold at most so many steps:

# %% jupyter={"source_hidden": true} tags=["hide-input"]
from mzu.episodes.episode import Episode
from mzu.reanalyse.buffers import Demonstrations, HighestReturn, MostRecent


def fits(held, capacity):
    """Drops episodes from the end of the list until the rest has at most `capacity` steps."""
    while sum(map(len, held)) > capacity and len(held) > 1:
        held = held[:-1]
    return held


def most_recent(held, new, capacity):
    return fits([new, *held], capacity)


def highest_return(held, new, capacity):
    by_return = sorted([new, *held], key=lambda episode: -episode.total_reward)
    return fits(by_return, capacity)


def some_episode(rng, number):
    """An episode of 5 to 30 steps; later ones tend to earn a little more."""
    steps = int(rng.integers(5, 31))
    rewards = np.float32(rng.normal(0.005 * number, 1.0, steps).round(2))
    return Episode(np.zeros((steps + 1, 1), np.float32), np.zeros(steps, np.int32), rewards,
                   truncated=True, source=str(number))


CAPACITY, PIECE = 120, 8
rng = np.random.default_rng(3)
fresh = [some_episode(rng, number) for number in range(60)]
demonstrations = fresh[:5]
buffers = {"most recent": MostRecent(CAPACITY, PIECE),
           "highest return": HighestReturn(CAPACITY, PIECE),
           "demonstrations": Demonstrations(demonstrations, PIECE)}
recent, highest = [], []
for episode in fresh:
    recent = most_recent(recent, episode, CAPACITY)
    highest = highest_return(highest, episode, CAPACITY)
    for buffer in buffers.values():
        buffer.add(episode)
    assert buffers["most recent"].episodes == recent[::-1], (
        "the library's buffer holds other recent episodes than ours"
    )
    assert buffers["highest return"].episodes == highest, (
        "the library's buffer holds other high returns than ours"
    )
assert buffers["demonstrations"].episodes == demonstrations, (
    "demonstrations never change: 60 fresh episodes should have passed them by"
)
for name, buffer in buffers.items():
    print(f"{name:14} holds", [int(episode.source) for episode in buffer.episodes])

# %% [markdown]
# Which piece is played next? Every *position* should have the same chance, so a piece is drawn with
# probability proportional to its length: take a random step of all steps in the buffer, and then
# the piece that holds it. A draw by episode would search the positions of short episodes too often.


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def draw(episodes, rng):
    """(number of the episode, start and stop of the piece)."""
    step = int(rng.integers(sum(map(len, episodes))))
    for number, episode in enumerate(episodes):
        if step < len(episode):
            start = step // PIECE * PIECE
            return number, start, min(start + PIECE, len(episode))
        step -= len(episode)


DRAWS = 2000 if FAST else 20_000
buffer = buffers["highest return"]
ours, theirs = np.random.default_rng(5), np.random.default_rng(5)
counted = {}
for _ in range(DRAWS):
    number, start, stop = draw(buffer.episodes, ours)
    assert buffer.draw(theirs) == (buffer.episodes[number], start, stop), (
        "the library drew another piece than we did, with the same random numbers"
    )
    counted[number, start, stop] = counted.get((number, start, stop), 0) + 1

names = sorted(counted)
lengths = np.array([stop - start for _, start, stop in names])
shares = np.array([counted[name] for name in names]) / DRAWS
expected = lengths / buffer.steps
assert lengths.sum() == buffer.steps, "some piece was never drawn"
assert np.all(np.abs(shares - expected) < 5 * np.sqrt(expected / DRAWS)), (
    "a piece should be drawn in proportion to its length"
)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
left.scatter(range(60), [episode.total_reward for episode in fresh], s=12, color="black",
             label="all fresh episodes")
for (name, buffer), (marker, colour) in zip(
    buffers.items(), (("s", "C0"), ("^", "C5"), ("D", "C3")), strict=True):
    places = [int(episode.source) for episode in buffer.episodes]
    left.scatter(places, [episode.total_reward for episode in buffer.episodes], s=90, marker=marker,
                 facecolor="none", edgecolor=colour, linewidth=1.8, label=name)
left.set(xlabel="episode", ylabel="return (sum of rewards)", ylim=(-9, 24),
         title="What three buffers hold at the end")
left.legend(fontsize=8, ncols=2, loc="upper left")
right.bar(range(len(names)), shares, color="C4", label=f"counted in {DRAWS} draws")
right.plot(range(len(names)), expected, "k_", markersize=14, label="length / steps in the buffer")
right.set(xlabel="piece", ylabel="share of the draws", xticks=range(0, len(names), 2),
          title="A piece is drawn in proportion to its length")
right.set(ylim=(0, 1.3 * shares.max()))
right.legend(fontsize=8, loc="upper right")
plt.show()

# %% [markdown]
# Episode 59 is among those with the highest return only because it is short, and there was room for
# it. The paper adds a warning to this use: where luck plays a part, the best episodes are the
# lucky ones, and values learned from them are too high.

# %% [markdown]
# ## 7. Two ways to get it wrong
#
# Nothing in this notebook is hard, and yet there are ways to write it that run, learn something,
# and are wrong. `mzu.explain.bugs` has a gallery of such mistakes, each planted into our corridor.
#
# **Never searching again.** A cache in front of the search looks like a clever saving: the position
# was searched before. But then nothing is *re*analysed. In our loop of section 5:

# %% jupyter={"source_hidden": true} tags=["hide-input"]
kept = networks[:1]
for _ in range(ROUNDS):
    kept.append(learned(kept[-1], *by_cell(*found[0])))  # the targets of the first round, for ever

figure, ax = plt.subplots(figsize=(7.5, 3.8))
for name, each, style in (("searched again in every round", networks, "o-"),
                          ("the first targets kept", kept, "s--")):
    values = [policy_value(softmax(network.logits)).mean() for network in each]
    ax.plot(values, style, label=name)
ax.axhline(BEST.mean(), color="black", linestyle=":", label="best policy")
ax.set(xlabel="rounds of learning", ylabel="true value of the policy, mean over cells",
       title="Without new searches the targets stay those of the first network")
ax.legend()
plt.show()

# %% [markdown]
# The lower curve goes to the value of the first $\pi$ and stays there. The loss falls all the time,
# because the targets are learned perfectly, and whoever does not see the upper curve calls it
# converged. What does an explanation say?


# %%
def flagged(name):
    """The flags of all stored positions of the corridor with this bug."""
    patient = bugs.planted(name)
    result = {}
    for number, t in where:
        for flag in mzu.explain(patient, number, t).flags:
            result.setdefault(flag["name"], {})[number, t] = flag["says"]
    return result


print(bugs.BUGS["never_searches_again"].happened)
flags = flagged("never_searches_again")
for name, says in flags.items():
    print(f"\n{name}, at {len(says)} of {len(where)} positions; at {POSITION}:\n{says[POSITION]}")

# %% [markdown]
# Three checks notice it. The search did not see the value and the prior that the network gives now
# ("stale target", "root prior"), and the plain search of notebook 03, asked to do the same, grows
# another tree ("twins"). The difference to the healthy stale target of section 5: there the search
# of now was new, and only the replay was old.
#
# **Recording what was never done.** When a stored game is played again, the new search prefers some
# action, and it is tempting to record it, as a fresh game would: `actions[t] = preferred`. But the
# reward and the next observation beside it are those of the stored action.

# %%
print(bugs.BUGS["new_action_recorded"].happened)
flags = flagged("new_action_recorded")
for name, says in flags.items():
    print(f"\n{name}, at {len(says)} of {len(where)} positions; at {POSITION}:\n{says[POSITION]}")
assert list(flags) == ["stored step"], (
    f"flags {list(flags)}: only the stored step should be flagged"
)

# %% [markdown]
# 16 positions, and yet the search of section 4 preferred another action at 7 only? Two reasons. This system
# records an action that is *drawn* from the visits, as a fresh game does, so that also a less visited one comes
# up. And a position is flagged if any of the two actions along which its targets are unrolled is
# not the stored one. Counted once each, so many recorded actions are wrong:

# %%
stored_actions = np.concatenate([episode.actions for episode in episodes])
patient = bugs.planted("new_action_recorded")
batch = patient.replay.at(np.array(list(where.values())), np.random.default_rng(0))
recorded = batch.actions[:, 0]
changed = np.sum(recorded != stored_actions)
print(f"{changed} of {len(where)} recorded actions are not the stored ones")

# %% [markdown]
# Policy and value targets are fine, and no curve of theirs would show anything. It is the *model*
# that learns nonsense. We learn it the simplest way: the reward of an action in a cell is the mean
# of what the replay says.


# %%
def learned_rewards(system):
    """Mean reward of each cell and action in the replay [S, A]; nan where there is none."""
    batch = system.replay.at(np.array(list(where.values())), np.random.default_rng(0))
    done = batch.observations[:, 0].astype(int), batch.actions[:, 0]  # cells and actions
    sums, counts = np.zeros((2, CELLS, 3))
    np.add.at(sums, done, batch.rewards[:, 0])
    np.add.at(counts, done, 1)
    return np.divide(sums, counts, out=np.full((CELLS, 3), np.nan), where=counts > 0)


healthy, sick = learned_rewards(system), learned_rewards(bugs.planted("new_action_recorded"))
print("cell    true rewards           learned               learned with the bug")
for cell in range(LAST):
    print(f"{cell:4}    {REWARD[cell]!s:20}   {healthy[cell]!s:20}  {sick[cell]}")
seen = ~np.isnan(healthy)
assert np.allclose(healthy[seen], REWARD[seen]), (
    "without the bug the learned rewards should be the true ones"
)
seen = ~np.isnan(sick)
assert np.abs(sick - REWARD)[seen].max() > 0.5, "with the bug some learned reward should be far off"

# %% [markdown]
# In cell 5 *rest* now pays 1.9, like the step to the goal that it took the place of; in cell 4 the
# way to the right pays 0.25, half of it earned by going left. Whoever plans with this model
# believes that one can reach the goal by resting. Where the new search agrees with the stored
# action nothing is wrong, which makes it hard to notice: the better the player of the data, the
# less is broken.
#
# ## What the library adds
#
# * **Real networks.** `system.model` is any model with `initial` and `recurrent`; the target
#   network is a copy that is renewed every `learning.target_network_period` steps.
# * **One batch for all games.** `mzu/games/player.py` searches fresh and stored games together;
#   `mzu/reanalyse/` is all that offline learning adds to it.
# * **A mixture of buffers.** `Mixture` draws from several by weight, so that demonstrations and
#   fresh games can be learned from at the same time.
# * **Sampled and continuous actions.** The stored action joins the candidates of the search
#   (notebook 06).
# * **Explanations of runs.** `mzu.explain("runs/name", episode, step)` and `mzu explain` on the
#   command line do for a training run what we did for the corridor; `compare` names another
#   checkpoint. `explanation.walk()` is a slider through the simulations. See
#   `tutorials/debug_reanalyse_targets.md`.
#
# ## Summary
#
# * $z$ adds up true rewards and bootstraps from $v^-$; a terminal end adds nothing, a truncated one
#   bootstraps earlier. Behind an end: zeros if it is terminal, masks if it is not.
# * Longer sums trade bias for spread, as long as $v^-$ is good, and on other people's data they gain a bias of their own:
#   towards the player. $\nu$ does not ask who played, but believes the model.
# * A stored game walks where the episode went, searches, records, and takes nothing.
# * The same position gives better targets to a better network. That is all there is to Reanalyse,
#   and it works only as long as positions are really searched again.
# * The reanalyse fraction is a share of positions; pieces are drawn in proportion to their length.
#
# ## Exercises
#
# Write the functions below. The last lines of a cell check yours and say which idea is missing, if one is;
# `check.hint("04.1")` gives one hint more at each call, and the solution opens at a click. More of it,
# with derivations and figures: `tutorials/solutions/04_reanalyse.md`.

# %%
from mzu.classroom import check

# %% [markdown]
# ### 1. Ends
#
# Somebody forgets that a terminal state has no value: $z$ adds $\gamma\, v(6)$ at the end, too. The
# values are learned from games of the best player with $n = 1$ until nothing changes. (a) The last
# cell is never trained and keeps its 0.5. (b) The network cannot tell the last cell from the one
# before it: $v(6)$ is always $v(5)$. What do the values become?


# %%
def forgotten_end(rewards, discount, end):
    """The values that are learned if the terminal state is bootstrapped from, too, by whoever
    walks straight through.

    rewards [T] of the steps from cell 0 to the last -> values [T] of the cells before the last
    one, where nothing changes any more. `end` is what the network says of the last cell; None: it
    cannot tell that cell from the one before it and says the same of both.

    >>> forgotten_end(np.array([1.0, 2.0]), 0.5, 4.0).tolist()
    [3.0, 4.0]
    """
    raise NotImplementedError


check.exercise_04_1(forgotten_end)
check.solution("04.1")

# %% [markdown]
# ### 2. A wrong model
#
# The model believes that 4 lies in the last cell instead of 2. Which target notices? Write the mean
# of $z$ for any player; then compare, with the best values as table, the error of $z$ ($n = 5$) from
# the best player's data and from the bad one's with that of $\nu$.


# %%
def mean_z(policy, value, n):
    """The mean of z over many games of `policy` in the corridor: n rewards, then `value`.

    policy [7, 3], value [7] -> [7]. NEXT and REWARD [7, 3] and DISCOUNT are the notebook's; the
    last cell is an end, worth nothing whatever `value` says of it.

    >>> mean_z(np.full((7, 3), 1 / 3), np.zeros(7), 1).round(2).tolist()
    [0.03, -0.2, 0.23, -0.27, 0.17, 0.53, 0.0]
    """
    raise NotImplementedError


check.exercise_04_2(mean_z)
check.solution("04.2")

# %% [markdown]
# ### 3. Cut where the player errs
#
# Take the data of the bad player, stop the sum of $z$ before the first action that the best policy
# would not take, and bootstrap there. What happens to the error of section 3? What is the price?


# %%
def cut_return(rewards, actions, best_actions, values, discount, terminated):
    """z that stops before the first action that the best policy would not take, and bootstraps
    there.

    rewards, actions, best_actions [T], values [T + 1] of the observations, terminated: whether
    the last observation is an end, worth nothing -> a number.

    >>> cut_return([1.0, 5.0], [2, 0], [2, 2], [0.0, 3.0, 9.0], 0.5, False)
    2.5
    """
    raise NotImplementedError


check.exercise_04_3(cut_return)
check.solution("04.3")

# %% [markdown]
# ### 4. Stuck
#
# Repeat section 5 with a network that begins with a preference for the left, and without root noise.
# What happens with 16 simulations, and what with 32? Why? (With noise the outcome of 16 is a matter
# of luck: try some seeds.) The check runs yours five times: let one `search` of all stored cells,
# `np.float32(stored_cells)[:, None]`, be a round, and it takes seconds; one search after the other
# takes minutes.


# %%
def policy_in_cell_2(simulations):
    """Section 5 with a network that likes the left: its policy in cell 2 after 40 rounds.

    The logits begin as -0.6 * STEP in every cell, the values as toy.EARLY_VALUES; both tables go
    halfway to the mean targets of each cell. The search has so many simulations and no noise:
    dataclasses.replace(config.search, num_simulations=simulations, dirichlet_fraction=0.0)
    -> [3], to two digits

    >>> policy_in_cell_2(8).round(2).tolist()
    [1.0, 0.0, 0.0]
    """
    raise NotImplementedError


check.exercise_04_4(policy_in_cell_2)
check.solution("04.4")

# %% [markdown]
# ### 5. The right coin
#
# Stored pieces have 8 positions on average, fresh games 40. Which probability per game gives a share
# of 0.8 in the long run? Why does the library not do that?


# %%
def right_coin(share, stored_length, fresh_length):
    """The probability per game of a stored game that gives `share` of stored positions in the
    long run.

    >>> right_coin(0.5, 10, 10)
    0.5
    """
    raise NotImplementedError


check.exercise_04_5(right_coin)
check.solution("04.5")

# %% [markdown]
# ### 6. Two illnesses, one flag
#
# `bugs.planted("one_piece_for_ever")` raises the flag "stale target", too. Find out from explanations
# alone what distinguishes it from `"never_searches_again"`, and from a healthy run whose replay is a
# little old (`today` of section 5). Print, for all 19 positions of each, the names of the flags and how
# often the position is in the replay; then write down the rule.


# %%
def diagnosis(flags, copies):
    """Which of three systems is it?

    flags: for some stored positions the names of the flags of mzu.explain(system, episode, step);
    copies: for the same positions how often each is in the replay
    (explanation.position["in_replay"]) -> "never_searches_again", "one_piece_for_ever" or
    "healthy"

    >>> diagnosis([[], []], [1, 1])
    'healthy'
    """
    raise NotImplementedError


check.exercise_04_6(diagnosis)
check.solution("04.6")
