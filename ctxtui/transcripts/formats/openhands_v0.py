"""OpenHands before its SDK (V0): actions and observations, one to a file or as a list (facts §11).

An event of the agent holds the model's whole answer (`tool_call_metadata.model_response`), so that calls, their usage
and their results are exact. Messages that the client builds from recalled knowledge are not recorded as sent; their
text is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec.structs import replace

from ctxtui.core import block as blocks
from ctxtui.core.block import TOOL, Item, Place
from ctxtui.core.call import Call, EpochStart
from ctxtui.core.canonical import Json
from ctxtui.core.session import MAIN, Described, Event, Happened, Outcome, ThreadSeen
from ctxtui.core.tree import Tree
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit import file_head, messages
from ctxtui.transcripts.kit.dialogue import Dialogue, Ids
from ctxtui.transcripts.kit.fields import at, count, listed, moment, money, obj, objects, shrunk, word
from ctxtui.transcripts.kit.readers import lines_reader
from ctxtui.transcripts.kit.records import FoundObject
from ctxtui.transcripts.kit.tasks import words
from ctxtui.wire.usage import chat_usage

NAME: Final = "openhands"
_SILENT: Final = frozenset("null change_agent_state agent_state_changed recall stop pause resume".split())
"""Events that no model reads. The text of a recall is in its observation."""
_RECALLED: Final = ("repo_name", "repo_instructions", "additional_agent_instructions", "conversation_instructions")


def sniff(head: bytes, name: str) -> float:
    """Confidence that `head` begins an action or an observation, or a list of them."""
    for record in file_head.records(head):
        action = "action" in record and isinstance(record.get("args"), dict)
        observation = "observation" in record and "extras" in record
        if {"source", "timestamp"} <= record.keys() and "kind" not in record and (action or observation):
            return 0.95
    return 0.0


class _Events:
    def __init__(self, tree: Tree) -> None:
        self._tree, self._ids = tree, Ids()
        self._threads = [Dialogue(tree, MAIN, self._ids)]
        self._delegates = 0
        self._said: list[list[tuple[Json, list[Item]]]] = [[]]
        self._answered: set[str] = set()
        self._cost = 0.0

    @property
    def _here(self) -> Dialogue:
        return self._threads[-1]

    def record(self, value: dict[str, Json], found: FoundObject) -> Iterator[Event]:
        action, observation, args = word(value.get("action")), word(value.get("observation")), obj(value.get("args"))
        response = obj(at(value, "tool_call_metadata", "model_response"))
        if action == "system":
            self._say(value, _system(args))
        elif action == "condensation":
            self._condense(value, args)
        elif action and response:
            yield from self._answer(value, response, found)
            if action == "delegate":
                yield from self._delegate(word(args.get("agent")))
        elif observation:
            yield from self._observed(value, observation)
        elif action in ("message", "finish"):
            yield from self._message(value, args, found)
        elif action and action not in _SILENT:
            yield Happened("action", action, self._here.thread, moment(value.get("timestamp")))
        if action == "finish" and args.get("task_completed") is not None:
            yield Outcome("task_completed", words(args["task_completed"]))

    def standing(self) -> Iterator[Event]:
        yield Described(source=NAME, title=self._threads[0].title, client="openhands")
        for dialogue in self._threads:
            yield dialogue.tip()

    def _say(self, value: dict[str, Json], items: Iterable[Item]) -> None:
        said = list(items)
        self._said[-1].append((value.get("id"), said))
        self._here.say(said)

    def _answer(self, value: dict[str, Json], response: dict[str, Json], found: FoundObject) -> Iterator[Event]:
        """Add an answer; one with several calls is recorded as several events, each with all of it."""
        id_ = word(response.get("id"))
        if id_ in self._answered:
            return
        self._answered.add(id_)
        items = messages.items(obj(at(response, "choices", 0, "message")))
        self._said[-1].append((value.get("id"), items))
        known = Call(
            id_,
            "",
            model=word(response.get("model")),
            ended=moment(value.get("timestamp")),
            usage=self._usage(chat_usage(response.get("usage"), response), value),
            stop_reason=word(at(response, "choices", 0, "finish_reason")),
            line=found.line,
            bytes_=(found.start, found.end),
        )
        yield self._here.answer(items, known)

    def _usage(self, usage: Usage | None, value: dict[str, Json]) -> Usage | None:
        total = money(at(value, "llm_metrics", "accumulated_cost"))
        spent, self._cost = (total or self._cost) - self._cost, total or self._cost
        return replace(usage, cost=spent) if usage is not None and usage.cost is None and spent > 0 else usage

    def _observed(self, value: dict[str, Json], observation: str) -> Iterator[Event]:
        if observation == "delegate" and len(self._threads) > 1:
            self._said.pop()
            yield self._threads.pop().tip()
        metadata = obj(value.get("tool_call_metadata"))
        if metadata:
            told = {"role": "tool", "content": _content(value), "name": metadata.get("function_name")}
            self._say(value, messages.items({**told, "tool_call_id": metadata.get("tool_call_id")}))
        elif observation == "recall":
            recalled = "\n\n".join(_recalled(obj(value.get("extras"))))
            if recalled:
                self._say(value, messages.spoken("user", recalled, mark="meta"))
        elif observation not in _SILENT:
            said = _content(value)
            self._say(value, messages.spoken("user", said if isinstance(said, str) else "", mark="meta"))

    def _message(self, value: dict[str, Json], args: dict[str, Json], found: FoundObject) -> Iterator[Event]:
        said = word(args.get("content")) or word(args.get("final_thought")) or word(args.get("thought"))
        if value.get("source") == "user":
            pictures: list[Json] = [
                {"type": "image_url", "image_url": {"url": url}} for url in listed(args.get("image_urls"))
            ]
            self._say(value, messages.spoken("user", said, *pictures))
            return
        items = messages.spoken("assistant", said)
        self._said[-1].append((value.get("id"), items))
        usage = self._usage(_last_usage(value), value)
        ended, span = moment(value.get("timestamp")), (found.start, found.end)
        yield self._here.answer(items, Call("", "", ended=ended, usage=usage, line=found.line, bytes_=span))

    def _delegate(self, agent: str) -> Iterator[Event]:
        self._delegates += 1
        name = f"delegate {self._delegates}"
        yield ThreadSeen(name, agent or name, self._here.thread)
        self._threads.append(Dialogue(self._tree, name, self._ids))
        self._said.append([])

    def _condense(self, value: dict[str, Json], args: dict[str, Json]) -> None:
        first, last = args.get("forgotten_events_start_id"), args.get("forgotten_events_end_id")
        gone: list[Json] = listed(args.get("forgotten_event_ids"))
        if isinstance(first, int) and isinstance(last, int):
            gone = [*gone, *(id_ for id_, _ in self._said[-1] if isinstance(id_, int) and first <= id_ <= last)]
        kept = [(id_, items) for id_, items in self._said[-1] if id_ not in gone]
        summary = word(args.get("summary"))
        if summary:
            at_ = min(count(args.get("summary_offset")), len(kept))
            kept.insert(at_, (value.get("id"), messages.spoken("user", summary, mark="summary")))
        self._said[-1] = kept
        self._here.restart(EpochStart.COMPACTION, shrunk(0, 0, NAME))
        for _, items in kept:
            self._here.say(items)


def _system(args: dict[str, Json]) -> list[Item]:
    made = [Item(blocks.make(TOOL, tool), Place("tools")) for tool in objects(args.get("tools"))]
    return [*made, *messages.items({"role": "system", "content": args.get("content")})]


def _content(value: dict[str, Json]) -> Json:
    content = value.get("content")
    return content if isinstance(content, str | list) else word(value.get("message"))


def _recalled(extras: dict[str, Json]) -> Iterator[str]:
    """Yield the recalled texts: the repository's, then those of each piece of knowledge."""
    yield from (word(extras[key]) for key in _RECALLED if word(extras.get(key)))
    yield from (word(one.get("content")) for one in objects(extras.get("microagent_knowledge")) if one.get("content"))


def _last_usage(value: dict[str, Json]) -> Usage | None:
    """Usage of the last call in an event's metrics; its input includes the cache."""
    told = objects(at(value, "llm_metrics", "token_usages"))
    if not told:
        return None
    prompt, read, written = (
        count(told[-1].get(key)) for key in ("prompt_tokens", "cache_read_tokens", "cache_write_tokens")
    )
    output = count(told[-1].get("completion_tokens"))
    return Usage(max(0, prompt - read - written), read, write_5m=written, output=output) if prompt else None


reader = lines_reader(_Events)
