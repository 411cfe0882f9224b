"""Reads Cline's sessions: messages, those of subagents, and a compacted context."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ctxtui.core import block as blocks
from ctxtui.core import canonical
from ctxtui.core.block import Item, Place
from ctxtui.core.call import COPIED_BY, ESTIMATED_INPUT, Call, EpochStart
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_count, as_dict, as_str
from ctxtui.core.session import MAIN, Described, Event, Happened, Skipped, ThreadSeen
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit import file_head, messages
from ctxtui.transcripts.kit.dialogue import Dialogue, Ids
from ctxtui.transcripts.kit.fields import COPIED, as_dicts, as_time, get_path
from ctxtui.transcripts.kit.messages import RESULT, make_message
from ctxtui.transcripts.kit.readers import WholeReader, parse_json
from ctxtui.transcripts.reader import Reader

NAME: Final = "cline"
ESTIMATED_BY: Final = "estimatedBy"
"""Member of an answer's `metadata`: the program that estimated its usage."""
_SESSION: Final = frozenset({"agent", "sessionId", "origin", "messages"})
_COMPACTION: Final = frozenset({"conversation_id", "source_message_count"})
_DETAILS: Final = frozenset({"session_id", "messages_path"})
SUMMARY: Final = "compaction_summary"
_PROVIDERS: Final = {"anthropic": "anthropic", "openai-native": "openai", "gemini": "google"}
_SIGNED: Final = frozenset({"anthropic", "openai-native"})
"""Providers that get no thinking back without its signature, which the client does not keep."""
MAX_RESULT_CHARS: Final = 8000
"""Characters of a text in a tool's result that are sent, unless a variable of the client says otherwise."""
_WRAPPED: Final = re.compile(r"<(user_input|user_command)\b[^>]*>(.*?)</\1>", re.DOTALL)
"""A user's text with its mode, which only the client sees."""
_MODE: Final = re.compile(r"<user_input mode=\"(\w+)\"")


def sniff(head: bytes, name: str) -> float:
    first = as_dict(next(iter(file_head.parse_values(head)), None)).keys()
    if first >= _SESSION:
        return 0.97
    return 0.9 if first >= _COMPACTION or first >= _DETAILS else 0.0


def is_companion(first: bytes, second: bytes) -> bool:
    """Whether the file that begins with `second` is beside the session that begins with `first`."""
    main, other = (as_dict(next(iter(file_head.parse_values(head)), None)) for head in (first, second))
    return bool(main.get("sessionId")) and _session_of(other) == main["sessionId"]


def _session_of(value: dict[str, Json]) -> str:
    """The id of the session that a file is beside; "" for a session's own file."""
    parent = get_path(value, "origin", "parentThreadId")
    return as_str(parent) or as_str(value.get("conversation_id")) or as_str(value.get("session_id"))


class ClineReader(WholeReader):
    """Reads a session's messages; `part` makes readers for the files beside them."""

    def __init__(self, tree: Tree) -> None:
        self._session = _Session(tree)
        super().__init__(tree, self._session.read_main)

    def part(self, name: str) -> Reader:
        return WholeReader(self._tree, self._session.read_companion)


