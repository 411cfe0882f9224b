"""Reads aider's chat history in Markdown: user input, answers, rounded token counts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ctxtui.core.block import Item
from ctxtui.core.call import COPIED_BY, MAKER, Call, EpochStart
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_number
from ctxtui.core.session import Described, Event, Happened
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.dialogue import Dialogue
from ctxtui.transcripts.kit.fields import one_line, parse_timestamp
from ctxtui.transcripts.kit.messages import make_message
from ctxtui.transcripts.kit.records import LineBuffer, TextLine
from ctxtui.transcripts.reader import Reader

NAME: Final = "aider"
_STARTED: Final = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")
_MODEL: Final = re.compile(r"(?:Main m|M)odels?: (\S+) with")
_VERSION: Final = re.compile(r"Aider v(\S+)")
_TOKENS: Final = re.compile(r"Tokens: (.+?) received\.?(.*)")
"""The notice with token counts of an answer."""
_FIGURE: Final = re.compile(r"([\d.,]+)([kM]?) (sent|cache write|cache hit|received)")
_COST: Final = re.compile(r"Cost: \$([\d.,]+) (?:message|request|send)")
COPIED: Final = "Copied by ctxtui from another session"
"""Notice before a chat that ctxtui wrote; its answers were made in another session."""
_RESTORED: Final = "Restored previous conversation history"
_SCALE: Final = {"": 1, "k": 1_000, "M": 1_000_000}


def sniff(head: bytes, name: str) -> float:
    text = file_head.decode_head(head)
    if "# aider chat started at 2" in text:
        return 0.95
    return 0.7 if "aider.chat.history" in name else 0.0


class AiderReader(Reader):
    """Reads a history line by line; a chat that is started again begins with an empty context."""

    def __init__(self, tree: Tree) -> None:
        self._lines = LineBuffer()
        self._dialogue = Dialogue(tree)
        self._about = Described(source=NAME)
        self._line_kind = ""
        self._text_lines: list[str] = []
        """Lines of the text that is being read, of the kind `_line_kind`."""
        self._line = 0
        self._model = ""
        self._clock: float | None = None
        # Whether user input has no answer yet, and whether ctxtui copied this chat.
        self._asked = self._copied = False
        self._waiting: list[str] | None = None
        """Texts of the answer whose token counts were not read yet; None if there is none."""
        self._waiting_line = 0
        self._emitted: list[Event] = []
        self._all_messages: list[Item] = []
        """Messages of both sides in all chats of the file, in case aider restores them."""

    @property
    def rereads(self) -> bool:
        # `settle` makes a call of an answer whose counts may follow later.
        return True

    def feed(self, data: bytes) -> list[Event]:
        return [event for line in self._lines.feed(data) for event in self._handle_line(line)]

    def settle(self) -> list[Event]:
        events: list[Event] = []
        rest = self._lines.rest
        if rest.data:
            events += self._handle_line(rest)
            self._lines.drop(len(rest.data))
        events += [*self._close_text(), *self._add_answer(None, "")]
        state_events: list[Event] = [
            Described(source=NAME, title=self._dialogue.title, version=self._about.version, client=NAME),
            self._dialogue.tip_event(),
        ]
        if state_events != self._emitted:
            self._emitted = state_events
            events += state_events
        return events

    def _handle_line(self, line: TextLine) -> Iterator[Event]:
        text = line.data.decode("utf-8", "replace").rstrip("\r")
        started = _STARTED.match(text)
        if started:
            yield from self._close_text()
            yield from self._add_answer(None, "")
            self._clock = parse_timestamp(started.group(1))
            self._dialogue.restart(EpochStart.RESUME, "a new chat")
            self._asked = self._copied = False
            return
        kind, words = _kind_of_line(text)
        if kind != self._line_kind and not (kind == "said" and not words.strip()):
            yield from self._close_text()
            self._line_kind, self._line = kind, line.number
        if kind == "notice":
            yield from self._handle_notice(words.rstrip())
        else:
            self._text_lines.append(words.rstrip() if kind == "typed" else words)

    def _close_text(self) -> Iterator[Event]:
        """End the collected text: a person's message, or an answer whose token counts follow."""
        text = "\n".join(self._text_lines).strip("\n")
        kind, self._line_kind, self._text_lines = self._line_kind, "", []
        if not text.strip():
            return
        if kind == "typed":
            yield from self._add_answer(None, "")
            message = make_message("user", text)
            self._all_messages += message
            self._dialogue.add(message)
            self._asked = True
        elif kind == "said":
            if self._waiting is None:
                self._waiting, self._waiting_line = [], self._line
            self._waiting.append(text)

    def _handle_notice(self, text: str) -> Iterator[Event]:
        model, version, tokens = _MODEL.match(text), _VERSION.match(text), _TOKENS.match(text)
        if model:
            self._model = model.group(1)
        elif version:
            self._about = Described(source=NAME, version=version.group(1))
        elif tokens:
            yield from self._add_answer(_parse_usage(text), text)
        elif text == COPIED:
            self._copied = True
        elif text.startswith(_RESTORED):
            self._dialogue.head = self._dialogue.tree.extend(ROOT, self._all_messages)
        elif "KeyboardInterrupt" in text:
            yield Happened("interrupt", text)

    def _add_answer(self, usage: Usage | None, figures: str) -> Iterator[Event]:
        """Add the pending answer as a call; `figures` is the notice with its counts.

        Token counts without an answer (an interrupted one) are a call, too. Text without counts that follows no user
        input is the output of a command, and only reported.
        """
        if self._waiting is None and usage is None:
            return
        items = make_message("assistant", "\n\n".join(self._waiting)) if self._waiting else []
        call_extra: dict[str, Json] = {"figures": figures, "rounded": True} if figures else {}
        call_extra |= {COPIED_BY: MAKER} if self._copied else {}
        line = self._waiting_line if self._waiting else 0
        text, self._waiting = "\n".join(self._waiting or ()), None
        if usage is None and not self._asked:
            # Text without a request: the output of a command.
            yield Happened("output", one_line(text), at=self._clock)
            return
        self._asked = False
        self._all_messages += items
        call_facts = Call("", "", model=self._model, started=self._clock, usage=usage, line=line, extra=call_extra)
        yield self._dialogue.add_call(items, call_facts)


def _kind_of_line(text: str) -> tuple[str, str]:
    if text.startswith("#### "):
        return "typed", text[5:]
    if text == "####":
        return "typed", ""
    if text.startswith("> ") or text == ">":
        return "notice", text[2:]
    return "said", text


def _parse_usage(text: str) -> Usage | None:
    """Parse aider's own counts, rounded from a thousand on; None without a "sent" figure.

    "sent" includes cache hits and writes, unless it is smaller than these.
    """
    figures = {}
    for number, scale, name in _FIGURE.findall(text):
        try:
            figures[name] = round(float(number.replace(",", "")) * _SCALE[scale])
        except (ValueError, OverflowError):
            continue
    if "sent" not in figures:
        return None
    read, written = figures.get("cache hit", 0), figures.get("cache write", 0)
    cost = _COST.search(text)
    fresh = figures["sent"] - read - written
    try:
        spent = as_number(float(cost.group(1).replace(",", "").rstrip("."))) if cost else None
    except ValueError:
        spent = None
    return Usage(
        fresh=fresh if fresh >= 0 else figures["sent"],
        cache_read=read,
        write_5m=written,
        output=figures.get("received", 0),
        has_cache=bool(read or written),
        cost=spent,
    )
