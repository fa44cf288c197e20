# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 10. The dataset doctor
#
# ← [09 Real data](09_real_data.ipynb) · [the course](README.md) · [11 Scale and scores](11_scale_and_scores.ipynb) →
#
# ![Where this notebook stands in the circle of data: episodes](pictures/circle_10.svg)
#
# | | |
# |---|---|
# | **You will build** | a test that finds by how many steps rewards are shifted, for states and for pictures; faults, planted one at a time; pictures of a dataset |
# | **Lives in** | `mzu/episodes/doctor/check.py`, `mzu/episodes/doctor/alignment.py`, `mzu/episodes/doctor/environment_check.py`, `mzu/episodes/doctor/statistics.py` |
# | **Takes** | one to two minutes to run on two cores, two hours to work through; no network is trained and nothing is downloaded |
# | **You need** | notebook 09 (how rewards and actions are aligned); Atari frames need OpenCV: `pip install 'mzu[atari]'` |
#
# Data that can be read may still be wrong: shifted by a step, with a time limit that passes for an end, with
# a sensor that is stuck. Nothing fails, and the agent learns something else. This notebook looks for such faults
# before anything is trained: with a program that knows some of them, and with your own eyes.

# %%
import os

FAST = os.environ.get("MZU_FAST") == "1"  # the test suite's short version

import dataclasses
import gzip
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import mzu
from mzu.acting.collect import collect
from mzu.environments.make import make
from mzu.episodes.readers.example import decode, encode
from mzu.episodes.readers.rlu_atari import write_atari
from mzu.episodes.readers.rlu_control import control_task, write_control
from mzu.episodes.readers.tfrecord import RecordWriter, read_records

plt.style.use("tableau-colorblind10")
plt.rcParams.update({"figure.constrained_layout.use": True, "axes.grid": True, "grid.alpha": 0.3})
np.set_printoptions(precision=3, suppress=True)
folder = tempfile.TemporaryDirectory()
ROOT = Path(folder.name)

# %% [markdown]
# ## 1. A patient
#
# The same recordings as in notebook 09, written as RL Unplugged would: six episodes of the swing-up by a careless
# player, two games of Ms. Pac-Man and the beginning of a game of Pong, played at random.

# %%
LONGEST = 600 if FAST else 1000


def shortened(episode, steps):
    """The first steps of an episode; it is cut off there."""
    if len(episode) <= steps:
        return episode
    return dataclasses.replace(
        episode, observations=episode.observations[:steps + 1], actions=episode.actions[:steps],
        rewards=episode.rewards[:steps], terminated=False, truncated=True,
    )  # fmt: skip


swingup = make("dm_control:cartpole-swingup")
noisy = [shortened(episode, LONGEST) for episode in collect(swingup, "players", 6, seed=0)]
print("swing-up, returns:", *[round(episode.total_reward) for episode in noisy])

with make("atari:MsPacman", stack=1) as game:
    pacman = list(collect(game, "random", 1 if FAST else 2, seed=0))
with make("atari:Pong", stack=1, frame_limit=2400 if FAST else 108_000) as game:
    pong = list(collect(game, "random", 1, seed=0))
for name, episodes in (("Ms. Pac-Man", pacman), ("Pong", pong)):
    print(f"{name}: steps", *map(len, episodes), "| return",
          *[round(episode.total_reward) for episode in episodes], "| observations",
          episodes[0].observations.dtype, episodes[0].observations.shape[1:])

TASK = control_task("cartpole_swingup")
write_control(ROOT / "dm_control_suite_episodes/cartpole_swingup", noisy, TASK, num_shards=2)
_ = write_atari(ROOT / "atari_episodes_ordered/MsPacman", pacman)

# %% [markdown]
# And two tools to damage them, from notebook 09: rewards that come too late or too early, and one flipped bit.


# %%
def shifted(episode, steps):
    """The mistake: rewards `steps` too late (too early when negative); zeros come in."""
    rewards = np.zeros_like(episode.rewards)
    if steps >= 0:
        rewards[steps:] = episode.rewards[:len(episode) - steps]
    else:
        rewards[:steps] = episode.rewards[-steps:]
    return dataclasses.replace(episode, rewards=rewards)


def flip_bit(path, place=5000):
    data = bytearray(gzip.decompress(path.read_bytes()))
    data[place] ^= 1
    path.write_bytes(gzip.compress(data))

