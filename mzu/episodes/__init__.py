"""Episodes, and where they come from: RL Unplugged, DQN Replay, Minari, own arrays; and what to check before use."""
