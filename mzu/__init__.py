"""MuZero Unplugged to read, teach, debug and run: online and offline, discrete and continuous, on a CPU."""

__version__ = "0.1.0"
