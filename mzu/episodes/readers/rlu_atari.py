"""RL Unplugged, Atari, ordered episodes: read and written (paper, section "MuZero Unplugged").

Files `atari_episodes_ordered/<Game>/run_<r>-<i>-of-00050`: GZIP TFRecord, one record is one episode: T frames (PNG,
84x84 grey), T actions of the game's minimal set, T rewards clipped to [-1, 1], T discounts. Notebook 09_real_data.

What follows the last action is not stored, as in the DQN Replay data that these episodes come from. A discount of 0
says that it was the end: then the last frame is repeated to stand for the terminal observation, from which nothing is
predicted, and all T actions are kept. Otherwise values are bootstrapped from the last observation, which must be a true
one: then the last frame is it, and the last action and reward are dropped.

In the release's test file each reward stands one step before the action that earned it: `load_episodes(...,
reward_shift=1)` moves rewards one step later; `mzu data check` tells whether a dataset needs it.
"""

import io
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from mzu.environments.spaces import Spaces
from mzu.episodes.episode import Episode
from mzu.episodes.readers.example import Fields, byte_strings, decode, encode, floats, integers
from mzu.episodes.readers.faults import TRANSITION_FIELDS, Fault, OnFault, ShuffledTransitions, raise_fault
from mzu.episodes.readers.files import shard_name
from mzu.episodes.readers.tfrecord import RecordWriter, read_records
from mzu.files import written_whole

SIZE = 84
FULL_ACTION_SET = 18
# Number of actions of the minimal set, for the games of RL Unplugged and DQN Replay; those not named have all 18.
_MINIMAL_ACTIONS = {
    3: "Freeway Skiing",
    4: "Atlantis Breakout",
    6: "AirRaid Bowling Carnival DemonAttack NameThisGame Pong Pooyan Qbert SpaceInvaders UpNDown",
    7: "Assault",
    8: "Gopher Phoenix Tutankham",
    9: "Asterix BeamRider CrazyClimber Enduro MsPacman VideoPinball",
    10: "Amidar TimePilot WizardOfWor",
    14: "Asteroids KungFuMaster",
    16: "JourneyEscape",
}
MINIMAL_ACTIONS = {game: count for count, games in _MINIMAL_ACTIONS.items() for game in games.split()}


def atari_spaces(game: str, num_actions: int | None = None) -> Spaces:
    """Single grey frames, and the game's minimal actions unless their number is given."""
    actions = MINIMAL_ACTIONS.get(game, FULL_ACTION_SET) if num_actions is None else num_actions
    return Spaces((SIZE, SIZE, 1), actions, observation_dtype="uint8")


def read_atari(
    path: str | Path, num_actions: int = FULL_ACTION_SET, on_fault: OnFault = raise_fault
) -> Iterator[Episode]:
    """The episodes of one file, one at a time; observations uint8 [T + 1, 84, 84, 1]."""
    for record, data in read_records(path, on_fault):
        try:
            fields = decode(data, path, record)
            if TRANSITION_FIELDS & fields.keys():
                raise ShuffledTransitions(path, "atari_episodes_ordered")
            yield _episode(fields, num_actions, path, record)
        except Fault as fault:
            on_fault(fault)


def write_atari(folder: str | Path, episodes: Iterable[Episode], run: int = 1, num_shards: int = 1) -> list[Path]:
    """Write `folder/run_<run>-<i>-of-<n>`, episode k to file k mod n; all files appear together, when complete.

    The format has no place for the observation after a terminal end: it is left out, and read as a repeated frame.
    """
    folder = Path(folder)
    paths = [folder / shard_name(f"run_{run}", index, num_shards) for index in range(num_shards)]
    with written_whole(folder) as temporary:
        temporary.mkdir()
        writers = [RecordWriter(temporary / path.name) for path in paths]
        try:
            for number, episode in enumerate(episodes):
                writers[number % num_shards].write(encode(atari_fields(episode, number)))
        finally:
            for writer in writers:
                writer.close()
    return paths


