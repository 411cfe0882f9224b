"""Output of commands: JSON and plain lines; notes and errors on standard error."""

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
"""Raised when a field of any JSON output changes its meaning or is removed."""
_DECIMALS: Final = 12
"""A token costs a ten-millionth of a dollar, and sums have errors of a quadrillionth."""


def write_json(fields: Mapping[str, Any]) -> None:
    """Print `fields` as one JSON object that starts with ``schema_version``, in ASCII.

    Terminals do not interpret it, and lone surrogates are preserved.
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
    progress.wipe()
    sys.stdout.write(f"{text}\n")


def print_result(as_json: bool, fields: Mapping[str, Any], text: str) -> None:
    """Print `fields` as JSON, or `text`."""
    write_json(fields) if as_json else write(text)


def note(text: str) -> None:
    progress.wipe()
    # Output errors are reported when the command ends; a lost note is not an error.
    with suppress(OSError):
        sys.stdout.flush()
    with suppress(OSError):
        sys.stderr.write(f"ctxtui: {escape(text)}\n")


def log(text: str) -> None:
    """Print a progress line for logs on standard error."""
    with suppress(OSError):
        sys.stderr.write(f"{escape(text)}\n")
        sys.stderr.flush()


def escape(text: str) -> str:
    """`text` on one line, with controls and bidirectional marks escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def report_error(code: ExitCode, message: str, *, place: str = "", way_out: str = "", as_json: bool = False) -> int:
    """Print an error as ``ctxtui: message @ place; way out``, `as_json` also as JSON.

    Return its number.
    """
    if as_json:
        error = {"code": code.number, "kind": code.name, "message": message, "place": place, "way_out": way_out}
        write_json({"error": error})
    note(str(CtxtuiError(message, place=place, way_out=way_out)))
    return code.number


def refuse(error: CtxtuiError, *, as_json: bool = False) -> int:
    """Print an error; return the number of its exit code."""
    return report_error(code_for(error), error.message, place=error.place, way_out=error.way_out, as_json=as_json)


FailedRecordings = Sequence[tuple[str, CtxtuiError]]
"""Names of recordings that cannot be read, with the error."""


def failed_as_json(failed: FailedRecordings) -> list[dict[str, str]]:
    return [{"file": name, "error": str(error)} for name, error in failed]


def note_skipped_database(trouble: CtxtuiError | str | None) -> None:
    if trouble:
        note(f"the database was skipped: {trouble}")


def note_failed(failed: FailedRecordings, *, tolerated: tuple[type[CtxtuiError], ...] = ()) -> int:
    """Note each unreadable recording.

    Return the exit code of the first error that is not `tolerated`, else 0.
    """
    codes = [code_for(error).number for _, error in failed if not isinstance(error, tolerated)]
    for name, error in failed:
        note(f"{name}: {error}")
    return codes[0] if codes else 0


def wants_colour() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
