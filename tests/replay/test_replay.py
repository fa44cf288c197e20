"""The replay: who is drawn how often, what a batch shows of a segment, and that no segment shows in another's place."""

import dataclasses
import pathlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_segments import CONTINUOUS, IMAGES, STATES, TAIL, TD, UNROLL, made_segment

from mzu.config import ReplayConfig
from mzu.environments.spaces import Spaces
from mzu.replay.replay import Replay


def made_replay(spaces=STATES, candidates=3, sampled=False, unroll_steps=UNROLL, td_steps=TD, stack=1, **changed):
    following = changed.pop("following", False)
    config = ReplayConfig(**{"capacity": 4, "segment_length": 8, "uniform_share": 0.2} | changed)
    return Replay(
        config,
        spaces,
        unroll_steps=unroll_steps,
        td_steps=td_steps,
        candidates=candidates,
        sampled=sampled,
        frame_stack=stack,
        following=following,
    )


def with_priorities(*priorities, **changed):
    """A replay of one segment for each list of priorities."""
    rng = np.random.default_rng(0)
    replay = made_replay(**changed)
    for of_one in priorities:
        replay.add(made_segment(rng, len(of_one), priorities=np.array(of_one, np.float64)))
    return replay


def frequencies(batch, leaves):
    return np.bincount(batch.positions, minlength=leaves) / len(batch.positions)


def weight_at(batch, position):
    """The weight of a position, which must be the same wherever it stands in the batch."""
    weights = np.unique(batch.weights[batch.positions == position])
    assert len(weights) == 1
    return weights[0]


# Who is drawn, and with which weight.


def test_weights_and_frequencies_by_hand():
    """p = 1, 3, 0, 4 and alpha = 1, s = 0.2: P = 0.8 * (1, 3, 0, 4) / 8 + 0.2 / 4 = 0.15, 0.35, 0.05, 0.45."""
    batch = with_priorities([1, 3], [0, 4]).sample(40_000, np.random.default_rng(1))
    expected = np.zeros(16)
    expected[[0, 1, 8, 9]] = 0.15, 0.35, 0.05, 0.45  # segment 1 has the handles from 8 on
    found = frequencies(batch, 16)
    assert (found[expected == 0] == 0).all()
    chi_square = 40_000 * np.sum((found - expected)[expected > 0] ** 2 / expected[expected > 0])
    assert chi_square < 16.3  # 99.9 % of the chi-square distribution with 3 degrees of freedom
    for position in (0, 1, 8, 9):
        assert weight_at(batch, position) == pytest.approx(1 / (4 * expected[position]))
    assert batch.weights.dtype == np.float32


def test_alpha_and_beta_are_exponents_of_the_priority_and_of_the_weight():
    """p = 1, 4 and alpha = 0.5, s = 0: P = 1/3, 2/3; weights (1 / (2 P))^2 = 9/4, 9/16."""
    replay = with_priorities([1, 4], priority_exponent=0.5, importance_exponent=2.0, uniform_share=0.0)
    batch = replay.sample(20_000, np.random.default_rng(1))
    assert frequencies(batch, 2) == pytest.approx([1 / 3, 2 / 3], abs=0.014)  # four standard deviations
    assert weight_at(batch, 0) == pytest.approx(9 / 4)
    assert weight_at(batch, 1) == pytest.approx(9 / 16)


@pytest.mark.parametrize("changed", [{"priority_exponent": 0.0}, {"uniform_share": 1.0}])
def test_alpha_0_and_share_1_are_uniform_even_for_priority_0(changed):
    batch = with_priorities([0, 9, 1], [5], **changed).sample(20_000, np.random.default_rng(1))
    assert frequencies(batch, 9)[[0, 1, 2, 8]] == pytest.approx([0.25] * 4, abs=0.0125)
    assert batch.weights == pytest.approx(1)


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_where_all_priorities_are_0_all_positions_are_drawn_alike(share):
    batch = with_priorities([0, 0, 0], [0], uniform_share=share).sample(20_000, np.random.default_rng(1))
    assert frequencies(batch, 9)[[0, 1, 2, 8]] == pytest.approx([0.25] * 4, abs=0.0125)
    assert batch.weights == pytest.approx(1)


