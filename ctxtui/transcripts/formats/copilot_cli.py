"""Copilot CLI's event files: JSON lines of everything that happened; usage by call in some versions, else in sum."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ctxtui.core.call import Call, EpochStart
from ctxtui.core.canonical import Json
from ctxtui.core.session import MAIN, CallSeen, Described, Event, Happened, Outcome, ThreadSeen
from ctxtui.core.tree import Tree
from ctxtui.core.usage import Usage
from ctxtui.dataclasses import replace
from ctxtui.transcripts.kit import file_head, plain_messages
from ctxtui.transcripts.kit.chat_messages import spoken
from ctxtui.transcripts.kit.dialogue import Dialogue, Ids, in_all
from ctxtui.transcripts.kit.fields import at, count, moment, money, obj, objects, one_line, word
from ctxtui.transcripts.kit.linewise import lines_reader
from ctxtui.transcripts.kit.outcomes import words
from ctxtui.transcripts.kit.record_pieces import FoundObject
from ctxtui.transcripts.kit.timestamps import shrunk

NAME: Final = "copilot cli"
_SILENT: Final = (
    "hook.", "permission.", "assistant.turn_", "tool.execution_start", "tool.execution_p", "session.permissions",
    "session.model_change", "assistant.reasoning", "assistant.intent", "tool.user_requested", "session.info",
)  # fmt: skip

_BESIDE: Final = ("messageId", "requestId", "outputTokens", "turnId")


def sniff(head: bytes, name: str) -> float:
    """How sure it is that `head` begins an event file."""
    for record in file_head.records(head):
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
        self._totals = CopilotTotals(tree, self._ids)

    def record(self, value: dict[str, Json], found: FoundObject) -> Iterator[Event]:
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

    def _answer(self, data: dict[str, Json], when: float | None, found: FoundObject) -> Iterator[Event]:
        dialogue, events = self._thread(data)
        yield from events
        said: list[Json] = []
        if data.get("reasoningText") or data.get("reasoningOpaque"):
            said.append(plain_messages.thinking(word(data.get("reasoningText")), data.get("reasoningOpaque")))
        said += [data["content"]] if word(data.get("content")) else []
        for request in objects(data.get("toolRequests")):
            said.append(
                plain_messages.tool_use(request.get("toolCallId"), request.get("name"), request.get("arguments"))
            )
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
        result = plain_messages.tool_result(data.get("toolCallId"), content if content is not None else "", failed)
        dialogue.say(plain_messages.results(dialogue, [result]))

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


class CopilotTotals:
    """Sums of a session, given to its only call or kept beside the calls."""

    def __init__(self, tree: Tree, ids: Ids) -> None:
        self._tree, self._ids = tree, ids

    def told(self, data: dict[str, Json], calls: list[Call]) -> Iterator[Event]:
        """What the session used, by model: a single call's own figures, else a call that is only a sum."""
        for model, report in obj(data.get("modelMetrics")).items():
            used = usage(obj(obj(report).get("usage")))
            silent = [n for n, call in enumerate(calls) if call.model == model and call.usage is None]
            if used is None:
                continue
            if len(silent) == 1 and count(at(report, "requests", "count")) == 1:
                calls[silent[0]] = replace(calls[silent[0]], usage=used)
                yield CallSeen(calls[silent[0]])
            elif silent or not calls:
                yield from self._sum(model, used, obj(report), calls)
        for key in ("currentTokens", "systemTokens", "conversationTokens", "toolDefinitionsTokens", "shutdownType"):
            if data.get(key) is not None:
                yield Outcome(key, words(data[key]))

    def _sum(self, model: str, used: Usage, report: dict[str, Json], calls: list[Call]) -> Iterator[Event]:
        known = sum((c.usage for c in calls if c.model == model and c.usage), Usage.nothing())
        rest = replace(used, fresh=max(0, used.fresh - known.fresh), output=max(0, used.output - known.output))
        extra = {"requests": report["requests"]} if "requests" in report else {}
        whole = Call("", "", model=model, usage=rest, extra=extra)
        yield from in_all(
            self._tree, self._ids, whole, [call for call in calls if call.model == model], f"totals {model}"
        )


def usage(report: dict[str, Json]) -> Usage | None:
    """Usage whose input includes what was read from and written to the cache; None for nothing but zeros."""
    given, read = count(report.get("inputTokens")), count(report.get("cacheReadTokens"))
    written, output = count(report.get("cacheWriteTokens")), count(report.get("outputTokens"))
    if given + read + written == 0:
        return None
    fresh = given - read - written if given >= read + written else given
    return Usage(
        fresh,
        read,
        write_5m=written,
        output=output,
        reasoning=count(report.get("reasoningTokens")),
        has_cache="cacheReadTokens" in report,
        cost=money(report.get("cost")) if "cost" in report and "requests" not in report else None,
    )
