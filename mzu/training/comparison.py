"""The three runs of a comparison: behaviour cloning, CRR and Unplugged on the same data and network."""

# The runs of a comparison: how each learns its policy, and how it selects actions when it is evaluated.
METHODS = {
    "behaviour_cloning": ("learning.policy_loss=behaviour_cloning", "evaluation.select=policy"),
    "crr": ("learning.policy_loss=crr", "evaluation.select=policy"),
    "unplugged": ("learning.policy_loss=reanalyse", "evaluation.select=search"),
}
