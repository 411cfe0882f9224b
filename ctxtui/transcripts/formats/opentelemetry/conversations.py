"""Calls of a model put together to threads: by conversation, by agent, else by what a person said first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.core.block import HEADER, Item
from ctxtui.core.block_content import read
from ctxtui.core.call import Call, Fidelity
from ctxtui.core.session import MAIN, Described, Event, Happened, ThreadSeen
from ctxtui.core.tree import ROOT, Tree
from ctxtui.transcripts.formats.opentelemetry import model_call
from ctxtui.transcripts.formats.opentelemetry.attributes import text
from ctxtui.transcripts.formats.opentelemetry.model_call import ModelCall
from ctxtui.transcripts.formats.opentelemetry.spans import OtelSpan
from ctxtui.transcripts.kit.dialogue import Dialogue, Ids
from ctxtui.transcripts.kit.fields import one_line

NAME: Final = "opentelemetry"
_AGENT: Final = "invoke_agent"
_CONVERSATION: Final = (
    "gen_ai.conversation.id", "session.id", "traceloop.association.properties.session_id", "langfuse.session.id",
    "traceloop.association.properties.thread_id", "thread.id",
)  # fmt: skip
_AGENTS: Final = ("gen_ai.agent.name", "agent.name", "traceloop.entity.name", "graph.node.name", "gen_ai.agent.id")
_SHOWN: Final = 60


class ThreadKey(Struct, frozen=True):
    """What tells one thread from another: the conversation, the agent, and where neither is named the first words or
    the trace. `outer` is the agent's span around an agent that another one runs."""

    conversation: str = ""
    agent: str = ""
    span: str = ""
    words: str = ""
    outer: str = ""


class Traces:
    """The spans of a recording by their ids."""

    def __init__(self, spans: Sequence[OtelSpan]) -> None:
        self._spans = {span.id: span for span in spans if span.id}
        self._homes: dict[str, ThreadKey] = {}
        self._answers: dict[str, ThreadKey] = {}
        self._ordered = sorted(spans, key=lambda span: (span.started or 0.0, span.line))

    def events(self, tree: Tree) -> Iterator[Event]:
        """The session that the spans tell of."""
        calls = model_call.same([span for span in self._ordered if model_call.is_call(span)])
        calls += self._in_sum(calls)
        calls.sort(key=lambda call: (call_start(call), call.span.line))
        keys = [self._key_after(call) for call in calls]
        names = self._names(keys)
        ids = Ids()
        threads: dict[ThreadKey, Dialogue] = {}
        contexts: dict[str, tuple[Item, ...]] = {}
        told = []
        for call, key in zip(calls, keys, strict=True):
            if key not in threads:
                threads[key] = Dialogue(tree, names[key], ids)
            told.append(_answer(threads[key], call, contexts))
        title = next((d.title for key, d in threads.items() if names[key] == MAIN), "")
        first = next((call for call, key in zip(calls, keys, strict=True) if names[key] == MAIN), None)
        if first is not None:
            yield _about(first, next(key for key in keys if names[key] == MAIN), title)
        for key, dialogue in threads.items():
            outer = names.get(self._homes.get(key.outer, key), "")
            parent = outer if outer != names[key] else ""
            yield ThreadSeen(names[key], key.agent or one_line(dialogue.title)[:_SHOWN], parent)
        yield from told
        for dialogue in threads.values():
            yield dialogue.tip()
        yield from self._others()

    def _in_sum(self, calls: Sequence[ModelCall]) -> list[ModelCall]:
        """Agents whose own calls nobody recorded, but what they used in all."""
        inside = {span.id for call in calls for span in call.spans for span in self._up(span)}
        agents = [s for s in self._ordered if model_call.operation(s) == _AGENT and s.id not in inside]
        lowest = [s for s in agents if not any(o.id != s.id and s in self._up(o) for o in agents)]
        return [ModelCall([s], model_call.told_by(s)) for s in lowest if model_call.usage(s.attributes) is not None]

    def _up(self, span: OtelSpan) -> list[OtelSpan]:
        """The spans around `span`, the nearest first."""
        found: list[OtelSpan] = []
        at = self._spans.get(span.parent)
        while at is not None and at not in found and at is not span:
            found.append(at)
            at = self._spans.get(at.parent)
        return found

    def _key_after(self, call: ModelCall) -> ThreadKey:
        """The thread of a call: that of the answer it says it follows, else its own."""
        found = self._answers.get(call.told.follows or "?") or self._key(call)
        self._answers.setdefault(model_call.response_id(call), found)
        return found

    def _key(self, call: ModelCall) -> ThreadKey:
        span = call.span
        around = self._up(span)
        conversation = next(filter(None, (text(one.attributes, *_CONVERSATION) for one in (*call.spans, *around))), "")
        agents = [one for one in (span, *around) if model_call.operation(one) == _AGENT]
        agent = text(agents[0].attributes, *_AGENTS) or agents[0].name if agents else ""
        agent = agent or text(call.attributes, "gen_ai.agent.name", "agent.name", "gen_ai.agent.id")
        nested = agents[0].id if len(agents) > 1 else ""
        words = "" if conversation or nested else _first_words(call.told.asked) or span.trace
        if not call.told.asked and not conversation and not nested:
            words = span.trace
        key = ThreadKey(conversation, agent, nested, words, agents[1].id if nested else "")
        if agents:
            self._homes[agents[0].id] = key
        return key

    def _names(self, keys: Sequence[ThreadKey]) -> dict[ThreadKey, str]:
        """The main thread is the one with most calls that no agent began, the first of equals."""
        different = list(dict.fromkeys(keys))
        main = max(different, key=lambda key: (not key.outer, keys.count(key)), default=None)
        named: dict[ThreadKey, str] = {}
        for number, key in enumerate(different, 1):
            name = key.agent or key.conversation or f"conversation {number}"
            taken = name in named.values() or name == MAIN
            named[key] = MAIN if key == main else f"{name} · {number}" if taken else name
        return named

    def _others(self) -> Iterator[Event]:
        for span in self._ordered:
            kind = model_call.operation(span)
            if kind in ("embeddings", "retrieval", "rerank"):
                yield Happened("other request", span.name or kind, at=span.started)
            elif kind == "execute_tool" and (span.failed or text(span.attributes, "error.type")):
                why = model_call.error(ModelCall([span]))
                yield Happened("tool error", one_line(f"{span.name}: {why}"), at=span.started)