# %% [markdown]
# ## 2. The dataset doctor
#
# Nobody has a formula for every task. `mzu data check`, in Python `mzu.check`, looks at any dataset once and
# says what speaks against training on it.

# %%
def doctor(name="rlu:cartpole_swingup", root=ROOT, environment=None):
    return mzu.check(mzu.load_episodes(name, root=root, skip_bad=True), environment)


print(doctor())

# %% [markdown]
# ### How it sees a shift
#
# Without the formula, let the data speak: fit rewards by a function of the transition at shift $k$, and see
# which $k$ fits best on steps that were not used for the fit. One point matters. Not the rewards are fitted
# but their *changes* $u_{t+1} - u_t$, because neighbouring rewards are alike, their changes are not. Ours takes
# least squares on products of the state after the step, up to the third degree.


# %%
def cubes(inputs):
    """[N, D] -> all products of up to three of the D columns."""
    columns = np.concatenate([np.ones((len(inputs), 1)), inputs / (inputs.std(axis=0) + 1e-6)], 1)
    size = columns.shape[1]
    picks = [(i, j, k) for i in range(size) for j in range(i, size) for k in range(j, size)]
    return np.stack([columns[:, i] * columns[:, j] * columns[:, k] for i, j, k in picks], axis=1)


def my_agreement(episodes, shifts=(-2, -1, 0, 1, 2)):
    """{shift: share of the variance of the rewards' changes that the transition explains}."""
    transitions = [np.concatenate([one.observations[1:], one.actions], axis=1) for one in episodes]
    features = [cubes(after.astype(np.float64)) for after in transitions]
    targets = np.concatenate([np.diff(one.rewards[2:-2].astype(np.float64)) for one in episodes])
    judged = np.random.default_rng(0).random(len(targets)) < 0.3
    scores = {}
    for shift in shifts:
        moved = [rows[2 + shift:len(rows) - 2 + shift] for rows in features]
        inputs = np.concatenate([np.diff(rows, axis=0) for rows in moved])
        gram = inputs[~judged].T @ inputs[~judged]
        gram += 1e-7 * np.trace(gram) / len(gram) * np.eye(len(gram))  # well-conditioned
        fit = np.linalg.solve(gram, inputs[~judged].T @ targets[~judged])
        error = np.mean((inputs[judged] @ fit - targets[judged]) ** 2)
        scores[shift] = 1 - error / targets[judged].var()
    return scores


smooth = [shortened(episode, LONGEST) for episode in collect(swingup, "heuristic", 6, seed=0)]
figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), sharey=True)
for ax, episodes, title in ((axes[0], noisy, "a player with random actions"),
                            (axes[1], smooth, "a player without any")):
    for column, (steps, name) in enumerate({0: "right", -1: "early", 1: "late"}.items()):
        scores = my_agreement([shifted(episode, steps) for episode in episodes])
        places = np.array(list(scores)) + (column - 1) * 0.27
        ax.bar(places, np.maximum(list(scores.values()), 0), 0.25, label=f"rewards {name}",
               hatch=["", "//", ".."][column], edgecolor="white")
        print(f"{title:30} rewards {name:6}", *[f"{k:+d}: {v:5.3f}" for k, v in scores.items()])
        if episodes is noisy:
            assert max(scores, key=scores.get) == -steps, (
                f"{steps} steps: the test should name the shift that would repair it"
            )
    ax.set(xlabel="shift of the rewards (steps)", title=title, xticks=range(-2, 3))
axes[0].set_ylabel("share of changes explained")
axes[0].legend(loc="upper left", bbox_to_anchor=(0, 0.9))
plt.show()

# %% [markdown]
# On the left the answer is plain: one bar stands out, and it says by how many steps the rewards must be moved.
# On the right all bars are high: where motion is smooth, the transition next door explains almost as much. The highest
# bar is not even the right one for late rewards; by this figure we would move them by two steps. The doctor must not cry
# wolf on good data, so it speaks only where the difference is clear. It will say nothing on the right.
#
# ### Planting faults
#
# What does it find, what does it miss? We plant faults one at a time. Those that an `Episode` refuses, such as NaN,
# are planted in the file.

