"""Players: who plays an episode, and how much disturbed, is drawn from the seed."""

from collections import Counter

import numpy as np
import pytest

from mzu.acting.collect import collect
from mzu.commands.cli import main
from mzu.environments import players
from mzu.environments.make import make
from mzu.environments.players import PLAYERS, ScriptedPlayer, draw_player
from mzu.episodes.readers.npz import read_npz


def test_players_are_drawn_in_proportion_to_their_weights(monkeypatch):
    lineup = (ScriptedPlayer("one", None, 1), ScriptedPlayer("never", None, 0), ScriptedPlayer("three", None, 3))
    monkeypatch.setitem(players.PLAYERS, "chain", lineup)
    environment = make("chain")
    drawn = Counter(draw_player(environment, np.random.default_rng(seed))[0] for seed in range(2000))
    assert drawn.keys() == {"one", "three"} and drawn["three"] / 2000 == pytest.approx(0.75, abs=0.03)


@pytest.mark.parametrize("noise, expected", [((0.0, 0.0), {1.0}), ((1.0, 1.0), None), ((0.3, 0.9), None)])
def test_the_disturbance_of_an_episode_is_drawn_from_the_players_range(monkeypatch, noise, expected):
    """`chain` never moves left undisturbed; a random action moves left half of the time."""
    monkeypatch.setitem(players.PLAYERS, "chain", (ScriptedPlayer("right", lambda observation: 1, noise=noise),))
    environment = make("chain", length=500)
    shares = [episode.actions.mean() for episode in collect(environment, "players", 12)]
    if expected:
        assert set(shares) == expected
    else:
        least, most = 1 - noise[1] / 2, 1 - noise[0] / 2
        assert all(least - 0.1 < share < most + 0.1 for share in shares)
        assert np.std(shares) > 0.05 or noise[0] == noise[1]


@pytest.mark.parametrize("id", PLAYERS)
def test_every_player_plays(id):
    with make(id) as environment:
        observation, rng = environment.reset(0), np.random.default_rng(0)
        for player in PLAYERS[id]:
            assert player.weight > 0
            if player.act is not None:
                environment.reset(0)
                environment.step(player.act(observation))
        name, play = draw_player(environment, rng)
        assert name in {player.name for player in PLAYERS[id]}
        environment.reset(0)
        environment.step(play(observation, rng))


def test_the_command_collects_players_and_says_who_they_are(tmp_path):
    file = tmp_path / "a.npz"
    assert main(["collect", "catch", "--policy", "players", "--episodes", "5", "--seed", "3", "--out", str(file)]) == 0
    made = list(collect(make("catch"), "players", 5, seed=3))
    assert [episode.actions.tolist() for episode in made] == [episode.actions.tolist() for episode in read_npz(file)]
    names = {player.name for player in PLAYERS["catch"]}
    assert {episode.source.split(", ")[1] for episode in made} <= names


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["point"], "There are no players for point; there are for CartPole-v1"),
        (["catch", "--noise", "0.2"], "noise and sticky do not apply: the players have their own"),
    ],
)
def test_a_mistake_with_players_is_said_in_a_sentence(tmp_path, capsys, arguments, sentence):
    assert main(["collect", *arguments, "--policy", "players", "--out", str(tmp_path / "a.npz")]) == 2
    assert sentence in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