def test_without_a_uniform_share_a_position_of_priority_0_is_never_drawn():
    batch = with_priorities([0, 1, 0, 2, 0], uniform_share=0.0).sample(5000, np.random.default_rng(1))
    assert set(batch.positions.tolist()) == {1, 3}


def test_the_uniform_share_bounds_the_weights():
    replay = with_priorities([1e-12, 1e9, 1.0], importance_exponent=0.5, uniform_share=0.04)
    weights = replay.sample(5000, np.random.default_rng(1)).weights
    assert weights.max() == pytest.approx((1 / 0.04) ** 0.5)


def test_the_weighted_mean_over_a_batch_is_the_mean_over_all_positions():
    replay = with_priorities([1, 3, 0.2, 7], [0.5, 4])
    batch = replay.sample(100_000, np.random.default_rng(2))
    worth = np.cos(np.arange(16) * 7.0)  # any function of the position
    mean = worth[[0, 1, 2, 3, 8, 9]].mean()
    assert np.mean(batch.weights * worth[batch.positions]) == pytest.approx(mean, abs=0.015)


# Priorities come back to where they belong.


def test_new_priorities_go_to_exactly_the_positions_of_the_batch():
    replay = with_priorities([1, 1, 1], [1, 1, 1], uniform_share=0.0)
    replay.update(np.array([0, 1, 2, 8, 9, 10]), np.array([0, 0, 5.0, 0, 3.0, 0]))
    batch = replay.sample(20_000, np.random.default_rng(1))
    assert frequencies(batch, 11)[[2, 9]] == pytest.approx([5 / 8, 3 / 8], abs=0.014)


