"""Kimi Code's sessions: a file of records for each agent (``agents/NAME/wire.jsonl``)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from msgspec.structs import replace

from ctxtui.core import block as blocks
from ctxtui.core.block import TOOL, Item, Place
from ctxtui.core.call import COPIED_BY, ESTIMATED_INPUT, FRONT_RECORDED, MAKER, Call, EpochStart, Fidelity
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_count, as_dict, as_list, as_number, as_str
from ctxtui.core.session import MAIN, Described, Event, ThreadSeen
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit import file_head, messages
from ctxtui.transcripts.kit.dialogue import Dialogue, Ids
from ctxtui.transcripts.kit.fields import COPIED_LINES, ESTIMATED_BY, as_dicts
from ctxtui.transcripts.kit.messages import make_message
from ctxtui.transcripts.kit.readers import LinesReader
from ctxtui.transcripts.kit.records import RawRecord

NAME: Final = "kimi code"
MESSAGE: Final = "context.append_message"
EVENT: Final = "context.append_loop_event"
"""Types of records with a message, and with an event of a step: a part of its answer, a result, its begin or end."""
LOOP: Final = "loop"
"""Kind of request that continues an agent's work; others summarize, or name the session."""
_SUMMARY: Final = "summary"
_PROVIDERS: Final = frozenset({"anthropic", "openai"})


def sniff(head: bytes, name: str) -> float:
    records = file_head.parse_records(head)
    first = records[0] if records else {}
    return 0.97 if first.get("type") == "metadata" and {"protocol_version", "created_at"} <= first.keys() else 0.0


