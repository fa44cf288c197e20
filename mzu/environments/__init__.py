"""What the agent acts in: Gymnasium, Atari, DM Control, and tiny built-in games for lessons."""
