"""What is learned from a batch: targets, losses, and the learner that takes the steps."""
