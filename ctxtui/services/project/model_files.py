"""Reads a model's context window from its files.

The source is a GGUF header or a folder's ``config.json``.
"""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from typing import BinaryIO, Final

from ctxtui.core.errors import NotFound, Unreadable

# Source of the layout: ggml, docs/gguf.md, versions 1 to 3.
_MAGIC: Final = b"GGUF"
_STRING, _ARRAY = 8, 9
_NUMBERS: Final = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d",
}  # fmt: skip
_MAX_TEXT_BYTES: Final = 1 << 20
"""A longer string of a header is skipped, not read."""
_MAX_PAIRS: Final = 100_000
_WINDOW_KEYS: Final = (
    "max_position_embeddings", "n_positions", "max_seq_len", "max_sequence_length", "seq_length", "n_ctx",
    "model_max_length",
)  # fmt: skip
"""Names of the context window in ``config.json``, in different families of models."""
CONFIG: Final = "config.json"


def is_model_file(name: str) -> bool:
    """Whether `name` is a path to a model: a ``.gguf`` file or an existing folder."""
    return name.endswith(".gguf") or os.path.isdir(name)


def file_window(path: Path) -> int:
    """Read the context window of the model at `path`, in tokens.

    Raises `NotFound`, `Unreadable`.
    """
    if path.is_dir():
        return _folder_window(path)
    try:
        with path.open("rb") as file:
            return gguf_window(file, str(path))
    except FileNotFoundError as error:
        raise NotFound(f"no such file: {path}") from error
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}", place=str(path)) from error


def _folder_window(path: Path) -> int:
    place = path / CONFIG
    try:
        data = json.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise NotFound(f"no {CONFIG} in the model folder {path}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise Unreadable(f"no readable {CONFIG}: {error}", place=str(place)) from error
    return config_window(data, str(place))


def config_window(data: object, place: str) -> int:
    """The context window in the content of a ``config.json``, in tokens. Raises `Unreadable`."""
    texts = [data, data.get("text_config"), data.get("llm_config")] if isinstance(data, dict) else []
    for section in texts:
        values = [section.get(name) for name in _WINDOW_KEYS] if isinstance(section, dict) else []
        lengths = [n for n in values if isinstance(n, int) and not isinstance(n, bool) and n > 0]
        if lengths:
            return lengths[0]
    raise Unreadable("has no window", place=place, way_out=f"it needs {_WINDOW_KEYS[0]}")


def gguf_window(file: BinaryIO, place: str) -> int:
    """Read the context window from a GGUF header; `file` is at its start. Raises `Unreadable`."""
    try:
        window = _find_context_length(file, place)
    except (struct.error, UnicodeDecodeError, KeyError, OverflowError, RecursionError) as error:
        raise Unreadable("the GGUF header is damaged or cut off", place=place) from error
    if not window:
        raise Unreadable("the GGUF header has no context_length", place=place)
    return window


def _find_context_length(file: BinaryIO, place: str) -> int:
    if file.read(4) != _MAGIC:
        raise Unreadable("no GGUF file", place=place)
    (version,) = _read_numbers(file, "<I")
    size = "<I" if version == 1 else "<Q"
    _read_numbers(file, size)
    (pairs,) = _read_numbers(file, size)
    architecture, lengths = "", dict[str, int]()
    for _ in range(min(pairs, _MAX_PAIRS)):
        key = _read_text(file, size)
        value = _read_value(file, _read_numbers(file, "<I")[0], size)
        if key == "general.architecture" and isinstance(value, str):
            architecture = value
        elif key.endswith(".context_length") and isinstance(value, int) and value > 0:
            lengths[key] = int(value)
        if architecture and f"{architecture}.context_length" in lengths:
            return lengths[f"{architecture}.context_length"]
    return next(iter(lengths.values()), 0)


def _read_numbers(file: BinaryIO, form: str) -> tuple[int, ...]:
    return struct.unpack(form, file.read(struct.calcsize(form)))


def _read_text(file: BinaryIO, size: str) -> str:
    (length,) = _read_numbers(file, size)
    if length > _MAX_TEXT_BYTES:
        file.seek(length, 1)
        return ""
    return file.read(length).decode("utf-8")


def _read_value(file: BinaryIO, kind: int, size: str) -> int | str | None:
    """Read a value if it is a number or a string; skip an array and return None."""
    if kind == _STRING:
        return _read_text(file, size)
    if kind != _ARRAY:
        return _read_numbers(file, _NUMBERS[kind])[0]
    (inner,) = _read_numbers(file, "<I")
    (count,) = _read_numbers(file, size)
    if inner in _NUMBERS:
        file.seek(count * struct.calcsize(_NUMBERS[inner]), 1)
    else:
        for _ in range(count):
            _read_value(file, inner, size)
    return None