class _Session:
    """One session: its own file first, then the files beside it, in any order."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._main: dict[str, Json] = {}

    def read_main(self, data: bytes, tree: Tree) -> tuple[list[Event], Skipped | None]:
        value, tail = parse_json(data)
        self._main = as_dict(value)
        return list(self._describe()) + list(self._read_messages(MAIN, self._main, {})), tail

    def read_companion(self, data: bytes, tree: Tree) -> tuple[list[Event], Skipped | None]:
        value, tail = parse_json(data)
        companion = as_dict(value)
        if not self._main or _session_of(companion) != self._main.get("sessionId"):
            return [], None
        events: Iterator[Event]
        if companion.keys() >= _COMPACTION:
            again = self._read_messages(MAIN, self._main, companion)
            # Calls read again replace the earlier ones; what happened would be listed twice.
            events = (event for event in again if not isinstance(event, Happened))
        elif companion.keys() >= _DETAILS:
            title = as_str(get_path(companion, "metadata", "title"))
            events = iter([Described(cwd=as_str(companion.get("cwd")), title=title)])
        else:
            events = self._read_subagent(companion)
        return list(events), tail

    def _describe(self) -> Iterator[Event]:
        version = as_str(get_path(self._main, "origin", "version"))
        yield Described(id=as_str(self._main.get("sessionId")), source=NAME, version=version)

    def _read_subagent(self, value: dict[str, Json]) -> Iterator[Event]:
        thread = as_str(value.get("sessionId")).removeprefix(f"{_session_of(value)}__")
        yield ThreadSeen(thread, as_str(get_path(value, "origin", "subagent")) or thread, MAIN)
        yield from self._read_messages(thread, value, {})

    def _read_messages(self, thread: str, value: dict[str, Json], compaction: dict[str, Json]) -> Iterator[Event]:
        """Yield the events of a file's messages; those after a compaction continue its context.

        The file has the system prompt of the last mode only (plan, act): calls in another mode get none.
        """
        dialogue = Dialogue(self._tree, thread, Ids())
        sent = as_dicts(value.get("messages"))
        system = as_str(value.get("system_prompt"))
        front = [Item(blocks.from_part(messages.text(system)), Place("system"))] if system else []
        modes = [mode for message in sent if (mode := _mode_of(message))] or [""]
        mode, compacted = modes[0], compacted_count(sent, compaction)
        dialogue.head = root = self._tree.extend(ROOT, front if mode == modes[-1] else [])
        previous: dict[str, Json] = {}
        for number, message in enumerate(sent, 1):
            if (changed := _mode_of(message)) and changed != mode:
                mode, before = changed, root
                root = self._tree.extend(ROOT, front if mode == modes[-1] else [])
                dialogue.head = self._tree.extend(root, self._tree.items(dialogue.head, before))
            yield from _read_message(dialogue, message, previous)
            previous = message
            if number == compacted:
                context = Dialogue(self._tree)
                context.head = root
                for summary in as_dicts(compaction.get("messages")):
                    _add_message(context, summary)
                dialogue.restart(EpochStart.COMPACTION, head=context.head)
        if thread == MAIN:
            yield Described(title=dialogue.title)
        yield dialogue.tip_event()


def _mode_of(message: dict[str, Json]) -> str:
    """The mode in which the user sent a message; "" for other messages."""
    texts = [as_str(part.get("text")) for part in as_dicts(message.get("content"))]
    return next((match[1] for text in texts if (match := _MODE.match(text))), "")


def compacted_count(sent: list[dict[str, Json]], compaction: dict[str, Json]) -> int:
    """The number of messages that a compacted context replaces; 0 if there is none."""
    last = as_str(compaction.get("source_last_message_key")).removeprefix("id:")
    numbers = [number for number, message in enumerate(sent, 1) if last and message.get("id") == last]
    return numbers[-1] if numbers else as_count(compaction.get("source_message_count"))


def _read_message(dialogue: Dialogue, message: dict[str, Json], previous: dict[str, Json]) -> Iterator[Event]:
    written = as_time(message.get("ts"))
    if get_path(message, "metadata", "displayOnly") is True:
        # Shown to the user, and never sent.
        text = " ".join(as_str(part.get("text")) for part in as_dicts(message.get("content")))
        kind = "api error" if get_path(message, "metadata", "displayRole") == "error" else "note"
        yield Happened(kind, text, dialogue.thread, written, dialogue.last_id)
    elif message.get("role") == "assistant":
        provider = as_str(get_path(message, "modelInfo", "provider"))
        reported, extra = usage(message.get("metrics"), provider), dict[str, Json]()
        if copied_by := as_str(get_path(message, "metadata", COPIED)):
            extra[COPIED_BY] = copied_by
        if reported is not None and get_path(message, "metadata", ESTIMATED_BY):
            extra[ESTIMATED_INPUT], reported = reported.input, None
        call = Call(
            as_str(message.get("id")),
            "",
            provider=_PROVIDERS.get(provider, ""),
            model=as_str(get_path(message, "modelInfo", "id")),
            started=as_time(previous.get("ts")),
            ended=written,
            usage=reported,
            extra=extra,
        )
        before = dialogue.head
        yield dialogue.add_call(make_message("assistant", *convert_parts(message)), call)
        dialogue.head = before
        _add_message(dialogue, message)
    else:
        _add_message(dialogue, message)


def _add_message(dialogue: Dialogue, message: dict[str, Json]) -> None:
    """Add a message as later requests hold it."""
    is_summary = get_path(message, "metadata", "kind") == SUMMARY
    role = as_str(message.get("role")) or "user"
    parts = [part for part in convert_parts(message) if is_sent_again(message, part)]
    results = [part for part in parts if part.get("type") == RESULT]
    if results:
        dialogue.add(messages.result_items(dialogue, results))
    others = [part for part in parts if part.get("type") != RESULT]
    if others:
        dialogue.add(make_message(role, *others, mark="summary" if is_summary else ""))


def convert_parts(message: dict[str, Json]) -> list[dict[str, Json]]:
    return [_convert_part(part, message.get("role") == "user") for part in content_parts(message)]


def content_parts(message: dict[str, Json]) -> list[dict[str, Json]]:
    content = message.get("content")
    return [messages.text(content)] if isinstance(content, str) and content.strip() else as_dicts(content)


def is_sent_again(message: dict[str, Json], part: dict[str, Json]) -> bool:
    """Whether later requests hold a converted part of `message`."""
    is_thought = part.get("type") == "thinking" and not part.get("signature")
    return not (is_thought and as_str(get_path(message, "modelInfo", "provider")) in _SIGNED)


def _convert_part(part: dict[str, Json], of_user: bool) -> dict[str, Json]:
    match part.get("type"):
        case "text" if of_user:
            text = as_str(part.get("text"))
            return messages.text(_WRAPPED.sub(r"\2", text).strip()) if _WRAPPED.search(text) else part
        case "thinking":
            return messages.thinking(as_str(part.get("thinking")), part.get("signature"))
        case "image":
            return messages.image(as_str(part.get("mediaType")), part.get("data"))
        case "file":
            path, text = as_str(part.get("path")), as_str(part.get("content"))
            return messages.text(f'<file_content path="{path}">\n{text}\n</file_content>')
        case "tool_result":
            content = _result_content(part.get("content"))
            return messages.tool_result(part.get("tool_use_id"), content, error=part.get("is_error") is True)
    return part


def _result_content(content: Json) -> Json:
    """A tool's result as it is sent, with the middle of each long text cut.

    A list of texts and pictures stays one; any other value is JSON, followed by its pictures.
    """
    parts = as_dicts(content)
    if isinstance(content, str):
        return _cut_middle(content)
    if (
        isinstance(content, list)
        and len(parts) == len(content)
        and all(part.get("type") in ("text", "image") for part in parts)
    ):
        return [_cut_texts(_convert_part(part, of_user=False)) for part in parts]
    pictures: list[Json] = []
    text = canonical.dump_text(_cut_texts(_without_pictures(content, pictures)))
    return [messages.text(text), *pictures] if pictures else text


def _cut_texts(value: Json) -> Json:
    if isinstance(value, str):
        return _cut_middle(value)
    if isinstance(value, list):
        return [_cut_texts(item) for item in value]
    if isinstance(value, dict) and value.get("type") != "image":
        return {key: _cut_texts(member) for key, member in value.items()}
    return value


def _cut_middle(text: str) -> str:
    if len(text) <= MAX_RESULT_CHARS:
        return text
    # The client counts the cut characters with a mark of another length than the final one.
    half = (MAX_RESULT_CHARS - len(_cut_mark(len(text) - MAX_RESULT_CHARS))) // 2
    mark = _cut_mark(len(text) - half * 2)
    half = (MAX_RESULT_CHARS - len(mark)) // 2
    return f"{text[:half]}{mark}{text[-half:]}"


def _cut_mark(count: int) -> str:
    return f"\n\n...[truncated {count} chars]...\n\n"


def _without_pictures(value: Json, pictures: list[Json]) -> Json:
    """`value` without its pictures, which are added to `pictures`.

    A list that had some has its texts as strings.
    """
    if isinstance(value, dict):
        return {key: _without_pictures(member, pictures) for key, member in value.items()}
    if not isinstance(value, list):
        return value
    own = [_convert_part(part, of_user=False) for part in as_dicts(value) if part.get("type") == "image"]
    pictures += own
    rest = [item for item in value if not (isinstance(item, dict) and item.get("type") == "image")]
    return [_plain(item) if own else _without_pictures(item, pictures) for item in rest]


def _plain(item: Json) -> Json:
    return as_dict(item)["text"] if as_dict(item).get("type") == "text" and "text" in as_dict(item) else item


def usage(report: Json, provider: str) -> Usage | None:
    """Convert the usage of an answer, whose input includes the cache; None if it has no tokens."""
    figures = as_dict(report)
    read, written = as_count(figures.get("cacheReadTokens")), as_count(figures.get("cacheWriteTokens"))
    total, output = as_count(figures.get("inputTokens")), as_count(figures.get("outputTokens"))
    if not (total or output):
        return None
    fresh = max(0, total - read - written)
    if provider == "openai-native":
        return Usage(fresh, read, write_30m=written, output=output)
    return Usage(fresh, read, write_5m=written, output=output)


reader = ClineReader
