"""Seals: what mzu wrote as text is known again, so that a changed digit is not taken for one that was measured.

`seals.json` beside the texts of a folder holds of each its length and checksum. Weights and states carry their own
(`mzu/files.py`). A seal stops damage and what was forgotten, not a forger: whoever removes seals.json takes the texts
as they are, like those of older versions, which have none.
"""

import json
import zlib
from pathlib import Path

from mzu.files import flush_to_disk, written_whole

SEALS = "seals.json"


def write_sealed(path: Path, text: str) -> None:
    """Writes a text whole, and its seal first: after a crash between the two the text before still has one."""
    content = text.encode()
    before = [_seal(path.read_bytes())] if path.is_file() else []
    _note({path: [*before, _seal(content)]})
    with written_whole(path) as temporary:
        temporary.write_bytes(content)


def seal_here(*paths: Path) -> None:
    """Seals files that grow, up to where they are now; those that are not there are left out."""
    there = [path for path in paths if path.is_file()]
    for path in there:
        flush_to_disk(path)  # after a power cut a seal must not know of more than there is
    _note({path: [_seal(path.read_bytes())] for path in there})


def unseal(path: Path) -> None:
    """Forgets the seal of a file that is about to be removed or begun anew."""
    if path.name in _read(path.parent):
        _note({path: []})


def is_sealed(path: Path) -> bool:
    """Whether the file begins with what was sealed, or never was. Two looks: it may just be written by another one."""
    return any(_fits(path, _read(path.parent).get(path.name, [])) for _ in range(2))


def check_as_written(path: Path, found: str = "", advice: str = "") -> None:
    """A sentence where a file is not as it was written; `found` and `advice` say more of it."""
    if not is_sealed(path):
        raise ValueError(
            f"{path} is not as mzu wrote it{found}; put it back, or remove {path.parent / SEALS} to take it as it "
            f"is{advice}"
        )


def _fits(path: Path, seals: list[str]) -> bool:
    content = path.read_bytes()
    return not seals or any(seal == _seal(content[: int(seal.partition(" ")[0])]) for seal in seals)


def _seal(content: bytes) -> str:
    return f"{len(content)} bytes, checksum {zlib.crc32(content):08x}"


def _note(changed: dict[Path, list[str]]) -> None:
    """Writes the seals of files of one folder; an empty list takes one out."""
    if not changed:
        return
    folder = next(iter(changed)).parent
    folder.mkdir(parents=True, exist_ok=True)
    seals = _read(folder) | {path.name: values for path, values in changed.items()}
    with written_whole(folder / SEALS) as temporary:
        temporary.write_text(json.dumps({name: values for name, values in seals.items() if values}, indent=2) + "\n")


def _read(folder: Path) -> dict[str, list[str]]:
    path = folder / SEALS
    try:
        seals = json.loads(path.read_text(encoding="utf-8"))
        whole = isinstance(seals, dict) and all(map(_are_seals, seals.values()))
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError):
        whole = False
    if not whole:
        raise ValueError(
            f"{path} is damaged; put it back from a copy, or remove it to take the files beside it as they are"
        )
    return seals


def _are_seals(values) -> bool:
    return isinstance(values, list) and all(
        isinstance(one, str) and one.partition(" ")[0].isdecimal() for one in values
    )
