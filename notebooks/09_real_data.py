# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 09. Real data
#
# ← [08 Unplugged](08_unplugged.ipynb) · [the course](README.md)
#
# ![Where this notebook stands in the circle of data: episodes](pictures/circle_09.svg)
#
# | | |
# |---|---|
# | **You will build** | a reader of RL Unplugged's files from the bytes up, tests for the alignment of rewards, pictures of a dataset, the sums of a run of the paper's size, normalised scores with intervals |
# | **Lives in** | `mzu/episodes/readers/tfrecord.py`, `mzu/episodes/readers/example.py`, `mzu/episodes/readers/rlu_control.py`, `mzu/episodes/readers/rlu_atari.py`, `mzu/episodes/readers/dqn_replay.py`; the dataset doctor in `mzu/episodes/doctor/check.py`, `mzu/episodes/doctor/alignment.py`; `mzu/presets.py`, `mzu/environments/scores.py` |
# | **Takes** | one to three minutes to run on two cores, plan an afternoon to work through; no network is trained and nothing is downloaded |
# | **You need** | notebook 08 for why offline data matter; Atari frames need OpenCV, Minari its package: `pip install 'mzu[atari,data]'` |
#
# The authors of the paper say in a footnote of the section "MuZero Unplugged" that a surprising
# part of their time went into data: actions that meant something else, discrepancies, artefacts of
# compression. None of these raises an error. A network learns from wrong data without complaint,
# and what comes out looks like a bad algorithm. So this last notebook is about the files.

# %%
import os

FAST = os.environ.get("MZU_FAST") == "1"  # the test suite's short version

import dataclasses
import functools
import gzip
import itertools
import math
import struct
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import mzu
from mzu.acting.collect import collect
from mzu.environments.make import make
from mzu.episodes.episode import Episode
from mzu.episodes.readers.example import decode, encode
from mzu.episodes.readers.rlu_atari import write_atari
from mzu.episodes.readers.rlu_control import control_task, write_control
from mzu.episodes.readers.tfrecord import RecordWriter, masked_crc, read_records

plt.style.use("tableau-colorblind10")
plt.rcParams.update({"figure.constrained_layout.use": True, "axes.grid": True, "grid.alpha": 0.3})
np.set_printoptions(precision=3, suppress=True)
folder = tempfile.TemporaryDirectory()
ROOT = Path(folder.name)

# %% [markdown]
# ## 1. Something to read
#
# The public datasets are too large for a lesson and need a network. But their formats are known, and
# the library writes them field by field as the releases have them. So we record a few
# episodes here and write them as RL Unplugged would:
#
# * DM Control's cartpole swing-up, six episodes by a careless player with random actions mixed in;
# * two games of Ms. Pac-Man and the beginning of a game of Pong, played at random.
#
# With the real files only `ROOT` would be another folder. `tutorials/data.md` says where to get them.

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
write_atari(ROOT / "atari_episodes_ordered/MsPacman", pacman)
write_atari(ROOT / "atari_episodes_ordered/Pong", pong)
for path in sorted(ROOT.rglob("*-of-*")):
    print(f"{path.relative_to(ROOT).as_posix():60} {path.stat().st_size:9,} bytes")

# %% [markdown]
# ## 2. From bytes to arrays
#
# ### TFRecord: a row of byte strings
#
# Under the GZIP compression lies TensorFlow's simplest container. One record follows the other, and
# each is
#
# | bytes | content |
# |---|---|
# | 8 | the length $n$ of the data, a little-endian unsigned integer |
# | 4 | a checksum of these 8 bytes |
# | $n$ | the data |
# | 4 | a checksum of the data |

# %%
path = ROOT / "dm_control_suite_episodes/cartpole_swingup/train-00000-of-00002"
raw = gzip.decompress(path.read_bytes())
length, checksum = struct.unpack("<QI", raw[:12])
print("the first 32 bytes:", raw[:32].hex(" "))
print(f"length {length:,}, its checksum {checksum:#010x}; the whole file has {len(raw):,} bytes")

# %% [markdown]
# The checksum is *CRC-32C*. Read the bytes as the coefficients of a long polynomial over the field
# with two elements, and divide by a fixed polynomial of degree 32; the remainder is the checksum.
# Any single flipped bit changes it. Bits are taken lowest first, and one byte at a time is enough: a
# table holds what each of the 256 bytes does to the remainder.
#
# TensorFlow then *masks* the result: turned by 15 bits plus a constant. The reason is prosaic: a
# checksum of data that hold checksums themselves is less good at finding errors.

