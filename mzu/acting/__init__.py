"""Acting: games are played, fresh and stored alike, with a search at every position."""
