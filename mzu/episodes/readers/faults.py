"""`Fault`: one thing that is wrong with stored data, said in one sentence that names file, record and field.

Every reader reports faults through a function: `raise_fault` stops at the first one, a `FaultCounter` counts and goes
on. Formats: tutorials/data.md; notebook 09_real_data.
"""

from collections.abc import Callable
from pathlib import Path


class Fault(ValueError):
    """`what` is wrong in `file`, there in record `record` (from 0), there in `field`; where these are known."""

    def __init__(self, what: str, file: str | Path = "", record: int | None = None, field: str | None = None):
        self.what, self.file, self.record, self.field = what, str(file), record, field
        place = [self.file] if self.file else []
        place += [f"record {record}"] if record is not None else []
        place += [f"field {field}"] if field else []
        super().__init__(f"{', '.join(place)}: {what}" if place else what)


class MissingFiles(Fault):
    """Files of a set are not there; what is there can be used, but is not what its name says."""


OnFault = Callable[[Fault], None]


def raise_fault(fault: Fault) -> None:
    """Stop at the first fault, which is what readers do unless they are told otherwise."""
    raise fault


# Fields of single steps: o_tm1 -a_tm1-> r_t, o_t.
TRANSITION_FIELDS = {"o_t", "o_tm1", "a_t", "a_tm1", "r_t", "d_t"}


class ShuffledTransitions(ValueError):
    """Raised even where faults are counted: it is not one record that is wrong, the whole release cannot be used."""

    def __init__(self, path: str | Path, right_release: str):
        super().__init__(
            f"{path} holds single transitions in random order without a step number, from which no episode can be put "
            f"together again; use the release {right_release} instead"
        )


class FaultCounter:
    """Counts faults and keeps the first few, so that a long list costs no memory. `counter(fault)` adds one."""

    KEPT = 20

    def __init__(self):
        self.count = 0
        self.first: list[Fault] = []

    def __call__(self, fault: Fault) -> None:
        self.count += 1
        if len(self.first) < self.KEPT:
            self.first.append(fault)