# %%
POLYNOMIAL = 0x82F63B78  # CRC-32C, lowest bit first
TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (POLYNOMIAL if byte & 1 else 0)
    TABLE.append(byte)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def masked(crc):
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


assert crc32c(b"123456789") == 0xE3069283, (
    "the checksum of 123456789 is not the one that every description of CRC-32C gives"
)
assert masked(crc32c(raw[:8])) == checksum, (
    "the length's checksum is not the stored one: is it masked?"
)


def my_records(path):
    """The byte strings of a GZIP TFRecord file."""
    data, place = gzip.decompress(path.read_bytes()), 0
    while place < len(data):
        length, checksum = struct.unpack("<QI", data[place:place + 12])
        assert masked(crc32c(data[place:place + 8])) == checksum, f"length damaged at byte {place}"
        record = data[place + 12:place + 12 + length]
        (checksum,) = struct.unpack("<I", data[place + 12 + length:place + 16 + length])
        assert masked(crc32c(record)) == checksum, f"record damaged at byte {place}"
        yield record
        place += 16 + length


records = list(my_records(path))
assert records == [record for _, record in read_records(path)], (
    "our reader finds other records than the library's"
)
assert masked(crc32c(records[0])) == masked_crc(records[0]), "our checksum is not the library's"
print(len(records), "records of", *{len(record) for record in records}, "bytes")

# %% [markdown]
# One flipped bit, in the middle of the first record, is seen at once.

# %%
def flip_bit(path, place=5000):
    data = bytearray(gzip.decompress(path.read_bytes()))
    data[place] ^= 1
    path.write_bytes(gzip.compress(data))


(ROOT / "damaged").write_bytes(path.read_bytes())
flip_bit(ROOT / "damaged")
try:
    list(my_records(ROOT / "damaged"))
except AssertionError as error:
    print(error)
else:
    raise AssertionError("the damage was not noticed")

# %% [markdown]
# ### tf.Example: names and lists of numbers
#
# A record is a *protocol buffer*. Such a message is a row of fields, each announced by a *tag*, an
# integer whose lowest three bits are the *wire type* and whose other bits are the number of the field.
# Integers are *varints*: seven bits per byte, lowest first, and the top bit says that more follow. Two
# wire types occur here: 0 is a varint, 2 is a length (varint) and that many bytes. The bytes of type 2
# may be text, numbers or another message; only the declaration of the message tells. This is the one
# of `tf.train.Example`:
#
# ```
# Example     field 1: Features
# Features    field 1, repeated: an entry with field 1: name, field 2: Feature
# Feature     one of  field 1: list of bytes,  field 2: list of floats,  field 3: list of integers
# each list   field 1: bytes (repeated), or floats of 4 bytes, or varints, one after the other
# ```

# %%
def varint(data, place):
    """(value, place after it)."""
    value = shift = 0
    while True:
        byte = data[place]
        value, shift, place = value | (byte & 0x7F) << shift, shift + 7, place + 1
        if byte < 0x80:
            return value, place


def parts(message):
    """(field number, bytes) of a message whose fields all have wire type 2."""
    place = 0
    while place < len(message):
        tag, place = varint(message, place)
        assert tag & 7 == 2, f"wire type {tag & 7}"
        size, place = varint(message, place)
        yield tag >> 3, message[place:place + size]
        place += size


def varints(data):
    place, values = 0, []
    while place < len(data):
        value, place = varint(data, place)
        values.append(value - 2**64 if value >= 2**63 else value)  # negative ones: 64 bits
    return np.array(values, np.int64)


def my_decode(record):
    """{name: float32 [n], int64 [n] or a list of bytes}."""
    fields = {}
    for _, features in parts(record):
        for _, entry in parts(features):
            entry = dict(parts(entry))
            for kind, values in parts(entry[2]):
                values = [content for _, content in parts(values)]
                if kind != 1:  # numbers stand in one piece
                    read = varints if kind == 3 else lambda data: np.frombuffer(data, "<f4")
                    values = read(b"".join(values))
                fields[entry[1].decode()] = values
    return fields