class _Agent:
    """One agent: its context and its pending request.

    A *step* is one request with its answer and the results of its tool calls.
    """

    def __init__(self, tree: Tree, thread: str, ids: Ids) -> None:
        self._tree = tree
        self._ids = ids
        self.dialogue = Dialogue(tree, thread, ids)
        self._system = ""
        self._tools: dict[str, list[Json]] = {}
        self._front: list[Item] = []
        self._messages: list[list[Item]] = []
        """The context's messages; a compaction or an undo removes some."""
        self._in_step = False
        """Whether an answer is being recorded; other messages wait until it is complete."""
        self._request: dict[str, Json] = {}
        """The current request; empty if there is none, and in older files, which have only steps."""
        self._model = ""
        self._used: Usage | None = None
        """Usage reported for the step that ends next."""
        self._answer_parts: list[Json] = []
        self._results: list[dict[str, Json]] = []
        """Results of tools, which follow the answer."""
        self._timed: set[str] = set()
        """Ids of tool calls whose duration is sent with the result."""
        self.copied_lines = 0
        self._deferred: list[list[Item]] = []
        """Messages received during a step, added to the context after its answer."""

    def record(self, value: dict[str, Json], source: RawRecord) -> Iterator[Event]:
        match value.get("type"):
            case "profile.bind" | "config.update":
                self._system = as_str(value.get("systemPrompt")) or self._system
            case "llm.tools_snapshot":
                self._tools[as_str(value.get("hash"))] = as_list(value.get("tools"))
            case "llm.request":
                if value.get("turnStep") != self._request.get("turnStep"):
                    yield from self._end_request({}, value, source)
                self._request = value
                self._in_step = value.get("kind") == LOOP
                self._begin_request(self._tools.get(as_str(value.get("toolsHash")), []))
            case "usage.record":
                yield from self._handle_usage(value, source)
            case "turn.prompt" | "turn.ended":
                yield from self._end_request({}, value, source)
            case "context.append_message":
                self._add_items(convert_message(as_dict(value.get("message"))))
            case "context.append_loop_event":
                yield from self._handle_step(as_dict(value.get("event")), value, source)
            case kind:
                self._cut_messages(kind, value)

    def _cut_messages(self, kind: Json, value: dict[str, Json]) -> None:
        """Apply a compaction, a clearing or an undo to the context."""
        match kind:
            case "context.apply_compaction":
                self._apply_compaction(value)
                self.dialogue.restart(EpochStart.COMPACTION, head=self._context_head())
            case "context.clear":
                self._messages = []
                self.dialogue.restart(EpochStart.COMPACTION, head=self._context_head())
            case "context.undo":
                self._undo_turns(as_count(value.get("count")) or 1)
                self.dialogue.head = self._context_head()

    def _begin_request(self, tools: list[Json]) -> None:
        """Set the tools and the system prompt of the next request, if they changed."""
        front = [Item(blocks.make(TOOL, _convert_tool(tool)), Place("tools")) for tool in as_dicts(tools)]
        if self._system:
            front.append(Item(blocks.from_part({"type": "text", "text": self._system}), Place("system")))
        if front != self._front:
            self._front = front
            self.dialogue.head = self._context_head()

    def _context_head(self) -> int:
        return self._tree.extend(ROOT, [*self._front, *(item for message in self._messages for item in message)])

    def _apply_compaction(self, value: dict[str, Json]) -> None:
        """Replace what the compaction removed by a summary.

        The summary follows the user messages that the client kept; in older files it precedes the latest messages.
        """
        text = as_str(value.get("contextSummary")) or as_str(value.get("summary"))
        summary = make_message("user", messages.text(text), mark=_SUMMARY)
        if "keptUserMessageCount" in value:
            user_messages = [message for message in self._messages if _is_of_user(message)]
            first = as_count(value.get("keptHeadUserMessageCount"))
            last = max(0, as_count(value["keptUserMessageCount"]) - first)
            self._messages = [*user_messages[:first], *user_messages[max(first, len(user_messages) - last) :], summary]
        else:
            self._messages = [summary, *self._messages[as_count(value.get("compactedCount")) :]]

    def _undo_turns(self, turns: int) -> None:
        """Remove the user's last `turns` messages and everything after the first of them.

        Nothing is removed if there are fewer since the last summary.
        """
        user_indexes: list[int] = []
        for n, message in enumerate(self._messages):
            if message[0].place.mark == _SUMMARY:
                user_indexes = []
            elif _is_of_user(message):
                user_indexes.append(n)
        if turns <= len(user_indexes):
            del self._messages[user_indexes[-turns] :]

    def _add_items(self, items: list[Item]) -> None:
        if items and self._in_step:
            self._deferred.append(items)
        elif items:
            self._messages.append(items)
            self.dialogue.add(items)

    def _add_results(self) -> None:
        """Add the tool results to the context: the client counts each as a message."""
        for result in self._results:
            items = messages.result_items(self.dialogue, [result])
            self._messages.append(items)
            self.dialogue.add(items)
        self._results = []

    def _handle_step(self, event: dict[str, Json], value: dict[str, Json], source: RawRecord) -> Iterator[Event]:
        match event.get("type"):
            case "step.begin":
                if self._used is not None:
                    yield from self._end_request({}, value, source)
                self._in_step = True
            case "content.part" | "tool.call" as kind:
                name = as_str(event.get("name")) if kind == "tool.call" else ""
                if name in _TIMED_TOOLS or name.startswith("mcp__"):
                    self._timed.add(as_str(event.get("toolCallId")))
                self._answer_parts.append(convert_event(event))
            case "tool.result":
                self._results.append(
                    _convert_result(event.get("toolCallId"), as_dict(event.get("result")), self._timed)
                )
                if not self._in_step:
                    self._add_results()
            case "step.end":
                yield from self._end_request(event, value, source)

    def _end_request(self, event: dict[str, Json], value: dict[str, Json], source: RawRecord) -> Iterator[Event]:
        """End the pending request, with its answer, or without one if something else begins."""
        used = usage(event.get("usage")) or self._used
        if self._request.get("kind") == LOOP or used is not None or self._answer_parts:
            items = make_message("assistant", *self._answer_parts) if self._answer_parts else []
            call = self._make_call(as_str(event.get("messageId")), used, value, source)
            if used is not None and ESTIMATED_BY in as_dict(event.get("usage")):
                call = replace(call, usage=None, extra={**call.extra, ESTIMATED_INPUT: used.input})
            yield self.dialogue.add_call(items, replace(call, stop_reason=as_str(event.get("rawFinishReason"))))
            self._messages += [items] if items else []
        self._add_results()
        self._in_step = False
        for message in self._deferred:
            self._add_items(message)
        self._request, self._used, self._answer_parts, self._deferred = {}, None, [], []

    def _handle_usage(self, value: dict[str, Json], source: RawRecord) -> Iterator[Event]:
        """Handle a usage report: of the step that ends next, or of another kind of request.

        Such a request gets a call with usage only, in a thread for its kind.
        """
        used, self._model = usage(value.get("usage")), as_str(value.get("model"))
        kind = as_str(self._request.get("kind")) or ("other" if value.get("usageScope") == "session" else LOOP)
        if kind == LOOP:
            self._used = used
            return
        thread = f"{self.dialogue.thread} {kind}"
        yield ThreadSeen(thread, kind, self.dialogue.thread)
        call = self._make_call("", used, value, source)
        copied: dict[str, Json] = {COPIED_BY: MAKER} if call.is_copy else {}
        call = replace(call, fidelity=Fidelity.TOTALS, extra={"purpose": kind, **copied})
        yield Dialogue(self._tree, thread, self._ids).add_call([], call)
        self._request = {}

    def _make_call(self, id_: str, used: Usage | None, value: dict[str, Json], source: RawRecord) -> Call:
        request = self._request
        provider = as_str(request.get("provider"))
        extra: dict[str, Json] = {FRONT_RECORDED: True} if self._front else {}
        if source.line <= self.copied_lines:
            extra[COPIED_BY] = MAKER
        return Call(
            id_,
            "",
            provider=provider if provider in _PROVIDERS else "",
            model=as_str(request.get("model")) or self._model,
            started=_read_time(request),
            ended=_read_time(value) if used is not None else None,
            usage=used,
            line=source.line,
            extra=extra,
        )


