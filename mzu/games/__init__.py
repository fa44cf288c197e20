"""Fresh and stored games side by side, and the player that steps them all."""
