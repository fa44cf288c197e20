"""Atari: the paper's rules, one by one, against the emulator itself and against recorded frames of RL Unplugged."""

import cv2
import numpy as np
import pytest

from mzu.environments.check import check_environment
from mzu.environments.environment import random_action
from mzu.environments.make import make

GAMES = {"Pong": 6, "Breakout": 4, "MsPacman": 9, "Asterix": 9, "SpaceInvaders": 6}


def small(screen, size=84):
    return cv2.resize(screen, (size, size), interpolation=cv2.INTER_AREA)


def emulator(environment):
    """The emulator under the environment, and the button that each action presses."""
    world = environment._world.unwrapped
    return world.ale, world._action_set


@pytest.mark.parametrize("game", GAMES)
def test_a_game_runs_from_its_start_to_a_terminal_end(game):
    environment = make(f"atari:{game}")
    assert environment.spaces.observation_shape == (84, 84, 4) and environment.spaces.num_actions == GAMES[game]
    rng = np.random.default_rng(0)
    observation, total = environment.reset(0), 0.0
    assert not observation[..., :3].any() and observation[..., 3].any()  # black before the start, the oldest first
    terminated = truncated = False
    while not (terminated or truncated):
        previous = observation
        observation, reward, terminated, truncated = environment.step(random_action(environment.spaces, rng))
        assert np.array_equal(observation[..., :3], previous[..., 1:])
        total += reward
    assert terminated and not truncated and total != 0
    assert environment.frames < 108_000


def test_the_contract_is_kept_and_seeds_decide_everything():
    assert check_environment(make("atari:Breakout"), episodes=2, max_steps=150) == []


def test_four_frames_make_a_step_and_the_observation_is_the_maximum_of_the_last_two():
    environment, reference = make("atari:Pong", sticky=0.0), make("atari:Pong", sticky=0.0)
    environment.reset(0), reference.reset(0)
    ale, buttons = emulator(reference)
    differ = 0
    for action in [0, 2, 3] * 20:
        observation = environment.step(action)[0]
        screens = []
        for _ in range(4):
            ale.act(buttons[action])
            screens.append(ale.getScreenGrayscale())
        assert np.array_equal(observation[..., -1], small(np.maximum(screens[2], screens[3])))
        differ += not np.array_equal(observation[..., -1], small(screens[3]))
    assert environment.frames == 240
    assert differ > 10  # the maximum is not the last frame alone


@pytest.mark.parametrize("sticky", [0.0, 0.25])
def test_the_emulator_repeats_the_previous_action_as_often_as_said(sticky):
    """After every frame, a second emulator tries both actions, and tells which one the first must have taken."""
    environment = make("atari:Breakout", sticky=sticky, frame_skip=1)
    reference = make("atari:Breakout", sticky=0.0, frame_skip=1)
    environment.reset(0), reference.reset(0)
    ale, buttons = emulator(reference)
    rng = np.random.default_rng(0)
    executed, repeated, told_apart = 0, 0, 0
    for _ in range(900):
        action = int(rng.integers(2, 4))  # right, left
        environment.step(action)
        state = ale.cloneState()
        outcomes = {}
        for candidate in (executed, action):
            ale.restoreState(state)
            ale.act(buttons[candidate])
            outcomes[candidate] = ale.cloneState(), ale.getRAM().tobytes()
        matching = [c for c, (_, memory) in outcomes.items() if memory == emulator(environment)[0].getRAM().tobytes()]
        assert matching, "neither the chosen nor the previous action was taken"
        if len(outcomes) == 2 and len(matching) == 1:
            told_apart += 1
            repeated += matching[0] == executed
        executed = matching[0]
        ale.restoreState(outcomes[executed][0])
    assert told_apart > 150
    assert repeated / told_apart == pytest.approx(sticky, abs=0.08 if sticky else 0)


def test_the_frame_limit_truncates():
    environment = make("atari:Pong", frame_limit=400)
    environment.reset(0)
    for step in range(1, 101):
        *_, terminated, truncated = environment.step(0)
        assert not terminated and truncated == (step == 100)
    assert environment.frames == 400


@pytest.mark.parametrize("frames_of_the_last_step", [1, 2, 3, 4])
def test_the_last_picture_shows_the_screen_of_the_end(frames_of_the_last_step):
    """A truncated end is bootstrapped from it; Gymnasium's preprocessing alone would show the picture before."""
    options = {"sticky": 0.0, "stack": 1}
    environment = make("atari:Breakout", frame_limit=200 + frames_of_the_last_step, **options)
    reference = make("atari:Breakout", **options)
    environment.reset(0), reference.reset(0)
    for action in [1, 2, 3, 3, 2] * 10:
        before = environment.step(action)[0]
        reference.step(action)
    last, *_, truncated = environment.step(2)
    assert truncated and not np.array_equal(last, before)
    ale, buttons = emulator(reference)
    screens = []
    for _ in range(frames_of_the_last_step):
        ale.act(buttons[2])
        screens.append(ale.getScreenGrayscale())
    expected = np.maximum(screens[2], screens[3]) if frames_of_the_last_step == 4 else screens[-1]
    assert np.array_equal(last[..., 0], small(expected))


