"""Monte Carlo Tree Search over a learned model: batched, compiled, with a plain-Python twin in `reference`.

`mzu.search` is this package, and can be called: `mzu.search(model, observations, config, rng)` is `search.py`'s search.
"""

import inspect
import sys
import types


class _Callable(types.ModuleType):
    def __call__(self, *arguments, **options):
        """`mzu.search.search.search`."""
        from mzu.search.search import search

        return search(*arguments, **options)

    @property
    def __signature__(self) -> inspect.Signature:
        from mzu.search.search import search

        return inspect.signature(search)


sys.modules[__name__].__class__ = _Callable
