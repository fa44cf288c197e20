"""The replay: keeps the most recent segments and samples positions by priority.

Paper, appendix "Other Hyperparameters": position i is drawn with probability P(i) = p_i^alpha / sum_k p_k^alpha, where
p_i = |nu_i - z_i|, and its loss is scaled by the importance weight w_i = (1 / (N P(i)))^beta. Our addition is a share s
of uniform draws, P(i) = (1 - s) p_i^alpha / sum_k p_k^alpha + s / N: no position is forgotten because its priority was
once small, and no weight is larger than (1 / s)^beta.
"""

from typing import NamedTuple

import numpy as np

from mzu.config import Config, ReplayConfig
from mzu.environments.spaces import Spaces
from mzu.replay.priorities import Priorities, check_priorities
from mzu.replay.segment import Segment, tail_length


class Batch(NamedTuple):
    """B positions t with what their targets are made of; U unroll steps, n TD steps, k = 0..U.

    field                   shape                      meaning
    positions               [B] int64                  handles for `Replay.update`
    observations            [B, ...]                   stacked observation at t
    actions                 [B, U + 1] or [.., D]      actions at t + k; random ones past the end of the data
    rewards                 [B, U + max(n, 1)]         rewards that follow t, t + 1, ...; 0 past the end of the data
    steps_left              [B] int32                  steps from t to the end of the data
    ended                   [B] bool                   the episode ends there; otherwise only the data do
    terminated              [B] bool                   and it is a terminal end
    bootstrap_observations  [B, U + 1, ...]            stacked observation at t + k + n, at most at the end of the data
    following_observations  [B, U + 2, ...]            the same at t, ..., t + U + 1; [B, 0, ...] unless asked for
    search_policy           [B, U + 1, K]              visit distribution at t + k
    search_actions          [B, U + 1, K] or [.., D]   the actions it is about; [B, U + 1, 0] where none are sampled
    search_value            [B, U + 1]                 search value at t + k
    searched                [B, U + 1] bool            t + k is one of the segment's L positions, else search_* are 0
    weights                 [B] float32                importance weights (1 / (N P))^beta

    Numbers are float32 and discrete actions int32; observations have the type of the environment's.
    """

    positions: np.ndarray
    observations: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    steps_left: np.ndarray
    ended: np.ndarray
    terminated: np.ndarray
    bootstrap_observations: np.ndarray
    following_observations: np.ndarray
    search_policy: np.ndarray
    search_actions: np.ndarray
    search_value: np.ndarray
    searched: np.ndarray
    weights: np.ndarray


