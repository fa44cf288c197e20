"""What the games of a test hand out."""

import pytest

from mzu.games.fresh_game import FreshGame
from mzu.games.stored_game import StoredGame


@pytest.fixture
def handed_out(monkeypatch):
    """The segments that came from stored games (True), and those from fresh ones (False)."""
    by_kind = {True: [], False: []}
    for kind in (StoredGame, FreshGame):
        monkeypatch.setattr(kind, "pop_segments", _remembering(kind.pop_segments, by_kind[kind.is_stored]))
    return by_kind


def _remembering(pop_segments, kept):
    def popped(game):
        segments = pop_segments(game)
        kept.extend(segments)
        return segments

    return popped
