"""Reads OpenHands' conversations (facts §11): state and event files, or JSON lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.core import block as blocks
from ctxtui.core.block import TOOL, Item, Place
from ctxtui.core.call import Call, EpochStart, Fidelity
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_count, as_dict, as_list, as_number, as_str
from ctxtui.core.session import Described, Event, Happened, ThreadSeen
from ctxtui.core.tree import Tree
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit import file_head, messages
from ctxtui.transcripts.kit.dialogue import Dialogue, Ids
from ctxtui.transcripts.kit.fields import as_dicts, as_time, compaction_detail, get_path
from ctxtui.transcripts.kit.readers import LinesReader
from ctxtui.transcripts.kit.records import RawRecord
from ctxtui.transcripts.kit.tasks import read_outcomes
from ctxtui.transcripts.reader import Reader

_STATE: Final = frozenset({"agent", "stats"})


def sniff(head: bytes, name: str) -> float:
    best = 0.0
    for record in file_head.parse_records(head):
        kind = as_str(record.get("kind"))
        if kind.endswith(("Event", "Condensation", "Observation")) and {"id", "source", "timestamp"} <= record.keys():
            return 0.95
        if record.keys() >= _STATE or ("agent" in record and "workspace" in record):
            best = 0.85
    return best


class OpenHandsReader(LinesReader):
    """Reads the state or the events; `part` makes readers for the state's event files."""

    def __init__(self, tree: Tree, events: Events | None = None) -> None:
        self._shared = events or Events(tree)
        self._tree = tree
        super().__init__(self._shared)

    def part(self, name: str) -> Reader:
        return OpenHandsReader(self._tree, self._shared)


