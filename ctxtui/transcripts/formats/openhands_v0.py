"""Reads OpenHands before its SDK (V0, facts §11): actions and observations.

The event of a tool call holds the model's whole answer (``tool_call_metadata.model_response``), so that its usage and
results are exact. Messages that the client builds from recalled knowledge are not recorded as sent; their
text is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec.structs import replace

from ctxtui.core import block as blocks
from ctxtui.core import canonical
from ctxtui.core.block import TOOL, Item, Place
from ctxtui.core.call import Call, EpochStart
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_count, as_dict, as_list, as_number, as_str
from ctxtui.core.session import MAIN, Described, Event, Happened, Outcome, ThreadSeen
from ctxtui.core.tree import Tree
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit import file_head, messages
from ctxtui.transcripts.kit.dialogue import Dialogue, Ids
from ctxtui.transcripts.kit.fields import as_dicts, as_time, compaction_detail, get_path
from ctxtui.transcripts.kit.readers import lines_reader
from ctxtui.transcripts.kit.records import RawRecord
from ctxtui.transcripts.kit.tasks import value_text
from ctxtui.wire.usage import chat_usage

NAME: Final = "openhands"
_SILENT: Final = frozenset("null change_agent_state agent_state_changed recall stop pause resume".split())
"""Events that no model reads. The text of a recall is in its observation."""
_RECALLED: Final = ("repo_name", "repo_instructions", "additional_agent_instructions", "conversation_instructions")


def sniff(head: bytes, name: str) -> float:
    for record in file_head.parse_records(head):
        action = "action" in record and isinstance(record.get("args"), dict)
        observation = "observation" in record and "extras" in record
        if {"source", "timestamp"} <= record.keys() and "kind" not in record and (action or observation):
            return 0.95
    return 0.0


class _EventHandler:
    """Handles the events in order; a delegate, which is a subagent, has a thread of its own."""

    def __init__(self, tree: Tree) -> None:
        self._tree, self._ids = tree, Ids()
        self._threads = [Dialogue(tree, MAIN, self._ids)]
        """The main thread, and those of the delegates that are at work; the last one is the current one."""
        self._delegates = 0
        self._context_items: list[list[tuple[Json, list[Item]]]] = [[]]
        """For each of these threads: items of its context with their event's id, by which a condensation names them."""
        self._answered: set[str] = set()
        """The recorded answers: the id of each, or the digest of one without an id."""
        self._cost = 0.0
        """Accumulated cost in USD at the last event that reported it."""

    @property
    def _current_dialogue(self) -> Dialogue:
        return self._threads[-1]

    def record(self, value: dict[str, Json], source: RawRecord) -> Iterator[Event]:
        action, observation, args = (
            as_str(value.get("action")),
            as_str(value.get("observation")),
            as_dict(value.get("args")),
        )
        response = as_dict(get_path(value, "tool_call_metadata", "model_response"))
        if action == "system":
            self._add_items(value, _system_items(args))
        elif action == "condensation":
            self._condense(value, args)
        elif action and response:
            yield from self._add_answer(value, response, source)
            if action == "delegate":
                yield from self._begin_delegate(as_str(args.get("agent")))
        elif observation:
            yield from self._add_observation(value, observation)
        elif action in ("message", "finish"):
            yield from self._handle_message(value, args, source)
        elif action and action not in _SILENT:
            yield Happened("action", action, self._current_dialogue.thread, as_time(value.get("timestamp")))
        if action == "finish" and args.get("task_completed") is not None:
            yield Outcome("task_completed", value_text(args["task_completed"]))

    def state_events(self) -> Iterator[Event]:
        yield Described(source=NAME, title=self._threads[0].title, client="openhands")
        for dialogue in self._threads:
            yield dialogue.tip_event()

    def _add_items(self, value: dict[str, Json], items: Iterable[Item]) -> None:
        item_list = list(items)
        self._context_items[-1].append((value.get("id"), item_list))
        self._current_dialogue.add(item_list)

    def _add_answer(self, value: dict[str, Json], response: dict[str, Json], source: RawRecord) -> Iterator[Event]:
        """Add an answer; one with several calls is recorded as several events, each with all of it."""
        id_ = as_str(response.get("id"))
        answer = id_ or canonical.digest(canonical.dumps(response))
        if answer in self._answered:
            return
        self._answered.add(answer)
        items = messages.message_items(as_dict(get_path(response, "choices", 0, "message")))
        self._context_items[-1].append((value.get("id"), items))
        call = Call(
            id_,
            "",
            model=as_str(response.get("model")),
            ended=as_time(value.get("timestamp")),
            usage=self._with_cost(chat_usage(response.get("usage"), response), value),
            stop_reason=as_str(get_path(response, "choices", 0, "finish_reason")),
            line=source.line,
            bytes_=(source.start, source.end),
        )
        yield self._current_dialogue.add_call(items, call)

    def _with_cost(self, usage: Usage | None, value: dict[str, Json]) -> Usage | None:
        total = as_number(get_path(value, "llm_metrics", "accumulated_cost"))
        spent, self._cost = (total or self._cost) - self._cost, total or self._cost
        return replace(usage, cost=spent) if usage is not None and usage.cost is None and spent > 0 else usage

    def _add_observation(self, value: dict[str, Json], observation: str) -> Iterator[Event]:
        if observation == "delegate" and len(self._threads) > 1:
            self._context_items.pop()
            yield self._threads.pop().tip_event()
        metadata = as_dict(value.get("tool_call_metadata"))
        if metadata:
            message = {"role": "tool", "content": _content_of(value), "name": metadata.get("function_name")}
            self._add_items(value, messages.message_items({**message, "tool_call_id": metadata.get("tool_call_id")}))
        elif observation == "recall":
            recalled = "\n\n".join(_recalled_texts(as_dict(value.get("extras"))))
            if recalled:
                self._add_items(value, messages.make_message("user", recalled, mark="meta"))
        elif observation not in _SILENT:
            content = _content_of(value)
            self._add_items(
                value, messages.make_message("user", content if isinstance(content, str) else "", mark="meta")
            )

    def _handle_message(self, value: dict[str, Json], args: dict[str, Json], source: RawRecord) -> Iterator[Event]:
        text = as_str(args.get("content")) or as_str(args.get("final_thought")) or as_str(args.get("thought"))
        if value.get("source") == "user":
            pictures: list[Json] = [
                {"type": "image_url", "image_url": {"url": url}} for url in as_list(args.get("image_urls"))
            ]
            self._add_items(value, messages.make_message("user", text, *pictures))
            return
        items = messages.make_message("assistant", text)
        self._context_items[-1].append((value.get("id"), items))
        usage = self._with_cost(_last_usage(value), value)
        ended, span = as_time(value.get("timestamp")), (source.start, source.end)
        yield self._current_dialogue.add_call(
            items, Call("", "", ended=ended, usage=usage, line=source.line, bytes_=span)
        )

    def _begin_delegate(self, agent: str) -> Iterator[Event]:
        self._delegates += 1
        name = f"delegate {self._delegates}"
        yield ThreadSeen(name, agent or name, self._current_dialogue.thread)
        self._threads.append(Dialogue(self._tree, name, self._ids))
        self._context_items.append([])

    def _condense(self, value: dict[str, Json], args: dict[str, Json]) -> None:
        first, last = args.get("forgotten_events_start_id"), args.get("forgotten_events_end_id")
        forgotten_ids: list[Json] = as_list(args.get("forgotten_event_ids"))
        if isinstance(first, int) and isinstance(last, int):
            forgotten_ids = [
                *forgotten_ids,
                *(id_ for id_, _ in self._context_items[-1] if isinstance(id_, int) and first <= id_ <= last),
            ]
        remaining = [(id_, items) for id_, items in self._context_items[-1] if id_ not in forgotten_ids]
        summary = as_str(args.get("summary"))
        if summary:
            at_ = min(as_count(args.get("summary_offset")), len(remaining))
            remaining.insert(at_, (value.get("id"), messages.make_message("user", summary, mark="summary")))
        self._context_items[-1] = remaining
        self._current_dialogue.restart(EpochStart.COMPACTION, compaction_detail(0, 0, NAME))
        for _, items in remaining:
            self._current_dialogue.add(items)


