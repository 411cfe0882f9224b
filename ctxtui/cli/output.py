"""What commands print: JSON with a schema version, notes and errors on standard error."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from ctxtui.cli import progress
from ctxtui.cli.exit_codes import ExitCode, code_for
from ctxtui.core.canonical import Number
from ctxtui.core.errors import CtxtuiError

SCHEMA_VERSION: Final = 1
"""Raised when a field of any JSON output changes its meaning or goes; new fields do not raise it."""
_DECIMALS: Final = 12
"""Places of a number: a token costs a ten-millionth of a dollar, a sum of them is off by a quadrillionth."""


def write_json(fields: Mapping[str, Any]) -> None:
    """Print `fields` as one JSON object with ``schema_version`` in front.

    ASCII only: a terminal obeys nothing in it, and a lone surrogate of a recording stays what it was. Sums of money end
    where their digits do, not in what a binary fraction adds to them.
    """
    progress.wipe()
    indent = 1 if sys.stdout.isatty() else None
    told = _rounded({"schema_version": SCHEMA_VERSION, **fields})
    json.dump(told, sys.stdout, indent=indent, default=_spelled)
    sys.stdout.write("\n")


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, _DECIMALS)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list | tuple) else value


def _spelled(value: object) -> float | str:
    """A number that a recording spells in its own way, as a number; as its text where no number can hold it."""
    if not isinstance(value, Number):
        raise TypeError(f"{type(value).__name__} is no JSON value")
    found = float(value)
    return found if math.isfinite(found) else value.text


def write(text: str) -> None:
    """Print a line of plain text; what a terminal would obey in it is shown instead."""
    progress.wipe()
    sys.stdout.write(f"{text}\n")


def answer(as_json: bool, fields: Mapping[str, Any], text: str) -> None:
    """Print what a command has to say: `fields` as JSON, or `text`."""
    write_json(fields) if as_json else write(text)


def note(text: str) -> None:
    """A remark for a person, on standard error: never in the way of a pipe."""
    progress.wipe()
    # Output that cannot be written is reported when the command ends, and a remark that nobody can read is no fault.
    with suppress(OSError):
        sys.stdout.flush()
    with suppress(OSError):
        sys.stderr.write(f"ctxtui: {shown(text)}\n")


def tell(text: str) -> None:
    """A line of what is going on, on standard error: as it is, for logs."""
    with suppress(OSError):
        sys.stderr.write(f"{shown(text)}\n")
        sys.stderr.flush()


def shown(text: str) -> str:
    """`text` on one line, with controls and bidirectional marks spelled out instead of obeyed."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def report_error(code: ExitCode, message: str, *, place: str = "", way_out: str = "", as_json: bool = False) -> int:
    """Print an error as ``ctxtui: message @ place; way out``, with `as_json` on standard output too; its number."""
    if as_json:
        error = {"code": code.number, "kind": code.name, "message": message, "place": place, "way_out": way_out}
        write_json({"error": error})
    note(str(CtxtuiError(message, place=place, way_out=way_out)))
    return code.number


def refuse(error: CtxtuiError, *, as_json: bool = False) -> int:
    """Print an error as `report_error` does, under its own exit code; its number."""
    return report_error(code_for(error), error.message, place=error.place, way_out=error.way_out, as_json=as_json)


def note_failed(failed: Sequence[tuple[str, CtxtuiError]], *, passing: tuple[type[CtxtuiError], ...] = ()) -> int:
    """Note each of the recordings that could not be read; the exit code of the first whose error is not `passing`."""
    codes = [code_for(error).number for _, error in failed if not isinstance(error, passing)]
    for name, error in failed:
        note(f"{name}: {error}")
    return codes[0] if codes else 0


def wants_colour() -> bool:
    """Whether plain output may be coloured: on a terminal, and not under NO_COLOR or TERM=dumb."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
