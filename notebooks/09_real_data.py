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
# ← [08 Unplugged](08_unplugged.ipynb) · [the course](README.md) · [10 The dataset doctor](10_dataset_doctor.ipynb) →
#
# ![Where this notebook stands in the circle of data: episodes](pictures/circle_09.svg)
#
# | | |
# |---|---|
# | **You will build** | a reader of RL Unplugged's files from the bytes up, episodes out of its arrays, stacks of frames, and a log of DQN Replay |
# | **Lives in** | `mzu/episodes/readers/tfrecord.py`, `mzu/episodes/readers/example.py`, `mzu/episodes/readers/rlu_control.py`, `mzu/episodes/readers/rlu_atari.py`, `mzu/episodes/readers/dqn_replay.py`, `mzu/episodes/readers/minari_format.py` |
# | **Takes** | about a minute to run on two cores, two hours to work through; no network is trained and nothing is downloaded |
# | **You need** | notebook 08 for why offline data matter; Atari frames need OpenCV, Minari its package: `pip install 'mzu[atari,data]'` |
#
# The authors of the paper say in a footnote of the section "MuZero Unplugged" that a surprising
# part of their time went into data: actions that meant something else, discrepancies, artefacts of
# compression. None of these raises an error. A network learns from wrong data without complaint,
# and what comes out looks like a bad algorithm. So this notebook is about the files: what is in them, byte by
# byte, and how they become episodes. The next one looks for faults in them.

# %%
import os

FAST = os.environ.get("MZU_FAST") == "1"  # the test suite's short version

import dataclasses
import gzip
import struct
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import mzu
from mzu.acting.collect import collect
from mzu.environments.make import make
from mzu.episodes.episode import Episode
from mzu.episodes.readers.example import decode
from mzu.episodes.readers.rlu_atari import write_atari
from mzu.episodes.readers.rlu_control import control_task, write_control
from mzu.episodes.readers.tfrecord import masked_crc, read_records

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

# %% jupyter={"source_hidden": true} tags=["hide-input"]
sizes = {name: values.nbytes for name, values in sorted(fields.items())}
spent = {**sizes, "names, tags and lengths": len(records[0]) - sum(sizes.values())}
figure, ax = plt.subplots(figsize=(9, 3))
ax.barh(list(spent), list(spent.values()), color=["C0"] * len(sizes) + ["C1"])
for place, number in enumerate(spent.values()):
    ax.text(number, place, f" {number:,}", va="center", fontsize=9)
ax.set(xlabel="bytes", xlim=(0, 1.12 * max(spent.values())),
       title=f"What the {len(records[0]):,} bytes of one record are")
ax.invert_yaxis()
plt.show()

# %% [markdown]
# (The two whole numbers take 8 bytes each in memory; as varints in the file one is enough.) That is all of it: forty lines read every file of RL Unplugged. Atari's frames are byte strings, and each
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

# %% [markdown]
# ## 4. Frames and the stack
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
# ## 5. DQN Replay
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

# %% [markdown]
# ## 6. Minari
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
# * **Writers.** `mzu data convert` writes all formats but DQN Replay; files appear when they are complete. `mzu collect` records your own.
#
# ## Summary
#
# * A file of RL Unplugged is GZIP, TFRecord, protocol buffers: lengths, checksums, names, numbers. Forty lines read it.
# * In RL Unplugged's control data `reward[t]` follows `action[t - 1]`; the first reward is NaN, the last action is padding, and a discount of 1 in
#   the last row says *cut off*, not *ended*.
# * An off-by-one raises no error and changes rewards little. Where the reward function is known, check against it.
# * Frames are stored once and stacked when they are read; a log of DQN Replay is a stream, in which episodes must be found.
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
# ### 2. Find the bug
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


check.exercise_09_2(rewards_of)
check.solution("09.2")
# %% [markdown]
# ### 3. Episodes in a stream
#
# A log of DQN Replay has no episodes, only `terminal`. Find them: three rows of padding stand before each
# episode, the last row of a file is stale, and what has no end yet is an episode all the same.


# %%
def spans(terminal, padding):
    """Where the episodes of a log are.
    
    terminal [N], 0 or 1: of all rows; `padding` rows stand before each episode, and the last row of
    the log is stale -> [(start, stop), ...]: the rows of each episode; the last one may not have
    ended. What has no row of its own is no episode.
    
    >>> spans([0, 0, 0, 1, 0, 0, 0, 1, 0], 2)
    [(2, 4), (6, 8)]
    """
    raise NotImplementedError


check.exercise_09_3(spans)
check.solution("09.3")
