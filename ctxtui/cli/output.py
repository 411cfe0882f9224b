"""Output of commands.

JSON with a schema version, plain lines, notes and errors on standard error.
"""

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
"""Raised when a field of any JSON output changes its meaning or is removed; new fields do not raise it."""
_DECIMALS: Final = 12
"""Decimal places of numbers: a token costs a ten-millionth of a dollar, and sums have errors of a quadrillionth."""


def write_json(fields: Mapping[str, Any]) -> None:
    """Print `fields` as one JSON object that starts with ``schema_version``.

    The output is ASCII, so that terminals do not interpret it and lone surrogates are preserved. Floats are rounded to
    hide binary fractions.
    """
    progress.wipe()
    indent = 1 if sys.stdout.isatty() else None
    rounded = _round_floats({"schema_version": SCHEMA_VERSION, **fields})
    json.dump(rounded, sys.stdout, indent=indent, default=_json_number)
    sys.stdout.write("\n")


def _round_floats(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, _DECIMALS)
    if isinstance(value, dict):
        return {key: _round_floats(item) for key, item in value.items()}
    return [_round_floats(item) for item in value] if isinstance(value, list | tuple) else value


def _json_number(value: object) -> float | str:
    """A recorded number literal as a float, or as its text if no float can represent it."""
    if not isinstance(value, Number):
        raise TypeError(f"{type(value).__name__} is not a JSON value")
    number = float(value)
    return number if math.isfinite(number) else value.text


def write(text: str) -> None:
    """Print a line of plain text."""
    progress.wipe()
    sys.stdout.write(f"{text}\n")


def print_result(as_json: bool, fields: Mapping[str, Any], text: str) -> None:
    """Print the result of a command: `fields` as JSON, or `text`."""
    write_json(fields) if as_json else write(text)


def note(text: str) -> None:
    """Print a note on standard error, so that it does not disturb a pipe."""
    progress.wipe()
    # Output errors are reported when the command ends; a lost note is not an error.
    with suppress(OSError):
        sys.stdout.flush()
    with suppress(OSError):
        sys.stderr.write(f"ctxtui: {escape(text)}\n")


def log(text: str) -> None:
    """Print a progress line on standard error, without prefix, for logs."""
    with suppress(OSError):
        sys.stderr.write(f"{escape(text)}\n")
        sys.stderr.flush()


def escape(text: str) -> str:
    """`text` on one line, with controls and bidirectional marks escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def report_error(code: ExitCode, message: str, *, place: str = "", way_out: str = "", as_json: bool = False) -> int:
    """Print an error as ``ctxtui: message @ place; way out``, and return its number.

    If `as_json`, it is also printed as JSON on standard output.
    """
    if as_json:
        error = {"code": code.number, "kind": code.name, "message": message, "place": place, "way_out": way_out}
        write_json({"error": error})
    note(str(CtxtuiError(message, place=place, way_out=way_out)))
    return code.number


def refuse(error: CtxtuiError, *, as_json: bool = False) -> int:
    """Print an error like `report_error` under its own exit code; return its number."""
    return report_error(code_for(error), error.message, place=error.place, way_out=error.way_out, as_json=as_json)


def note_failed(failed: Sequence[tuple[str, CtxtuiError]], *, tolerated: tuple[type[CtxtuiError], ...] = ()) -> int:
    """Note each unreadable recording; return the exit code of the first error, else 0.

    Errors of the types `tolerated` are noted, but do not count for the exit code.
    """
    codes = [code_for(error).number for _, error in failed if not isinstance(error, tolerated)]
    for name, error in failed:
        note(f"{name}: {error}")
    return codes[0] if codes else 0


def wants_colour() -> bool:
    """Whether plain output may be coloured: on a terminal, and not under NO_COLOR or TERM=dumb."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
