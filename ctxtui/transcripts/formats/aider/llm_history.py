"""Reads aider's ``--llm-history-file``: the messages of each request, and the answer.

The lines of a message begin with its role. Times are in the machine's time zone, which is not recorded. Model and usage
are in the chat history.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtui.core.call import Call
from ctxtui.core.canonical import Json
from ctxtui.core.session import MAIN, CallSeen, Described, Event, Skipped, ThreadSeen, TipMoved
from ctxtui.core.tree import ROOT, Tree
from ctxtui.transcripts.formats.aider.chat_history import NAME, AiderReader
from ctxtui.transcripts.joined import JoinedReader
from ctxtui.transcripts.kit import file_head, messages
from ctxtui.transcripts.kit.fields import one_line, parse_timestamp
from ctxtui.transcripts.kit.messages import make_message
from ctxtui.transcripts.kit.records import LineBuffer
from ctxtui.transcripts.reader import Reader

_TIME: Final = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
_HEADER: Final = re.compile(rf"(TO LLM|LLM RESPONSE) ({_TIME})")
_ROLE: Final = re.compile(r"(SYSTEM|USER|ASSISTANT|DEVELOPER|TOOL|FUNCTION)(?: |$)")
_RULE: Final = "-------"
"""The line before each message of a request."""
_PICTURE: Final = re.compile(r"Image_url URL: (.*)", re.DOTALL)
_DATA: Final = re.compile(r"data:([^;,]*);base64,(.*)", re.DOTALL)


def sniff(head: bytes, name: str) -> float:
    lines = file_head.decode_head(head).lstrip("\r\n").split("\n", 2)
    first = _HEADER.fullmatch(lines[0].rstrip("\r"))
    if not first:
        return 0.0
    return 0.96 if (len(lines) > 1 and lines[1].rstrip("\r") == _RULE) or first.group(1) == "LLM RESPONSE" else 0.8


class _Section(Struct):
    """The lines under one header.

    `asks`: they are a request, else an answer. `line` is the header's line number, `start` its first byte.
    """

    asks: bool
    time: str
    line: int
    start: int
    lines: list[str] = field(default_factory=list)
    end: int = 0


class LlmHistoryReader(Reader):
    """Reads the file line by line; sections without an end are read again at each `settle`."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._lines = LineBuffer()
        self._tip = ROOT
        self._section: _Section | None = None
        self._open_request: _Section | None = None
        """The request whose answer was not read yet."""
        self._count_by_time: dict[str, int] = {}
        """Number of calls by their time, so that their ids differ."""
        self._emitted: list[Event] = []
        self._title = ""

    def feed(self, data: bytes) -> list[Event]:
        events: list[Event] = []
        for line in self._lines.feed(data):
            text = line.data.decode("utf-8", "replace").rstrip("\r")
            header = _HEADER.fullmatch(text)
            if header:
                events += self._close_section()
                self._section = _Section(header[1] == "TO LLM", header[2], line.number, line.start)
            elif self._section is not None:
                self._section.lines.append(text)
            elif text.strip():
                events.append(Skipped(line.number, "text before the first request"))
            if self._section is not None:
                self._section.end = line.start + len(line.data) + 1
        return events

    def settle(self) -> list[Event]:
        section, request = self._section, self._open_request
        id_counts, tip = dict(self._count_by_time), self._tip
        last_line = self._lines.rest.data.decode("utf-8", "replace")
        if section is not None:
            all_lines = [*section.lines, last_line] if last_line else section.lines
            self._section = _Section(section.asks, section.time, section.line, section.start, all_lines, section.end)
        events = [*self._close_section(), *self._add_unanswered()]
        state_events: list[Event] = [
            Described(source=NAME, title=self._title, client=NAME), ThreadSeen(MAIN),
            *events, TipMoved(MAIN, self._tip),
        ]  # fmt: skip
        # Possibly incomplete sections are read again.
        self._section, self._open_request, self._count_by_time, self._tip = section, request, id_counts, tip
        if state_events == self._emitted:
            return []
        news = [event for event in state_events if event not in self._emitted]
        self._emitted = state_events
        return news

    def _close_section(self) -> Iterator[Event]:
        """End a section: a request is kept until its answer, an answer completes a call."""
        section, self._section = self._section, None
        if section is None:
            return
        if section.asks:
            yield from self._add_unanswered()
            self._open_request = section
        else:
            yield from self._add_call(self._open_request, section)
            self._open_request = None

    def _add_unanswered(self) -> Iterator[Event]:
        """Add a request without an answer, which is pending or was never answered."""
        request, self._open_request = self._open_request, None
        if request is not None:
            yield from self._add_call(request, None)

    def _add_call(self, request: _Section | None, answer: _Section | None) -> Iterator[Event]:
        first = request or answer
        assert first is not None
        head = ROOT
        for number, (role, text) in enumerate(_split_messages(request)):
            if not role:
                yield Skipped(first.line, f"message {number + 1} of the request has no role")
                continue
            head = self._tree.extend(head, make_message(role, *_message_parts(text)))
            if role == "user":
                self._title = self._title if self._count_by_time else one_line(text)
        text = _strip_role(answer.lines, "ASSISTANT") if answer else ""
        call = Call(
            self._make_id(first.time),
            MAIN,
            started=parse_timestamp(first.time) if request else None,
            ended=parse_timestamp(answer.time) if answer else None,
            line=first.line,
            bytes_=(first.start, max(first.end, answer.end if answer else 0)),
        )
        answer_items = make_message("assistant", text) if text else []
        self._tip = self._tree.extend(head, answer_items)
        yield CallSeen(replace(call, raw_head=head, sent_head=head, response_head=self._tip))

    def _make_id(self, time: str) -> str:
        number = self._count_by_time[time] = self._count_by_time.get(time, 0) + 1
        return f"aider-{time}" if number == 1 else f"aider-{time}-{number}"


