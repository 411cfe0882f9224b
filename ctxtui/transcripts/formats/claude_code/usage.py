"""Usage of a Claude Code call: the provider's report, and whether the answer's end was recorded."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import msgspec

from ctxtui.core.canonical import Json
from ctxtui.core.usage import Usage
from ctxtui.wire import usage


class Report(NamedTuple):
    """A message's usage: the provider's JSON as it is, and what it means (None where it is empty)."""

    value: Json = None
    usage: Usage | None = None


@lru_cache(maxsize=256)
def report(raw: bytes, final: bool) -> Report:
    """The usage in JSON text `raw`; `final` says whether the record has a stop reason: else output is a count so far.

    The records of one message mostly repeat one report. Raises `msgspec.DecodeError`.
    """
    return report_of(msgspec.json.decode(raw), final) if raw else Report()


def report_of(value: Json, final: bool) -> Report:
    """As `report`, for the JSON value; only zeros are no usage: no call has an empty input."""
    found, _ = usage.anthropic_passes(value)
    return Report(value, replace(found, output_final=final) if found is not None and found.input else None)
