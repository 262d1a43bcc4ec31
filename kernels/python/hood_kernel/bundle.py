"""MIME bundles on their way into a frame: bytes to text, and within the limit."""

import base64

from .jsonable import TooDeep, jsonable
from .limits import MAX_FRAME, MIB
from .protocol import encode

#: Room left in a frame for everything that is not the bundle's data.
_ENVELOPE = 64 * 1024


def pack(data):
    """`data` as JSON values; a part that has none is left out, unless it is the text."""
    packed = {}
    for mime, value in data.items():
        if value is None:
            continue
        mime = str(mime)
        if isinstance(value, (bytes, bytearray, memoryview)):
            packed[mime] = _text_of_bytes(mime, bytes(value))
        elif type(value) is str:
            packed[mime] = value
        else:
            try:
                packed[mime] = jsonable(value)
            except TooDeep:
                continue
    return packed


def pack_metadata(metadata):
    """Metadata as JSON values; dropped whole when it has none."""
    try:
        return jsonable(dict(metadata or {}))
    except (TooDeep, TypeError, ValueError):
        return {}


def fit(data, size):
    """`data` without its largest parts, so that a frame of `size` bytes fits; the text says
    what was left out."""
    sizes = {mime: len(encode(value)) for mime, value in data.items()}
    kept, dropped = dict(data), []
    while kept and sum(sizes[mime] for mime in kept) > MAX_FRAME - _ENVELOPE:
        largest = max(kept, key=sizes.get)
        dropped.append(largest)
        del kept[largest]
    note = (
        f"<result too large: {size / MIB:.0f} MiB, at most {MAX_FRAME // MIB} MiB are sent; "
        f"left out: {', '.join(dropped)}; write it to a file and download that>"
    )
    kept["text/plain"] = note
    return kept


def _text_of_bytes(mime, value):
    if mime.startswith("text/") or mime.endswith(("+xml", "json", "javascript")):
        return value.decode("utf-8", "backslashreplace")
    return base64.b64encode(value).decode()
