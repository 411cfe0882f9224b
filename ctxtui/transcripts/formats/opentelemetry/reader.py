"""Read traces as JSON: OTLP's requests and separate spans, in any order.

Calls of a model are grouped into threads by conversation and agent if spans name them, else by shared context.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.core.canonical import Json
from ctxtui.core.session import MAIN, Described, Event, Happened
from ctxtui.core.tree import Tree
from ctxtui.transcripts.formats.opentelemetry import model_call
from ctxtui.transcripts.formats.opentelemetry.model_call import ModelCall
from ctxtui.transcripts.formats.opentelemetry.spans import LogEvent, OtelSpan, first_text, is_flat, is_otlp, spans_in
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.conversations import ClientThread
from ctxtui.transcripts.kit.fields import one_line
from ctxtui.transcripts.kit.http_exchange.exchanges import Exchanges
from ctxtui.transcripts.kit.readers import lines_reader
from ctxtui.transcripts.kit.records import RawRecord

NAME: Final = "opentelemetry"
_AGENT: Final = "invoke_agent"
_CONVERSATION: Final = (
    "gen_ai.conversation.id", "session.id", "traceloop.association.properties.session_id", "langfuse.session.id",
    "traceloop.association.properties.thread_id", "thread.id",
)  # fmt: skip
"""Attributes that name a conversation, by priority."""
_AGENTS: Final = ("gen_ai.agent.name", "agent.name", "traceloop.entity.name", "graph.node.name", "gen_ai.agent.id")
"""Attributes that name an agent, by priority."""


class _ThreadKey(Struct, frozen=True):
    """Identity of a thread: conversation, agent, and, for a call without context, the trace.

    `span` is the agent's own span, and `outer` that of the enclosing agent, if another agent runs this one.
    """

    conversation: str = ""
    agent: str = ""
    span: str = ""
    trace: str = ""
    outer: str = ""


class _Traces:
    """The spans of a file; converts those of models to calls in threads."""

    def __init__(self, spans: Sequence[OtelSpan]) -> None:
        self._spans = {span.id: span for span in spans if span.id}
        self._keys_by_agent_span: dict[str, _ThreadKey] = {}
        self._ordered = sorted(spans, key=lambda span: (span.started or 0.0, span.line))

    def events(self, tree: Tree) -> Iterator[Event]:
        calls = model_call.group_spans([span for span in self._ordered if model_call.is_call(span)])
        calls += self._agents_in_sum(calls)
        calls.sort(key=lambda call: (_call_start(call), call.span.line))
        keys = [self._thread_key(call) for call in calls]
        names = _thread_names(keys)
        exchanges = Exchanges(tree)
        threads, calls_by_id = exchanges.threads, dict[str, tuple[ModelCall, _ThreadKey]]()
        for call, key in zip(calls, keys, strict=True):
            client = None
            if key != _ThreadKey():
                outer = names.get(self._keys_by_agent_span.get(key.outer, key), "")
                client = ClientThread(names[key], key.agent, outer if outer != names[key] else "", may_lead=True)
            exchanges.add_call(model_call.decode_call(call), model_call.base_call(call), client)
            calls_by_id.setdefault(next(reversed(threads.calls)), (call, key))
        events = list(threads.events())
        main = next((id_ for id_, call in threads.calls.items() if call.thread == MAIN), "")
        if main:
            yield _describe(*calls_by_id[main], threads.title)
        yield from events
        yield from self._other_events()

    def _agents_in_sum(self, calls: Sequence[ModelCall]) -> list[ModelCall]:
        """Calls for agents with recorded total usage, but without recorded calls."""
        inner_ids = {span.id for call in calls for span in call.spans for span in self._spans_around(span)}
        agents = [s for s in self._ordered if model_call.operation(s) == _AGENT and s.id not in inner_ids]
        lowest = [s for s in agents if not any(o.id != s.id and s in self._spans_around(o) for o in agents)]
        return [
            ModelCall([s], model_call.read_content(s)) for s in lowest if model_call.usage(s.attributes) is not None
        ]

    def _spans_around(self, span: OtelSpan) -> list[OtelSpan]:
        """Spans around `span`, the nearest first."""
        around: list[OtelSpan] = []
        span_around = self._spans.get(span.parent)
        while span_around is not None and span_around not in around and span_around is not span:
            around.append(span_around)
            span_around = self._spans.get(span_around.parent)
        return around

    def _thread_key(self, call: ModelCall) -> _ThreadKey:
        span = call.span
        around = self._spans_around(span)
        conversation = next(
            filter(None, (first_text(ancestor.attributes, *_CONVERSATION) for ancestor in (*call.spans, *around))), ""
        )
        agents = [ancestor for ancestor in (span, *around) if model_call.operation(ancestor) == _AGENT]
        agent = first_text(agents[0].attributes, *_AGENTS) or agents[0].name if agents else ""
        agent = agent or first_text(call.attributes, "gen_ai.agent.name", "agent.name", "gen_ai.agent.id")
        nested = agents[0].id if len(agents) > 1 else ""
        trace = span.trace if not (call.content.request_items or conversation or nested) else ""
        key = _ThreadKey(conversation, agent, nested, trace, agents[1].id if nested else "")
        if agents:
            self._keys_by_agent_span[agents[0].id] = key
        return key

    def _other_events(self) -> Iterator[Event]:
        for span in self._ordered:
            kind = model_call.operation(span)
            if kind in ("embeddings", "retrieval", "rerank"):
                yield Happened("other request", span.name or kind, at=span.started)
            elif kind == "execute_tool" and (span.failed or first_text(span.attributes, "error.type")):
                why = model_call.error(ModelCall([span]))
                yield Happened("tool error", one_line(f"{span.name}: {why}"), at=span.started)


def _call_start(call: ModelCall) -> float:
    return min((span.started for span in call.spans if span.started is not None), default=0.0)


def _thread_names(keys: Sequence[_ThreadKey]) -> dict[_ThreadKey, str]:
    named: dict[_ThreadKey, str] = {}
    for number, key in enumerate(dict.fromkeys(keys), 1):
        name = key.agent or key.conversation or f"trace {number}"
        named[key] = f"{name} · {number}" if name in named.values() or name == MAIN else name
    return named


def _describe(call: ModelCall, key: _ThreadKey, title: str) -> Described:
    resource = call.span.resource
    client = first_text(resource, "service.name")
    return Described(
        key.conversation or call.span.trace,
        title,
        NAME,
        client="" if client.startswith("unknown_service") else client,
        version=first_text(resource, "service.version"),
    )


_MODEL_MARKS: Final = ("gen_ai", "llm.", "openinference.", "traceloop.")
"""Texts that make it likely that a file of flat spans has calls of a model."""


def sniff(head: bytes, name: str) -> float:
    records = file_head.parse_records(head, 10)
    if any(is_otlp(record) for record in records):
        return 0.97
    flat = [record for record in records if is_flat(record)]
    if not flat:
        return 0.0
    return 0.95 if any(mark.encode() in head for mark in _MODEL_MARKS) else 0.6


class SpanCollector:
    """Collects spans and log records; their events are emitted on `state_events`."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._spans: dict[tuple[str, str], OtelSpan] = {}
        self._logs: list[LogEvent] = []

    def record(self, value: dict[str, Json], source: RawRecord) -> Iterator[Event]:
        for span in spans_in(value, source.line):
            if isinstance(span, LogEvent):
                self._logs.append(span)
            else:
                # A repeated span was exported twice.
                self._spans[span.trace, span.id or f"{source.start} {len(self._spans)}"] = span
        return iter(())

    def state_events(self) -> Iterator[Event]:
        yield Described(source=NAME)
        yield from _Traces(self._complete_spans()).events(self._tree)

    def _complete_spans(self) -> list[OtelSpan]:
        """Spans with their log records, which make a span if theirs is not in the file."""
        spans = {
            key: replace(span, attributes=dict(span.attributes), events=list(span.events))
            for key, span in self._spans.items()
        }
        for log in self._logs:
            key = (log.trace, log.span)
            if key not in spans:
                genai_attributes = {
                    name: value for name, value in log.event.attributes.items() if name.startswith("gen_ai.")
                }
                genai_attributes.setdefault(
                    "gen_ai.operation.name", "chat" if log.event.name.startswith("gen_ai.") else ""
                )
                spans[key] = OtelSpan(
                    log.span, log.trace, name=log.event.name, started=log.event.at, attributes=genai_attributes
                )
            span = spans[key]
            if log.event.at is not None and span.name.startswith("gen_ai."):
                span.ended = max(span.ended or 0.0, log.event.at)
            span.events.append(log.event)
        for span in spans.values():
            model_call.merge_details(span)
        return list(spans.values())


# A later span of a call may be more detailed, and give it another id.
reader = lines_reader(SpanCollector, rereads=True)
