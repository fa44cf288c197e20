"""`HeldEpisodes`: all episodes of a dataset by number, in bounded memory.

Files are read once, from the first episode to the last. The first ones stay in memory, up to the limit
`run.data_memory`; the arrays of all others go to a temporary file as they are, and what is looked at later is read from
there, page by page. Which episodes these are changes nothing but the time that it takes to look at them.
"""

import dataclasses
import tempfile
from collections.abc import Iterable, Sequence

import numpy as np

from mzu.episodes.episode import Episode

ALIGNMENT = 64  # bytes: where an array may begin in the file


class HeldEpisodes(Sequence):
    """Reads `episodes` and gives each by its number; up to `memory` bytes of their arrays are held in memory.

    The temporary file of the others is gone with the program, however that ends.
    """

    def __init__(self, episodes: Iterable[Episode], memory: float):
        self._in_memory: list[Episode] = []
        self._in_file: list[dict] = []  # the fields of each; an array as what `np.memmap` takes
        self._file = None
        self.bytes_in_memory = 0
        for episode in episodes:
            size = sum(array.nbytes for array in _arrays(episode).values())
            if not self._in_file and self.bytes_in_memory + size <= memory:
                self.bytes_in_memory += size
                self._in_memory.append(episode)
            else:
                self._in_file.append(self._written(episode))
        if self._file is not None:
            self._file.flush()

    def __len__(self) -> int:
        return len(self._in_memory) + len(self._in_file)

    def __getitem__(self, number: int) -> Episode:
        if not -len(self) <= number < len(self):
            raise IndexError(f"There are {len(self)} episodes, but number {number} is asked for")
        number %= len(self)
        if number < len(self._in_memory):
            return self._in_memory[number]
        fields = dict(self._in_file[number - len(self._in_memory)])
        for name, value in fields.items():
            if isinstance(value, tuple):
                # A mapping of its own, so that what was looked at leaves memory with the episode.
                fields[name] = np.memmap(self._file, *value)
        return Episode(**fields)

    def _written(self, episode: Episode) -> dict:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="mzu-episodes-")  # noqa: SIM115, it lives as long as this object
        fields = {field.name: getattr(episode, field.name) for field in dataclasses.fields(episode)}
        for name, array in _arrays(episode).items():
            self._file.write(bytes(-self._file.tell() % ALIGNMENT))
            fields[name] = (array.dtype, "r", self._file.tell(), array.shape)
            self._file.write(np.ascontiguousarray(array).data)
        return fields


def _arrays(episode: Episode) -> dict[str, np.ndarray]:
    fields = {field.name: getattr(episode, field.name) for field in dataclasses.fields(episode)}
    return {name: value for name, value in fields.items() if isinstance(value, np.ndarray)}
