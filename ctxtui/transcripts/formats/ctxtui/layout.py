"""Members of the lines of ctxtui's interchange format.

Members that a newer minor version adds are kept, so that they are written again.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import fields

from ctxtui.core.call import Call, Epoch, EpochStart, Fidelity, Skeleton
from ctxtui.core.canonical import Json, Number
from ctxtui.core.json_values import as_number
from ctxtui.core.usage import QuotaReport, Usage
from ctxtui.transcripts.kit.fields import MAX_TIMESTAMP
from ctxtui.wire.codec.check_skeleton import check_skeleton
from ctxtui.wire.grammar import GRAMMARS

NAME: Final = "ctxtui"
MAJOR: Final = 1
MINOR: Final = 0

BEYOND: Final = "beyond ctxtui 1.0"
"""Kind of happenings that carry data unknown to this version, and the key for it in a call's extra."""

LINE_MEMBERS: Final = {
    "ctxtui": frozenset({"ctxtui", "minor", "session"}),
    "place": frozenset({"place", "section", "role", "mark"}),
    "block": frozenset({"block", "digest", "kind", "body"}),
    "run": frozenset({"run", "parent", "items"}),
    "thread": frozenset({"thread", "label", "parent"}),
    "tip": frozenset({"tip", "head"}),
    "skipped": frozenset({"skipped", "reason"}),
    "happened": frozenset({"happened", "text", "thread", "at", "after"}),
    "outcome": frozenset({"outcome", "value"}),
    "quota": frozenset({"quota", "minutes", "used", "resets", "at", "raw"}),
    "call": frozenset(
        "call thread raw sent response provider model started first_byte ended fidelity epoch usage stop error "
        "skeleton line bytes extra".split()
    ),
}  # fmt: skip
"""Each line's members, by its first one, which identifies the kind of line (described in docs/formats.md)."""

_USAGE: Final = {f.name: f.default for f in fields(Usage)}
_COUNTED: Final = 1 << 53
"""Upper limit of figures: below it, every whole number is exact in floating point."""
_TIMES: Final = ("started", "first_byte", "ended")
_WORDS: Final = {"provider": "provider", "model": "model", "stop": "stop_reason", "error": "error"}


def call_json(call: Call) -> dict[str, Json]:
    """Convert a call to its line; empty members are left out."""
    line: dict[str, Json] = {"call": call.id, "thread": call.thread, "raw": call.raw_head}
    line |= {"sent": call.sent_head, "response": call.response_head}
    line |= {key: value for key, name in _WORDS.items() if (value := getattr(call, name))}
    line |= {key: value for key in _TIMES if (value := getattr(call, key)) is not None}
    line["fidelity"] = call.fidelity.value
    if call.epoch != Epoch():
        line["epoch"] = [call.epoch.number, call.epoch.start.value, call.epoch.detail]
    if call.usage is not None:
        line["usage"] = {key: v for key, usual in _USAGE.items() if (v := getattr(call.usage, key)) != usual}
    if call.skeleton is not None:
        line["skeleton"] = {"dialect": call.skeleton.dialect, "parts": call.skeleton.parts}
    if call.line or call.bytes_ != (0, 0):
        line |= {"line": call.line, "bytes": list(call.bytes_)}
    call_extra, beyond = dict(call.extra), call.extra.get(BEYOND)
    if not isinstance(beyond, dict) or not beyond or beyond.keys() & LINE_MEMBERS["call"]:
        return {**line, "extra": call_extra} if call_extra else line
    del call_extra[BEYOND]
    return {**line, **({"extra": call_extra} if call_extra else {}), **beyond}


def parse_call(line: dict[str, Json], heads: tuple[int, int, int], blocks: int) -> Call:
    """Parse the call of a line.

    `heads` are its contexts (raw, sent, response); the raw one has `blocks` blocks. Raises `LookupError`, `TypeError`,
    `ValueError`, `AttributeError` if the line is not a call's.
    """
    number, start, detail = line.get("epoch", (1, "start", ""))
    skeleton, usage = line.get("skeleton"), line.get("usage")
    call_extra = dict(line.get("extra", {}))
    beyond = {key: value for key, value in line.items() if key not in LINE_MEMBERS["call"]}
    if beyond:
        call_extra[BEYOND] = beyond
    first, last = line.get("bytes", (0, 0))
    return Call(
        str(line["call"]),
        str(line["thread"]),
        *heads,
        provider=str(line.get("provider", "")),
        model=str(line.get("model", "")),
        started=parse_time(line.get("started")),
        first_byte=parse_time(line.get("first_byte")),
        ended=parse_time(line.get("ended")),
        stop_reason=str(line.get("stop", "")),
        error=str(line.get("error", "")),
        fidelity=Fidelity(line.get("fidelity", Fidelity.TRANSCRIPT)),
        epoch=Epoch(int(number), EpochStart(start), str(detail)),
        usage=None if usage is None else _parse_usage(usage),
        skeleton=None if skeleton is None else _parse_skeleton(skeleton, blocks),
        line=int(line.get("line", 0)),
        bytes_=(int(first), int(last)),
        extra=call_extra,
    )


def _parse_skeleton(skeleton: dict[str, Json], blocks: int) -> Skeleton:
    dialect = str(skeleton["dialect"])
    if dialect in GRAMMARS:  # an unknown one is preserved unchanged
        check_skeleton(skeleton["parts"], GRAMMARS[dialect], blocks)
    return Skeleton(dialect, skeleton["parts"])


def _parse_usage(figures: dict[str, Json]) -> Usage:
    members = {key: value for key, value in figures.items() if key in _USAGE}
    if "cost" in members:
        cost = members["cost"]
        members["cost"] = as_number(cost)
        if cost is not None and members["cost"] is None:
            raise ValueError("usage.cost must be a number")
    for key, value in members.items():
        if key != "cost" and not (isinstance(value, int) and abs(value) < _COUNTED):
            raise ValueError(f"usage.{key} must be a whole number that can be counted")
    return Usage(**members)


def parse_quota(line: dict[str, Json]) -> QuotaReport:
    """Parse a quota report; raises `LookupError`, `TypeError` or `ValueError` if it is none."""
    used, minutes = _as_float(line["used"]), int(line["minutes"])
    if used is None or not (used >= 0 and 0 < minutes < _COUNTED):
        raise ValueError("a quota needs a share and minutes")
    resets, reported_at = (int(parse_time(line.get(name)) or 0) for name in ("resets", "at"))
    return QuotaReport(str(line["quota"]), minutes, used, resets, reported_at, str(line.get("raw", "")))


def parse_time(value: Json) -> float | None:
    """Parse a time in Unix seconds.

    Raises `TypeError` if it is not a number, `ValueError` if beyond the calendar.
    """
    seconds = _as_float(value)
    if seconds is not None and not 0 <= seconds < MAX_TIMESTAMP:
        raise ValueError(f"no time: {seconds:g}")
    return seconds


def _as_float(value: Json) -> float | None:
    """Convert a number that keeps its spelling to a float; return any other value unchanged."""
    return float(value) if isinstance(value, Number) else value
