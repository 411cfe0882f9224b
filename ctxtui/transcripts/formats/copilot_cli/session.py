"""Reads Copilot CLI's event files, with usage by call in some versions, else as a sum."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec.structs import replace

from ctxtui.core import block as blocks
from ctxtui.core.block import Item, Place
from ctxtui.core.call import COPIED_BY, ESTIMATED_INPUT, SUM, Call, EpochStart
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_count, as_dict, as_number, as_str
from ctxtui.core.session import MAIN, CallSeen, Described, Event, Happened, Outcome, ThreadSeen
from ctxtui.core.tree import Tree
from ctxtui.core.usage import Usage, subtract
from ctxtui.transcripts.kit import file_head, messages
from ctxtui.transcripts.kit.dialogue import Dialogue, Ids, KeyedMessages, emit_sum, mark_covered
from ctxtui.transcripts.kit.fields import COPIED, as_dicts, as_time, compaction_detail, get_path, one_line
from ctxtui.transcripts.kit.messages import make_message
from ctxtui.transcripts.kit.readers import lines_reader
from ctxtui.transcripts.kit.records import RawRecord
from ctxtui.transcripts.kit.tasks import value_text

NAME: Final = "copilot cli"
THOUGHT, TEXT, CALLS = "reasoningText", "content", "toolRequests"
"""Members of an answer that have its parts."""
# Beginnings of the kinds of events that are not reported: no model reads them.
_SILENT: Final = (
    "hook.", "permission.", "assistant.turn_", "tool.execution_start", "tool.execution_p", "session.permissions",
    "assistant.reasoning", "assistant.intent", "tool.user_requested", "session.info", "session.usage_info",
)  # fmt: skip

_SYSTEM: Final = "system"
_EXTRA_MEMBERS: Final = ("messageId", "requestId", "outputTokens", "turnId")


def sniff(head: bytes, name: str) -> float:
    for record in file_head.parse_records(head):
        kind = as_str(record.get("type"))
        if kind.startswith("session.") and as_str(get_path(record, "data", "producer")).startswith("copilot"):
            return 0.98
        if kind.startswith(("session.", "assistant.", "hook.")) and {"data", "id", "parentId"} <= record.keys():
            return 0.85
    return 0.0


class _Thread:
    """One thread's context: one system prompt, which may be replaced, and the messages."""

    def __init__(self, tree: Tree, name: str, ids: Ids) -> None:
        self.dialogue = Dialogue(tree, name, ids)
        self._messages = KeyedMessages(self.dialogue)
        self._system: list[Item] = []
        self._count = 0

    def add(self, items: list[Item]) -> None:
        self._count += 1
        self._messages.put(f"{self._count}", items)

    def set_system(self, items: list[Item]) -> None:
        self._system = items
        self._messages.put(_SYSTEM, items, first=True)

    def compact(self, before: int, after: int, summary: str) -> None:
        self._messages.clear()
        self.dialogue.restart(EpochStart.COMPACTION, compaction_detail(before, after, NAME))
        if self._system:
            self.set_system(self._system)
        self.add(make_message("user", summary, mark="summary"))