NAME: Final = "openhands"
_MAIN: Final = ("default", "agent")
_FIGURES: Final = ("prompt_tokens", "completion_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
_RESULTS: Final = frozenset({"ObservationEvent", "AgentErrorEvent", "UserRejectObservation"})


class _Meter(Struct):
    """Cumulative usage of one purpose of a model, by the last report."""

    model: str = ""
    figures: tuple[int, ...] = (0,) * len(_FIGURES)
    cost: float = 0.0

    def advance(self, report: dict[str, Json]) -> Usage | None:
        """Return the usage since the last report; None if no prompt tokens were used.

        A figure that fell means that the sums began again.
        """
        totals = as_dict(report.get("accumulated_token_usage"))
        now = tuple(as_count(totals.get(name)) for name in _FIGURES)
        cost = as_number(report.get("accumulated_cost")) or 0.0
        if any(a < b for a, b in zip(now, self.figures, strict=True)):
            self.figures, self.cost = (0,) * len(_FIGURES), 0.0
        prompt, output, read, written, reasoning = (a - b for a, b in zip(now, self.figures, strict=True))
        spent = cost - self.cost
        self.model, self.figures, self.cost = as_str(report.get("model_name")), now, cost
        if prompt <= 0:
            return None
        # The prompt includes cache reads and writes, as reported by LiteLLM.
        fresh = max(0, prompt - read - written)
        return Usage(
            fresh, read, write_5m=written, output=output, reasoning=reasoning, cost=spent if spent > 0 else None
        )


class Events:
    """Handles events in order, from any number of files."""

    def __init__(self, tree: Tree) -> None:
        self._ids = Ids()
        self._dialogue = Dialogue(tree, ids=self._ids)
        self._tree = tree
        self._about = Described(source=NAME)
        self._context_items: list[tuple[str, list[Item]]] = []
        """Items of the context with their event's id, by which a condensation names them."""
        self._meters: dict[str, _Meter] = {}
        self._pending_usage: Usage | None = None
        """Usage of the main model that was reported for an answer that is not recorded yet."""
        self._response = ""
        """Response id of the last answer, which may be several events."""

    def record(self, value: dict[str, Json], source: RawRecord) -> Iterator[Event]:
        kind = as_str(value.get("kind"))
        if kind == "SystemPromptEvent":
            self._add_items(value, _system_items(value))
        elif kind == "ActionEvent" or (kind == "MessageEvent" and value.get("source") == "agent"):
            yield from self._add_answer(kind, value, source)
        elif kind == "MessageEvent":
            self._add_items(value, messages.message_items(as_dict(value.get("llm_message"))))
        elif kind in _RESULTS:
            self._add_items(value, messages.message_items(_make_tool_message(value)))
        elif kind == "ConversationStateUpdateEvent":
            yield from self._handle_state(value, source)
        elif kind in ("Condensation", "CondensationEvent"):
            self._condense(value)
        elif "agent" in value and "kind" not in value:
            cwd = as_str(get_path(value, "workspace", "working_dir"))
            self._about = replace(self._about, id=as_str(value.get("id")), cwd=cwd)
        else:
            yield Happened("record", kind or "without kind", at=as_time(value.get("timestamp")))

    def state_events(self) -> Iterator[Event]:
        yield replace(self._about, title=self._dialogue.title)
        yield self._dialogue.tip_event()

    def _add_items(self, value: dict[str, Json], items: list[Item]) -> None:
        self._context_items.append((as_str(value.get("id")), items))
        self._dialogue.add(items)

    def _add_answer(self, kind: str, value: dict[str, Json], source: RawRecord) -> Iterator[Event]:
        message = as_dict(value.get("llm_message")) if kind == "MessageEvent" else _make_message(value)
        items = messages.message_items(message)
        response = as_str(value.get("llm_response_id"))
        if response and response == self._response:
            # An answer with several calls is recorded as one event per call.
            more = [item for item in items if item.block.kind == "tool_call"]
            self._context_items.append((as_str(value.get("id")), more))
            extended = self._dialogue.extend_answer(more)
            yield from [extended] if extended else []
            return
        self._response = response
        self._context_items.append((as_str(value.get("id")), items))
        yield self._dialogue.add_call(items, self._make_call(response, value, source))

    def _make_call(self, id_: str, value: dict[str, Json], source: RawRecord) -> Call:
        usage, self._pending_usage = self._pending_usage, None
        model = next((self._meters[name].model for name in _MAIN if name in self._meters), "")
        span, ended = (source.start, source.end), as_time(value.get("timestamp"))
        return Call(id_, "", model=model, ended=ended, usage=usage, line=source.line, bytes_=span)

    def _handle_state(self, value: dict[str, Json], source: RawRecord) -> Iterator[Event]:
        if value.get("key") != "stats":
            if value.get("key") == "execution_status" and value.get("value") in ("finished", "error", "stuck"):
                yield from read_outcomes({"status": value["value"]})
            return
        for name, report in as_dict(get_path(value, "value", "usage_to_metrics")).items():
            used = self._meters.setdefault(name, _Meter()).advance(as_dict(report))
            if used is not None:
                yield from self._add_usage(name, used, value, source)

    def _add_usage(self, name: str, used: Usage, value: dict[str, Json], source: RawRecord) -> Iterator[Event]:
        if name in _MAIN:
            if self._pending_usage is not None:
                # The answer of the last report was never recorded.
                yield self._dialogue.add_call([], self._make_call("", value, source))
            self._pending_usage = used
            return
        side = Dialogue(self._tree, name, self._ids)
        call = Call("", "", model=self._meters[name].model, ended=as_time(value.get("timestamp")), usage=used)
        yield ThreadSeen(name, name, "main")
        yield side.add_call([], replace(call, fidelity=Fidelity.TOTALS, line=source.line))

    def _condense(self, value: dict[str, Json]) -> None:
        forgotten_ids = {as_str(id_) for id_ in as_list(value.get("forgotten_event_ids"))}
        remaining = [(id_, items) for id_, items in self._context_items if id_ not in forgotten_ids]
        summary = as_str(value.get("summary"))
        if summary:
            at_ = min(as_count(value.get("summary_offset")), len(remaining))
            remaining.insert(at_, (as_str(value.get("id")), messages.make_message("user", summary, mark="summary")))
        self._context_items = remaining
        self._dialogue.restart(EpochStart.COMPACTION, compaction_detail(0, 0, NAME))
        for _, items in remaining:
            self._dialogue.add(items)


def _system_items(value: dict[str, Json]) -> list[Item]:
    prompt = as_dict(value.get("system_prompt"))
    tool_items = [Item(blocks.make(TOOL, tool), Place("tools")) for tool in as_dicts(value.get("tools"))]
    dynamic = as_dict(value.get("dynamic_context"))
    return [
        *tool_items,
        *messages.message_items(
            {"role": "system", "content": [_without_client_members(p) for p in (prompt, dynamic) if p]}
        ),
    ]


def _without_client_members(part: Json) -> Json:
    return {key: item for key, item in part.items() if key != "cache_prompt"} if isinstance(part, dict) else part


def _make_message(value: dict[str, Json]) -> dict[str, Json]:
    call = as_dict(value.get("tool_call"))
    function = call.get("function") or {"name": call.get("name"), "arguments": call.get("arguments")}
    return {
        "role": "assistant",
        "content": [_without_client_members(part) for part in as_list(value.get("thought"))],
        "reasoning_content": value.get("reasoning_content"),
        "thinking_blocks": value.get("thinking_blocks"),
        "tool_calls": [{"id": call.get("id"), "type": "function", "function": function}],
    }


def _make_tool_message(value: dict[str, Json]) -> dict[str, Json]:
    observed = as_dict(value.get("observation"))
    content = observed.get("content", observed.get("output", value.get("error", value.get("rejection_reason"))))
    sent_content = content if isinstance(content, str) else [_without_client_members(part) for part in as_list(content)]
    id_, name = value.get("tool_call_id"), value.get("tool_name")
    return {"role": "tool", "content": sent_content, "name": name, "tool_call_id": id_}


reader = OpenHandsReader