assert varint(b"\xac\x02", 0) == (300, 2), (
    "0xac 0x02 is 0x2c + 2 * 128: 300, in two bytes"
)
fields = my_decode(records[0])
for name, values in sorted(fields.items()):
    print(f"{name:22} {values.dtype} {list(values.shape)!s:8} {values[:4]}")

# %%
def assert_equal_fields(mine, theirs):
    assert mine.keys() == theirs.keys(), "the record has other fields than the library finds"
    for name in mine:
        if isinstance(mine[name], list):
            assert mine[name] == theirs[name], f"{name} is not what the library reads"
        else:
            assert mine[name].dtype == theirs[name].dtype, (
                f"{name} has another type than the library reads"
            )
            assert (
                np.array_equal(mine[name], theirs[name], equal_nan=mine[name].dtype.kind == "f")
            ), f"{name} has other numbers than the library reads"


for file in sorted(ROOT.rglob("*-of-*")):
    for _, record in read_records(file):
        assert_equal_fields(my_decode(record), decode(record))

# %% [markdown]
# That is all of it: forty lines read every file of RL Unplugged. Atari's frames are byte strings, and each
# of them is a PNG picture.
#
# ## 3. Which reward belongs to which action?
#
# Arrays are not yet an episode. The library's `Episode` has $T + 1$ observations, $T$ actions and $T$
# rewards, and `rewards[t]` is the reward $u_{t+1}$ that *follows* `actions[t]`. RL Unplugged stores what
# DM Control's environments return at each step, and the step that *begins* an episode has no reward:
#
# | row | observation | action | reward | discount |
# |---|---|---|---|---|
# | 0 | $o_0$ | $a_0$ | NaN | NaN |
# | 1 | $o_1$ | $a_1$ | $u_1$, earned by $a_0$ | 1 |
# | ... | | | | |
# | $T$ | $o_T$ | padding | $u_T$, earned by $a_{T-1}$ | 0: terminal; 1: cut off |
#
# So the first reward and the last action go. The discount in the last row decides about the value
# of $o_T$. It stays 1 in DM Control: 1,000 steps are a time limit, the world would go on. Then the episode
# is *truncated*, and values are bootstrapped from $o_T$; after a terminal end the value is 0.


# %%
def my_episode(fields):
    rows = len(fields["reward"])
    position = fields["observation/position"].reshape(rows, 3)
    velocity = fields["observation/velocity"].reshape(rows, 2)
    terminated = fields["discount"][-1] == 0
    return Episode(
        observations=np.concatenate([position, velocity], axis=1),
        actions=fields["action"].reshape(rows, 1)[:-1],
        rewards=fields["reward"][1:],
        terminated=bool(terminated),
        truncated=not terminated,
    )


dataset = mzu.load_episodes("rlu:cartpole_swingup", root=ROOT)
files = sorted(path.parent.iterdir())
mine = [my_episode(my_decode(record)) for file in files for record in my_records(file)]
for one, other in zip(mine, dataset, strict=True):
    for name in ("observations", "actions", "rewards"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), (
            f"{name} is not what the library's reader gives"
        )
    assert (
        (one.terminated, one.truncated) == (other.terminated, other.truncated) == (False, True)
    ), "the end should be a time limit: truncated, not terminated"
print(dataset)

# %% [markdown]
# ### A test that needs the reward function
#
# Would we notice if the rule were another one? Here we can, because we know how the swing-up task is
# rewarded: by a product of four factors, of the state *after* the step and the action. With cart
# position $x$, pole angle $\theta$ (0 is upright), its speed $\omega$ and the action $a$,
#
# $$u = \frac{1 + \cos\theta}{2} \cdot \frac{1 + 0.1^{(x / 2)^2}}{2} \cdot
# \frac{1 + 0.1^{(\omega / 5)^2}}{2} \cdot \frac{4 + (1 - a^2)}{5}.$$
#
# Compute it from the arrays, and compare.


# %%
def known_reward(episode):
    """The rewards [T] of the states after each step, by the task's formula."""
    x, cosine, _, _, turning = episode.observations[1:].T
    control = episode.actions[:, 0]
    upright, small_action = (1 + cosine) / 2, (5 - control**2) / 5
    centred, slow = (1 + 0.1 ** ((x / 2) ** 2)) / 2, (1 + 0.1 ** ((turning / 5) ** 2)) / 2
    return upright * centred * slow * small_action