# %%
def rewrite(path, change):
    """Changes the fields of the first record of a file; the checksums will be right."""
    kept = [decode(record) for _, record in read_records(path)]
    kept[0] = {name: np.array(values) for name, values in kept[0].items()}
    change(kept[0])
    with RecordWriter(path) as writer:
        for fields in kept:
            writer.write(encode(fields))


def changed(name, function):
    """All episodes with one array changed."""
    return [dataclasses.replace(one, **{name: function(getattr(one, name).copy())})
            for one in noisy]


def ended(count):
    """The first episodes marked as terminal at their time limit."""
    return [dataclasses.replace(one, terminated=number < count, truncated=number >= count)
            for number, one in enumerate(noisy)]


def stuck(observations, start=0):
    observations[start:, 4] = observations[start, 4]
    return observations


def nothing(path):
    """Leaves the file as it is: the fault is in the episodes."""


half = LONGEST // 2
stuck_once = dataclasses.replace(noisy[2], observations=stuck(noisy[2].observations.copy(), half))
FAULTS = {
    "none": (noisy, nothing),
    "rewards one step late": ([shifted(one, 1) for one in noisy], nothing),
    "rewards one step early": ([shifted(one, -1) for one in noisy], nothing),
    "rewards one step late, smooth player": ([shifted(one, 1) for one in smooth], nothing),
    "time limit marked terminal, all": (ended(6), nothing),
    "time limit marked terminal, half": (ended(3), nothing),
    "one reward NaN": (noisy, lambda path: rewrite(path, lambda f: f["reward"].put(70, np.nan))),
    "one action 1.3": (noisy, lambda path: rewrite(path, lambda f: f["action"].put(70, 1.3))),
    "actions divided by 10": (changed("actions", lambda a: a / 10), nothing),
    "actions with the wrong sign": (changed("actions", lambda a: -a), nothing),
    "a sensor always 0": (changed("observations", lambda o: o * [1, 1, 1, 1, 0]), nothing),
    "a sensor stuck, in every episode": (changed("observations", stuck), nothing),
    "a sensor stuck, half an episode": ([*noisy[:2], stuck_once, *noisy[3:]], nothing),
    "one episode twice": ([*noisy, noisy[1]], nothing),
    "one episode twice, the copy shorter": ([*noisy, shortened(noisy[1], LONGEST - 1)], nothing),
    "one file missing": (noisy, lambda path: path.unlink()),
    "one bit flipped": (noisy, flip_bit),
}  # fmt: skip

found = {}
for number, (fault, (episodes, spoil)) in enumerate(FAULTS.items()):
    root = ROOT / f"planted-{number}"
    (first, *_) = write_control(root / "cartpole_swingup", episodes, TASK, num_shards=2)
    spoil(first)
    report = doctor(root=root)
    found[fault] = report.findings
    said = [f"{finding.severity}: {finding.what.split(';')[0]}" for finding in report.findings]
    print(f"{fault:37} {said[0][:86] if said else '-'}")

# %% [markdown]
# Read the dashes. The first one is as it should be: good data, no finding. The others are misses:
#
# * the shift on the smooth player, as expected;
# * time limits marked terminal in *some* episodes: the doctor suspects a limit only if all episodes end so;
# * actions with the wrong sign: any data are consistent with some world, and here it is one in which pushing left moves
#   right;
# * a sensor that is stuck in each episode at another value, or for a while: it may have been at rest;
# * a copy that is not exact.
#
# A check that finds nothing has not proved anything. Exercises 1 and 2 add two of these.

# %%
missed = {fault for fault, findings in found.items() if not findings}
assert missed == {
    "none", "rewards one step late, smooth player", "time limit marked terminal, half",
    "actions with the wrong sign", "a sensor stuck, in every episode",
    "a sensor stuck, half an episode", "one episode twice, the copy shorter",
}, "the doctor misses other faults than the text says"

# %% [markdown]
# ### With the environment at hand
#
# If the environment can be made, the doctor plays the stored actions again and compares rewards. That needs the
# same start, so the seed of each episode must be stored: `.npz` keeps it, RL Unplugged's format has no place for it.

# %%
from mzu.episodes.readers.npz import write_npz

