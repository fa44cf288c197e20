"""The circle closed: a run from its config to a trained network, with its log, evaluations and checkpoints."""
