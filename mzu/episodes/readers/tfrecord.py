"""TFRecord files under GZIP, the container of RL Unplugged: read and written without importing TensorFlow.

A record is its length (uint64), a checksum of the length, the bytes, a checksum of the bytes. The checksum is CRC-32C
turned by 15 bits plus a constant. TensorFlow has a reader too, but it takes seconds to import and does not say which
record is damaged. Notebook 09_real_data.
"""

import functools
import gzip
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mzu.compilation import kernel
from mzu.episodes.readers.faults import Fault, OnFault, raise_fault
from mzu.episodes.readers.files import GZIP_ERRORS, check_not_empty

_MASK = 0xA282EAD8
_POLYNOMIAL = 0x82F63B78  # CRC-32C (Castagnoli), bits reversed
_CHUNK = 1 << 24


def read_records(path: str | Path, on_fault: OnFault = raise_fault) -> Iterator[tuple[int, bytes]]:
    """(number, bytes) of one record after another, with only one in memory.

    A record whose bytes do not match their checksum is reported and left out; damage to the compressed stream, or to a
    length, ends the file, because nothing says where the next record begins. A file of no record is no fault: 40
    episodes over 100 files leave most of them without one.
    """
    path = Path(path)
    record = 0
    try:
        check_not_empty(path)
        with gzip.open(path, "rb") as file:
            while True:
                header = file.read(12)
                if not header:
                    break
                length, checksum = struct.unpack("<QI", _whole(header, 12, path, record))
                if masked_crc(header[:8]) != checksum:
                    raise Fault(
                        "the length does not match its checksum; the file is damaged from here on", path, record
                    )
                data = _read(file, length, path, record)
                (checksum,) = struct.unpack("<I", _whole(file.read(4), 4, path, record))
                if masked_crc(data) == checksum:
                    yield record, data
                else:
                    on_fault(Fault("the bytes do not match their checksum; download the file again", path, record))
                record += 1
    except gzip.BadGzipFile as error:
        start = "the file is not in GZIP format" if record == 0 else "the GZIP stream is damaged"
        on_fault(Fault(f"{start} ({error}); download it again", path, record))
    except EOFError:
        on_fault(Fault("the file is cut off in the middle of the GZIP stream; download it again", path, record))
    except GZIP_ERRORS as error:
        on_fault(Fault(f"the GZIP stream is damaged ({error}); download the file again", path, record))
    except Fault as fault:
        on_fault(fault)


class RecordWriter:
    """Writes records to a GZIP TFRecord file; `with RecordWriter(path) as writer: writer.write(data)`."""

    def __init__(self, path: str | Path):
        # No name and no time inside: the same records give the same bytes.
        self._raw = open(path, "wb")  # noqa: SIM115
        self._file = gzip.GzipFile("", "wb", compresslevel=6, fileobj=self._raw, mtime=0)

    def write(self, data: bytes) -> None:
        length = struct.pack("<Q", len(data))
        self._file.write(length + struct.pack("<I", masked_crc(length)))
        self._file.write(data)
        self._file.write(struct.pack("<I", masked_crc(data)))

    def close(self) -> None:
        self._file.close()
        self._raw.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def masked_crc(data: bytes) -> int:
    crc = int(_crc32c(np.frombuffer(data, np.uint8), _tables()))
    return ((crc >> 15 | crc << 17) + _MASK) & 0xFFFFFFFF


@functools.cache
def _tables() -> np.ndarray:
    """uint32 [8, 256]: entry [k, b] is the effect of byte b followed by k zero bytes."""
    tables = np.zeros((8, 256), np.uint32)
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (_POLYNOMIAL if crc & 1 else 0)
        tables[0, byte] = crc
    for k in range(1, 8):
        tables[k] = tables[0, tables[k - 1] & 0xFF] ^ (tables[k - 1] >> 8)
    return tables


@kernel
def _crc32c(data, tables):
    crc = np.uint32(0xFFFFFFFF)
    size = len(data)
    start = 0
    while start + 8 <= size:  # eight bytes at a time, each through its own table
        step = np.uint32(0)
        for k in range(4):
            step ^= tables[7 - k, (crc >> np.uint32(8 * k)) & np.uint32(0xFF) ^ data[start + k]]
            step ^= tables[3 - k, data[start + 4 + k]]
        crc = step
        start += 8
    for i in range(start, size):
        crc = tables[0, (crc ^ data[i]) & np.uint32(0xFF)] ^ (crc >> np.uint32(8))
    return crc ^ np.uint32(0xFFFFFFFF)


def _read(file, length: int, path: Path, record: int) -> bytes:
    """`length` bytes, asked for in pieces: a wrong length must not reserve memory that the file cannot fill."""
    pieces, missing = [], length
    while missing:
        piece = file.read(min(missing, _CHUNK))
        if not piece:
            break
        pieces.append(piece)
        missing -= len(piece)
    return _whole(b"".join(pieces), length, path, record)


def _whole(data: bytes, length: int, path: Path, record: int) -> bytes:
    if len(data) != length:
        raise Fault("the file ends in the middle of the record; download it again", path, record)
    return data