def _split_messages(section: _Section | None) -> Iterator[tuple[str, str]]:
    """Yield (role, text) of each message; both empty if it cannot be parsed."""
    message_lines: list[list[str]] = []
    lines = section.lines if section else []
    for n, line in enumerate(lines):
        after = lines[n + 1] if n + 1 < len(lines) else ""
        # Inside a message a rule follows the role, except in texts next to pictures.
        if line == _RULE and (not after or after == _RULE or _ROLE.match(after)):
            message_lines.append([])
        elif message_lines:
            message_lines[-1].append(line)
    if message_lines and not message_lines[-1]:
        # A rule at the end: the message after it is not written yet.
        message_lines.pop()
    for message in message_lines:
        role = _ROLE.match(message[0]) if message else None
        if role is None:
            yield "", ""
        else:
            yield role[1].lower(), _strip_role(message, role[1])


def _strip_role(lines: list[str], role: str) -> str:
    """Text after the role; a line without the role continues the one before it."""
    mark = role + " "
    bare = [line[len(mark) :] if line.startswith(mark) else "" if line == role else line for line in lines]
    # The line end after the section is not part of the message.
    return "\n".join(bare[:-1] if bare and lines[-1] == "" else bare)


def _message_parts(text: str) -> list[Json]:
    """Parts of a message: its text, or texts and pictures if aider listed them member by member."""
    if not re.search(r"^Image_url URL: ", text, re.MULTILINE):
        return [text]
    parts: list[Json] = []
    for piece in re.split(r"^type: \w+\n?", text, flags=re.MULTILINE):
        picture = _PICTURE.match(piece)
        if picture:
            url = picture[1].strip()
            data = _DATA.fullmatch(url)
            link = {"type": "image", "source": {"type": "url", "url": url}}
            parts.append(messages.image(data[1], data[2]) if data else link)
        elif piece.removeprefix("text: ").strip():
            parts.append(piece.removeprefix("text: ").removesuffix("\n"))
    return parts


def reader(tree: Tree) -> Reader:
    # The chat history holds the same contexts in another form, so they get a separate tree.
    apart = Tree()
    own = LlmHistoryReader(tree)
    return JoinedReader(own, tree, lambda name: AiderReader(apart), transcript=False, union=False, apart=apart)
