"""Usage as Anthropic reports it, normalised (facts §1)."""

from __future__ import annotations

from ctxtui.core.canonical import Json
from ctxtui.core.usage import Usage


def usage_of(reported: Json, final: bool = True) -> Usage | None:
    """The usage in a message; None where there is none, or only zeros: no call has an empty input.

    ``input_tokens`` is what stands after the last cache marker, writes are split by lifetime in ``cache_creation``;
    an unsplit report counts as 5 minutes. `final` says whether the answer's end was recorded.
    """
    if not isinstance(reported, dict):
        return None
    fresh, read = _count(reported, "input_tokens"), _count(reported, "cache_read_input_tokens")
    written = _count(reported, "cache_creation_input_tokens")
    split = reported.get("cache_creation")
    hour = five = 0
    if isinstance(split, dict):
        hour, five = _count(split, "ephemeral_1h_input_tokens"), _count(split, "ephemeral_5m_input_tokens")
    if fresh + read + max(written, hour + five) == 0:
        return None
    details = reported.get("output_tokens_details")
    return Usage(
        fresh=fresh,
        cache_read=read,
        write_5m=five + max(0, written - hour - five),
        write_1h=hour,
        output=_count(reported, "output_tokens"),
        reasoning=_count(details, "thinking_tokens") if isinstance(details, dict) else 0,
        output_final=final,
        has_cache="cache_read_input_tokens" in reported or "cache_creation_input_tokens" in reported,
    )


def _count(value: dict[str, Json], key: str) -> int:
    found = value.get(key)
    return found if isinstance(found, int) and found > 0 else 0
