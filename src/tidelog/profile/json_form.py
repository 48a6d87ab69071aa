"""Profiles as JSON, and back: the fields of the records by their names."""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.files import reason_of, unreadable_hint
from tidelog.profile.profile import FORM, Profile

# Digits after the point that a second has in the file: microseconds.
_DIGITS = 6


class _Misfit(Exception):  # noqa: N818 - becomes a diagnostic below
    """What is in the file is not what the field takes."""


def profile_to_json(profile: Profile) -> str:
    """Return the profile as JSON, the same for equal profiles; seconds are rounded to microseconds."""
    return json.dumps(_plain(profile), ensure_ascii=False, separators=(",", ":"))


def profile_from_json(text: str, name: str = "profile") -> Profile:
    """Return the profile that a text holds; raise a diagnostic if it holds none."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as cause:
        raise _refusal(name, "it is not JSON") from cause
    if not isinstance(data, dict) or "form" not in data or "strata" not in data:
        raise _refusal(name, "it has no `form` and no `strata`")
    if data["form"] != FORM:
        raise _refusal(name, f"its form is {data['form']!r}, and this version reads {FORM}")
    try:
        profile = _read(Profile, data, "")
    except _Misfit as misfit:
        raise _refusal(name, str(misfit)) from None
    assert isinstance(profile, Profile)
    return profile


def read_profile(path: Path) -> Profile:
    """Return the profile in a file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        if isinstance(cause, UnicodeDecodeError):
            raise _refusal(str(path), "it is not UTF-8") from cause
        message, hint = f"cannot read {path}: {reason_of(cause)}", unreadable_hint(path, cause)
        raise TidelogError([Diagnostic(code="bad-profile", message=message, hint=hint)]) from cause
    return profile_from_json(text, str(path))


def _refusal(name: str, because: str) -> TidelogError:
    return TidelogError(
        [
            Diagnostic(
                code="bad-profile",
                message=f"`{name}` is not a profile: {because}",
                hint="`tidelog run --profile FILE` writes one",
            )
        ]
    )


def _plain(data: Any) -> Any:
    """Return records as objects of JSON."""
    match data:
        case int() | str() | None:
            return data
        case float():
            return round(data, _DIGITS)
        case list():
            return [_plain(value) for value in data]
        case dict():
            return {key: _plain(value) for key, value in data.items()}
        case _:
            return {name: _plain(getattr(data, name)) for name in data.__dataclass_fields__}


@cache
def _hints(record: type) -> Mapping[str, Any]:
    return get_type_hints(record)


def _read(wanted: Any, data: object, place: str) -> object:
    """Return what a field of this type holds, read from JSON."""
    if is_dataclass(wanted) and isinstance(wanted, type):
        if not isinstance(data, dict):
            raise _Misfit(f"{place or 'the whole'} is not an object")
        hints = _hints(wanted)
        known = {each.name for each in fields(wanted)}
        values = {
            key: _read(hints[key], value, f"{place}.{key}" if place else key)
            for key, value in data.items()
            if key in known
        }
        try:
            return wanted(**values)
        except TypeError as cause:
            raise _Misfit(f"{place or 'the whole'} lacks a field") from cause
    origin, inner = get_origin(wanted), get_args(wanted)
    if origin is list and isinstance(data, list):
        return [_read(inner[0], each, f"{place}[{number}]") for number, each in enumerate(data)]
    if origin is dict and isinstance(data, dict):
        return {
            _key(inner[0], key, place): _read(inner[1], each, f"{place}.{key}") for key, each in data.items()
        }
    if origin is UnionType and NoneType in inner:
        return None if data is None else _read(inner[0], data, place)
    if wanted is float and isinstance(data, int | float) and not isinstance(data, bool):
        return float(data)
    if isinstance(wanted, type) and type(data) is wanted:
        return data
    raise _Misfit(f"{place} is {json.dumps(data)[:40]}")


def _key(wanted: type, key: str, place: str) -> object:
    """Return the key of a mapping; numbers are texts in JSON."""
    if wanted is not int:
        return key
    if not key.isdecimal():
        raise _Misfit(f"{place} has the key {key!r}")
    return int(key)
