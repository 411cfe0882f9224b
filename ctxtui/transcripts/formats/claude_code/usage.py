"""Usage of a Claude Code call: the provider's report, and whether the answer's end was recorded."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any, Final

import msgspec
from msgspec import Struct, field

from ctxtui.core.canonical import Json
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit.fields import count
from ctxtui.wire import usage

ESTIMATED_BY: Final = "estimated_by"
"""The member of a usage that names the program that worked it out: no provider reported it."""
_EXTRA: Final = ("service_tier", "speed", "inference_geo", "server_tool_use", "iterations", "fallback_credit")
"""Keys of a usage report that a call keeps as they are."""


class Report(Struct, frozen=True):
    """A message's usage: what it means (None where it is empty, or an estimate), and what a call keeps of it as it is.

    `estimated` is tokens of input, where it is an estimate; else 0.
    """

    usage: Usage | None = None
    estimated: int = 0
    extra: dict[str, Json] = field(default_factory=dict)


NO_REPORT: Final = Report()
_Count = Annotated[int, msgspec.Meta(ge=0, lt=10**18)]


class _Split(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    ephemeral_5m_input_tokens: _Count
    ephemeral_1h_input_tokens: _Count


class _Usual(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A report as nearly every one is written; any other is read the long way, which gives the same of this one."""

    input_tokens: _Count
    output_tokens: _Count
    cache_creation_input_tokens: _Count
    cache_read_input_tokens: _Count
    cache_creation: _Split
    service_tier: str | None = None
    speed: str | None = None
    inference_geo: str | None = None
    server_tool_use: dict[str, Any] | None = None


_usual: Final = msgspec.json.Decoder(_Usual)


@lru_cache(maxsize=256)
def report(raw: bytes, final: bool) -> Report:
    """The usage in JSON text `raw`; `final` says whether the record has a stop reason: else output is a count so far.

    The records of one message mostly repeat one report. Raises `msgspec.DecodeError`.
    """
    if not raw:
        return NO_REPORT
    return _as_usual(raw, final) or _ended(_reported(raw), final)


@lru_cache(maxsize=64)
def _reported(raw: bytes) -> Report:
    return _of_value(msgspec.json.decode(raw))


def _as_usual(raw: bytes, final: bool) -> Report | None:
    """What `report` gives for a report that is written as usual; None for any other."""
    try:
        found = _usual.decode(raw)
    except msgspec.ValidationError:
        return None
    split = found.cache_creation
    minutes, hour = split.ephemeral_5m_input_tokens, split.ephemeral_1h_input_tokens
    unsplit = found.cache_creation_input_tokens - minutes - hour
    told = Usage(
        found.input_tokens,
        found.cache_read_input_tokens,
        write_5m=minutes + unsplit if unsplit > 0 else minutes,
        write_1h=hour,
        output=found.output_tokens,
        output_final=final,
    )
    extra: dict[str, Json] = {}
    if found.service_tier:
        extra["service_tier"] = found.service_tier
    if found.speed:
        extra["speed"] = found.speed
    if found.inference_geo:
        extra["inference_geo"] = found.inference_geo
    if found.server_tool_use:
        extra["server_tool_use"] = found.server_tool_use
    return Report(told if told.input else None, 0, extra)


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
