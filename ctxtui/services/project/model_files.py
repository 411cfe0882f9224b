"""The window of a model that lies in files: from a GGUF file's header, or a model folder's ``config.json``."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final

from ctxtui.core.errors import NotFound, Unreadable

# Source of the layout: ggml, docs/gguf.md, versions 1 to 3.
_MAGIC: Final = b"GGUF"
_STRING, _ARRAY = 8, 9
_NUMBERS: Final = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d",
}  # fmt: skip
_LONGEST: Final = 1 << 20
_MOST: Final = 100_000
_LENGTHS: Final = (
    "max_position_embeddings", "n_positions", "max_seq_len", "max_sequence_length", "seq_length", "n_ctx",
    "model_max_length",
)  # fmt: skip
CONFIG: Final = "config.json"


def is_model_file(name: str) -> bool:
    """Whether `name` is written as a path to a model: a ``.gguf`` file, or a folder that is there."""
    return name.endswith(".gguf") or Path(name).is_dir()


def file_window(path: Path) -> int:
    """The window in tokens that the model at `path` was made for. Raises `NotFound`, `Unreadable`."""
    if path.is_dir():
        return _of_folder(path)
    try:
        with path.open("rb") as file:
            return gguf_window(file, str(path))
    except FileNotFoundError as error:
        raise NotFound(f"no such file: {path}") from error
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}", place=str(path)) from error


def _of_folder(path: Path) -> int:
    place = path / CONFIG
    try:
        data = json.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise NotFound(f"no {CONFIG} in the model folder {path}") from error
    except (OSError, ValueError) as error:
        raise Unreadable(f"no readable {CONFIG}: {error}", place=str(place)) from error
    return told_window(data, str(place))


def told_window(data: object, place: str) -> int:
    """The window in tokens that the content of a ``config.json`` tells. Raises `Unreadable`."""
    texts = [data, data.get("text_config"), data.get("llm_config")] if isinstance(data, dict) else []
    for one in texts:
        told = [one.get(name) for name in _LENGTHS] if isinstance(one, dict) else []
        lengths = [n for n in told if isinstance(n, int) and not isinstance(n, bool) and n > 0]
        if lengths:
            return lengths[0]
    raise Unreadable("tells no window", place=place, way_out=f"it needs {_LENGTHS[0]}")


def gguf_window(file: BinaryIO, place: str) -> int:
    """The window that a GGUF header tells, from a file at its beginning. Raises `Unreadable`."""
    try:
        found = _context_length(file, place)
    except (struct.error, UnicodeDecodeError, KeyError) as error:
        raise Unreadable("the GGUF header is damaged or cut off", place=place) from error
    if not found:
        raise Unreadable("the GGUF header tells no context_length", place=place)
    return found


def _context_length(file: BinaryIO, place: str) -> int:
    if file.read(4) != _MAGIC:
        raise Unreadable("no GGUF file", place=place)
    (version,) = _read(file, "<I")
    size = "<I" if version == 1 else "<Q"
    _read(file, size)
    (pairs,) = _read(file, size)
    architecture, lengths = "", dict[str, int]()
    for _ in range(min(pairs, _MOST)):
        key = _text(file, size)
        value = _value(file, _read(file, "<I")[0], size)
        if key == "general.architecture" and isinstance(value, str):
            architecture = value
        elif key.endswith(".context_length") and isinstance(value, int):
            lengths[key] = value
        if architecture and f"{architecture}.context_length" in lengths:
            return lengths[f"{architecture}.context_length"]
    return next(iter(lengths.values()), 0)


def _read(file: BinaryIO, form: str) -> tuple[int, ...]:
    return struct.unpack(form, file.read(struct.calcsize(form)))


def _text(file: BinaryIO, size: str) -> str:
    (length,) = _read(file, size)
    if length > _LONGEST:
        file.seek(length, 1)
        return ""
    return file.read(length).decode("utf-8")


def _value(file: BinaryIO, kind: int, size: str) -> int | str | None:
    """A value, where it is a number or a text; an array is passed over."""
    if kind == _STRING:
        return _text(file, size)
    if kind != _ARRAY:
        return _read(file, _NUMBERS[kind])[0]
    (inner,) = _read(file, "<I")
    (count,) = _read(file, size)
    step: Callable[[], object] = (lambda: _text(file, size)) if inner == _STRING else lambda: _value(file, inner, size)
    if inner in _NUMBERS:
        file.seek(count * struct.calcsize(_NUMBERS[inner]), 1)
    else:
        for _ in range(count):
            step()
    return None
