"""Plain bodies: requests, pairs of request and answer, answers, messages; one a file or many."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from ctxtui.core import canonical
from ctxtui.core.call import Call
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.core.session import MAIN, Described, Event, Skipped, TipMoved
from ctxtui.core.tree import ROOT, Tree
from ctxtui.transcripts.formats.bodies import pairs
from ctxtui.transcripts.formats.bodies.calls import BodyDecoder, known_of
from ctxtui.transcripts.formats.bodies.pairs import Pair
from ctxtui.transcripts.formats.bodies.values import BLANK, Margins, Text, ValueStream, decoded, encoded, walked
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.conversations import Conversation
from ctxtui.transcripts.kit.http_exchange.exchanges import Exchanges
from ctxtui.transcripts.kit.http_exchange.sender import sender_of
from ctxtui.transcripts.kit.http_exchange.shapes import BodyShape, listed_messages, sort_of
from ctxtui.transcripts.reader import Reader

NO_CONTEXT: Final = "JSON that is no request, answer or message"


class BodiesReader:
    """Reads plain bodies of any dialect; `source` is the dialect that the file's head shows."""

    def __init__(self, tree: Tree, source: str) -> None:
        self._tree = tree
        self._source = source
        self._stream = ValueStream(is_record)
        self._decoder = BodyDecoder(source)
        self._exchanges = Exchanges(tree)
        self._threads = self._exchanges.threads
        self._margins = Margins()
        self._fed = b""
        self._values = 0
        self._lone: tuple[Conversation, Call] | None = None
        self._growing: tuple[Conversation, Call] | None = None
        self._title = ""
        self._mended = b""

    @property
    def tail(self) -> Skipped | None:
        """What is still incomplete at the end."""
        rest = self._stream.rest
        return Skipped(rest.number, f"cut off: {len(rest.data):,} bytes without an end") if rest else None

    def feed(self, data: bytes) -> list[Event]:
        """The events of the values that `data` completes."""
        self._fed = data
        if self._values < 2:
            self._margins.feed(data)
        return [event for found in self._stream.feed(data) for event in self._take(found)]

    def settle(self) -> list[Event]:
        """A last value without line end, and how the whole looks: which conversation is the main one."""
        events = [event for found in self._stream.settle() for event in self._take(found)]
        rest = self._stream.rest
        if not self._values and rest is not None and rest.data != self._mended:
            self._mended = rest.data
            events += self._cut(decoded(rest.data))
        if self._lone is not None and rest is None and self._lone[1].skeleton is not None:
            talk, call = self._lone
            events += self._threads.update(talk, replace(call, skeleton=self._margins.around(self._lone[1].skeleton)))
        events += self._threads.settle()
        title = self._threads.title
        if title != self._title:
            self._title = title
            events.append(Described(title=title))
        return events

    def part(self, name: str) -> Reader:
        """Bodies have no companions: a reader that takes nothing."""
        return BodiesReader(Tree(), self._source)

    def _take(self, found: Text | Skipped) -> Iterator[Event]:
        if isinstance(found, Skipped):
            yield found
            return
        if not self._values:
            yield self._described()
            self._margins.found(found.start, found.start + len(found.raw), self._fed)
        self._values += 1
        if self._lone is not None:
            # No longer the only value: what stands around it is no part of it.
            yield from self._threads.update(*self._lone)
            self._lone = None
        try:
            yield from self._value(found)
        except Malformed as error:
            yield Skipped(found.line, str(error))
        except RecursionError:
            yield Skipped(found.line, "JSON nested too deeply")

    def _described(self) -> Described:
        return Described(source=self._source.replace("_", " "))

    def _value(self, text: Text) -> Iterator[Event]:
        value = text.value()
        sort = sort_of(value)
        if sort == BodyShape.MESSAGE:
            yield from self._message(value, text)
            return
        self._growing = None
        if sort == BodyShape.ANSWER:
            yield from self._call(Pair(answer=value), text)
        elif sort == BodyShape.MESSAGES:
            yield from self._call(Pair(messages=listed_messages(value)), text)
        elif sort == BodyShape.REQUEST and not pairs.has_answer(value):
            yield from self._call(Pair(request=text, sent=True), text)
            self._lone = self._threads.last if self._values == 1 else None
        else:
            yield from self._other(text)

    def _other(self, text: Text) -> Iterator[Event]:
        pair = pairs.find(text)
        if pair is not None:
            yield from self._call(pair, text)
        elif text.items and any(isinstance(item.value, dict | list) for item in text.items):
            # A list of records, such as an export.
            for item in text.items:
                before = text.text[: item.start]
                line, start = text.line + before.count("\n"), text.start + len(encoded(before))
                yield from self._take(walked(text.text[item.start : item.end], line, start))
        else:
            yield Skipped(text.line, NO_CONTEXT)

    def _call(self, pair: Pair, text: Text) -> Iterator[Event]:
        decoded = self._decoder.decode(pair)
        place = (text.start, text.start + len(text.raw))
        sender = sender_of({name.lower(): value for name, value in pair.headers})
        client = self._exchanges.client(decoded, sender, pair.path, pair.request.value() if pair.request else None)
        known = replace(known_of(pair, decoded, text), bytes_=place)
        yield from self._exchanges.add(decoded, known, client, sender.session)

    def _message(self, value: Json, text: Text) -> Iterator[Event]:
        """Messages one a line are one context that grows."""
        items = self._decoder.message(value)
        if self._growing is None:
            decoded = self._decoder.opened(items)
            yield from self._exchanges.add(decoded, known_of(Pair(), decoded, text))
            self._growing = self._threads.last
            return
        talk, call = self._growing
        head = self._tree.extend(call.raw_head, items)
        self._growing = talk, replace(call, raw_head=head, sent_head=head, response_head=head)
        yield from self._threads.update(*self._growing)

    def _cut(self, text: str) -> Iterator[Event]:
        """A file of one body that breaks off: what came is a context, but no call that is known to be whole."""
        value = file_head.mend(text.lstrip(BLANK))
        if sort_of(value) not in (BodyShape.REQUEST, BodyShape.MESSAGES):
            return
        try:
            body = walked(canonical.text_of(value))
            pair = Pair(request=body) if isinstance(value, dict) else Pair(messages=value)
            items = self._decoder.decode(pair).items
        except (Malformed, RecursionError):
            return
        yield self._described()
        yield TipMoved(MAIN, self._tree.extend(ROOT, items))


def is_record(text: str) -> bool:
    """Whether a line's text is a record by itself, and no part of one that is written over many lines."""
    try:
        found = walked(text)
        record = sort_of(found.value()) in (BodyShape.REQUEST, BodyShape.ANSWER) or pairs.find(found) is not None
    except (Malformed, RecursionError):
        return False
    return record and not text[len(found.text) :].strip()
