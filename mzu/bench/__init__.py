"""Speed, measured as ratios within one run: `mzu bench`."""