def shifted(episode, steps):
    """The mistake: rewards `steps` too late (too early when negative); zeros come in."""
    rewards = np.zeros_like(episode.rewards)
    if steps >= 0:
        rewards[steps:] = episode.rewards[:len(episode) - steps]
    else:
        rewards[:steps] = episode.rewards[-steps:]
    return dataclasses.replace(episode, rewards=rewards)


figure, axes = plt.subplots(1, 3, figsize=(11, 3.7), sharey=True)
for ax, steps in zip(axes, (-1, 0, 1), strict=True):
    bad = shifted(mine[0], steps)
    error = np.abs(bad.rewards - known_reward(bad)).mean()
    ax.plot(known_reward(bad), bad.rewards, "o", markersize=2.5, alpha=0.4)
    ax.plot([0, 1], [0, 1], color="black", linewidth=0.8, linestyle="--")
    name = {-1: "one step early", 0: "as read", 1: "one step late"}[steps]
    ax.set(xlabel="reward by the formula", title=f"{name}: mean error {error:.4f}")
axes[0].set_ylabel("reward in the arrays")
plt.show()
for episode in mine:
    assert np.abs(episode.rewards - known_reward(episode)).max() < 1e-5, (
        "the stored reward is not the one that the state has"
    )
    assert np.abs(shifted(episode, 1).rewards - known_reward(episode)).mean() > 1e-3, (
        "a reward that is moved by one step should be noticed"
    )

# %% [markdown]
# In the middle all points lie on the line: our reading is right. Beside it the rewards are off by one, and
# yet nearly right: neighbouring states have similar rewards. That is what makes this mistake so hard to
# see in a learning curve.
#
# ### What an off-by-one does
#
# In some tasks it is worse than "nearly right". In *catch* a ball falls for nine steps, and the only reward, $+1$ or
# $-1$, follows the last action. Here is what a network would be taught about that action:

# %%
catch = list(mzu.load_episodes("embedded:catch"))


def beside(episode):
    """Columns between paddle and ball before the last action, from the picture."""
    picture = episode.observations[-2][:, :, 0]
    rows, columns = np.nonzero(picture)
    assert list(rows) == [8, 9], "the ball should be in row 8 and the paddle in row 9"
    return columns[1] - columns[0]


distance = np.abs([beside(episode) for episode in catch])
print("columns between paddle and ball     0      1     2+")
for steps, name in ((0, "as recorded"), (-1, "one step early"), (1, "one step late")):
    last = np.array([shifted(episode, steps).rewards[-1] for episode in catch])
    total = np.mean([shifted(episode, steps).rewards.sum() for episode in catch])
    means = [last[chosen].mean() for chosen in (distance == 0, distance == 1, distance >= 2)]
    print(f"{name:16} mean last reward: {means[0]:5.2f}  {means[1]:5.2f}  {means[2]:5.2f}",
          f"  mean return {total:5.2f}")
    assert (steps == 0) == bool(last.any()), (
        "only as recorded the last action earns anything"
    )

# %% [markdown]
# Early: the last action never earns anything, whether the ball is caught or not; no search will care
# about it. Late: all rewards have left their episodes, and the return is 0 for all.
#
# ## 4. The dataset doctor
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
# A check that finds nothing has not proved anything. Exercises 2 and 3 add two of these.

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
#
# ## 5. Looking at data
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

# %% [markdown]
# ### Frames and the stack
#
# One frame of Pong does not say where the ball is flying. The network therefore sees the last four
# (`network.frame_stack=4`), oldest first, black before the start. On disk each frame is stored once, and stacked when it
# is read. The environment stacks by itself; with the same seed and actions it must show the same.


# %%
def stacked(frames, step, size=4):
    """frames [T + 1, 84, 84, 1] -> what the network sees at `step`, [84, 84, size]."""
    padded = np.concatenate([np.zeros((size - 1, *frames.shape[1:]), frames.dtype), frames])
    return np.concatenate(list(padded[step:step + size]), axis=-1)


