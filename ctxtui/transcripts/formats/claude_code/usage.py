"""Usage of a Claude Code call: the provider's report, and whether the answer's end was recorded."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import msgspec

from ctxtui.core.canonical import Json
from ctxtui.core.usage import Usage
from ctxtui.dataclasses import dataclass, field
from ctxtui.transcripts.kit.fields import count
from ctxtui.wire import usage

ESTIMATED_BY: Final = "estimated_by"
"""The member of a usage that names the program that worked it out: no provider reported it."""
_EXTRA: Final = ("service_tier", "speed", "inference_geo", "server_tool_use", "iterations")
"""Keys of a usage report that a call keeps as they are."""


@dataclass(frozen=True, slots=True)
class Report:
    """A message's usage: what it means (None where it is empty, or an estimate), and what a call keeps of it as it is.

    `estimated` is tokens of input, where it is an estimate; else 0.
    """

    usage: Usage | None = None
    estimated: int = 0
    extra: dict[str, Json] = field(default_factory=dict)


NO_REPORT: Final = Report()


@lru_cache(maxsize=256)
def report(raw: bytes, final: bool) -> Report:
    """The usage in JSON text `raw`; `final` says whether the record has a stop reason: else output is a count so far.

    The records of one message mostly repeat one report. Raises `msgspec.DecodeError`.
    """
    return _ended(_reported(raw), final) if raw else NO_REPORT


@lru_cache(maxsize=64)
def _reported(raw: bytes) -> Report:
    return _of_value(msgspec.json.decode(raw))


def report_of(value: Json, final: bool) -> Report:
    """As `report`, for the JSON value; only zeros are no usage: no call has an empty input."""
    return _ended(_of_value(value), final)


def _of_value(value: Json) -> Report:
    extra = {key: kept for key in _EXTRA if (kept := value.get(key))} if isinstance(value, dict) else {}
    if isinstance(value, dict) and ESTIMATED_BY in value:
        return Report(None, count(value.get("input_tokens")), extra)
    found, _ = usage.anthropic_passes(value)
    return Report(found if found is not None and found.input else None, 0, extra)


def _ended(found: Report, final: bool) -> Report:
    if found.usage is None or found.usage.output_final == final:
        return found
    return Report(usage.ended(found.usage, final), found.estimated, found.extra)
