# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 11. Scale and scores
#
# ← [10 The dataset doctor](10_dataset_doctor.ipynb) · [the course](README.md)
#
# ![Where this notebook stands in the circle of data: episodes, learning, network](pictures/circle_11.svg)
#
# | | |
# |---|---|
# | **You will build** | the sums of a run of the paper's size: parameters, data, work, time; normalised scores of 46 games, three summaries of them, and intervals over runs and over games |
# | **Lives in** | `mzu/presets.py`, `mzu/networks/parameter_table.py`, `mzu/networks/size.py`, `mzu/environments/scores.py` |
# | **Takes** | about a minute to run on two cores, two hours to work through; no network is trained and nothing is downloaded |
# | **You need** | notebooks 02 (networks) and 08 (the paper's table) |
#
# The agent of this course learns in minutes. The paper's tables took many machines many days, with the same
# algorithm. This notebook counts what lies between the two, and then reads the tables: what a number that stands
# for 46 games says, and how sure it is.

# %%
import os

FAST = os.environ.get("MZU_FAST") == "1"  # the test suite's short version

import functools
import itertools
import math

import matplotlib.pyplot as plt
import numpy as np

plt.style.use("tableau-colorblind10")
plt.rcParams.update({"figure.constrained_layout.use": True, "axes.grid": True, "grid.alpha": 0.3})
np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# ## 1. At the paper's scale
#
# `Config()` is the paper's setting for Atari, and two presets complete it. What do they ask for? (On the command line:
# `mzu presets paper_atari`.)

# %%
from mzu.presets import preset

PRESETS = ("swingup", "paper_control", "paper_atari")
for name in PRESETS[1:]:
    print(f"{name}: the defaults, and", ", ".join(preset(name).config.differences()))
print(f"\n{'':28}" + "".join(f"{name:>17}" for name in PRESETS))
ROWS = ["network.width", "network.num_blocks", "search.num_simulations", "learning.batch_size",
        "learning.training_steps", "learning.td_steps", "replay.capacity", "replay.segment_length",
        "evaluation.episodes"]  # fmt: skip
for row in ROWS:
    section, name = row.split(".")
    values = [getattr(getattr(preset(one).config, section), name) for one in PRESETS]
    print(f"{row:28}" + "".join(f"{value:17,}" for value in values))

# %% [markdown]
# ### Parameters
#
# A state network (appendix "Network Architecture") has two trunks of $b = 10$ blocks with two layers of $w^2$ weights each. An Atari network
# has $3 \times 3$ convolutions with $9 w^2$ weights each, and more blocks on the way from $84 \times 84$ pixels down to $6 \times 6$. We count
# weights and multiplications layer by layer; both will be needed.


# %%
def state_layers(observation, actions, outputs, width, blocks, support):
    """{sub-model: [(inputs, outputs, places, has a bias)]}; one place: fully connected."""
    tower = [(width, width, 1, True)] * (2 * blocks)
    bins = 2 * support + 1
    return {
        "representation": [(observation, width, 1, True), *tower],
        "dynamics": [(width + actions, width, 1, True), *tower, (width, bins, 1, True)],
        "prediction": [(width, outputs, 1, True), (width, bins, 1, True)],
    }


def image_layers(actions, width, blocks, support, frames=4):
    """The same for Atari; a 3x3 convolution is 9 inputs per plane at each of side * side places."""
    def convolutions(planes, side, count):
        return [(9 * planes, planes, side * side, True)] * count

    def head(outputs):  # 16 planes by a 1x1 convolution, then fully connected
        return [(width, 16, 36, True), (16 * 36, outputs, 1, True)]

    few, bins = width // 2, 2 * support + 1
    down = [(9 * frames, few, 42**2, True), *convolutions(few, 42, 2 * min(2, blocks)),
            (9 * few, width, 21**2, True), *convolutions(width, 21, 2 * min(3, blocks)),
            *convolutions(width, 11, 2 * min(3, blocks))]  # fmt: skip
    tower = convolutions(width, 6, 2 * blocks)
    first = [(9 * width, width, 36, True), (9 * actions, width, 36, False)]
    return {
        "representation": down + tower,
        "dynamics": first + tower + head(bins),
        "prediction": head(actions) + head(bins),
    }