with make("atari:Pong", stack=4) as game:
    assert np.array_equal(game.reset(seed=pong[0].seed), stacked(pong[0].observations, 0)), (
        "the replayed game begins with another picture than the stored one"
    )
    for step, action in enumerate(pong[0].actions[:120]):
        observation, reward, _, _ = game.step(int(action))
        assert np.array_equal(observation, stacked(pong[0].observations, step + 1)), (
            f"step {step}: the replayed game shows another picture than the stored one"
        )
        assert reward == pong[0].rewards[step], (
            f"step {step}: the replayed game pays another reward than the stored one"
        )

before = int(np.flatnonzero(pong[0].rewards)[0]) - 12
stack = stacked(pong[0].observations, before)
figure, axes = plt.subplots(1, 5, figsize=(11, 2.7))
for number, ax in enumerate(axes[:4]):
    ax.imshow(stack[:, :, number], cmap="gray", vmin=0, vmax=255)
    ax.set_title(f"frame {before - 3 + number}")
axes[4].imshow(stack.max(axis=-1) - stack.min(axis=-1).astype(int), cmap="cividis")
axes[4].set_title("what moved")
for ax in axes:
    ax.set(xticks=[], yticks=[])
    ax.grid(False)
figure.suptitle("Pong: one observation of the network is four frames (0.27 s)")
plt.show()

# %% [markdown]
# What Atari's formats leave out: the frame *after* the last action. At a terminal end nothing is predicted from
# there, so the reader repeats the last frame. At any other end values are bootstrapped from the last observation,
# which must be a true one; there our writer stores it with a row of its own.

# %%
for name, episodes in (("MsPacman", pacman), ("Pong", pong)):
    again = list(mzu.load_episodes(f"rlu_atari:{name}", root=ROOT))
    for one, other in zip(episodes, again, strict=True):
        assert np.array_equal(one.observations[:-1], other.observations[:-1]), (
            "a picture was lost on the way through the format"
        )
        assert np.array_equal(one.actions, other.actions), (
            "an action was lost on the way through the format"
        )
        assert np.array_equal(one.rewards, other.rewards), (
            "a reward was lost on the way through the format"
        )
        assert other.terminated == one.terminated, "the end was lost on the way through the format"
        last = other.observations[-2] if one.terminated else one.observations[-1]
        assert np.array_equal(other.observations[-1], last), (
            "the last frame is repeated at a terminal end, and a true one elsewhere"
        )

# %% [markdown]
# ## 6. DQN Replay, and learning from one per cent
#
# RL Unplugged's Atari data come from *DQN Replay*: everything that an online DQN agent saw, logged as it learned.
# The logs are NumPy arrays under GZIP, four files for each million steps: frames, actions, rewards, terminals. There are no
# episodes in them, only a stream, with three peculiarities: three black frames stand before each episode (for the stack of
# four), the last row of a file is stale, and rewards are clipped to $[-1, 1]$. We write such a log and read it back.

# %%
LOGS = ROOT / "dqn/MsPacman/1/replay_logs"
LOGS.mkdir(parents=True)
PADDING = 3


def write_log(number, episodes):
    """The four files of checkpoint `number`."""
    log = {"observation": [], "action": [], "reward": [], "terminal": []}
    for episode in episodes:
        terminal = np.arange(1 - len(episode), 1) == 0
        frames = episode.observations[:-1, :, :, 0]
        rewards = np.clip(episode.rewards, -1, 1)
        columns = (frames, episode.actions, rewards, terminal)
        for kind, column in zip(log, columns, strict=True):
            log[kind] += [np.zeros((PADDING, *column.shape[1:])), column]
    types = {"observation": "uint8", "action": "int32", "reward": "float32", "terminal": "uint8"}
    for kind, columns in log.items():
        stale = np.zeros((1, *columns[0].shape[1:]))
        with gzip.open(LOGS / f"$store$_{kind}_ckpt.{number}.gz", "wb", compresslevel=3) as file:
            np.save(file, np.concatenate([*columns, stale]).astype(types[kind]))


for number in range(2):
    write_log(number, pacman)
whole = list(mzu.load_episodes("dqn_replay:MsPacman/1", root=ROOT))
for one, other in zip(pacman * 2, whole, strict=True):
    assert np.array_equal(one.observations[:-1], other.observations[:-1]), (
        "a picture was lost on the way through the log"
    )
    assert np.array_equal(np.clip(one.rewards, -1, 1), other.rewards), (
        "DQN Replay clips rewards to -1..1, and changes nothing else"
    )
