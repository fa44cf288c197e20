"""Reads settings from Python, from text (`--set search.num_simulations=16`) and from JSON, and checks their types.

`config.py` has the settings: frozen dataclasses, each a section of `Config`. The type hint of a field says which values
it takes. A name or value that does not fit is a ValueError, which names the field and what it expects.
"""

import dataclasses
import difflib
import json
import numbers
import types
import typing
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal


def did_you_mean(name: str, known: Collection[str]) -> str:
    """The end of a sentence about an unknown name: the nearest of the known ones, or all of them."""
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"


def note_change(changes: dict, cls, names: list[str], value: Any, path: str, parse: bool = False) -> None:
    """Adds one assignment to `changes`, a dictionary per section; `replace_fields` then makes all of them at once.

    cls    the section's class, for example Config
    names  the way to the field from there, for example ["search", "num_simulations"]
    value  its value; a section gets the fields of another one, or of a dictionary
    path   what stands before the names in messages, for example "search."
    parse  whether the value is text as it was typed
    """
    name, *rest = names
    hints = _field_types(cls, name, path)
    here = path + name
    if dataclasses.is_dataclass(hints[name]):
        if rest:
            inner = {".".join(rest): value}
        elif isinstance(value, hints[name]):
            inner = vars(value)
        elif isinstance(value, Mapping):
            inner = value
        else:
            inside = ", ".join(f"{here}.{f.name}" for f in dataclasses.fields(hints[name]))
            raise ValueError(f"'{here}' is a section, not a field; its fields are {inside}")
        for key, one in inner.items():
            note_change(changes.setdefault(name, {}), hints[name], str(key).split("."), one, here + ".", parse)
    elif rest:
        raise ValueError(f"'{here}' is a field, so '{here}.{'.'.join(rest)}' does not exist")
    else:
        changes[name] = _checked(hints[name], _parse(hints[name], value) if parse else value, here)


def replace_fields(section, changes: dict):
    """A copy of `section` with all changes at once: two fields that must fit together can be changed together."""
    values = {
        name: replace_fields(getattr(section, name), change) if isinstance(change, dict) else change
        for name, change in changes.items()
    }
    return dataclasses.replace(section, **values)


def named_fields(section, path: str = "") -> Iterator[tuple[str, Any]]:
    """The fields of a section and of those in it, as ("search.num_simulations", 50)."""
    for field in dataclasses.fields(section):
        value = getattr(section, field.name)
        if dataclasses.is_dataclass(value):
            yield from named_fields(value, f"{path}{field.name}.")
        else:
            yield path + field.name, value


def spelled(value) -> str:
    """A value as `override` reads it."""
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)


def differing_fields(before, after) -> dict[str, tuple[str, str]]:
    """{name: (before, after)} of the fields in which two sections differ, as they are typed."""
    pairs = zip(named_fields(before), named_fields(after), strict=True)
    return {name: (spelled(old), spelled(new)) for (name, old), (_, new) in pairs if old != new}


def section_from_dict(cls, data: Any, path: str):
    """A section from its JSON: fields that are not in `data` keep their defaults; unknown ones are an error."""
    if not isinstance(data, dict):
        raise ValueError(f"'{path.rstrip('.') or 'config'}' is {data!r}, but must be an object with named fields")
    values = {}
    for name, value in data.items():
        hints = _field_types(cls, name, path)
        if dataclasses.is_dataclass(hints[name]):
            values[name] = section_from_dict(hints[name], value, path=f"{path}{name}.")
        else:
            values[name] = _checked(hints[name], value, path + name)
    return cls(**values)


def _field_types(section, name: str, path: str) -> dict[str, Any]:
    """The types of all fields of a section; if it has no field `name`, an error that suggests the nearest one."""
    cls = section if isinstance(section, type) else type(section)
    hints = typing.get_type_hints(cls)
    if name not in hints:
        near = difflib.get_close_matches(name, hints, n=1, cutoff=0.5)
        advice = f"did you mean '{path}{near[0]}'?" if near else f"known are {', '.join(path + h for h in hints)}"
        raise ValueError(f"'{path}{name}' is not a setting; {advice}")
    return hints


def _parse(hint, text: str):
    """What was typed: a number, true, none or a list where the field takes one, otherwise the word itself."""
    options = typing.get_args(hint) if _is_union(hint) else (hint,)
    lowered = text.lower()
    if lowered in ("none", "null") and types.NoneType in options:
        return None
    if lowered in ("true", "false") and bool in options:
        return lowered == "true"
    if typing.get_origin(hint) is tuple and not text.startswith("["):
        text = f"[{text}]"
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _checked(hint, value, path: str):
    """The value in the field's type (3 as 3.0, a list as a tuple); a ValueError if it does not fit."""
    if _is_union(hint):
        for option in typing.get_args(hint):
            if _fits(option, value):
                return _checked(option, value, path)
    elif _fits(hint, value):
        if hint is float:
            return float(value)
        if hint is int:
            return int(value)
        if typing.get_origin(hint) is tuple:
            return tuple(_checked(typing.get_args(hint)[0], item, path) for item in value)
        return value
    raise ValueError(f"{path} is {value!r}, but must be {_describe(hint)}")


def _is_union(hint) -> bool:
    # `int | None` is a types.UnionType, `int | Literal["auto"]` a typing.Union.
    return typing.get_origin(hint) in (types.UnionType, typing.Union)


def _fits(hint, value) -> bool:
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)  # NumPy's numbers, too
    if hint is float:
        return is_number
    if hint is int:
        return is_number and float(value).is_integer()
    if typing.get_origin(hint) is Literal:
        return value in typing.get_args(hint)
    if typing.get_origin(hint) is tuple:
        return isinstance(value, (list, tuple)) and all(_fits(typing.get_args(hint)[0], item) for item in value)
    return isinstance(value, hint)


def _describe(hint) -> str:
    if _is_union(hint):
        return " or ".join(_describe(option) for option in typing.get_args(hint))
    if typing.get_origin(hint) is Literal:
        return " or ".join(repr(option) for option in typing.get_args(hint))
    if typing.get_origin(hint) is tuple:
        return "a list of numbers such as 1.0,0.5"
    return {int: "a whole number", float: "a number", bool: "true or false", types.NoneType: "none"}.get(hint, "text")


def _section_name(section) -> str:
    return type(section).__name__.removesuffix("Config").lower()


def at_least(section, least: float, *names: str) -> None:
    for name in names:
        value = getattr(section, name)
        if not value >= least:
            raise ValueError(f"{_section_name(section)}.{name} is {value}, but must be at least {least}")


def positive(section, *names: str) -> None:
    for name in names:
        value = getattr(section, name)
        if not 0 < value < float("inf"):
            raise ValueError(f"{_section_name(section)}.{name} is {value}, but must be a positive number")


def within(section, low: float, high: float, *names: str) -> None:
    for name in names:
        value = getattr(section, name)
        if not low <= value <= high:
            raise ValueError(f"{_section_name(section)}.{name} is {value}, but must lie between {low} and {high}")
