"""Copilot CLI's event files: JSON lines of everything that happened; usage only in sum, at the session's end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ctxtui.core.call import Call, EpochStart
from ctxtui.core.canonical import Json
from ctxtui.core.session import MAIN, CallSeen, Described, Event, Happened, ThreadSeen
from ctxtui.core.tree import Tree
from ctxtui.transcripts import glance, neutral
from ctxtui.transcripts.chat import spoken
from ctxtui.transcripts.copilot_usage import Totals, usage
from ctxtui.transcripts.dialogue import Dialogue, Ids
from ctxtui.transcripts.fields import at, count, moment, obj, objects, word
from ctxtui.transcripts.linewise import lines_reader
from ctxtui.transcripts.outcomes import words
from ctxtui.transcripts.pieces import Found
from ctxtui.transcripts.stamps import shrunk
from ctxtui.transcripts.titles import one_line

NAME: Final = "copilot cli"
_SILENT: Final = (
    "hook.", "permission.", "assistant.turn_", "tool.execution_start", "tool.execution_p", "session.permissions",
    "session.model_change", "assistant.reasoning", "assistant.intent", "tool.user_requested", "session.info",
)  # fmt: skip

_BESIDE: Final = ("messageId", "requestId", "outputTokens", "turnId")


def sniff(head: bytes, name: str) -> float:
    """How sure it is that `head` begins an event file."""
    for record in glance.records(head):
        kind = word(record.get("type"))
        if kind.startswith("session.") and word(at(record, "data", "producer")).startswith("copilot"):
            return 0.98
        if kind.startswith(("session.", "assistant.", "hook.")) and {"data", "id", "parentId"} <= record.keys():
            return 0.85
    return 0.0


class _Copilot:
    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._ids = Ids()
        self._threads = {MAIN: Dialogue(tree, MAIN, self._ids)}
        self._about = Described(source=NAME)
        self._calls: list[Call] = []
        self._totals = Totals(tree, self._ids)

    def record(self, value: dict[str, Json], found: Found) -> Iterator[Event]:
        kind, data, when = word(value.get("type")), obj(value.get("data")), moment(value.get("timestamp"))
        match kind:
            case "session.start" | "session.resume":
                self._began(data)
            case "system.message" | "user.message" | "system.notification":
                yield from self._said(kind, data)
            case "assistant.message":
                yield from self._answer(data, when, found)
            case "assistant.usage":
                yield from self._used(data)
            case "tool.execution_complete":
                yield from self._result(data)
            case "session.shutdown":
                yield from self._totals.told(data, self._calls)
            case _:
                yield from self._rare(kind, data, when)

    def _rare(self, kind: str, data: dict[str, Json], when: float | None) -> Iterator[Event]:
        match kind:
            case "session.compaction_complete":
                self._compact(data)
            case "session.error" | "abort":
                last = self._calls[-1].id if self._calls else ""
                yield Happened(
                    kind.rpartition(".")[2], word(data.get("message") or data.get("reason")), MAIN, when, last
                )
            case "subagent.started":
                yield ThreadSeen(word(data.get("toolCallId")), word(data.get("agentName")), MAIN)
            case _ if not kind.startswith(_SILENT):
                yield Happened("record", kind or "without type", at=when)

    def standing(self) -> Iterator[Event]:
        yield self._about
        for dialogue in self._threads.values():
            yield dialogue.tip()

    def _thread(self, data: dict[str, Json]) -> tuple[Dialogue, list[Event]]:
        """The thread that a record belongs to: a subagent's bears the id of the call that spawned it."""
        name = word(data.get("parentToolCallId")) or MAIN
        if name in self._threads:
            return self._threads[name], []
        self._threads[name] = Dialogue(self._tree, name, self._ids)
        return self._threads[name], [ThreadSeen(name, parent=MAIN)]

    def _began(self, data: dict[str, Json]) -> None:
        cwd, id_ = word(at(data, "context", "cwd")), word(data.get("sessionId"))
        self._about = replace(
            self._about,
            id=id_ or self._about.id,
            cwd=cwd or self._about.cwd,
            version=word(data.get("copilotVersion")),
            client=NAME,
        )

    def _said(self, kind: str, data: dict[str, Json]) -> Iterator[Event]:
        dialogue, events = self._thread(data)
        yield from events
        # What is sent is the transformed content: the person's words with the time and reminders around them.
        content = data.get("transformedContent") or data.get("content")
        mark = "meta" if kind == "system.notification" else ""
        role = "system" if kind == "system.message" else "user"
        dialogue.say(spoken(role, content if isinstance(content, str) else words(content), mark=mark))
        if kind == "user.message" and not self._about.title:
            self._about = replace(self._about, title=one_line(word(data.get("content"))))

    def _answer(self, data: dict[str, Json], when: float | None, found: Found) -> Iterator[Event]:
        dialogue, events = self._thread(data)
        yield from events
        said: list[Json] = []
        if data.get("reasoningText") or data.get("reasoningOpaque"):
            said.append(neutral.thinking(word(data.get("reasoningText")), data.get("reasoningOpaque")))
        said += [data["content"]] if word(data.get("content")) else []
        for request in objects(data.get("toolRequests")):
            said.append(neutral.tool_use(request.get("toolCallId"), request.get("name"), request.get("arguments")))
        extra: dict[str, Json] = {key: data[key] for key in _BESIDE if key in data}
        known = Call(
            word(data.get("apiCallId")),
            "",
            model=word(data.get("model")),
            ended=when,
            line=found.line,
            bytes_=(found.start, found.end),
            extra=extra,
        )
        event = dialogue.answer(spoken("assistant", *said), known)
        self._calls.append(event.call)
        yield event

    def _result(self, data: dict[str, Json]) -> Iterator[Event]:
        dialogue, events = self._thread(data)
        yield from events
        failed = data.get("success") is False
        content = at(data, "error", "message") if failed else at(data, "result", "content")
        result = neutral.tool_result(data.get("toolCallId"), content if content is not None else "", failed)
        dialogue.say(neutral.results(dialogue, [result]))

    def _used(self, data: dict[str, Json]) -> Iterator[Event]:
        """Figures of one call, where a version writes them."""
        id_ = word(data.get("apiCallId"))
        for n, call in reversed(list(enumerate(self._calls))):
            if call.id == id_ or not id_:
                self._calls[n] = replace(call, usage=usage(data))
                yield CallSeen(self._calls[n])
                return

    def _compact(self, data: dict[str, Json]) -> None:
        before, after = count(data.get("preCompactionTokens")), count(data.get("postCompactionTokens"))
        dialogue = self._threads[MAIN]
        kept = [item for item in self._tree.items(dialogue.head) if item.place.role == "system"]
        dialogue.restart(EpochStart.COMPACTION, shrunk(before, after, NAME))
        dialogue.say(kept)
        dialogue.say(spoken("user", word(data.get("summaryContent") or data.get("summary")), mark="summary"))


reader = lines_reader(_Copilot)