SECOND_CHANCE = {
    "right, smooth player": smooth,
    "rewards one step late, smooth player": [shifted(one, 1) for one in smooth],
    "actions with the wrong sign": changed("actions", lambda a: -a),
    "rewards times ten": changed("rewards", lambda r: 10 * r),
}
for number, (fault, episodes) in enumerate(SECOND_CHANCE.items()):
    file = ROOT / f"second-{number}.npz"
    write_npz(file, episodes)
    report = doctor(str(file), root=None, environment=swingup)
    said = report.findings[0].what.removeprefix("dm_control:cartpole-swingup ")
    print(f"{fault:37} {report.findings[0].severity}: {said}")
    assert report.is_wrong == (number > 0), (
        f"{fault}: with the environment every fault should be seen, and nothing else"
    )

# %% [markdown]
# Three things that the data alone do not show, seen at once. Whenever you have an environment, give it:
# `mzu data check FILE --env ID`.
#
# ### Pictures
#
# For Atari the doctor uses that most games show their score. Some pixels then change exactly when a reward comes. It
# correlates, pixel by pixel, "this pixel changes from frame $t + k$ to $t + k + 1$" with "there is a reward at $t$".


# %%
def pixel_agreement(episodes, shift):
    """Correlation [84, 84] of each pixel's changes with the rewards moved by `shift`."""
    changes, rewarded = [], []
    for episode in episodes:
        frames = episode.observations[:, :, :, 0].astype(np.int16)
        change = np.abs(np.diff(frames, axis=0)) > 8  # less may be due to the resizing
        changes.append(change[2 + shift:len(change) - 2 + shift])
        rewarded.append(episode.rewards[2:-2] != 0)
    changes, rewarded = np.concatenate(changes), np.concatenate(rewarded)
    rate, share = changes.mean(axis=0), rewarded.mean()
    together = changes[rewarded].sum(axis=0) / len(rewarded)
    return (together - rate * share) / np.sqrt(np.maximum(rate * (1 - rate), 1e-12)
                                               * share * (1 - share))


pacman_data = list(mzu.load_episodes("rlu_atari:MsPacman", root=ROOT))
figure, axes = plt.subplots(1, 4, figsize=(11, 3.2))
axes[0].imshow(pacman_data[0].observations[200, :, :, 0], cmap="gray", vmin=0, vmax=255)
axes[0].set_title("Ms. Pac-Man, frame 200")
for ax, shift in zip(axes[1:], (-1, 0, 1), strict=True):
    picture = ax.imshow(pixel_agreement(pacman_data, shift), cmap="cividis", vmin=0, vmax=1)
    ax.set_title(f"shift {shift:+d}" if shift else "as recorded")
for ax in axes:
    ax.set(xticks=[], yticks=[])
    ax.grid(False)
figure.colorbar(picture, ax=axes, label="correlation with rewards", shrink=0.8)
plt.show()
best = {shift: np.sort(pixel_agreement(pacman_data, shift).ravel())[-8:].mean()
        for shift in (-1, 0, 1)}
assert best[0] > 0.8 and max(best[-1], best[1]) < 0.4, "the right shift should stand out"

# %% [markdown]
# The bright spot at the bottom is a digit of the score. At any other shift it is dark. So a shift is found:

# %%
for name, episodes in (("MsPacman", pacman), ("Pong", pong)):
    for steps in (0, 1) if FAST else (0, -1, 1):
        root = ROOT / f"{name}{steps:+d}"
        write_atari(root / name, [shifted(one, steps) for one in episodes])
        report = doctor(f"rlu_atari:{name}", root=root)
        scores = " ".join(f"{shift:+d}: {score:.2f}" for shift, score in report.alignment.items())
        said = [finding.what for finding in report.findings if finding.severity == "wrong"]
        print(f"{name:9} shifted by {steps:+d} | agreement {scores} | {said[0] if said else '-'}")
        assert bool(said) == (name == "MsPacman" and steps != 0), (
            f"{name}, shifted by {steps}: the doctor should speak where a score shows it, only"
        )

# %% [markdown]
# Not in Pong. A point is shown by *another* digit each time, so no pixel changes with all of them and no shift agrees
# well. The doctor says nothing rather than something doubtful. (The one Atari episode that RL Unplugged's users test their readers
# with, of Asterix, is off by one, and there the doctor does speak; `reward_shift=1` repairs it.)

# %% [markdown]
# ## 3. Looking at data
#
# Before any number: look. An episode of the swing-up as curves, and the frames of a game.

