"""The questions of each assignment, one module each."""
