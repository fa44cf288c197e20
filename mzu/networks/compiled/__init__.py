"""The compiled twin of a fully-connected Keras network: the same numbers, inside the compiled search."""
