"""What the learner samples from: segments of played games, drawn by priority."""