class _CopilotHandler:
    """Handles the events of a session; the thread of a subagent is named by its tool call's id."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._ids = Ids()
        self._threads = {MAIN: _Thread(tree, MAIN, self._ids)}
        self._about = Described(source=NAME)
        self._model = ""
        self._calls: dict[str, Call] = {}
        self._requests: dict[str, Call] = {}
        """Requests known from a usage record whose answer is not recorded yet, by the provider's id."""
        self._totals = _CopilotTotals(tree, self._ids)

    def record(self, value: dict[str, Json], source: RawRecord) -> Iterator[Event]:
        kind, data, time = as_str(value.get("type")), as_dict(value.get("data")), as_time(value.get("timestamp"))
        match kind:
            case "session.start" | "session.resume":
                self._handle_start(data)
            case "system.message" | "user.message" | "system.notification":
                yield from self._add_input(kind, data)
            case "assistant.message":
                yield from self._add_answer(data, time, source, _copied_extra(value))
            case "session.usage_record":
                yield from self._handle_request(data, time, source, _copied_extra(value))
            case "assistant.usage":
                yield from self._set_usage(data)
            case "tool.execution_complete":
                yield from self._add_result(data)
            case "session.shutdown":
                yield from self._totals.read(data, self._calls)
            case _:
                yield from self._handle_rare(kind, data, time)
        yield from self._set_context_size(as_count(data.get("currentTokens")))

    def _handle_rare(self, kind: str, data: dict[str, Json], when: float | None) -> Iterator[Event]:
        match kind:
            case "session.compaction_complete":
                yield from self._set_context_size(as_count(data.get("preCompactionTokens")))
                before, after = as_count(data.get("preCompactionTokens")), as_count(data.get("postCompactionTokens"))
                self._threads[MAIN].compact(before, after, summary_text(data))
            case "session.error" | "abort":
                last = next(reversed(self._calls), "")
                yield Happened(
                    kind.rpartition(".")[2], as_str(data.get("message") or data.get("reason")), MAIN, when, last
                )
            case "session.model_change":
                self._model = as_str(data.get("newModel")) or self._model
            case "subagent.started":
                yield ThreadSeen(as_str(data.get("toolCallId")), as_str(data.get("agentName")), MAIN)
            case _ if not kind.startswith(_SILENT):
                yield Happened("record", kind or "without type", at=when)

    def state_events(self) -> Iterator[Event]:
        yield self._about
        for thread in self._threads.values():
            yield thread.dialogue.tip_event()

    def _find_thread(self, data: dict[str, Json]) -> tuple[_Thread, list[Event]]:
        """Return the thread of a record; a subagent's is named by its call's id."""
        name = as_str(data.get("parentToolCallId")) or MAIN
        if name in self._threads:
            return self._threads[name], []
        self._threads[name] = _Thread(self._tree, name, self._ids)
        return self._threads[name], [ThreadSeen(name, parent=MAIN)]

    def _emit(self, call: Call) -> CallSeen:
        self._calls[call.id] = call
        return CallSeen(call)

    def _set_context_size(self, tokens: int) -> Iterator[Event]:
        """Set the reported context size on the main thread's last call, if it has no usage."""
        last = next((call for call in reversed(self._calls.values()) if call.thread == MAIN), None)
        if tokens and last is not None and last.usage is None and last.extra.get(ESTIMATED_INPUT) != tokens:
            yield self._emit(replace(last, extra={**last.extra, ESTIMATED_INPUT: tokens}))

    def _handle_start(self, data: dict[str, Json]) -> None:
        cwd, id_ = as_str(get_path(data, "context", "cwd")), as_str(data.get("sessionId"))
        self._model = as_str(data.get("selectedModel")) or self._model
        self._about = replace(
            self._about,
            id=id_ or self._about.id,
            cwd=cwd or self._about.cwd,
            version=as_str(data.get("copilotVersion")) or self._about.version,
            client=NAME,
        )

    def _add_input(self, kind: str, data: dict[str, Json]) -> Iterator[Event]:
        thread, events = self._find_thread(data)
        yield from events
        text = input_text(data)
        if kind == "system.message":
            thread.set_system([Item(blocks.text(text), Place("system"))])
            return
        thread.add(make_message("user", text, mark="meta" if kind == "system.notification" else ""))
        if kind == "user.message" and not self._about.title:
            self._about = replace(self._about, title=one_line(as_str(data.get("content"))))

    def _handle_request(
        self, data: dict[str, Json], when: float | None, source: RawRecord, copied: dict[str, Json]
    ) -> Iterator[Event]:
        """Handle a usage record, which is one request; its answer may follow."""
        report = as_dict(data.get("usage"))
        id_ = as_str(report.get("apiCallId"))
        if usage(report) is None or id_ in self._calls:
            yield from self._set_usage(report)
            return
        thread, events = self._find_thread(report)
        yield from events
        call = Call(
            id_,
            "",
            provider=as_str(report.get("modelProvider")),
            model=as_str(report.get("model")),
            ended=when,
            usage=usage(report),
            line=source.line,
            bytes_=(source.start, source.end),
            extra=copied,
        )
        call_seen = thread.dialogue.add_call([], call)
        self._requests[id_] = call_seen.call
        yield self._emit(call_seen.call)

    def _add_answer(
        self, data: dict[str, Json], when: float | None, source: RawRecord, copied: dict[str, Json]
    ) -> Iterator[Event]:
        thread, events = self._find_thread(data)
        yield from events
        items = make_message("assistant", *(part for _, part in answer_parts(data)))
        id_ = as_str(data.get("apiCallId"))
        extra = {key: data[key] for key in _EXTRA_MEMBERS if key in data} | copied
        call = self._requests.pop(id_, None)
        if call is None:
            answered_call = Call(
                id_,
                "",
                model=as_str(data.get("model")) or self._model,
                ended=when,
                line=source.line,
                bytes_=(source.start, source.end),
                extra=extra,
            )
            call = thread.dialogue.add_call(items, answered_call).call
        else:
            request_head = thread.dialogue.head
            call = replace(
                call,
                thread=thread.dialogue.thread,
                raw_head=request_head,
                sent_head=request_head,
                response_head=self._tree.extend(request_head, items),
                bytes_=(call.bytes_[0], source.end),
                extra=extra,
            )
        thread.add(items)
        yield self._emit(call)

    def _add_result(self, data: dict[str, Json]) -> Iterator[Event]:
        thread, events = self._find_thread(data)
        yield from events
        thread.add(messages.result_items(thread.dialogue, [convert_result(data)]))

    def _set_usage(self, data: dict[str, Json]) -> Iterator[Event]:
        id_ = as_str(data.get("apiCallId"))
        call = self._calls.get(id_) if id_ else next(reversed(self._calls.values()), None)
        if call is not None and usage(data) is not None:
            yield self._emit(replace(call, usage=usage(data)))


