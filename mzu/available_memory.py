"""How much memory this process may use, for refusing what cannot fit before any of it is asked for, and has used."""

import os
import pathlib
import sys


def available_memory() -> int:
    """Bytes: those of the machine, of its container, or of the process's own limit, whichever is least."""
    limits = [sys.maxsize]
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:  # Windows tells nothing here: no limit is known
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    container = pathlib.Path("/sys/fs/cgroup/memory.max")
    if container.is_file() and (text := container.read_text().strip()).isdigit():
        limits.append(int(text))
    try:
        import resource
    except ImportError:
        return min(limits)
    own, _ = resource.getrlimit(resource.RLIMIT_AS)
    return min([*limits, own] if own != resource.RLIM_INFINITY else limits)


def peak_memory() -> int:
    """Bytes that this process has had in memory at its most; 0 where the system does not say."""
    try:
        import resource
    except ImportError:
        return 0
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest if sys.platform == "darwin" else 1024 * largest  # kB everywhere else


def shown_bytes(number: float) -> str:
    """A size for people: "3.2 GB", "17 kB".

    >>> shown_bytes(3_200_000_000)
    '3.2 GB'
    """
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:,.3g} TB" if number < 1000 else f"{number:,.0f} TB"