def call_start(call: ModelCall) -> float:
    """When a call began, in Unix seconds."""
    return min((span.started for span in call.spans if span.started is not None), default=0.0)


def _answer(dialogue: Dialogue, call: ModelCall, contexts: dict[str, tuple[Item, ...]]) -> Event:
    tree, told = dialogue.tree, call.told
    held = contexts.get(told.follows, ())
    lead = next((n for n, i in enumerate(told.asked) if i.place.section == "messages"), len(told.asked))
    asked = [*told.asked[:lead], *held, *told.asked[lead:]]
    if not dialogue.title:
        # Only to learn the title; the head is set by each call.
        dialogue.say([i for i in asked if i.place.section == "messages"])
    known = model_call.call_of(call)
    if not model_call.is_call(call.span):
        known = replace(known, fidelity=Fidelity.TOTALS)
    seen = dialogue.answer(told.answered, known, after=tree.extend(ROOT, asked))
    response = model_call.response_id(call)
    if response:
        contexts[response] = _context(tree, seen.call)
    return seen


def _context(tree: Tree, call: Call) -> tuple[Item, ...]:
    return tuple(item for item in tree.items(call.response_head) if item.place.section == "messages")


def _first_words(items: Sequence[Item]) -> str:
    said = (i for i in items if i.place.section == "messages" and i.place.role == "user" and i.block.kind != HEADER)
    found = next(said, None)
    return read(found.block).text if found else ""


def _about(call: ModelCall, key: ThreadKey, title: str) -> Described:
    resource = call.span.resource
    client = text(resource, "service.name")
    return Described(
        key.conversation or call.span.trace,
        title,
        NAME,
        client="" if client.startswith("unknown_service") else client,
        version=text(resource, "service.version"),
    )
