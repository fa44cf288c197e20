"""Which stored games are played again, and how often (paper, section "Reanalyse")."""