for fraction in (1, 0.1):
    part = list(mzu.load_episodes("dqn_replay:MsPacman/1", root=ROOT, fraction=fraction))
    print(f"fraction {fraction:4}: {len(part)} episodes, steps", *map(len, part),
          "| terminal:", *[episode.terminated for episode in part])

# %% [markdown]
# A fraction is the first part of *every* file, so that each stage of the agent's learning keeps its share.
#
# The paper's table "Low-data Atari setting" has 1 % (2 million frames, 500,000 steps) and 10 % of these logs. Here it is, data-
# normalised (section 8): 0 is random play, 1 the online DQN.

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
#
# ### Minari
#
# The third format is that of the Farama foundation: HDF5 files with $T + 1$ observations and $T$ actions, aligned as
# our episodes are, with `terminations` and `truncations` apart. Its writer compresses images as JPEG unless told not
# to; the library tells it.

# %%
from mzu.episodes.readers import minari_format
from mzu.extras import is_installed

if is_installed("minari"):
    minari_format.write_minari(ROOT / "minari/swingup-v0", noisy, TASK.spaces)
    again = mzu.load_episodes("minari:swingup-v0", root=ROOT / "minari")
    for one, other in zip(noisy, again, strict=True):
        assert np.array_equal(one.observations, other.observations), (
            "an observation was lost on the way through Minari's format"
        )
        assert np.array_equal(one.actions, other.actions), (
            "an action was lost on the way through Minari's format"
        )
        assert np.array_equal(one.rewards, other.rewards) and other.truncated, (
            "a reward was lost on the way through Minari's format"
        )
    print(len(again), "episodes, unchanged after writing and reading")
else:
    print("minari is not installed, so this cell did nothing: pip install 'mzu[data]'")

# %% [markdown]
# ## 7. At the paper's scale
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
          f" {flops['representation'] / 1e6:8.1f}, dynamics {flops['dynamics'] / 1e6:6.1f}")

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
# * **Searching.** Each search passes the representation once and the dynamics and prediction 50 times. How many positions are searched per
#   batch the paper does not say; our default is 32.
#
# Divide by the speed of this machine. Its speed we measure by a large product of matrices, which is close to the best that it can do:
# these are times that nothing on this machine can beat, not predictions.

# %% tags=["timing"]
from mzu.bench.timing import best_times

rng = np.random.default_rng(0)
left, right = (rng.normal(size=shape).astype(np.float32) for shape in ((1024, 512), (512, 512)))
rounds = 3 if FAST else 10
milliseconds = best_times({"product": lambda: left @ right}, rounds)["product"]
SPEED = 2 * 1024 * 512 * 512 / (milliseconds / 1000)
print(f"this machine: {SPEED / 1e9:.0f} billion operations per second")

DAY = 86_400


def duration(seconds):
    """In the largest unit of which it is at least one."""
    units = {"years": 365.25 * DAY, "days": DAY, "hours": 3600, "minutes": 60, "seconds": 1}
    return next(f"{seconds / size:.1f} {unit}" for unit, size in units.items() if seconds >= size)


times = {}
for name, network in NETWORKS.items():
    config = preset(name).config
    h, g, f = map(flops_of, network.values())
    trained = config.learning.batch_size * config.learning.training_steps
    searched = config.acting.positions_per_step * config.learning.training_steps
    learning = trained * 3 * (h + config.learning.unroll_steps * (g + f))
    searching = searched * (h + config.search.num_simulations * (g + f))
    times[name] = np.array([learning, searching]) / SPEED
    print(f"{name:16} learning {learning:.1e} operations, {duration(times[name][0]):12} | searching"
          f" {searching:.1e}, {duration(times[name][1])}")

# %% [markdown]
# How close to that bound is a real search? We time the library's, with random weights, at the size of the paper's state
# network: 50 simulations, 20 sampled actions, 32 positions at a time.

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
    seconds = best_times({name: call}, repetitions=1 if FAST else 3)[name] / 1000
    h, g, f = map(flops_of, NETWORKS[name].values())
    bound = batch * (h + config.search.num_simulations * (g + f)) / SPEED
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
# On a machine like the one that made this figure, a state task at the paper's size takes weeks, one Atari game years; there are 46. What a
# classroom run gives up is therefore not the algorithm: it is width, depth, batch size and the number of batches. The presets say by
# how much.