def _system_items(args: dict[str, Json]) -> list[Item]:
    tool_items = [Item(blocks.make(TOOL, tool), Place("tools")) for tool in as_dicts(args.get("tools"))]
    return [*tool_items, *messages.message_items({"role": "system", "content": args.get("content")})]


def _content_of(value: dict[str, Json]) -> Json:
    content = value.get("content")
    return content if isinstance(content, str | list) else as_str(value.get("message"))


def _recalled_texts(extras: dict[str, Json]) -> Iterator[str]:
    yield from (as_str(extras[key]) for key in _RECALLED if as_str(extras.get(key)))
    yield from (
        as_str(knowledge.get("content"))
        for knowledge in as_dicts(extras.get("microagent_knowledge"))
        if knowledge.get("content")
    )


def _last_usage(value: dict[str, Json]) -> Usage | None:
    """Usage of the last call in an event's metrics; its input includes the cache."""
    usages = as_dicts(get_path(value, "llm_metrics", "token_usages"))
    if not usages:
        return None
    prompt, read, written = (
        as_count(usages[-1].get(key)) for key in ("prompt_tokens", "cache_read_tokens", "cache_write_tokens")
    )
    output = as_count(usages[-1].get("completion_tokens"))
    return Usage(max(0, prompt - read - written), read, write_5m=written, output=output) if prompt else None


reader = lines_reader(_EventHandler)