@pytest.mark.slow
def test_the_frame_limit_is_108000_frames():
    environment = make("atari:Breakout")
    environment.reset(0)
    steps, truncated = 0, False
    while not truncated:
        *_, terminated, truncated = environment.step(0)  # without a ball nothing ever ends
        assert not terminated
        steps += 1
    assert steps == 27_000 and environment.frames == 108_000


def test_no_op_starts_wait_for_up_to_30_frames():
    environment = make("atari:Pong", noop_starts=30)
    waited = set()
    for episode in range(25):
        environment.reset(seed=None if episode else 0)  # seeding loads the game anew, which takes a third of a second
        waited.add(environment.frames)
    assert waited <= set(range(1, 31)) and len(waited) > 8
    plain = make("atari:Pong")
    plain.reset(0)
    assert plain.frames == 0


def test_the_full_action_set_has_18_actions():
    full, minimal = make("atari:Pong", full_action_set=True), make("atari:Pong")
    assert full.spaces.num_actions == 18 and full.action_names[2] == "UP"
    assert minimal.action_names == ["NOOP", "FIRE", "RIGHT", "LEFT", "RIGHTFIRE", "LEFTFIRE"]


def test_the_rgb_history_has_the_layout_that_the_networks_expect():
    from mzu.networks.representation import stack_history

    environment = make("atari:Pong", picture="rgb", sticky=0.0)
    single = make("atari:Pong", picture="rgb", stack=1, sticky=0.0)
    assert environment.spaces.observation_shape == (96, 96, 128) and single.spaces.observation_shape == (96, 96, 3)
    frames = [np.zeros((96, 96, 3), np.uint8)] * 31 + [single.reset(0)]
    taken = [0] * 32
    observation = environment.reset(0)
    assert np.array_equal(observation, stack_history(np.stack(frames), np.array(taken), 6))
    for action in [2, 5, 3, 1] * 10:
        observation = environment.step(action)[0]
        frames, taken = [*frames[1:], single.step(action)[0]], [*taken[1:], action]
    assert np.array_equal(observation, stack_history(np.stack(frames), np.array(taken), 6))
    assert environment.render().shape == (210, 160, 3)


@pytest.mark.parametrize(
    "id, options, sentence",
    [
        ("atari:Pongg", {}, "no Atari game 'Pongg'; did you mean 'atari:Pong'"),
        ("atari:pong", {}, "did you mean 'atari:Pong'"),
        ("atari:Pong", {"picture": "green"}, "must be 'grey'"),
        ("atari:Pong", {"stack": 0}, "stack is 0"),
        ("atari:Pong", {"noop_starts": -1}, "noop_starts -1"),
    ],
)
def test_what_cannot_be_made_is_said_in_a_sentence(id, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        make(id, **options)


def recorded_episode(folder):
    """Frames [T, 84, 84] and actions [T] of the recorded episode of Asterix, as the file holds them."""
    from mzu.episodes.readers.example import decode
    from mzu.episodes.readers.tfrecord import read_records

    ((_, data),) = read_records(folder / "rlu_atari" / "Asterix" / "run_1-00000-of-00001")
    fields = decode(data)
    frames = [cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_GRAYSCALE) for png in fields["observations"]]
    return np.stack(frames), fields["actions"]


def test_recorded_frames_of_rl_unplugged_are_made_again_bit_by_bit(fixtures_folder):
    """Grey, maximum, resizing, frame skip, actions and start are those of the data.

    The dice of the sticky actions are not recorded. In each step the previous action may have gone on for 0 to 4
    frames before the new one: all five are tried, and one of them must give the recorded frame, every pixel of it.
    """
    frames, actions = recorded_episode(fixtures_folder)
    environment = make("atari:Asterix", sticky=0.0)
    assert np.array_equal(environment.reset(0)[..., -1], frames[0])
    ale, buttons = emulator(environment)
    branches = [(ale.cloneState(), 0)]
    had_to_repeat = 0
    for frame, action in zip(frames[1:100], actions, strict=False):
        following = {}
        for state, previous in branches:
            for repeats in range(5):
                ale.restoreState(state)
                screens = []
                for index in range(4):
                    ale.act(buttons[previous if index < repeats else action])
                    screens.append(ale.getScreenGrayscale())
                if np.array_equal(small(np.maximum(screens[2], screens[3])), frame):
                    last = previous if repeats == 4 else action
                    following.setdefault((ale.getRAM().tobytes(), last), (ale.cloneState(), last, repeats))
        assert following, "no sticky action explains the recorded frame"
        branches = [(state, last) for state, last, _ in following.values()]
        had_to_repeat += all(repeats > 0 for _, _, repeats in following.values())
    assert had_to_repeat > 3  # the recorded actions were sticky
