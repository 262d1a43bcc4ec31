"""Turning whatever a display carries into values that JSON has.

Not-a-number, infinities, NaT and NA become null; dates become ISO text; anything else that
JSON lacks becomes its text, because a display that arrives is worth more than one that is
exact in every corner.
"""

import base64
import datetime
import math
import sys

from .limits import MAX_JSON_DEPTH

#: Integers beyond these are sent as text: parsers read numbers into 64 bits.
_LOWEST, _HIGHEST = -(2**63), 2**64 - 1


class TooDeep(ValueError):
    """The value is nested deeper than MAX_JSON_DEPTH, or contains itself."""


def jsonable(value, depth=0):
    """`value` with only the exact types of JSON inside."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return value
    if kind is int:
        return value if _LOWEST <= value <= _HIGHEST else _integer_text(value)
    if kind is float:
        return value if math.isfinite(value) else None
    if depth >= MAX_JSON_DEPTH:
        raise TooDeep(f"nested deeper than {MAX_JSON_DEPTH} levels")
    if issubclass(kind, dict):
        return {key_text(key): jsonable(item, depth + 1) for key, item in dict.items(value)}
    if issubclass(kind, (list, tuple, set, frozenset)):
        return [jsonable(item, depth + 1) for item in value]
    return _other(value, kind, depth)


def _other(value, kind, depth):
    if issubclass(kind, str):
        return str.__str__(value)
    if issubclass(kind, int):
        return jsonable(int.__index__(value), depth)
    if issubclass(kind, float):
        return jsonable(float.__float__(value), depth)
    if issubclass(kind, (bytes, bytearray, memoryview)):
        return base64.b64encode(bytes(value)).decode()
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        if issubclass(kind, numpy.ndarray):
            return jsonable(value.tolist(), depth + 1)
        if issubclass(kind, (numpy.bool_, numpy.number)) and not issubclass(
            kind, (numpy.timedelta64, numpy.complexfloating)
        ):
            return jsonable(value.item(), depth + 1)
        if issubclass(kind, (numpy.datetime64, numpy.timedelta64)):
            return None if numpy.isnat(value) else str(value)
    pandas = sys.modules.get("pandas")
    if pandas is not None and (value is pandas.NaT or value is pandas.NA):
        return None
    if issubclass(kind, (datetime.date, datetime.time)):
        return value.isoformat()
    return safe_text(value)


def key_text(key):
    """A dictionary key as JSON text."""
    if type(key) is str:
        return key
    if isinstance(key, (datetime.date, datetime.time)):
        return key.isoformat()
    return safe_text(key)


def safe_text(value):
    """`str(value)`, whatever `value` does about it."""
    try:
        text = str(value)
        return text if type(text) is str else str.__str__(text)
    except Exception as error:
        return f"<{type(value).__name__}: str() raised {type(error).__name__}>"


def _integer_text(value):
    try:
        return str(value)
    except ValueError:  # more digits than sys.get_int_max_str_digits()
        return f"<an integer of {value.bit_length()} bits>"