# %% jupyter={"source_hidden": true} tags=["hide-input"]
SECONDS = np.arange(LONGEST + 1) / swingup.frames_per_second
figure, axes = plt.subplots(4, 1, figsize=(9, 6), sharex=True)
for episode, name, line in ((noisy[0], "careless player", "-"), (smooth[0], "our rule", "--")):
    angle = np.degrees(np.arctan2(episode.observations[:, 2], episode.observations[:, 1]))
    axes[0].plot(SECONDS, episode.observations[:, 0], line, label=name)
    axes[1].plot(SECONDS, angle, line)
    axes[2].plot(SECONDS[:-1], episode.actions[:, 0], line, linewidth=0.7)
    axes[3].plot(SECONDS[:-1], episode.rewards, line)
LABELS = ("cart (m)", "pole angle (°)\n0 is upright", "action", "reward")
for ax, label in zip(axes, LABELS, strict=True):
    ax.set_ylabel(label)
axes[0].legend(loc="upper right", ncols=2)
axes[3].set_xlabel("time (s)")
axes[0].set_title("Cartpole swing-up: two players")
plt.show()

# %% [markdown]
# ### Returns, lengths, actions
#
# Four questions for every new dataset. *How good is it?* The distribution of returns: behaviour cloning will end near its
# mean, and everything above must come from rewards and search. *How do episodes end?* Lengths with a peak
# at a round number are a time limit. *What was tried?* An action that nobody took is one that the model
# guesses. *Where was the agent?*

# %%
from mzu.episodes.doctor.statistics import Statistics

cartpole = list(mzu.load_episodes("embedded:cartpole"))
swings = list(mzu.load_episodes("embedded:swingup"))
statistics = Statistics()
for episode in swings:
    statistics.add(episode)
actions = np.concatenate([episode.actions[:, 0] for episode in swings])
counts, edges = np.histogram(actions, bins=20, range=(-1, 1))
assert abs(counts - statistics.action_counts[0]).max() <= 5, (
    "the histogram of actions is not the doctor's"
)
assert statistics.returns == [episode.total_reward for episode in swings], (
    "the returns are not the doctor's"
)

figure, axes = plt.subplots(2, 2, figsize=(10, 5.6))
axes[0, 0].hist([episode.total_reward for episode in cartpole], bins=25)
axes[0, 0].set(xlabel="return", ylabel="episodes", title="CartPole: mediocre, some decent")
axes[0, 1].hist([len(episode) for episode in cartpole], bins=25)
axes[0, 1].set(xlabel="length (steps)", ylabel="episodes",
               title="CartPole: reward 1 per step, so the same")
axes[1, 0].hist(statistics.returns, bins=25, color="C1")
axes[1, 0].set(xlabel="return", ylabel="episodes", title="Swing-up: from nothing to 700 of 1,000")
axes[1, 1].stairs(counts / counts.sum(), edges, fill=True, color="C1")
axes[1, 1].set(xlabel="action", ylabel="share of steps", title="Swing-up: all actions were tried")
plt.show()
print("CartPole: longest episode", max(map(len, cartpole)), "| ends:",
      sum(episode.terminated for episode in cartpole), "terminal of", len(cartpole))
print("swing-up: lengths", *{len(episode) for episode in swings}, "| ends:",
      sum(episode.truncated for episode in swings), "truncated of", len(swings))

# %% [markdown]
# CartPole's players never come near the limit of 500 steps: no episode of the data shows what happens after step 257. The
# swing-up data are all cut off at 1,000.
#
# ### Coverage
#
# Count how often each cell of (pole angle, pole speed) was visited. What is dark was never seen, and there the
# model of an offline agent is an invention. Random actions never lift the pole; a good player stays where it is good.
# Most is covered by a mediocre player with noise: good data for learning are not the data of the best player.

# %%
def coverage(episodes):
    """Visits [40, 40] of cells of pole angle and speed."""
    states = np.concatenate([episode.observations for episode in episodes])
    angle = np.degrees(np.arctan2(states[:, 2], states[:, 1]))
    grid = np.histogram2d(angle, states[:, 4], bins=40, range=[[-180, 180], [-12, 12]])
    return grid[0]


swinging = list(collect(swingup, "random", 2 if FAST else 6, seed=0))
shown = {"random actions": [shortened(one, LONGEST) for one in swinging],
         "careless, with noise": noisy, "our rule": smooth}
