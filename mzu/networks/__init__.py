"""The networks of the paper: representation, dynamics and prediction, and their compiled twin for the search."""