def test_after_wrapping_around_priorities_reach_the_new_segments_and_old_handles_are_ignored():
    rng = np.random.default_rng(0)
    replay = made_replay(uniform_share=0.0)
    for _ in range(4):
        replay.add(made_segment(rng, 3))
    old = replay.sample(200, rng).positions
    assert set(old // 8) == {0, 1, 2, 3}
    for _ in range(5):  # segments 4..8: slot 0 holds number 8, slots 1..3 numbers 5..7
        replay.add(made_segment(rng, 3))
    before = replay.state()["priorities_to_the_alpha"]
    replay.update(old, np.full(200, 1e6))
    np.testing.assert_array_equal(replay.state()["priorities_to_the_alpha"], before)

    handles = np.array([8 * 8 + 1, 5 * 8 + 2, 0])
    replay.update(handles, np.array([100.0, 200.0, 300.0]))
    after = replay.state()["priorities_to_the_alpha"].reshape(4, 3)  # by slot
    assert after[0, 1] == 100 and after[1, 2] == 200
    unchanged = np.ones((4, 3), bool)
    unchanged[0, 1] = unchanged[1, 2] = False
    np.testing.assert_array_equal(after[unchanged], before.reshape(4, 3)[unchanged])
    assert set(replay.sample(2000, rng).positions.tolist()) <= {m * 8 + t for m in (5, 6, 7, 8) for t in range(3)}


def test_a_shorter_segment_leaves_no_priority_of_the_longer_one_it_overwrites():
    rng = np.random.default_rng(0)
    for share in (0.0, 1.0):
        replay = made_replay(capacity=1, uniform_share=share)
        replay.add(made_segment(rng, 8, priorities=np.full(8, 1e9)))
        replay.add(made_segment(rng, 2))
        assert set(replay.sample(500, rng).positions.tolist()) == {8, 9}


@pytest.mark.parametrize("wrong", [-1, 3, 7, 8, 1000])
def test_a_position_that_was_never_given_out_is_an_error(wrong):
    replay = with_priorities([1, 1, 1])  # handles 0, 1, 2
    with pytest.raises(ValueError, match=f"^{wrong} is not a position"):
        replay.update(np.array([0, wrong]), np.array([1.0, 1.0]))


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_an_impossible_priority_is_an_error_also_where_alpha_would_hide_it(alpha):
    replay = with_priorities([1, 1, 1], priority_exponent=alpha)
    for wrong in (np.nan, -1.0, np.inf):
        with pytest.raises(ValueError, match=r"priorities\[1\]"):
            replay.update(np.array([0, 2]), np.array([1.0, wrong]))


# Memory.


def test_the_newest_segments_stay_and_the_oldest_make_room():
    rng = np.random.default_rng(0)
    replay = made_replay(capacity=3)
    expected = [1, 1 + 2, 1 + 2 + 3, 2 + 3 + 4, 3 + 4 + 5, 4 + 5 + 6]
    for number, length in enumerate([1, 2, 3, 4, 5, 6]):
        replay.add(made_segment(rng, length))
        assert len(replay) == expected[number]
        assert replay.num_segments == min(number + 1, 3)
    numbers = replay.sample(500, rng).positions // 8
    assert set(numbers.tolist()) == {3, 4, 5}


def test_sampling_takes_nothing_out():
    rng = np.random.default_rng(0)
    replay = with_priorities([1, 2], [3])
    before = replay.state()
    for _ in range(50):
        replay.sample(64, rng)
    assert len(replay) == 3 and replay.num_segments == 2
    after = replay.state()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_the_replay_keeps_its_own_copy():
    rng = np.random.default_rng(0)
    rewards = np.ones(3 + TAIL, np.float32)
    replay = made_replay()
    replay.add(made_segment(rng, 3, rewards=rewards))
    rewards[:] = 7
    assert (replay.sample(20, rng).rewards == 1).all()


def test_memory_is_taken_when_it_is_written():
    statistics = pathlib.Path("/proc/self/statm")
    if not statistics.exists():
        pytest.skip("needs Linux, which tells how much memory is taken")

    def megabytes_taken():
        return int(statistics.read_text().split()[1]) * 4096 / 1e6

    config, spaces = ReplayConfig(capacity=2000), Spaces((5,), 1, continuous=True)
    before = megabytes_taken()
    replay = Replay(config, spaces, unroll_steps=5, td_steps=5, candidates=21, sampled=True)
    assert megabytes_taken() - before < 30  # 230 when full
    assert len(replay) == 0


# What a batch shows.


def expected_row(segment, t, unroll_steps, td_steps, candidates, sampled, stack, following):
    """One row of a batch by the definition: one step after the other. Actions behind the end are None."""
    end, length = len(segment.actions), len(segment)

    def observation(position):
        position = min(position, end)
        frames = [segment.observations[position + i] for i in range(stack)]
        return np.concatenate(frames, axis=-1)

    row = {name: [] for name in ("actions", "rewards", "bootstrap_observations", "following_observations", "searched")}
    row |= {name: [] for name in ("search_policy", "search_actions", "search_value")}
    row |= {"observations": observation(t), "steps_left": end - t}
    row |= {"ended": segment.ended, "terminated": segment.terminated}
    for k in range(unroll_steps + 1):
        row["actions"].append(segment.actions[t + k] if t + k < end else None)
        row["bootstrap_observations"].append(observation(t + k + td_steps))
        searched = t + k < length
        row["searched"].append(searched)
        row["search_value"].append(segment.search_value[t + k] if searched else 0)
        policy = np.zeros(candidates)
        actions = np.zeros((candidates, *segment.actions.shape[1:]) if sampled else 0)
        if searched and segment.search_policy is not None:
            for i, probability in enumerate(segment.search_policy[t + k]):
                policy[i] = probability
                if sampled:
                    actions[i] = segment.search_actions[t + k, i]
        row["search_policy"].append(policy)
        row["search_actions"].append(actions)
    for k in range(unroll_steps + max(td_steps, 1)):
        row["rewards"].append(segment.rewards[t + k] if t + k < end else 0)
    for k in range(unroll_steps + 2 if following else 0):
        row["following_observations"].append(observation(t + k))
    return row


def assert_rows_are_right(batch, segments, **settings):
    """Compares a batch with the segments, listed by number, that its handles speak of (segment_length is 8)."""
    for b, handle in enumerate(batch.positions):
        segment, t = segments[handle // 8], handle % 8
        row = expected_row(segment, t, **settings)
        for k, action in enumerate(row.pop("actions")):
            if action is not None:
                np.testing.assert_array_equal(batch.actions[b, k], action)
        for name, expected in row.items():
            found = getattr(batch, name)[b]
            if name != "following_observations" or settings["following"]:
                np.testing.assert_array_equal(found, np.array(expected).astype(found.dtype), err_msg=name)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    spaces=st.sampled_from([STATES, IMAGES, CONTINUOUS]),
    stack=st.sampled_from([1, 3]),
    unroll_steps=st.integers(0, 3),
    td_steps=st.integers(0, 4),
    candidates=st.integers(0, 4),
    sampled=st.booleans(),
    following=st.booleans(),
    lengths=st.lists(st.integers(1, 8), min_size=1, max_size=9),
)
def test_a_batch_shows_what_the_plain_double_loop_finds(
    seed, spaces, stack, unroll_steps, td_steps, candidates, sampled, following, lengths
):
    """Up to 9 segments in 4 slots, so that shorter ones overwrite longer ones, with all kinds of ends."""
    rng = np.random.default_rng(seed)
    stack = stack if spaces.is_image else 1
    replay = made_replay(spaces, candidates, sampled, unroll_steps, td_steps, stack, following=following)
    segments = []
    for length in lengths:
        end = rng.choice(["data", "truncated", "terminated"])
        tail = replay.tail if end == "data" else int(rng.integers(0, replay.tail + 1))
        own_candidates = int(rng.integers(0, candidates + 1))
        segments.append(
            made_segment(
                rng, length, spaces, own_candidates, sampled, tail, end != "data", end == "terminated", stack=stack
            )
        )
        replay.add(segments[-1])
    batch = replay.sample(30, rng)
    known = dict(unroll_steps=unroll_steps, td_steps=td_steps, candidates=candidates)
    assert_rows_are_right(batch, segments, **known, sampled=sampled, stack=stack, following=following)


@pytest.mark.parametrize("spaces", [STATES, IMAGES, CONTINUOUS], ids=["states", "images", "continuous"])
def test_shapes_and_types_are_the_documented_ones(spaces):
    stack = 3 if spaces.is_image else 1
    replay = made_replay(spaces, 4, spaces.continuous, stack=stack, following=spaces.is_image)
    rng = np.random.default_rng(0)
    replay.add(made_segment(rng, 5, spaces, 4, spaces.continuous, stack=stack))
    batch = replay.sample(7, rng)
    observation = (2, 3, 6) if spaces.is_image else (2,)
    action, action_type = ((2,), np.float32) if spaces.continuous else ((), np.int32)
    expected = {
        "positions": ((7,), np.int64),
        "observations": ((7, *observation), spaces.observation_dtype),
        "actions": ((7, 3, *action), action_type),
        "rewards": ((7, 5), np.float32),
        "steps_left": ((7,), np.int32),
        "ended": ((7,), bool),
        "terminated": ((7,), bool),
        "bootstrap_observations": ((7, 3, *observation), spaces.observation_dtype),
        "following_observations": ((7, 4 if spaces.is_image else 0, *observation), spaces.observation_dtype),
        "search_policy": ((7, 3, 4), np.float32),
        "search_actions": ((7, 3, 4, 2) if spaces.continuous else (7, 3, 0), action_type),
        "search_value": ((7, 3), np.float32),
        "searched": ((7, 3), bool),
        "weights": ((7,), np.float32),
    }
    for name, (shape, dtype) in expected.items():
        assert getattr(batch, name).shape == shape, name
        assert getattr(batch, name).dtype == dtype, name


def test_nothing_leaks_from_one_segment_into_another():
    """Every number of a segment is its own one, 1.., and each slot is overwritten by shorter and longer segments."""
    replay = made_replay(CONTINUOUS, 3, True, following=True)
    rng = np.random.default_rng(0)
    for number, length in enumerate([8, 8, 8, 8, 1, 2, 3, 4, 2, 8]):
        own = 0.01 * (number + 1)
        blank = made_segment(rng, length, CONTINUOUS, 3, True, tail=0, ended=True, terminated=True)
        arrays = {
            name: np.full_like(array, own) for name, array in vars(blank).items() if isinstance(array, np.ndarray)
        }
        replay.add(dataclasses.replace(blank, **arrays))
        batch = replay.sample(64, rng)
        numbers = batch.positions // 8
        mine = np.float32(0.01 * (numbers + 1))
        for name in ("observations", "rewards", "bootstrap_observations", "following_observations"):
            found = getattr(batch, name).reshape(64, -1)
            assert ((found == mine[:, None]) | ((found == 0) & (name == "rewards"))).all(), name
        for name in ("search_policy", "search_actions", "search_value"):
            found = getattr(batch, name).reshape(64, 3, -1)
            assert (found == np.where(batch.searched, mine[:, None], 0)[..., None]).all(), name
        happened = np.arange(3) < batch.steps_left[:, None]
        assert (batch.actions[happened] == np.broadcast_to(mine[:, None, None], (64, 3, 2))[happened]).all()


def one_row(replay, position):
    """The row of a batch that shows `position`."""
    batch = replay.sample(500, np.random.default_rng(3))
    b = np.flatnonzero(batch.positions == position)[0]
    return type(batch)(*(array[b] for array in batch))


@pytest.mark.parametrize("terminated", [True, False])
def test_the_end_of_an_episode_by_hand(terminated):
    """4 positions, no tail, U = 2, n = 3. Observations are 10, 11, ..., 14 and rewards 1, 2, 3, 4."""
    replay = made_replay()
    rng = np.random.default_rng(0)
    observations = 10 + np.arange(5, dtype=np.float32)[:, None] * [1, 1]
    replay.add(
        made_segment(
            rng, 4, tail=0, ended=True, terminated=terminated, observations=observations, rewards=np.arange(1.0, 5)
        )
    )
    row = one_row(replay, 2)
    assert row.steps_left == 2 and row.ended and row.terminated == terminated
    assert row.rewards.tolist() == [3, 4, 0, 0, 0]
    assert row.observations[0] == 12
    assert row.bootstrap_observations[:, 0].tolist() == [14, 14, 14]
    assert row.searched.tolist() == [True, True, False]
    first = one_row(replay, 0)
    assert first.steps_left == 4
    assert first.rewards.tolist() == [1, 2, 3, 4, 0]
    assert first.bootstrap_observations[:, 0].tolist() == [13, 14, 14]


def test_where_only_the_data_end_the_tail_shows_the_way_ahead():
    """2 positions and a tail of U + n = 5: the last position's last bootstrap is the last observation, 17."""
    replay = made_replay(following=True)
    rng = np.random.default_rng(0)
    observations = 10 + np.arange(8, dtype=np.float32)[:, None] * [1, 1]
    actions = np.array([0, 1, 2, 0, 1, 2, 0], np.int32)
    replay.add(made_segment(rng, 2, observations=observations, rewards=np.arange(1.0, 8), actions=actions))
    row = one_row(replay, 1)
    assert row.steps_left == 6 and not row.ended and not row.terminated
    assert row.rewards.tolist() == [2, 3, 4, 5, 6]
    assert row.actions.tolist() == [1, 2, 0]
    assert row.bootstrap_observations[:, 0].tolist() == [14, 15, 16]
    assert row.following_observations[:, 0].tolist() == [11, 12, 13, 14]
    assert row.searched.tolist() == [True, False, False]


@pytest.mark.parametrize("spaces", [STATES, CONTINUOUS], ids=["discrete", "continuous"])
def test_actions_behind_the_end_are_random_over_all_actions(spaces):
    rng = np.random.default_rng(0)
    replay = made_replay(spaces, 0)
    replay.add(made_segment(rng, 1, spaces, 0, tail=0, ended=True, terminated=True))
    batch = replay.sample(3000, rng)
    assert len(np.unique(batch.actions[:, 0], axis=0)) == 1  # what happened
    behind = batch.actions[:, 1:]
    if spaces.continuous:
        assert behind.min() == pytest.approx(-1, abs=0.01) and behind.max() == pytest.approx(1, abs=0.01)
        assert behind.mean((0, 1)) == pytest.approx([0, 0], abs=0.04)
    else:
        assert np.bincount(behind.ravel()) / behind.size == pytest.approx([1 / 3] * 3, abs=0.025)


def test_stacks_start_with_zero_frames_and_go_on_with_the_right_ones():
    """Frames 1, 2, ... of one episode in two segments of 4; a stack of 3 with 2 channels, the second + 100."""
    episode = np.arange(1, 20, dtype=np.uint8)[:, None, None, None] + np.array([0, 100], np.uint8)
    frames = np.broadcast_to(episode, (19, 2, 3, 2))
    zeros = np.zeros((2, 2, 3, 2), np.uint8)
    rng = np.random.default_rng(0)
    replay = made_replay(IMAGES, stack=3)
    replay.add(made_segment(rng, 4, IMAGES, stack=3, observations=np.concatenate([zeros, frames[:10]])))
    replay.add(made_segment(rng, 4, IMAGES, stack=3, observations=frames[2:14]))

    def stack_at(handle):
        stacked = one_row(replay, handle).observations
        assert (stacked == stacked[0, 0]).all()  # each pixel of a frame is the same here
        return stacked[0, 0].tolist()

    assert stack_at(0) == [0, 0, 0, 0, 1, 101]
    assert stack_at(1) == [0, 0, 1, 101, 2, 102]
    assert stack_at(2) == [1, 101, 2, 102, 3, 103]
    assert stack_at(8) == [3, 103, 4, 104, 5, 105]  # position 4 of the episode
    assert one_row(replay, 0).bootstrap_observations[0, 0, 0].tolist() == [2, 102, 3, 103, 4, 104]  # position 3


# Saved and restored.


@pytest.mark.parametrize("number_of_segments", [0, 3, 7])
def test_a_restored_replay_goes_on_with_exactly_the_same_batches(number_of_segments, tmp_path):
    rng = np.random.default_rng(0)
    replay, restored = (made_replay(CONTINUOUS, 3, True, priority_exponent=0.7, following=True) for _ in range(2))
    for _ in range(number_of_segments):
        tail, ended = (2, True) if rng.random() < 0.5 else (TAIL, False)
        replay.add(made_segment(rng, int(rng.integers(1, 9)), CONTINUOUS, 2, True, tail, ended))
    if number_of_segments:
        batch = replay.sample(20, rng)
        replay.update(batch.positions, rng.random(20))
    for _ in range(5):
        restored.add(made_segment(rng, 8, CONTINUOUS, 3, True))  # what was there before must be gone

    np.savez(tmp_path / "state.npz", **replay.state())
    with np.load(tmp_path / "state.npz", allow_pickle=False) as state:
        restored.restore(dict(state))

    assert len(restored) == len(replay) and restored.num_segments == replay.num_segments
    for step in range(8):
        segment = made_segment(rng, 5, CONTINUOUS, 3, True)
        for one in (replay, restored):
            if step or not number_of_segments:
                one.add(segment)
        one, other = (r.sample(50, np.random.default_rng(step)) for r in (replay, restored))
        for name in one._fields:
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
        new = rng.random(50)
        for r in (replay, restored):
            r.update(one.positions, new)


def test_a_state_is_a_copy():
    rng = np.random.default_rng(0)
    replay = made_replay(capacity=1)
    replay.add(made_segment(rng, 3))
    state = replay.state()
    before = {name: array.copy() for name, array in state.items()}
    replay.add(made_segment(rng, 3))
    assert all(np.array_equal(state[name], before[name]) for name in state)


@pytest.mark.parametrize("changed", [{"capacity": 5}, {"priority_exponent": 0.5}, {"td_steps": 1}, {"spaces": IMAGES}])
def test_a_state_of_other_settings_is_refused(changed):
    state = with_priorities([1, 2]).state()
    with pytest.raises(ValueError, match="was saved with"):
        made_replay(**changed).restore(state)


# Faults.


def test_an_empty_replay_cannot_be_sampled():
    with pytest.raises(ValueError, match="The replay is empty"):
        made_replay().sample(1, np.random.default_rng(0))


def test_only_images_are_stacked():
    with pytest.raises(ValueError, match="only images are stacked"):
        made_replay(stack=4)


@pytest.mark.parametrize(
    ("sentence", "changed"),
    [
        ("has 9 positions, but replay.segment_length is 8", dict(length=9)),
        ("tail of 4 steps, .* as its episode goes on", dict(length=3, tail=4)),
        ("tail of 6 steps, .* as its episode goes on", dict(length=3, tail=6)),
        ("tail of 6 steps, .* as its episode ends", dict(length=3, tail=6, ended=True)),
        (r"observations of shape \(4,\)", dict(length=3, spaces=Spaces((4,), 3))),
        ("2 frames before its first position", dict(length=3, stack=3)),
        (r"actions of shape \(8, 2\)", dict(length=3, spaces=CONTINUOUS)),
        ("another game", dict(length=3, actions=np.array([0, 1, 2, 3, 0, 0, 0, 0]))),
        ("4 candidates in search_policy", dict(length=3, candidates=4)),
    ],
)
def test_a_segment_that_does_not_fit_is_refused_in_one_sentence_and_changes_nothing(sentence, changed):
    replay = with_priorities([1, 2])
    before = replay.state()
    segment = made_segment(np.random.default_rng(0), **changed)
    with pytest.raises(ValueError, match=sentence):
        replay.add(segment)
    after = replay.state()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_numbers_are_not_cut_off_to_fit_into_uint8_frames():
    segment = made_segment(np.random.default_rng(0), 3, IMAGES)
    with pytest.raises(ValueError, match="float32 observations"):
        made_replay(IMAGES).add(dataclasses.replace(segment, observations=segment.observations / np.float32(255)))


def test_sampled_actions_must_come_with_the_segment():
    with pytest.raises(ValueError, match="no search_actions"):
        made_replay(sampled=True).add(made_segment(np.random.default_rng(0), 3))


def test_a_priority_that_alpha_makes_infinite_is_refused_and_changes_nothing():
    rng = np.random.default_rng(0)
    replay = with_priorities([1, 2], priority_exponent=2.0)
    with pytest.raises(ValueError, match=r"priorities\[0\] is inf"):
        replay.add(made_segment(rng, 1, priorities=np.array([1e200])))
    assert len(replay) == 2 and replay.num_segments == 1


# Looking at single positions.


@pytest.mark.parametrize(
    ("spaces", "sampled", "stack"), [(STATES, False, 1), (IMAGES, False, 3), (CONTINUOUS, True, 1)]
)
def test_the_batch_of_given_positions_is_what_a_draw_of_them_gives(spaces, sampled, stack):
    rng = np.random.default_rng(0)
    replay = made_replay(spaces, sampled=sampled, stack=stack, following=True)
    for length in (5, 8, 3, 4, 6, 2):  # the first two are overwritten
        replay.add(made_segment(rng, length, spaces, sampled=sampled, stack=stack))
    drawn = replay.sample(20, np.random.default_rng(1))
    asked = replay.at(drawn.positions, np.random.default_rng(2))
    happened = np.arange(UNROLL + 1) < drawn.steps_left[:, None]  # behind the end actions are random
    for name, array in drawn._asdict().items():
        both = (array[happened], getattr(asked, name)[happened]) if name == "actions" else (array, getattr(asked, name))
        np.testing.assert_array_equal(*both, err_msg=name)


def test_positions_that_are_gone_or_never_were_have_no_batch():
    replay = with_priorities(*([[1, 1]] * 5))  # room for four: the first is overwritten
    rng = np.random.default_rng(0)
    assert replay.at(np.array([8, 33]), rng).positions.tolist() == [8, 33]
    with pytest.raises(ValueError, match="Position 1 has been overwritten"):
        replay.at(np.array([8, 1]), rng)
    with pytest.raises(ValueError, match="Position 1 has been overwritten"):
        replay.priority(1)
    for unknown in (-1, 10, 40):
        with pytest.raises(ValueError, match=f"{unknown} is not a position of this replay"):
            replay.at(np.array([8, unknown]), rng)


@pytest.mark.parametrize(("spaces", "stack"), [(STATES, 1), (IMAGES, 3), (CONTINUOUS, 1)])
def test_a_segment_is_found_by_its_data_in_the_order_of_its_copies(spaces, stack):
    rng = np.random.default_rng(0)
    segments = [made_segment(rng, length, spaces, stack=stack) for length in (5, 8, 5, 2)]
    replay = made_replay(spaces, stack=stack)
    assert replay.find(rewards=segments[0].rewards).tolist() == []
    for number in (3, 0, 1, 0, 2, 0):  # the first two are overwritten: numbers 2..5 stay, in the slots 2, 3, 0, 1
        replay.add(segments[number])

    def found(segment, *names):
        return replay.find(**{name: getattr(segment, name) for name in names}).tolist()

    names = ("rewards", "actions", "observations")
    for wanted in (names, *((name,) for name in names)):
        if wanted != ("actions",) or spaces.continuous:  # few actions may be equal by chance
            assert [found(segment, *wanted) for segment in segments] == [[24, 40], [16], [32], []]
    np.testing.assert_array_equal(replay.at(np.array([24]), rng).rewards[0], segments[0].rewards[:TAIL])


def test_all_that_is_given_must_be_equal_and_nothing_else():
    rng = np.random.default_rng(0)
    segment = made_segment(rng, 5)
    replay = made_replay()
    replay.add(segment)
    data = {name: getattr(segment, name) for name in ("rewards", "actions", "observations")}
    assert replay.find(**data).tolist() == replay.find().tolist() == [0]
    for name, array in data.items():
        changed = array.copy()
        changed[-1] += 1
        assert replay.find(**data | {name: changed}).tolist() == []
        assert replay.find(**data | {name: array[:-1]}).tolist() == []  # the beginning of another one
        assert replay.find(**data | {name: None}).tolist() == [0]


def test_the_parts_of_a_priority_by_hand():
    """p = 1, 3, 0, 4 and alpha = 2, s = 0.2: p^2 = 1, 9, 0, 16, P(4) = 0.8 * 16 / 26 + 0.2 / 4."""
    replay = with_priorities([1, 3], [0, 4], priority_exponent=2.0)
    expected = {"to_the_alpha": 16.0, "total": 26.0, "positions": 4, "probability": 0.8 * 16 / 26 + 0.05}
    assert replay.priority(9) == pytest.approx(expected)
    assert replay.priority(8) == pytest.approx(
        {"to_the_alpha": 0.0, "total": 26.0, "positions": 4, "probability": 0.05}
    )
    weights = replay.at(np.array([9]), np.random.default_rng(0)).weights
    assert weights == pytest.approx([1 / (4 * expected["probability"])])
    replay.update(np.array([9]), np.array([0.5]))
    assert replay.priority(9)["to_the_alpha"] == pytest.approx(0.25) and replay.priority(9)["total"] == 10.25