figure, axes = plt.subplots(1, 3, figsize=(11, 3.5), sharey=True)
shares = {}
for ax, (name, episodes) in zip(axes, shown.items(), strict=True):
    visits = coverage(episodes)
    shares[name] = np.mean(visits > 0)
    picture = ax.imshow(np.log10(1 + visits.T), origin="lower", aspect="auto", cmap="cividis",
                        extent=(-180, 180, -12, 12), vmin=0, vmax=3)
    mean = np.mean([episode.total_reward for episode in episodes])
    ax.set(xlabel="pole angle (°)", xticks=[-180, -90, 0, 90, 180],
           title=f"{name}: return {mean:.0f}\n{shares[name]:.0%} of the cells")
    ax.grid(False)
axes[0].set_ylabel("pole speed (rad/s)")
figure.colorbar(picture, ax=axes, label="log10 (1 + visits)")
plt.show()
if not FAST:
    assert shares["careless, with noise"] > shares["our rule"], (
        "careless players should see more of the states than the good rule"
    )

# %%
swingup.close()
folder.cleanup()

# %% [markdown]
# ## What the library adds
#
# * **The doctor** looks at more than we planted: other keys in the observation, other spaces than the environment's, JPEG in images. Its
#   report can be a page: `mzu data check NAME --html report.html`.
# * **Repairs.** `mzu.load_episodes(NAME, reward_shift=1)` moves the rewards of a dataset that is off by one.
# * **Before a run.** `mzu train --data FILE` compares the data with the environment by itself where both are given.
#
# ## Summary
#
# * A shift of the rewards shows in which transition explains their *changes*, where actions are not too smooth; in
#   pictures in which pixels change with a reward.
# * With an environment at hand stored actions can be played again, which finds what the data alone cannot show.
# * A doctor finds what it looks for, and says nothing where it is not sure. No finding is no proof.
# * Look at the data yourself: returns, ends, actions, coverage.
#
# ## Exercises
#
# Write the functions below. The last lines of a cell check yours and say which idea is missing, if one is;
# `check.hint("10.1")` gives one hint more at each call, and the solution opens at a click. More of it,
# with derivations and figures: `tutorials/solutions/10_dataset_doctor.md`.

# %%
from mzu.classroom import check

# %% [markdown]
# ### 1. A stuck sensor
#
# The doctor missed a sensor that was stuck for half an episode. Write the number that finds it. It
# should say nothing about the 60 episodes of `embedded:swingup`. Which good data would still raise a
# false alarm?


# %%
def longest_run(values):
    """The most consecutive equal values in each column: a sensor that is stuck has a long one.

    values [T, O] -> [O], at least 1

    >>> longest_run(np.array([[1.0, 5.0], [1.0, 6.0], [2.0, 6.0], [1.0, 6.0]])).tolist()
    [2, 3]
    """
    raise NotImplementedError


check.exercise_10_1(longest_run)
check.solution("10.1")

# %% [markdown]
# ### 2. A limit that is no end
#
# A policy earns 0.8 at every step for ever, $\gamma = 0.99$, and the data mark the time limit of
# 1,000 steps as terminal. What is the value of a state $k$ steps before the limit, by the data and in
# truth? At how many of the 1,000 steps is the error above 10 %?


# %%
def steps_in_error(discount, limit, share):
    """A policy earns the same at every step for ever, but the data mark the time limit as
    terminal. At how many of the `limit` steps is the value by the data wrong by more than this
    share of the truth?

    >>> steps_in_error(0.5, 100, 0.2)
    2
    """
    raise NotImplementedError


check.exercise_10_2(steps_in_error)
check.solution("10.2")

# %% [markdown]
# ### 3. How many steps?
#
# Somewhere the right rewards are known, and the stored ones look like them, but moved. By how many steps?
# Compare only the steps that both still have.


# %%
def steps_late(stored, right, largest):
    """By how many steps the stored rewards come too late: stored[t] is nearest to right[t - k].
    
    stored, right [T]; -largest <= k <= largest. Nearest by the mean of the absolute difference,
    over those t for which right[t - k] exists -> k
    
    >>> steps_late(np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0, 4.0]), 1)
    1
    """
    raise NotImplementedError


check.exercise_10_3(steps_late)
check.solution("10.3")
