"""Monte Carlo Tree Search over a learned model: batched, compiled, with a plain-Python twin in `reference`."""
