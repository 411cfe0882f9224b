"""Reads traces as JSON: OTLP's requests, one a file or one a line, and spans of their own, in any order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from ctxtui.core.canonical import Json
from ctxtui.core.session import Described, Event
from ctxtui.core.tree import Tree
from ctxtui.transcripts.formats.opentelemetry import model_call
from ctxtui.transcripts.formats.opentelemetry.conversations import NAME, Traces
from ctxtui.transcripts.formats.opentelemetry.spans import LogEvent, OtelSpan, is_flat, is_otlp, spans_in
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.readers import lines_reader
from ctxtui.transcripts.kit.records import FoundObject

__all__ = ["NAME", "reader", "sniff"]

_OURS: Final = ("gen_ai.", "llm.", "openinference.", "traceloop.", "gen_ai")


def sniff(head: bytes, name: str) -> float:
    """How sure it is that `head` begins a trace."""
    records = file_head.records(head, 10)
    if any(is_otlp(record) for record in records):
        return 0.97
    flat = [record for record in records if is_flat(record)]
    if not flat:
        return 0.0
    return 0.95 if any(mark.encode() in head for mark in _OURS) else 0.6


class SpanTaker:
    """Gathers spans and log records; what they come to is told when no more come for now."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._spans: dict[tuple[str, str], OtelSpan] = {}
        self._logs: list[LogEvent] = []

    def record(self, value: dict[str, Json], found: FoundObject) -> Iterator[Event]:
        """Gathers what an object holds; tells nothing yet."""
        for one in spans_in(value, found.line):
            if isinstance(one, LogEvent):
                self._logs.append(one)
            else:
                # A span that is told twice was exported twice.
                self._spans[one.trace, one.id or f"{found.start} {len(self._spans)}"] = one
        return iter(())

    def standing(self) -> Iterator[Event]:
        """The session that all spans so far tell of."""
        yield Described(source=NAME)
        yield from Traces(self._whole()).events(self._tree)

    def _whole(self) -> list[OtelSpan]:
        """The spans with the log records that belong to them; records without their span are one together."""
        held = {
            key: replace(span, attributes=dict(span.attributes), events=list(span.events))
            for key, span in self._spans.items()
        }
        for log in self._logs:
            key = (log.trace, log.span)
            if key not in held:
                known = {name: value for name, value in log.event.attributes.items() if name.startswith("gen_ai.")}
                known.setdefault("gen_ai.operation.name", "chat" if log.event.name.startswith("gen_ai.") else "")
                held[key] = OtelSpan(log.span, log.trace, name=log.event.name, started=log.event.at, attributes=known)
            span = held[key]
            if log.event.at is not None and span.name.startswith("gen_ai."):
                span.ended = max(span.ended or 0.0, log.event.at)
            span.events.append(log.event)
        for span in held.values():
            model_call.detailed(span)
        return list(held.values())


reader = lines_reader(SpanTaker)
