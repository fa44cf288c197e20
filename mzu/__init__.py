"""MuZero Unplugged to read, teach, debug and run: online and offline, discrete and continuous, on a CPU."""

__version__ = "0.1.0"


def __getattr__(name: str):
    """`mzu.load_episodes`, imported when it is first used: `import mzu` must stay instantaneous."""
    if name == "load_episodes":
        from mzu.episodes.dataset import load_episodes

        return load_episodes
    raise AttributeError(f"module 'mzu' has no attribute {name!r}")
