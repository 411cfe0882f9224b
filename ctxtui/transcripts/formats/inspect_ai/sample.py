"""One sample of an Inspect log: its model events are calls; where none are kept, its messages tell."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.core import canonical
from ctxtui.core.call import Call, EpochStart, Fidelity
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.core.session import MAIN, Event, Happened, Outcome, ThreadSeen
from ctxtui.core.tree import Tree
from ctxtui.core.usage import Usage
from ctxtui.transcripts.formats.inspect_ai import messages
from ctxtui.transcripts.kit.conversations import Conversation, Conversations
from ctxtui.transcripts.kit.dialogue import Dialogue, Ids, in_all
from ctxtui.transcripts.kit.fields import at, count, listed, moment, obj, objects, word
from ctxtui.transcripts.kit.http_exchange.decode import Decoded, decode
from ctxtui.transcripts.kit.http_exchange.pair import Exchange
from ctxtui.transcripts.kit.outcomes import words
from ctxtui.transcripts.kit.timestamps import shrunk


class SharedParts(Struct, frozen=True):
    """What the records of a sample refer to instead of saying it again."""

    attachments: dict[str, Json]
    pool: list[Json]
    calls: list[Json]


class SampleReader:
    """Writes one sample down: thread `name` for its own conversation, further ones for what else was asked."""

    def __init__(self, tree: Tree, threads: Conversations, ids: Ids, name: str, label: str) -> None:
        self._tree, self._threads, self._ids, self._name, self._label = tree, threads, ids, name, label
        self._first: Conversation | None = None

    def read(self, sample: dict[str, Json]) -> Iterator[Event]:
        """The events of `sample`."""
        yield ThreadSeen(self._name, self._label)
        old = obj(sample.get("transcript"))
        kept = SharedParts(
            obj(sample.get("attachments")) or obj(old.get("content")),
            listed(sample.get("message_pool") or at(sample, "events_data", "messages")),
            listed(sample.get("call_pool") or at(sample, "events_data", "calls")),
        )
        events = objects(sample.get("events")) or objects(old.get("events"))
        if any(event.get("event") == "model" for event in events):
            for event in events:
                yield from self._event(event, kept)
        else:
            yield from self._told(sample, kept)
        yield from self._results(sample)

    def _event(self, event: dict[str, Json], kept: SharedParts) -> Iterator[Event]:
        kind = event.get("event")
        if kind == "model":
            yield from self._model(messages.resolved(event, kept.attachments), kept)
        elif kind == "compaction" and self._first is not None:
            detail = shrunk(count(event.get("tokens_before")), count(event.get("tokens_after")), "inspect")
            self._first.restart = EpochStart.COMPACTION, detail
        elif kind == "error":
            yield Happened("error", word(at(event, "error", "message")), self._name, moment(event.get("timestamp")))

    def _model(self, event: dict[str, Json], kept: SharedParts) -> Iterator[Event]:
        decoded = self._decoded(event, kept)
        output = obj(event.get("output"))
        if decoded is None:
            said = listed(event.get("input")) or messages.resolved(drawn(event, kept), kept.attachments)
            asked = [*messages.tools(event.get("tools")), *(i for m in said for i in messages.items(m))]
        else:
            asked = list(decoded.items)
        thread = self._threads.find(asked, scope=self._name)
        self._first = self._first or thread
        answer = decoded.response.items if decoded else ()
        answer = (
            answer or tuple(messages.items(at(output, "choices", 0, "message"))) if output.get("choices") else answer
        )
        yield from self._threads.take(asked, answer, _call(event, output, decoded), thread)

    def _decoded(self, event: dict[str, Json], kept: SharedParts) -> Decoded | None:
        """The request as it was sent, where the log has it."""
        call = obj(event.get("call"))
        asked = dict(obj(call.get("request")))
        if call.get("call_refs") is not None and word(call.get("call_key")):
            asked[word(call["call_key"])] = messages.resolved(
                messages.drawn(call["call_refs"], kept.calls), kept.attachments
            )
        if not asked:
            return None
        body = {key: item for key, item in asked.items() if item is not None}
        answer = canonical.dumps(call["response"]) if isinstance(call.get("response"), dict) else b""
        try:
            return decode(Exchange(canonical.dumps(body), answer, _address(word(event.get("model")))))
        except Malformed:
            return None

    def _told(self, sample: dict[str, Json], kept: SharedParts) -> Iterator[Event]:
        """Calls from the messages alone: only the last one's usage is known, and the sum."""
        dialogue = Dialogue(self._tree, self._name, self._ids)
        said = objects(messages.resolved(sample.get("messages"), kept.attachments))
        output = obj(sample.get("output"))
        made = [m for m in said if m.get("role") == "assistant" and m.get("source", "generate") == "generate"]
        for message in said:
            if not any(message is one for one in made):
                dialogue.say(messages.items(message))
                continue
            known = _call({}, output, None) if message is made[-1] else Call("", "", model=word(message.get("model")))
            yield dialogue.answer(messages.items(message), known)
        yield dialogue.tip()
        spent = [used for r in obj(sample.get("model_usage")).values() if (used := messages.usage(r)) is not None]
        if len(made) > 1 and spent:
            yield from self._rest(spent, messages.usage(output.get("usage")), dialogue.unreported)

    def _rest(self, spent: list[Usage], last: Usage | None, of: list[Call]) -> Iterator[Event]:
        whole = spent[0]
        for more in spent[1:]:
            whole += more
        rest = replace(
            whole,
            fresh=max(0, whole.fresh - (last.fresh if last else 0)),
            cache_read=max(0, whole.cache_read - (last.cache_read if last else 0)),
            output=max(0, whole.output - (last.output if last else 0)),
        )
        yield from in_all(self._tree, self._ids, Call("", "", usage=rest), of, f"{self._name} · totals", self._name)

    def _results(self, sample: dict[str, Json]) -> Iterator[Event]:
        label = "" if self._name == MAIN else f"{self._label}: "
        for name, score in obj(sample.get("scores")).items():
            yield Outcome(f"{label}{name}", words(obj(score).get("value", score)))
        for name in ("error", "limit"):
            if sample.get(name):
                yield Outcome(f"{label}{name}", words(obj(sample[name]).get("message") or sample[name]))


def drawn(event: dict[str, Json], kept: SharedParts) -> list[Json]:
    """The messages that an event names by their places in the pool."""
    return messages.drawn(event.get("input_refs"), kept.pool)


def _address(model: str) -> str:
    """Where a model of this name is asked: tells the dialect of a request that the log keeps without address."""
    provider = model.partition("/")[0]
    return {"anthropic": "https://host/v1/messages", "google": "https://host/v1/models/m:generateContent"}.get(
        provider, ""
    )


def _call(event: dict[str, Json], output: dict[str, Json], decoded: Decoded | None) -> Call:
    response = decoded.response if decoded else None
    provider = word(event.get("model")).partition("/")[0]
    return Call(
        response.id if response else "",
        "",
        provider=provider if "/" in word(event.get("model")) else "",
        model=word(output.get("model")) or word(event.get("model")),
        started=moment(event.get("timestamp")),
        ended=moment(event.get("completed")),
        fidelity=Fidelity.WIRE if decoded else Fidelity.TRANSCRIPT,
        usage=(response.usage if response else None) or messages.usage(output.get("usage")),
        stop_reason=word(at(output, "choices", 0, "stop_reason")),
        error=word(event.get("error")) or word(output.get("error")),
        skeleton=decoded.skeleton if decoded else None,
        extra={key: event[key] for key in ("role", "cache", "retries") if event.get(key)},
    )