class _FileHandler:
    """One file of a session; `agents` is shared by all files.

    Older versions do not name the agent of a record.
    """

    def __init__(self, tree: Tree, agents: dict[str, _Agent], ids: Ids, name: str) -> None:
        self._tree = tree
        self._agents = agents
        self._ids = ids
        self._name = name
        self._copied_lines = 0

    def record(self, value: dict[str, Json], source: RawRecord) -> Iterator[Event]:
        if value.get("type") == "metadata":
            self._copied_lines = as_count(value.get(COPIED_LINES)) or self._copied_lines
            return
        if value.get("kind") == "event":
            # A record of the program, not of an agent.
            return
        self._name = name = as_str(value.get("agentId")) or self._name
        if name not in self._agents:
            self._agents[name] = _Agent(self._tree, name, self._ids)
            if name != MAIN:
                yield ThreadSeen(name, name, MAIN)
        self._agents[name].copied_lines = self._copied_lines
        yield from self._agents[name].record(value, source)

    def state_events(self) -> Iterator[Event]:
        dialogues = [agent.dialogue for agent in self._agents.values()]
        yield Described(source=NAME, title=next((dialogue.title for dialogue in dialogues if dialogue.title), ""))
        yield from (dialogue.tip_event() for dialogue in dialogues)


class KimiReader(LinesReader):
    """Reads one agent's file; `part` makes readers for those of the others."""

    def __init__(self, tree: Tree) -> None:
        self._shared_state: tuple[Tree, dict[str, _Agent], Ids] = tree, {}, Ids()
        self._parts = 0
        super().__init__(_FileHandler(*self._shared_state, MAIN))

    def part(self, name: str) -> LinesReader:
        self._parts += 1
        return LinesReader(_FileHandler(*self._shared_state, f"agent {self._parts}"))


def _read_time(value: dict[str, Json]) -> float | None:
    return as_count(value.get("time")) / 1000 or None