def atari_fields(episode: Episode, number: int = 0) -> Fields:
    """The fields of one record, as RL Unplugged has them; `number` becomes `episode_idx`."""
    if episode.observations.shape[1:] != (SIZE, SIZE, 1) or episode.observations.dtype != np.uint8:
        found = f"{episode.observations.dtype} {list(episode.observations.shape[1:])}"
        raise ValueError(f"Episode {number} has observations {found}, but RL Unplugged's Atari has uint8 [84, 84, 1]")
    if episode.is_continuous:
        raise ValueError(f"Episode {number} has continuous actions, but Atari's are whole numbers")
    frames, actions, rewards = episode.observations[:-1], episode.actions, episode.rewards
    discounts = np.ones(len(episode) + (not episode.terminated), np.float32)
    if episode.terminated:
        discounts[-1] = 0
    else:  # the last observation is a true one, so the last row has no action of its own
        frames, actions, rewards = episode.observations, np.append(actions, 0), np.append(rewards, 0)
    rewards = rewards.astype(np.float32)
    clipped = np.clip(rewards, -1, 1)
    return {
        "observations": [encode_frame(frame) for frame in frames],
        "actions": actions.astype(np.int64),
        "unclipped_rewards": rewards,
        "clipped_rewards": clipped,
        "discounts": discounts,
        "episode_idx": np.array([number], np.int64),
        "checkpoint_idx": np.zeros(1, np.int64),
        "episode_return": np.array([rewards.sum()], np.float32),
        "clipped_episode_return": np.array([clipped.sum()], np.float32),
    }


def encode_frame(frame: np.ndarray) -> bytes:
    """PNG of one grey frame [84, 84, 1]: smaller, and exactly the same when decoded."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(frame[:, :, 0]).save(buffer, "PNG")
    return buffer.getvalue()


def _episode(fields: Fields, num_actions: int, path, record: int) -> Episode:
    pictures = byte_strings(fields, "observations", path, record)
    actions = integers(fields, "actions", path, record)
    rewards = floats(fields, "unclipped_rewards", path, record)
    discounts = floats(fields, "discounts", path, record)
    steps = len(pictures)
    for name, values in (("actions", actions), ("unclipped_rewards", rewards), ("discounts", discounts)):
        if len(values) != steps:
            raise Fault(f"there are {len(values)} values, but {steps} frames", path, record, name)
    if steps == 0:
        raise Fault("the episode has no frame", path, record, "observations")
    outside = (actions < 0) | (actions >= num_actions)
    if outside.any():
        step = int(np.argmax(outside))
        what = f"actions[{step}] is {actions[step]}, but the game has {num_actions} actions (0..{num_actions - 1})"
        raise Fault(f"{what}; is this the dataset of another game?", path, record, "actions")
    for name, values in (("unclipped_rewards", rewards), ("discounts", discounts)):
        if not np.isfinite(values).all():
            step = int(np.argmin(np.isfinite(values)))
            raise Fault(f"{name}[{step}] is {values[step]:g}, which is not finite", path, record, name)
    if (discounts[:-1] == 0).any():
        step = int(np.argmin(discounts[:-1]))
        what = f"discounts[{step}] is 0, but only the last of the {steps} may be: two episodes are joined here"
        raise Fault(what, path, record, "discounts")
    terminated = bool(discounts[-1] == 0)
    if not terminated and steps == 1:
        raise Fault("the episode has one frame and no end, so no step is left of it", path, record, "observations")
    observations = np.empty((steps + terminated, SIZE, SIZE, 1), np.uint8)
    for index, picture in enumerate(pictures):
        observations[index, :, :, 0] = _decode_frame(picture, index, path, record)
    observations[-1] = observations[steps - 1]
    kept = steps if terminated else steps - 1
    return Episode(
        observations,
        actions[:kept],
        rewards[:kept],
        terminated,
        truncated=not terminated,
        source=f"{path}, record {record}",
    )


def _decode_frame(picture: bytes, index: int, path, record: int) -> np.ndarray:
    from PIL import Image, UnidentifiedImageError

    try:
        image = Image.open(io.BytesIO(picture))
        if image.size != (SIZE, SIZE) or image.mode != "L":
            kind = f"{image.size[0]}x{image.size[1]} of mode {image.mode}"
            what = f"frame {index} is {kind}, but must be {SIZE}x{SIZE} of mode L (8-bit grey)"
            raise Fault(what, path, record, "observations")
        if image.format != "PNG":
            raise Fault(f"frame {index} is a {image.format}, but must be a PNG", path, record, "observations")
        return np.asarray(image)
    except (UnidentifiedImageError, OSError, SyntaxError):
        raise Fault(f"frame {index} is not a readable PNG", path, record, "observations") from None
