"""Damage as disks, networks and strangers do it: bits, bytes, ranges, values of JSON; always the same for a seed."""

import json

import numpy as np

ODD_VALUES = (None, True, -1, 0, 1e308, -1e308, 2**70, "", "nan", "x" * 300, [], {}, [[]], {"a": 1}, 0.5, "évil", "1")


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """The bytes with one thing changed: a bit, a byte, a range removed, repeated, zeroed or random, or the end cut."""
    data = bytearray(data)
    place = int(rng.integers(len(data)))
    length = int(rng.integers(1, max(2, min(64, len(data) // 4))))
    kind = int(rng.integers(8))
    if kind < 3:  # the most common, and the hardest to see
        data[place] ^= 1 << int(rng.integers(8))
    elif kind == 3:
        data[place] = int(rng.integers(256))
    elif kind == 4:
        del data[place : place + length]
    elif kind == 5:
        data[place:place] = data[place : place + length]
    elif kind == 6:
        data[place : place + length] = (
            bytes(rng.integers(256, size=length, dtype=np.uint8)) if place % 2 else bytes(length)
        )
    else:
        del data[place:]
    return bytes(data)


def mutated_json(text: str, rng: np.random.Generator) -> str:
    """The text with one value replaced by an odd one, renamed or removed."""
    content = json.loads(text)
    places = list(_places(content))
    holder, key = places[int(rng.integers(len(places)))]
    kind = int(rng.integers(4))
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, dict):
        holder[f"{key}x"] = holder.pop(key)
    else:
        holder[key] = ODD_VALUES[int(rng.integers(len(ODD_VALUES)))]
    return json.dumps(content)


def _places(content):
    """(dictionary or list, key) of every value in it, at any depth."""
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in list(items):
        yield content, key
        yield from _places(value)