class Replay:
    """The `config.capacity` most recent segments. One thread at a time may use it.

    symbol   argument      meaning
             spaces        those of one frame or state, before stacking
    U        unroll_steps  the batch reaches this far ahead of a position
    n        td_steps      and its bootstrap observations this much further
    K        candidates    columns of search_policy, 0 where nothing is searched; segments may have fewer, not more
             sampled       whether search_actions are kept
             frame_stack   frames that make one observation, oldest first along the channels; images only
             following     whether batches have following_observations

    Segment number m, counted from the first one ever added, lives in slot m % capacity. The handle of its position t is
    m * segment_length + t, so that it is known later whether the position has been overwritten.
    """

    def __init__(
        self,
        config: ReplayConfig,
        spaces: Spaces,
        *,
        unroll_steps: int,
        td_steps: int,
        candidates: int,
        sampled: bool,
        frame_stack: int = 1,
        following: bool = False,
    ):
        if frame_stack > 1 and not spaces.is_image:
            raise ValueError(f"frame_stack is {frame_stack}, but only images are stacked; states need 1")
        self.config, self.spaces = config, spaces
        self.tail = tail_length(unroll_steps, td_steps)  # E: steps that a segment brings along behind its positions
        self._unroll_steps, self._td_steps, self._candidates = unroll_steps, td_steps, candidates
        self._sampled, self._frame_stack, self._following = sampled, frame_stack, following

        positions, steps = config.segment_length, config.segment_length + self.tail
        action_shape = (spaces.num_actions,) if spaces.continuous else ()
        action_type = np.float32 if spaces.continuous else np.int32
        search_action_shape = (candidates, *action_shape) if sampled else (0,)
        rows_of_one_segment = {
            "observations": ((frame_stack + steps, *spaces.observation_shape), spaces.observation_dtype),
            "actions": ((steps, *action_shape), action_type),
            "rewards": ((steps,), np.float32),
            "search_policy": ((positions, candidates), np.float32),
            "search_actions": ((positions, *search_action_shape), action_type),
            "search_value": ((positions,), np.float32),
        }
        self._data = {name: _slots(config.capacity, *of_one) for name, of_one in rows_of_one_segment.items()}
        self._lengths = np.zeros(config.capacity, np.int64)  # L of the segment in each slot
        self._steps = np.zeros(config.capacity, np.int64)  # L + E
        self._ended = np.zeros(config.capacity, bool)
        self._terminated = np.zeros(config.capacity, bool)
        self._added = 0  # segments ever added; the next one's number
        self._clear_priorities()

    def __len__(self) -> int:
        """N, the number of positions that can be sampled now."""
        return int(self._uniform.total)

    @property
    def num_segments(self) -> int:
        return min(self._added, self.config.capacity)

    def add(self, segment: Segment) -> None:
        """Takes a copy of the segment's data; when the replay is full, the oldest segment makes room."""
        self._check(segment)
        slot = self._added % self.config.capacity
        # Positions that only the overwritten segment had get priority 0: they must not be drawn any more.
        priorities = np.zeros(max(len(segment), int(self._lengths[slot])))
        priorities[: len(segment)] = self._to_the_alpha(segment.priorities)
        for name, slots in self._data.items():
            array = getattr(segment, name)
            if name in ("search_policy", "search_actions"):
                # Columns that the segment does not have are 0: a slot may hold those of an older segment.
                padded = np.zeros((len(segment), *slots.shape[2:]), slots.dtype)
                if array is not None and padded.size:
                    padded[:, : array.shape[1]] = array
                array = padded
            slots[slot, : len(array)] = array  # the rest keeps what an older, longer segment left there
        self._lengths[slot] = len(segment)
        self._steps[slot] = len(segment.actions)
        self._ended[slot], self._terminated[slot] = segment.ended, segment.terminated
        self._added += 1
        self._by_priority.set(slot * self.config.segment_length + np.arange(len(priorities)), priorities)
        self._uniform.set([slot], [len(segment)])

    def sample(self, batch_size: int, rng: np.random.Generator) -> Batch:
        """A batch of positions, drawn independently of each other: the same one may come twice."""
        if not len(self):
            raise ValueError("The replay is empty; add a segment before sampling")
        return self._batch(*self._draw(batch_size, rng), rng)

    def at(self, positions: np.ndarray, rng: np.random.Generator) -> Batch:
        """The batch of these positions [B], with the weights that a draw would have given them."""
        leaves = self._present(np.asarray(positions, np.int64))
        return self._batch(leaves, self._probabilities(leaves), rng)

    def find(self, rewards=None, actions=None, observations=None) -> np.ndarray:
        """Handles of the first position of every segment that holds just these data, in the order they were added.

        rewards [L + E], actions [L + E(, D)] and observations [H + L + E + 1, ...] as in a segment; what is not given
        is not compared.
        """
        slots = np.arange(self.num_segments)
        wanted = {"rewards": rewards, "actions": actions, "observations": observations}
        rows = self._used_rows(self._lengths, self._steps)
        for name, array in wanted.items():
            if array is not None and len(slots):
                slots = slots[rows[name][slots] == len(array)]
                found = self._data[name][slots, : len(array)]
                same = found == np.asarray(array).astype(found.dtype)
                slots = slots[same.reshape(len(slots), int(np.prod(same.shape[1:]))).all(axis=1)]
        return np.sort(self._numbers(slots)) * self.config.segment_length

    def priority(self, position: int) -> dict[str, float]:
        """What the draw of a position is made of: p^alpha, the sum of all, N, and its probability P."""
        leaves = self._present(np.array([position]))
        return {
            "to_the_alpha": float(self._by_priority.get(leaves)[0]),
            "total": float(self._by_priority.total),
            "positions": len(self),
            "probability": float(self._probabilities(leaves)[0]),
        }

    def _batch(self, leaves: np.ndarray, probabilities: np.ndarray, rng: np.random.Generator) -> Batch:
        slots, t = np.divmod(leaves, self.config.segment_length)
        lengths, ends = self._lengths[slots, None], self._steps[slots, None]
        at = t[:, None] + np.arange(self._unroll_steps + 1)  # [B, U + 1]
        rewards_at = t[:, None] + np.arange(self.tail)
        searched = at < lengths
        # What lies behind the end in a slot is another segment's rest: never read it, or never let it through.
        searched_at = np.minimum(at, lengths - 1)
        found = {name: self._read(name, slots, searched_at) for name in _SEARCH_FIELDS}
        actions, random_actions = self._read("actions", slots, at), self._random_actions(at.shape, rng)
        following_at = t[:, None] + np.arange(self._unroll_steps + 2 if self._following else 0)
        return Batch(
            positions=self._numbers(slots) * self.config.segment_length + t,
            observations=self._stacked(slots, t),
            # An absorbing state is to be learned for every action, so the actions behind the end are random.
            actions=np.where(_like(at < ends, actions), actions, random_actions),
            rewards=np.where(rewards_at < ends, self._read("rewards", slots, rewards_at), 0),
            steps_left=(ends[:, 0] - t).astype(np.int32),
            ended=self._ended[slots],
            terminated=self._terminated[slots],
            bootstrap_observations=self._stacked(slots, np.minimum(at + self._td_steps, ends)),
            following_observations=self._stacked(slots, np.minimum(following_at, ends)),
            **{name: np.where(_like(searched, values), values, 0) for name, values in found.items()},
            searched=searched,
            weights=((1 / (len(self) * probabilities)) ** self.config.importance_exponent).astype(np.float32),
        )

    def update(self, positions: np.ndarray, priorities: np.ndarray) -> None:
        """Gives the positions [n] of a batch new priorities [n]; those overwritten since are left out."""
        positions, priorities = np.asarray(positions, np.int64), np.asarray(priorities, np.float64)
        if positions.ndim != 1 or positions.shape != priorities.shape:
            raise ValueError(f"positions {positions.shape} and priorities {priorities.shape} must both be [n]")
        check_priorities(priorities)
        leaves, there = self._leaves(positions)
        self._by_priority.set(leaves[there], self._to_the_alpha(priorities[there]))

    def all_observations(self) -> np.ndarray:
        """Every frame or state that is stored now, [N, ...]."""
        slots = self._data["observations"][: self.num_segments]
        return slots[_first_rows(slots, self._frame_stack + self._steps[: self.num_segments])]

    @property
    def bytes_of_data(self) -> int:
        """What all slots take together once they are full."""
        return sum(slots.nbytes for slots in self._data.values())

    def state(self) -> dict[str, np.ndarray]:
        """Everything that decides what will be sampled, as copies in plain arrays; `restore` takes it back."""
        used = slice(self.num_segments)
        rows = self._used_rows(self._lengths[used], self._steps[used])
        data = {name: slots[used][_first_rows(slots[used], rows[name])] for name, slots in self._data.items()}
        return data | {
            "settings": self._settings(),
            "added": np.array(self._added),
            "lengths": self._lengths[used].copy(),
            "steps": self._steps[used].copy(),
            "ended": self._ended[used].copy(),
            "terminated": self._terminated[used].copy(),
            "priorities_to_the_alpha": self._by_priority.get(self._leaves_in_use()),
        }

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Replaces all data by those of a `state` of a replay with the same settings."""
        if not np.array_equal(state["settings"], self._settings()):
            raise ValueError(
                f"The replay was saved with {_SETTINGS} = {state['settings'].tolist()}, but is restored with "
                f"{self._settings().tolist()}; resume with the settings of the run that was saved"
            )
        used = slice(len(state["lengths"]))
        for name in ("lengths", "steps", "ended", "terminated"):
            getattr(self, f"_{name}")[used] = state[name]
        rows = self._used_rows(state["lengths"], state["steps"])
        for name, slots in self._data.items():
            slots[used][_first_rows(slots[used], rows[name])] = state[name]
        self._added = int(state["added"])
        self._clear_priorities()
        self._by_priority.set(self._leaves_in_use(), state["priorities_to_the_alpha"])
        self._uniform.set(np.arange(len(state["lengths"])), state["lengths"])

    def _numbers(self, slots: np.ndarray) -> np.ndarray:
        """The numbers of the segments that are in these slots now."""
        return slots + (self._added - 1 - slots) // self.config.capacity * self.config.capacity

    def _leaves(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Handles [n] -> leaves of the sum tree [n], and whether each is still there [n]."""
        numbers, t = np.divmod(positions, self.config.segment_length)
        slots = numbers % self.config.capacity
        there = numbers >= self._added - self.config.capacity
        unknown = (numbers < 0) | (numbers >= self._added) | (there & (t >= self._lengths[slots]))
        if unknown.any():
            raise ValueError(
                f"{positions[np.argmax(unknown)]} is not a position of this replay; take them from its batches"
            )
        return slots * self.config.segment_length + t, there

    def _present(self, positions: np.ndarray) -> np.ndarray:
        """The leaves [n] of handles [n], none of which may have been overwritten."""
        leaves, there = self._leaves(positions)
        if not there.all():
            raise ValueError(f"Position {positions[np.argmin(there)]} has been overwritten in this replay")
        return leaves

    def _draw(self, batch_size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Leaves [B], which are slot * segment_length + t, and the probabilities P [B] with which each was drawn."""
        share = self._uniform_share()
        which, mass, slot, offset = rng.random((4, batch_size))
        # Uniform over positions: a segment in proportion to its length, then one of its positions.
        slots = self._uniform.find(slot * self._uniform.total)
        leaves = slots * self.config.segment_length + (offset * self._lengths[slots]).astype(np.int64)
        by_priority = which >= share
        if by_priority.any():
            leaves[by_priority] = self._by_priority.find(mass[by_priority] * self._by_priority.total)
        return leaves, self._probabilities(leaves)

    def _probabilities(self, leaves: np.ndarray) -> np.ndarray:
        """P of these leaves."""
        share, total = self._uniform_share(), self._by_priority.total or 1.0
        return (1 - share) * self._by_priority.get(leaves) / total + share / len(self)

    def _uniform_share(self) -> float:
        """s, or 1 where no position has a priority."""
        return self.config.uniform_share if self._by_priority.total > 0 else 1.0

    def _random_actions(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        if self.spaces.continuous:
            return rng.uniform(-1, 1, (*shape, self.spaces.num_actions)).astype(np.float32)
        return rng.integers(self.spaces.num_actions, size=shape, dtype=np.int32)

    def _read(self, name: str, slots: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """slots [B], rows [B, ...] -> [B, ..., *shape], by one index into all rows: faster than by two."""
        capacity, size, *shape = self._data[name].shape
        slots = slots.reshape(-1, *[1] * (rows.ndim - 1))
        return np.take(self._data[name].reshape(capacity * size, *shape), slots * size + rows, axis=0)

    def _stacked(self, slots: np.ndarray, at: np.ndarray) -> np.ndarray:
        """slots [B], positions at [B, ...] -> observations [B, ..., height, width, channels * stack] or states."""
        if self._frame_stack == 1:
            return self._read("observations", slots, at)
        # Row t of a slot is the oldest frame of position t's stack, since H = stack - 1 frames stand in front.
        channels = self.spaces.observation_shape[-1]
        stacked = np.empty(
            (*at.shape, *self.spaces.observation_shape[:-1], channels * self._frame_stack),
            self.spaces.observation_dtype,
        )
        for i in range(self._frame_stack):
            stacked[..., i * channels : (i + 1) * channels] = self._read("observations", slots, at + i)
        return stacked

    def _to_the_alpha(self, priorities: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):  # an infinite result is an error of its own
            powers = np.asarray(priorities, np.float64) ** self.config.priority_exponent  # 0^0 is 1: alpha 0 is uniform
        check_priorities(powers)
        return powers

    def _clear_priorities(self) -> None:
        self._by_priority = Priorities(self.config.capacity * self.config.segment_length)
        self._uniform = Priorities(self.config.capacity)  # the segments' lengths, whose total is N

    def _leaves_in_use(self) -> np.ndarray:
        used = np.arange(self.config.segment_length) < self._lengths[: self.num_segments, None]
        return np.flatnonzero(used)

    def _used_rows(self, lengths: np.ndarray, steps: np.ndarray) -> dict[str, np.ndarray]:
        """How many rows of each slot hold data, by the name of the array."""
        rows = {"observations": self._frame_stack + steps, "actions": steps, "rewards": steps}
        return rows | dict.fromkeys(_SEARCH_FIELDS, lengths)

    def _settings(self) -> np.ndarray:
        """What must be equal for a saved state to have the same meaning; named by _SETTINGS."""
        config = self.config
        return np.array(
            [
                *(config.capacity, config.segment_length, config.priority_exponent),
                *(self._unroll_steps, self._td_steps, self._candidates, self._sampled, self._frame_stack),
                *(self.spaces.num_actions, self.spaces.continuous, *self.spaces.observation_shape),
            ],
            np.float64,
        )

    def _check(self, segment: Segment) -> None:
        """One sentence for the first thing that does not fit this replay."""
        length, tail, spaces = len(segment), segment.tail, self.spaces
        if length > self.config.segment_length:
            raise ValueError(
                f"The segment has {length} positions, but replay.segment_length is {self.config.segment_length}; "
                "split the episode with split_lengths"
            )
        if tail > self.tail or (not segment.ended and tail != self.tail):
            raise ValueError(
                f"The segment has a tail of {tail} steps, but must have unroll_steps + max(td_steps, 1) = {self.tail}"
                f"{' or fewer, as its episode ends' if segment.ended else ', as its episode goes on'}"
            )
        shape, dtype = segment.observations.shape[1:], segment.observations.dtype
        if shape != spaces.observation_shape or not np.can_cast(dtype, spaces.observation_dtype, "same_kind"):
            raise ValueError(
                f"The segment has {dtype} observations of shape {shape}, but the replay is for single frames or states "
                f"of type {spaces.observation_dtype} and shape {spaces.observation_shape}"
            )
        if segment.frames_before != self._frame_stack - 1:
            raise ValueError(
                f"The segment has {segment.frames_before} frames before its first position, but frame_stack = "
                f"{self._frame_stack} needs {self._frame_stack - 1}"
            )
        actions = segment.actions
        if actions.shape[1:] != self._data["actions"].shape[2:]:
            kind = f"{spaces.num_actions} continuous dimensions" if spaces.continuous else "discrete actions"
            raise ValueError(f"The segment has actions of shape {actions.shape}, but the replay is for {kind}")
        if not spaces.continuous and not 0 <= actions.min() <= actions.max() < spaces.num_actions:
            step = int(np.argmax((actions < 0) | (actions >= spaces.num_actions)))
            raise ValueError(
                f"The segment has actions[{step}] = {actions[step]}, but there are {spaces.num_actions} actions "
                f"(0..{spaces.num_actions - 1}); is this the dataset of another game?"
            )
        if segment.search_policy is not None:
            if segment.search_policy.shape[1] > self._candidates:
                raise ValueError(
                    f"The segment has {segment.search_policy.shape[1]} candidates in search_policy, but the replay has "
                    f"room for {self._candidates}"
                )
            if self._sampled and segment.search_actions is None:
                raise ValueError("The segment has no search_actions, but the replay is for sampled actions")


def new_replay(config: Config, frame_spaces: Spaces) -> Replay:
    """An empty replay that fits a run; `frame_spaces` are those of one frame or state."""
    learning = config.learning
    return Replay(
        config.replay,
        frame_spaces,
        unroll_steps=learning.unroll_steps,
        td_steps=learning.td_steps,
        candidates=num_candidates(config, frame_spaces),
        sampled=config.search.num_sampled_actions is not None,
        frame_stack=config.network.frame_stack,
        following=learning.needs_advantages or learning.consistency_loss_scale > 0,
    )


def num_candidates(config: Config, spaces: Spaces) -> int:
    """K of the search policies that the replay keeps; 0 where nothing is searched."""
    if not config.searches:
        return 0
    sampled = config.search.num_sampled_actions
    return spaces.num_actions if sampled is None else sampled + config.injects


_SEARCH_FIELDS = ("search_policy", "search_actions", "search_value")
_SETTINGS = (
    "[capacity, segment_length, priority_exponent, unroll_steps, td_steps, candidates, sampled, frame_stack, "
    "num_actions, continuous, *observation_shape]"
)


def _like(mask: np.ndarray, values: np.ndarray) -> np.ndarray:
    """mask [B, U + 1] with further dimensions of size 1, as many as values [B, U + 1, ...] have."""
    return mask.reshape(*mask.shape, *[1] * (values.ndim - mask.ndim))


def _slots(capacity: int, shape: tuple[int, ...], dtype) -> np.ndarray:
    """One array of all segments [capacity, rows, ...]: a slot of fixed size for each."""
    try:
        return np.zeros((capacity, *shape), dtype)  # takes memory only when it is written to
    except MemoryError:
        size = capacity * int(np.prod(shape)) * np.dtype(dtype).itemsize / 1e9
        raise MemoryError(f"A replay of {capacity} segments may need {size:.0f} GB; lower replay.capacity") from None


def _first_rows(slots: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Which rows of slots [S, rows, ...] are among the first counts[i] of slot i: bool [S, rows]."""
    return np.arange(slots.shape[1]) < counts[:, None]