reader = lines_reader(_CopilotHandler)


def _copied_extra(value: dict[str, Json]) -> dict[str, Json]:
    return {COPIED_BY: value[COPIED]} if as_str(value.get(COPIED)) else {}


def input_text(data: dict[str, Json]) -> str:
    """Text of an input as it is sent: a person's with the time and reminders around it."""
    content = data.get("transformedContent") or data.get("content")
    return content if isinstance(content, str) else value_text(content)


def answer_parts(data: dict[str, Json]) -> Iterator[tuple[str, dict[str, Json]]]:
    """Yield the parts of an answer, each with the member of `data` that has it."""
    if data.get(THOUGHT) or data.get("reasoningOpaque"):
        yield THOUGHT, messages.thinking(as_str(data.get(THOUGHT)), data.get("reasoningOpaque"))
    if as_str(data.get(TEXT)):
        yield TEXT, messages.text(data[TEXT])
    for request in as_dicts(data.get(CALLS)):
        yield CALLS, messages.tool_use(request.get("toolCallId"), request.get("name"), request.get("arguments"))


def convert_result(data: dict[str, Json]) -> dict[str, Json]:
    failed = data.get("success") is False
    content = get_path(data, "error", "message") if failed else get_path(data, "result", "content")
    return messages.tool_result(data.get("toolCallId"), content if content is not None else "", failed)


def summary_text(data: dict[str, Json]) -> str:
    return as_str(data.get("summaryContent") or data.get("summary"))