def convert_message(message: dict[str, Json]) -> list[Item]:
    parts = [_convert_part(part) for part in as_dicts(message.get("content"))]
    for call in as_dicts(message.get("toolCalls")):
        inner = as_dict(call.get("function")) or call
        parts.append(messages.tool_use(call.get("id"), inner.get("name"), inner.get("arguments")))
    if message.get("role") == "tool":
        parts = [messages.tool_result(message.get("toolCallId"), parts)]
        return make_message("user", *parts)
    origin = as_dict(message.get("origin"))
    is_client_text = as_str(origin.get("kind")) not in ("", "user") and origin.get("trigger") != "user-slash"
    mark = "meta" if is_client_text else ""
    return make_message(as_str(message.get("role")) or "user", *parts, mark=mark) if parts else []


def _is_of_user(message: list[Item]) -> bool:
    return message[0].place == Place("messages", "user") and message[-1].block.kind != messages.RESULT


FAILED: Final = "<system>ERROR: Tool execution failed.</system>"
_EMPTY: Final = "<system>Tool output is empty.</system>"
FAILED_EMPTY: Final = "<system>ERROR: Tool execution failed. Tool output is empty.</system>"
_BLANK: Final = ("", "Tool output is empty.")
"""Outputs that the client treats as empty."""
_TIMED_TOOLS: Final = frozenset({"Agent", "AgentSwarm", "Bash", "FetchURL", "Glob", "Grep", "WebSearch"})
"""Tools whose results begin with the time that they took, as those of MCP do."""


def _convert_result(id_: Json, result: dict[str, Json], timed: Collection[str]) -> dict[str, Json]:
    """Convert a tool's result to the form in which the client sends it.

    The client's text about status and time precedes it, the note follows. `timed`: calls whose duration is sent.
    """
    failed, note = result.get("isError") is True, as_str(result.get("note"))
    milliseconds = as_number(result.get("durationMs")) if as_str(id_) in timed else None
    parts = _with_status(result.get("output"), failed)
    if milliseconds is not None:
        header = f"Wall time: {milliseconds / 1000:.3f} seconds"
        first = parts[0].get("text") if parts else None
        parts = (
            [messages.text(f"{header}\n{first}"), *parts[1:]] if first is not None else [messages.text(header), *parts]
        )
    only = parts[0].get("text") if len(parts) == 1 else None
    if only is not None:
        return messages.tool_result(id_, f"{only}\n{note}" if note else only, error=failed)
    return messages.tool_result(id_, [*parts, *([messages.text(note)] if note else [])], error=failed)


def _with_status(output: Json, failed: bool) -> list[dict[str, Json]]:
    """The parts of an output, after the client's words if it failed or is empty."""
    parts = as_dicts(output)
    only = parts[0].get("text") if len(parts) == 1 else None
    text = output if isinstance(output, str) else only
    if isinstance(text, str):
        if failed:
            return [messages.text(f"{FAILED}\n{text}" if text else FAILED_EMPTY)]
        return [messages.text(_EMPTY if text.strip() in _BLANK else text)]
    if all(not as_str(part.get("text")).strip() and part.get("type") == "text" for part in parts):
        return [messages.text(FAILED_EMPTY if failed else _EMPTY)]
    return [messages.text(FAILED), *parts] if failed else parts


def _convert_tool(tool: dict[str, Json]) -> dict[str, Json]:
    return {"input_schema" if key == "parameters" else key: member for key, member in tool.items()}


def convert_event(event: dict[str, Json]) -> Json:
    """Convert an event with a part of an answer to that part."""
    if event.get("type") == "tool.call":
        return messages.tool_use(event.get("toolCallId"), event.get("name"), event.get("args"))
    return _convert_part(as_dict(event.get("part")))


def _convert_part(part: dict[str, Json]) -> Json:
    if part.get("type") == "think":
        return messages.thinking(as_str(part.get("think")), part.get("encrypted"))
    return part


def usage(report: Json) -> Usage | None:
    """Convert the usage of one request, whose input excludes the cache; None for zeros."""
    figures = as_dict(report)
    if not any(as_count(tokens) for tokens in figures.values()):
        return None
    return Usage(
        as_count(figures.get("inputOther")),
        as_count(figures.get("inputCacheRead")),
        write_5m=as_count(figures.get("inputCacheCreation")),
        output=as_count(figures.get("output")),
    )


reader = KimiReader
