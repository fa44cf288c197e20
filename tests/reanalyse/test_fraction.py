"""The share of stored positions, with games of all lengths."""

import numpy as np
import pytest

from mzu.reanalyse.fraction import FractionController


def simulate(fraction, fresh_length, stored_length=50, places=32, positions=100_000, has_data=True, seed=0):
    """Plays games of these lengths (functions of rng) in lockstep. -> (controller, share after every round)."""
    rng = np.random.default_rng(seed)
    controller = FractionController(fraction)
    games, shares, available = [None] * places, [], has_data
    for _ in range(positions // places):
        for place in range(places):
            if games[place] is None:
                elsewhere = sum(game is not None and game[0] for game in games)
                stored = controller.choose_stored(rng, available, places, elsewhere)
                games[place] = [stored, stored_length if stored else max(1, int(fresh_length(rng)))]
        playing = sum(stored for stored, _ in games)
        controller.count(playing, places - playing)
        for game in games:
            game[1] -= 1
        # A fresh game that has ended is a stored one from now on.
        available = available or any(left == 0 for _, left in games)
        games = [game if game[1] else None for game in games]
        shares.append(controller.actual)
    return controller, np.array(shares)


LENGTHS = {
    "about 200": lambda rng: rng.normal(200, 50),
    "very different": lambda rng: rng.exponential(200),
    "1000": lambda rng: 1000,
    "20": lambda rng: 20,
}


@pytest.mark.parametrize("fraction", [0.2, 0.5, 0.8, 0.95])
@pytest.mark.parametrize("length", LENGTHS)
def test_the_share_is_within_one_percent_after_100_000_positions(fraction, length):
    _, shares = simulate(fraction, LENGTHS[length])
    assert shares[-1] == pytest.approx(fraction, abs=0.01)
    assert np.abs(shares[len(shares) // 10 :] - fraction).max() < 0.05  # and it does not swing on the way


@pytest.mark.parametrize("places", [1, 4])
@pytest.mark.parametrize("fraction", [0.2, 0.5, 0.8])
def test_the_share_holds_with_few_games_too(fraction, places):
    _, shares = simulate(fraction, LENGTHS["about 200"], places=places)
    assert shares[-1] == pytest.approx(fraction, abs=0.01)


@pytest.mark.parametrize("fraction", [0.2, 0.5, 0.8])
def test_what_was_missed_while_there_was_nothing_stored_is_made_up_for(fraction):
    _, shares = simulate(fraction, LENGTHS["about 200"], has_data=False)
    assert shares[50] == 0  # nothing to play again yet
    assert shares[-1] == pytest.approx(fraction, abs=0.01)


def test_online_never_plays_a_stored_game_and_offline_never_a_fresh_one():
    for fraction in (0.0, 1.0):
        controller, shares = simulate(fraction, LENGTHS["20"], positions=10_000)
        assert (shares == fraction).all()
        assert (controller.stored_games if fraction == 0 else controller.fresh_games) == 0


def test_where_nothing_is_stored_the_game_is_fresh_and_offline_an_error():
    rng = np.random.default_rng(0)
    assert not any(FractionController(0.9).choose_stored(rng, available=False) for _ in range(50))
    with pytest.raises(ValueError, match=r"reanalyse\.fraction is 1, but there is no stored game"):
        FractionController(1.0).choose_stored(rng, available=False)


def test_the_answer_uses_one_random_number_whatever_it_is():
    first, second = np.random.default_rng(0), np.random.default_rng(0)
    FractionController(0.5).choose_stored(first, available=False)
    FractionController(0.0).choose_stored(second)
    assert first.random() == second.random()


def test_a_free_place_goes_to_the_kind_that_has_too_few():
    controller = FractionController(0.25)
    assert controller.chance(places=8, stored_elsewhere=0) == controller.chance(places=8, stored_elsewhere=1) == 1
    assert controller.chance(places=8, stored_elsewhere=2) == 0
    # Half a place is left over; both kinds of games count as equally long at first.
    assert controller.chance(places=6, stored_elsewhere=1) == pytest.approx(0.5)
    # A place for both kinds alike, but fresh games have been four times as long: a chance of 4 : 1.
    controller.stored_games, controller.fresh_games = 4, 3
    controller.count(stored=40, fresh=120)
    assert controller.actual == 0.25
    assert controller.chance(places=6, stored_elsewhere=1) == pytest.approx(0.8)


def test_too_small_a_share_is_made_up_for():
    controller = FractionController(0.5)
    assert controller.actual == 0.5 and controller.missing == 0
    controller.stored_games = controller.fresh_games = 10
    controller.count(stored=480, fresh=520)
    assert controller.actual == 0.48 and controller.missing == pytest.approx(20)
    # Games are up to 52 positions long: 8 places, half of them and 20 / 52 of one more.
    assert controller.chance(places=8, stored_elsewhere=3) == 1
    assert controller.chance(places=8, stored_elsewhere=4) == pytest.approx(0.4038, abs=1e-4)
    assert controller.chance(places=8, stored_elsewhere=5) == 0
    controller.count(stored=200, fresh=0)  # now there are too many
    assert controller.missing == pytest.approx(-80)
    assert controller.chance(places=8, stored_elsewhere=3) == 0


def test_a_restored_controller_goes_on_where_it_was():
    first, _ = simulate(0.3, LENGTHS["20"], positions=5_000)
    second = FractionController(0.3)
    second.restore({name: array.copy() for name, array in first.state().items()})
    assert second.actual == first.actual and vars(second) == vars(first)
    assert second.chance(7, 2) == first.chance(7, 2)