class _CopilotTotals:
    """Sums of a session by model, which continue when it is resumed.

    A sum, minus the calls' own reports, goes to the call without a report if it is the only one and the client counted
    no other requests; else to a thread of its own.
    """

    def __init__(self, tree: Tree, ids: Ids) -> None:
        self._tree, self._ids = tree, ids
        self._sums: dict[str, tuple[Usage | None, Usage]] = {}
        """By model: the sum of earlier counters, and the latest reading of the current one."""
        self._sum_calls: dict[str, Call] = {}
        """The call of each model's sum as last emitted."""

    def read(self, data: dict[str, Json], calls: dict[str, Call]) -> Iterator[Event]:
        for model, report in as_dict(data.get("modelMetrics")).items():
            used = usage(as_dict(as_dict(report).get("usage")))
            if used is None:
                continue
            model_calls = [call for call in calls.values() if call.model == model]
            silent = [call for call in model_calls if call.usage is None]
            requests = as_count(get_path(report, "requests", "count"))
            total = self._advance_meter(model, used, has_restarted=0 < requests < len(model_calls))
            unreported = subtract(total, sum((call.usage for call in model_calls if call.usage), Usage.nothing()))
            if len(silent) == 1 and requests == len(model_calls) and unreported.input:
                calls[silent[0].id] = replace(silent[0], usage=unreported)
                yield CallSeen(calls[silent[0].id])
            elif (model_calls or not all(call.usage for call in calls.values())) and unreported.input:
                yield from self._emit_rest(model, unreported, as_dict(report), calls)
        for key in ("currentTokens", "systemTokens", "conversationTokens", "toolDefinitionsTokens", "shutdownType"):
            if data.get(key) is not None:
                yield Outcome(key, value_text(data[key]))

    def _advance_meter(self, model: str, used: Usage, has_restarted: bool) -> Usage:
        """Total of a model's counter, which now reads `used`.

        It restarted if it counts fewer requests than are recorded (`has_restarted`), or reads less than before.
        """
        base, last = self._sums.get(model, (None, used))
        if model in self._sums and (has_restarted or used.input < last.input or used.output < last.output):
            base = base + last if base else last
        self._sums[model] = base, used
        return base + used if base else used

    def _emit_rest(
        self, model: str, unreported: Usage, report: dict[str, Json], calls: dict[str, Call]
    ) -> Iterator[Event]:
        call_extra = {"requests": report["requests"]} if "requests" in report else {}
        request_count = as_count(get_path(report, "requests", "count"))
        unseen = max(0, request_count - sum(call.model == model for call in calls.values()))
        silent = [call for call in calls.values() if call.model == model and call.usage is None]
        if model in self._sum_calls:
            self._sum_calls[model] = replace(
                self._sum_calls[model], usage=unreported, extra={**call_extra, SUM: unseen or True}
            )
            events: Iterable[Event] = [*mark_covered(silent), CallSeen(self._sum_calls[model])]
        else:
            sum_call = Call("", "", model=model, usage=unreported, extra=call_extra)
            events = emit_sum(self._tree, self._ids, sum_call, silent, f"totals {model}", calls=unseen)
        for event in events:
            if isinstance(event, CallSeen) and event.call.id in calls:
                calls[event.call.id] = event.call
            elif isinstance(event, CallSeen):
                self._sum_calls[model] = event.call
            yield event


def usage(report: dict[str, Json]) -> Usage | None:
    """Convert usage whose input includes the cache, unless it is less; None without input."""
    input_tokens, read = as_count(report.get("inputTokens")), as_count(report.get("cacheReadTokens"))
    written, output = as_count(report.get("cacheWriteTokens")), as_count(report.get("outputTokens"))
    if input_tokens + read + written == 0:
        return None
    fresh = input_tokens - read - written if input_tokens >= read + written else input_tokens
    return Usage(
        fresh,
        read,
        write_5m=written,
        output=output,
        reasoning=as_count(report.get("reasoningTokens")),
        has_cache="cacheReadTokens" in report,
        cost=as_number(report.get("cost")) if "cost" in report and "requests" not in report else None,
    )
