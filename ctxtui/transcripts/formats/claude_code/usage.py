"""Usage of a Claude Code call: the provider's report, and whether the answer's end was recorded."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from ctxtui.core.canonical import Json
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit.fields import count
from ctxtui.wire import usage

ESTIMATED_BY: Final = "estimated_by"
"""The member of a usage that names the program that worked it out: no provider reported it."""


class Report(NamedTuple):
    """A message's usage: the provider's JSON as it is, and what it means (None where it is empty, or an estimate)."""

    value: Json = None
    usage: Usage | None = None
    estimated: int = 0
    """Tokens of input, where it is an estimate; else 0."""


@lru_cache(maxsize=256)
def report(raw: bytes, final: bool) -> Report:
    """The usage in JSON text `raw`; `final` says whether the record has a stop reason: else output is a count so far.

    The records of one message mostly repeat one report. Raises `msgspec.DecodeError`.
    """
    return report_of(msgspec.json.decode(raw), final) if raw else Report()


def report_of(value: Json, final: bool) -> Report:
    """As `report`, for the JSON value; only zeros are no usage: no call has an empty input."""
    if isinstance(value, dict) and ESTIMATED_BY in value:
        return Report(value, None, count(value.get("input_tokens")))
    found, _ = usage.anthropic_passes(value)
    if found is None or not found.input:
        return Report(value)
    return Report(value, found if found.output_final == final else usage.ended(found, final))