def weights_of(layers):
    """All numbers of the layers; norms are counted in `parameters`."""
    return sum((inputs + bias) * outputs for inputs, outputs, _, bias in layers)


def flops_of(layers):
    """Multiplications and additions for one position."""
    return sum(2 * inputs * outputs * places for inputs, outputs, places, _ in layers)


def parameters(network, width, blocks, image):
    """Layers, and a scale and an offset per plane for each norm."""
    norms = 2 * (2 * blocks + 1) * 2 * width
    if image:
        norms += 2 * min(2, blocks) * 2 * (width // 2) + 4 * min(3, blocks) * 2 * width
        norms += 3 * 2 * 16  # one in each head
    return norms + sum(weights_of(layers) for layers in network.values())

# %% [markdown]
# Is the count right? Ask the library, at a small width, where its networks are quickly built.

# %%
from mzu.config import NetworkConfig
from mzu.environments.spaces import Spaces
from mzu.networks.network import build_network, resolve_width
from mzu.networks.parameter_table import count_parameters

STATES, FRAMES = Spaces((5,), 1, continuous=True), Spaces((84, 84, 4), 9, observation_dtype="uint8")
small = NetworkConfig(width=8, num_blocks=3, value_support=20, reward_support=20)
counted = parameters(state_layers(5, 1, 2, 8, 3, 20), 8, 3, image=False)
assert counted == count_parameters(build_network(small, STATES)), (
    "the parameters counted by hand are not those of the network"
)
counted = parameters(image_layers(9, 8, 3, 20), 8, 3, image=True)
assert counted == count_parameters(build_network(small, FRAMES)), (
    "the parameters counted by hand are not those of the network of images"
)

NETWORKS = {
    "swingup": state_layers(5, 1, 2, 64, 2, 20),
    "paper_control": state_layers(5, 1, 2, 512, 10, 300),
    "paper_atari": image_layers(9, 256, 10, 300),
}
for name, network in NETWORKS.items():
    config = preset(name).config.network
    total = parameters(network, config.width, config.num_blocks, image=name == "paper_atari")
    flops = {part: flops_of(layers) for part, layers in network.items()}
    print(f"{name:16} {total:12,} parameters, {4 * total / 1e6:6.1f} MB, with Adam's means"
          f" {12 * total / 1e6:6.1f} MB | million operations: representation"
          f" {flops['representation'] / 1e6:8.2f}, dynamics {flops['dynamics'] / 1e6:6.2f}")

# %% [markdown]
# A few tens of millions of parameters are small today. The *data* and the *work* are not. With 200 million frames per game, four to a
# step, and 7,056 bytes to a frame:

# %%
GB = 1e9
steps = 200_000_000 // 4
size = steps * 84 * 84
print(f"one game, decompressed: {size / GB:,.0f} GB; 1 %: {size / 100 / GB:.1f} GB")
replay = preset("paper_atari").config.replay
held = replay.capacity * replay.segment_length
print(f"the replay, {held:,} positions: {held * 84 * 84 / GB:,.0f} GB if frames are stored once")
learning = preset("paper_atari").config.learning
drawn = learning.batch_size * learning.training_steps
print(f"positions learned from: {drawn:,}, so each of an Atari game {drawn / steps:.0f} times, "
      f"each of the 40,000 of cartpole.swingup {drawn / 40_000:,.0f} times")

# %% [markdown]
# ### Width by the amount of data
#
# The last number explains the paper's remark on overfitting, and its cure in the caption of the table of DM Control:
#
# $$\text{channels} = \sqrt{\text{datapoints} / \text{layers}},$$
#
# so that the parameters, about $40 w^2$, stay in proportion to the data. `network.width=auto` does that. The table "Varying
# network size" tests it on four tasks; the dotted lines are the automatic widths.

# %%
WIDTHS = [32, 64, 128, 256, 512]
BY_WIDTH = {  # episodes, scores by width
    "cartpole.swingup": (40, [605.0, 343.3, 293.2, 302.6, 259.3]),
    "fish.swim": (200, [511.9, 566.0, 579.1, 614.7, 458.2]),
    "walker.stand": (200, [820.2, 889.4, 868.4, 782.6, 676.1]),
    "walker.walk": (200, [922.8, 954.0, 920.6, 919.9, 904.5]),
}
auto = NetworkConfig(width="auto")
figure, ax = plt.subplots(figsize=(7.5, 3.8))
for (task, (episodes, results)), marker in zip(BY_WIDTH.items(), "osv^", strict=True):
    ax.semilogx(WIDTHS, results, marker=marker, label=f"{task}, {episodes} episodes")
    width = round(math.sqrt(1000 * episodes / 10))
    assert width == resolve_width(auto, datapoints=1000 * episodes), (
        "the automatic width is not the library's"
    )
for episodes, line in ((40, ":"), (200, "-.")):
    width = resolve_width(auto, datapoints=1000 * episodes)
    ax.axvline(width, color="black", linewidth=0.9, linestyle=line)
    ax.text(1.03 * width, 20, f"auto: {width}\n({episodes} episodes)", fontsize=8)
ax.set_xticks(WIDTHS, [str(width) for width in WIDTHS])
ax.set(xlabel="hidden size", ylabel="mean return", ylim=(0, 1000),
       title="The paper's scores by network size, DM Control")
ax.minorticks_off()
ax.legend(fontsize=8)
plt.show()

# %% [markdown]
# Every task is worse at 512 than at its best width, and the smallest dataset likes the smallest network. The rule is a good guess,
# not the best: cartpole would do better with 32.
#
# ### How long would it take here?
#
# Two parts of a run cost time.
#
# * **Learning.** Each position of a batch passes the representation once and the dynamics and prediction five times; the gradients cost
#   about twice that again. So $3\,(h + 5 (g + f))$ operations for each of $1024 \cdot 10^6$ positions.
# * **Searching.** Each search passes the representation once and the dynamics and prediction 50 times; where actions are sampled, ours
#   evaluates the root's 20 candidates besides. How many positions are searched per batch the paper does not say; our default is 32.
#
# Divide by the speed of this machine. Its speed we measure by a large product of matrices, which is close to the best that it can do:
# these are times that nothing on this machine can beat, not predictions.

# %% tags=["timing"]
from mzu.bench.timing import best_times

rng = np.random.default_rng(0)
left, right = (rng.normal(size=shape).astype(np.float32) for shape in ((1024, 512), (512, 512)))
rounds = 3 if FAST else 300  # the best of many: another program may disturb any one of them
milliseconds = best_times({"product": lambda: left @ right}, rounds)["product"]
SPEED = 2 * 1024 * 512 * 512 / (milliseconds / 1000)
print(f"this machine: {SPEED / 1e9:.0f} billion operations per second")

DAY = 86_400


def duration(seconds):
    """In the largest unit of which it is at least one."""
    units = {"years": 365.25 * DAY, "days": DAY, "hours": 3600, "minutes": 60, "seconds": 1}
    return next(f"{seconds / size:.1f} {unit}" for unit, size in units.items() if seconds >= size)


def evaluations(search):
    """Steps of the model in one search: its simulations, and what is evaluated before them."""
    return search.num_simulations + (search.num_sampled_actions if search.evaluates_first else 0)


times = {}
for name, network in NETWORKS.items():
    config = preset(name).config
    h, g, f = map(flops_of, network.values())
    trained = config.learning.batch_size * config.learning.training_steps
    searched = config.acting.positions_per_step * config.learning.training_steps
    learning = trained * 3 * (h + config.learning.unroll_steps * (g + f))
    searching = searched * (h + evaluations(config.search) * (g + f))
    times[name] = np.array([learning, searching]) / SPEED
    print(f"{name:16} learning {learning:.1e} operations, {duration(times[name][0]):12} | searching"
          f" {searching:.1e}, {duration(times[name][1])}")

# %% [markdown]
# How close to that bound is a real search? We time the library's, with random weights, at the size of the preset and of the
# paper's state network: simulations as in the table above, 20 sampled actions, 32 positions at a time.

# %% tags=["timing"]
from mzu.networks.compiled.forward_pass import CompiledModel
from mzu.networks.compiled.weights import random_weights
from mzu.search.search import search

batch = 8 if FAST else 32
observations = rng.normal(size=(batch, 5)).astype(np.float32)
for name in PRESETS[:2]:
    config = preset(name).config
    network = config.network
    model = CompiledModel(random_weights(rng, 5, 1, network.width, network.num_blocks,
                                         network.value_support, continuous=True))
    call = functools.partial(search, model, observations, config.search, rng)
    seconds = best_times({name: call}, repetitions=1 if FAST else 5)[name] / 1000
    h, g, f = map(flops_of, NETWORKS[name].values())
    bound = batch * (h + evaluations(config.search) * (g + f)) / SPEED
    wanted = config.acting.positions_per_step * config.learning.training_steps
    print(f"{name:16} {batch / seconds:8,.0f} searches per second, {bound / seconds:4.0%} of the"
          f" bound; all {wanted:,.0f}: {duration(wanted * seconds / batch)}")

# %% jupyter={"source_hidden": true} tags=["timing", "hide-input"]
figure, ax = plt.subplots(figsize=(8, 3.4))
for part, (name, hatch) in enumerate((("learning", ""), ("searching", "//"))):
    ax.barh(np.arange(3) + 0.2 - 0.4 * part, [times[one][part] / DAY for one in PRESETS], 0.36,
            label=name, hatch=hatch, edgecolor="white")
for days, name in ((1 / 1440, "minute"), (1 / 24, "hour"), (1, "day"), (365, "year")):
    ax.axvline(days, color="black", linewidth=0.7, linestyle=":")
    ax.text(days, 2.5, f" {name}", fontsize=8)
ax.set_yticks(range(3), PRESETS)
ax.set(xscale="log", xlabel="days on this machine, at the least", ylim=(-0.5, 2.8),
       title="What a run of each size takes")
ax.legend(loc="lower right")
plt.show()

# %% [markdown]
# Whatever the machine: a state task at the paper's size is more than a hundred thousand of our runs, and one Atari game is more than
# a hundred state tasks; there are 46. (The times are those of the machine and the hour that made them.) What a
# classroom run gives up is therefore not the algorithm: it is width, depth, batch size and the number of batches. The presets say by
# how much.

# %%
assert set(times) == set(PRESETS), "a preset is missing from the table of times"
for one, other in itertools.pairwise(PRESETS):
    assert times[one].sum() * 100 < times[other].sum(), (
        "each size should cost more than a hundred times the one before"
    )

# %% [markdown]
# ## 2. Scores
#
# At the end of training the paper plays 300 episodes with the final network (appendix "Evaluation") and reports the mean. Games count
# points in units of their own, from Pong's 21 to hundreds of thousands, so scores are *normalised* before they are
# put together. Two ways are in use:
#
# $$s_\text{human} = \frac{s_\text{agent} - s_\text{random}}{s_\text{human} - s_\text{random}}, \qquad
# s_\text{data} = \frac{s_\text{agent} - s_\text{random}}{s_\text{DQN} - s_\text{random}}.$$
#
# The first is the one of online Atari. The second asks the question of offline learning: how much better than the agent whose
# play the data are? The tables of both are in the library. Recompute the paper's summary.

# %%
from mzu.environments import scores

offline = scores.table(scores.RL_UNPLUGGED)


def my_column(agent):
    """Data-normalised scores [46]."""
    return np.array([(row[agent] - row["random"]) / (row["online_dqn"] - row["random"])
                     for row in offline.values()])


print("46 games, offline          median      mean")
OFFLINE = ["bc", "dqn", "iqn", "bcq", "rem", "muzero_crr", "muzero_policy_bc", "muzero_unplugged"]
for agent in OFFLINE:
    values = my_column(agent)
    assert np.array_equal(values, scores.normalised_column(agent)), (
        "the normalised scores are not the library's"
    )
    print(f"{agent:22} {100 * np.median(values):8.1f} % {100 * values.mean():7.1f} %")
unplugged = my_column("muzero_unplugged")
assert round(100 * np.median(unplugged), 1) == 265.3, "the median is not that of the paper's table"
assert round(100 * unplugged.mean(), 1) == 595.5, "the mean is not that of the paper's table"
assert (unplugged < 1).sum() == 2, "the paper says that two games are below their data"

online = 100 * scores.normalised_column("muzero_res2_adam", scores.HUMAN)
print(f"57 games, online, human-normalised: median {np.median(online):.1f} %,",
      f"mean {online.mean():.1f} %")
assert round(np.median(online), 1) == 1006.4, "the online median is not that of the paper"

# %%
order = np.argsort(unplugged)
names = np.array(list(offline))[order]
figure, ax = plt.subplots(figsize=(11, 4.2))
ax.bar(range(46), unplugged[order], color=np.where(unplugged[order] < 1, "C1", "C0"))
for value, name, line in ((np.median(unplugged), "median", "-"), (unplugged.mean(), "mean", "--"),
                          (scores.interquartile_mean(unplugged), "interquartile mean", ":")):
    ax.axhline(value, color="black", linewidth=1, linestyle=line, label=f"{name} {value:.2f}")
ax.axhline(1, color="grey", linewidth=0.8)
ax.set(yscale="log", ylabel="data-normalised score", xticks=range(46),
       title="MuZero Unplugged against the DQN that made its data (1: equal)")
ax.set_xticklabels(names, rotation=90, fontsize=8)
ax.set_xlim(-0.7, 45.7)
ax.legend()
plt.show()
largest = unplugged[order][-5:]
print(f"the five largest games make {largest.sum() / unplugged.sum():.0%} of the mean")

# %% [markdown]
# The figure shows why one number is not enough. The *mean* is made by a handful of games. The *median* looks at two games in
# the middle; the other 44 may do what they like. The *interquartile mean* (IQM, Agarwal et al. 2021, [arXiv:2108.13264](https://arxiv.org/abs/2108.13264)) averages the middle half.


# %%
def my_interquartile_mean(values):
    """Sort, leave out a quarter at each end, average."""
    values = np.sort(np.ravel(values))
    cut = len(values) // 4
    return values[cut:len(values) - cut].mean()


assert np.isclose(my_interquartile_mean(unplugged), scores.interquartile_mean(unplugged)), (
    "our interquartile mean is not the library's"
)
for agent in ("rem", "muzero_crr", "muzero_unplugged"):
    print(f"{agent:18} IQM {my_interquartile_mean(my_column(agent)):.2f}")

# %% [markdown]
# ### How sure is it?
#
# The paper's tables have one number per game. Another run, with another seed, would have given others. An interval needs
# several runs: draw runs with replacement, *for each game by itself*, compute the statistic, repeat, and take the quantiles. This is the
# *stratified bootstrap*. To try it we must invent runs: take the paper's scores, and let five imaginary runs differ from them by 30 % (a
# standard deviation that we chose; it is not the paper's).

# %%
RUNS = unplugged * (1 + 0.3 * np.random.default_rng(0).normal(size=(5, 46)))


def my_interval(runs, statistic, rng, samples=2000):
    """The middle 95 % of the statistic over resampled runs [runs, games]."""
    count, games = runs.shape
    values = []
    for chosen in rng.integers(count, size=(samples, count, games)):
        values.append(statistic(runs[chosen, np.arange(games)]))
    return np.quantile(values, [0.025, 0.975])


STATISTICS = {"median": scores.median, "mean": scores.mean, "IQM": scores.interquartile_mean}
samples = 200 if FAST else 2000
figure, axes = plt.subplots(1, 2, figsize=(10, 3.2), sharey=True)
for place, (name, statistic) in enumerate(STATISTICS.items()):
    low, high = my_interval(RUNS, statistic, np.random.default_rng(1), samples)
    theirs = scores.stratified_interval(RUNS, statistic, np.random.default_rng(1), samples)
    assert np.allclose((low, high), theirs), "our interval is not the library's"
    value = statistic(RUNS)
    print(f"{name:6} {value:.2f}, other runs of these games: {low:.2f} to {high:.2f}", end="; ")
    axes[0].errorbar(value, place, xerr=[[value - low], [high - value]], fmt="o", capsize=5)
    # Other games instead of other runs: draw the games.
    rng = np.random.default_rng(2)
    drawn = [statistic(unplugged[rng.integers(46, size=46)]) for _ in range(samples)]
    value, (low, high) = statistic(unplugged), np.quantile(drawn, [0.025, 0.975])
    print(f"other games: {low:.2f} to {high:.2f}")
    axes[1].errorbar(value, place, xerr=[[value - low], [high - value]], fmt="s", capsize=5)
axes[0].set_yticks(range(3), STATISTICS)
axes[0].set_title("other runs of the same games (invented spread)")
axes[1].set(title="other games like these 46")
for ax in axes:
    ax.set(xlabel="data-normalised score, 95 % interval", xlim=(0, 12), ylim=(-0.5, 2.5))
plt.show()

# %% [markdown]
# Two different questions, two different widths. "Would the result come out again?" is a matter of runs, and five of them answer it
# fairly well. "Would it be so on other games?" is a matter of games, and 46 leave much open, most of all for the mean. Say
# which question an interval answers.

# %% [markdown]
# ### Less data
#
# The paper's table "Low-data Atari setting" has 1 % (2 million frames, 500,000 steps) and 10 % of the logs of DQN
# Replay (notebook 09). Here it is, normalised by the data: 0 is random play, 1 the online DQN.

# %%
from mzu.environments.scores import normalised_score

LOW_DATA = {  # game: (1 %, 10 %), each QR-DQN, REM, CQL(H), MuZero Unplugged
    "asterix": ((166.3, 386.5, 592.4, 27220.5), (189.2, 75.1, 156.3, 40554.0)),
    "breakout": ((7.9, 11.0, 61.1, 251.9), (151.2, 86.7, 269.3, 485.8)),
    "pong": ((-13.8, -6.9, 19.3, -16.2), (15.1, 8.9, 18.5, 15.6)),
    "qbert": ((383.6, 343.4, 14012.0, 6953.2), (7091.3, 8624.3, 13855.6, 16817.9)),
    "seaquest": ((672.9, 499.8, 779.4, 4964.0), (2984.8, 3936.6, 3674.1, 8556.3)),
}
AGENTS = ["QR-DQN", "REM", "CQL(H)", "MuZero Unplugged"]
figure, axes = plt.subplots(1, 2, figsize=(11, 3.6), sharey=True)
for column, (ax, share) in enumerate(zip(axes, ("1 %", "10 %"), strict=True)):
    for agent, name in enumerate(AGENTS):
        values = [normalised_score(game, LOW_DATA[game][column][agent]) for game in LOW_DATA]
        ax.bar(np.arange(5) + (agent - 1.5) * 0.2, values, 0.19, label=name, edgecolor="white",
               hatch=["", "//", "..", "xx"][agent])
    ax.axhline(1, color="black", linewidth=0.8, linestyle="--")
    ax.set(xticks=range(5), xticklabels=LOW_DATA, title=f"{share} of DQN Replay")
    ax.set_yscale("symlog", linthresh=1)
axes[0].set_ylabel("data-normalised score")
axes[0].set_yticks([0, 0.5, 1, 2, 5, 10], ["0", "0.5", "1", "2", "5", "10"])
axes[0].legend(fontsize=8)
plt.show()
gains = [normalised_score(game, LOW_DATA[game][1][3]) - normalised_score(game, LOW_DATA[game][0][3])
         for game in LOW_DATA]
assert min(gains) > 0, "ten times the data should help in every game"

# %% [markdown]
# MuZero Unplugged gains from ten times the data in every game, and beats the DQN from 1 % of its experience in three of five.
# With 1 % it fails in Pong, where CQL does not.

# %% [markdown]
# ## What the library adds
#
# * **Everything is the same at any size**: `mzu train paper_control --env dm_control:cartpole-swingup --data rlu:cartpole_swingup
#   --set data_root=DATA --set network.width=auto` is the paper's run, if you can wait.
# * `mzu network` counts parameters and memory of any configuration; `mzu bench search` and `mzu bench train` time them.
# * The scores of random play, people and the data's DQN, and the paper's tables: `mzu/environments/scores.py`.
#
# ## Summary
#
# * The algorithm is the same at the paper's scale; the work is a hundred thousand (states) to many millions (Atari) of times a classroom's.
# * The width of a network fits the amount of data, not the difficulty of the task.
# * Normalise, and report more than one summary. Means belong to outliers, medians to two games; intervals over runs and over games
#   answer different questions.
#
# ## Exercises
#
# Write the functions below. The last lines of a cell check yours and say which idea is missing, if one is;
# `check.hint("11.1")` gives one hint more at each call, and the solution opens at a click. More of it,
# with derivations and figures: `tutorials/solutions/11_scale_and_scores.md`.

# %%
from mzu.classroom import check

# %% [markdown]
# ### 1. Width and work
#
# For the nine tasks of RL Unplugged compute the automatic width, the parameters, and the parameters
# per stored step. Is the ratio constant, as the caption of the paper's table promises?


# %%
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
    raise NotImplementedError


check.exercise_11_1(parameters)
check.solution("11.1")

# %% [markdown]
# ### 2. Whose mean is it?
#
# Leave out one game at a time and recompute mean, median and IQM of MuZero Unplugged. Which game
# moves each of them most? And how many games can be replaced by 0 before the median falls below 1,
# and before the mean does, if you may choose the games?


# %%
def zeros_needed(scores, threshold):
    """How many of the best games must be replaced by 0 before the mean, and before the median,
    falls below the threshold?

    scores [G] -> (for the mean, for the median)

    >>> zeros_needed(np.array([9.0, 1.0, 1.0]), 1.0)
    (1, 2)
    """
    raise NotImplementedError


check.exercise_11_2(zeros_needed)
check.solution("11.2")

# %% [markdown]
# ### 3. The work of a run
#
# Section 1 divides two sums by the speed of a machine. Write the sums: what learning costs, and what
# searching costs, in operations.


# %%
def work(h, g, f, unroll, simulations, learned, searched):
    """The operations of a run: of learning, and of searching.
    
    h, g, f: operations of representation, dynamics and prediction for one position; learned:
    positions drawn for batches, each unrolled so many steps, and the gradients cost twice the pass;
    searched: positions searched, with so many simulations, one of which evaluates one step. The
    prediction of the first position is left out in both -> (learning, searching)
    
    >>> work(10, 2, 1, 5, 50, 1, 0)
    (75, 0)
    """
    raise NotImplementedError


check.exercise_11_3(work)
check.solution("11.3")
