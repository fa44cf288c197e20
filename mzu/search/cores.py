"""Spreading the rows of a batch over the cores.

Python threads hand out the pieces, and compiled code (or NumPy) does the work without the interpreter's lock. Numba's
own parallel loops would do the same, but cannot be entered by two threads at once, and take longer to compile.
"""

import concurrent.futures
import functools
import itertools

import numba

ROWS_PER_PIECE = 32  # trees, hidden states and activations of 32 rows about fit a level-2 cache at width 64


def run_on_cores(run, batch: int, rows_per_piece: int = ROWS_PER_PIECE) -> None:
    """Calls run(start, stop) for pieces of the rows 0..batch - 1, on all cores or as many as NUMBA_NUM_THREADS says."""
    threads = numba.config.NUMBA_NUM_THREADS
    pieces = min(batch, threads * -(-batch // (threads * rows_per_piece)))
    ends = [piece * batch // pieces for piece in range(pieces + 1)]
    todo = iter(list(itertools.pairwise(ends)))

    def work():
        # `next` on a shared iterator is atomic under the interpreter's lock: whoever is free takes the next piece.
        for start, stop in todo:
            run(start, stop)

    others = [_workers(threads).submit(work) for _ in range(min(threads, pieces) - 1)]
    work()
    for other in others:
        # A helper that has not begun has nothing left to do (and in a forked process would never begin).
        if not other.cancel():
            other.result()


@functools.cache
def _workers(threads: int) -> concurrent.futures.ThreadPoolExecutor:
    return concurrent.futures.ThreadPoolExecutor(threads, thread_name_prefix="mzu-search")