# %%
assert set(times) == set(PRESETS), "a preset is missing from the table of times"
for one, other in itertools.pairwise(PRESETS):
    assert times[one].sum() * 100 < times[other].sum(), (
        "each size should cost more than a hundred times the one before"
    )

# %% [markdown]
# ## 8. Scores
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

# %%
swingup.close()
folder.cleanup()

# %% [markdown]
# ## What the library adds
#
# * **Streams.** Our reader holds a file in memory; the library's hold one episode, so a dataset of 80 GB can be read on a laptop.
#   Checksums are compiled, and a damaged record is named by file, record and field, or skipped and counted (`skip_bad=True`).
# * **Refusals.** RL Unplugged also has folders of single transitions in random order. No episode can be made of them, and the
#   library says so in place of guessing. Missing files of a set are reported.
# * **The doctor** looks at more than we planted: other keys in the observation, other spaces than the environment's, JPEG in images. Its
#   report can be a page: `mzu data check NAME --html report.html`.
# * **Writers.** `mzu data convert` writes all formats but DQN Replay; files appear when they are complete. `mzu collect` records your own.
# * **Everything else** is the same at any size: `mzu train paper_control --env dm_control:cartpole-swingup --data rlu:cartpole_swingup
#   --set data_root=DATA --set network.width=auto` is the paper's run, if you can wait.
#
# ## Summary
#
# * A file of RL Unplugged is GZIP, TFRecord, protocol buffers: lengths, checksums, names, numbers. Forty lines read it.
# * In RL Unplugged's control data `reward[t]` follows `action[t - 1]`; the first reward is NaN, the last action is padding, and a discount of 1 in
#   the last row says *cut off*, not *ended*.
# * An off-by-one raises no error and changes rewards little. Check against a known reward function, against the environment, or by which
#   transition explains the *changes* of the rewards.
# * A doctor finds what it looks for. Look at the data yourself: returns, ends, actions, coverage, frames.
# * The algorithm is the same at the paper's scale; the work is tens of thousands (states) to millions (Atari) of times a classroom's.
# * Normalise, and report more than one summary. Means belong to outliers, medians to two games; intervals over runs and over games
#   answer different questions.
#
# ## Exercises
#
# Write the functions below. The last lines of a cell check yours and say which idea is missing, if one is;
# `check.hint("09.1")` gives one hint more at each call, and the solution opens at a click. More of it,
# with derivations and figures: `tutorials/solutions/09_real_data.md`.

# %%
from mzu.classroom import check

# %% [markdown]
# ### 1. Write it
#
# Write the opposite of section 2. It begins with the varint: everything else of `tf.Example` is a
# tag, a length and bytes. (The solutions' page goes on to a whole file that `mzu.load_episodes`
# reads.)


# %%
def varint(value):
    """A whole number as a varint of protocol buffers.

    value -> its bytes, as a list of numbers 0..255: seven bits each, the lowest first; all but
    the last have their highest bit (128) set. A negative number is written as its 64 bits, value
    + 2**64.

    >>> varint(300)
    [172, 2]
    """
    raise NotImplementedError


check.exercise_09_1(varint)
check.solution("09.1")

# %% [markdown]
# ### 2. A stuck sensor
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


check.exercise_09_2(longest_run)
check.solution("09.2")

# %% [markdown]
# ### 3. A limit that is no end
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


check.exercise_09_3(steps_in_error)
check.solution("09.3")

# %% [markdown]
# ### 4. Width and work
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


check.exercise_09_4(parameters)
check.solution("09.4")

# %% [markdown]
# ### 5. Whose mean is it?
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


check.exercise_09_5(zeros_needed)
check.solution("09.5")

# %% [markdown]
# ### 6. Find the bug
#
# Someone's reader has `rewards = np.nan_to_num(fields["reward"])[:-1]`. It fits: $T$ rewards, no NaN.
# What is wrong, does the doctor find it on the embedded episodes, and what happens to an episode that
# ends with its only reward? Write the line as it should be.


# %%
def rewards_of(stored):
    """The rewards of an episode, from RL Unplugged's rows.

    stored [T + 1]: stored[t] came with observation t, so that the first one, before any action,
    is nan -> [T]: rewards[t] follows actions[t]

    >>> rewards_of(np.array([np.nan, 1.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    raise NotImplementedError


check.exercise_09_6(rewards_of)
check.solution("09.6")
