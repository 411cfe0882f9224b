"""The answers of a recorded session up to one of its calls, as they went: a program that forks from there gets them
again, and goes on with its provider behind them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from ctxtui.core.block import Item
from ctxtui.core.call import BY_TRANSCRIPT
from ctxtui.core.canonical import Json
from ctxtui.core.errors import BadConfig, Malformed, NotFound
from ctxtui.core.session import MAIN
from ctxtui.offline.playback import Said, said
from ctxtui.services.recordings.recording import Loaded
from ctxtui.transcripts.formats.attached import NAME
from ctxtui.transcripts.kit.conversations import CLIENT_TEXT
from ctxtui.transcripts.kit.fields import as_count, as_dict, as_list, as_str, get_path
from ctxtui.transcripts.kit.http_exchange.decode import decode
from ctxtui.transcripts.kit.http_exchange.line_kinds import BodiesByReference, decode_bytes
from ctxtui.transcripts.kit.http_exchange.pair import Exchange, parse_body
from ctxtui.transcripts.kit.http_exchange.sockets import SocketExchanges, warm_up_id
from ctxtui.wire.translate.turns import RESULT, SYSTEM

_UNSTEADY: Final = re.compile(r"\b(?=[0-9a-fA-F-]*\d)[0-9a-fA-F][0-9a-fA-F.:-]*")
"""Figures, times, and names that are made by chance."""
_LEFT_OUT: Final = frozenset(
    ("content-length", "content-encoding", "transfer-encoding", "connection", "keep-alive", "date", "server")
)
"""Headers of an answer that are of its way, not of what it says."""


class RecordedAnswer(Struct, frozen=True):
    """An answer of HTTP/1.1 as it is given again, and the `number` of its call in the thread that is forked (0: it is
    of another thread, or beside the conversation)."""

    raw: bytes
    number: int


class RecordedAnswers:
    """Answers by what was asked: whoever says the same in its messages gets the same answer. System prompt, tools and
    parameters may be others: they are what a fix changes. Of two requests that say the same words the one counts that
    has the same figures in its tools' results too, where there is one. `name` is the session's, `thread` what the
    forked one is called ("" for the main one); `calls` of its calls are answered from the record."""

    def __init__(self, name: str, calls: int, thread: str = "") -> None:
        self.name, self.calls, self.thread = name, calls, thread
        self._known: list[tuple[Said, Said, RecordedAnswer]] = []

    def add(self, asked: Said | None, answer: RecordedAnswer) -> None:
        """What a recorded request said, and its answer."""
        if asked is not None:
            self._known.append((asked, _unsteady_left_out(asked), answer))

    def __len__(self) -> int:
        return len(self._known)

    def answer(self, url: str, body: bytes) -> RecordedAnswer | None:
        """The next recorded answer to a request that says the same; None where there is none, or no more."""
        asked = said_in(url, body)
        if asked is None:
            return None
        alike = _unsteady_left_out(asked)
        found = [n for n, (_, steady, _) in enumerate(self._known) if steady == alike]
        found.sort(key=lambda n: self._known[n][0] != asked)
        return self._known.pop(found[0])[2] if found else None


def said_in(url: str, body: bytes) -> Said | None:
    """What the messages of a request to `url` say; None where it puts nothing before a model."""
    try:
        decoded = decode(Exchange(body, url=url))
    except Malformed:
        return None
    return None if decoded is None else _said(decoded.items)


def _said(items: Sequence[Item]) -> Said:
    """What the messages say, less those of the system's side: a client puts there what it is told anew each time."""
    return tuple(one for one in said(items) if one[0] not in SYSTEM)


def _unsteady_left_out(told: Said) -> Said:
    """The same without what differs from run to run: figures and names made by chance in results of tools, and in what
    a client says for itself."""
    return tuple(
        (side, what, _UNSTEADY.sub("#", words) if what == RESULT or CLIENT_TEXT.match(words) else words)
        for side, what, words in told
    )


def answers_of(loaded: Loaded, thread: str, number: int) -> RecordedAnswers:
    """The answers of an attached session up to call `number` of `thread` (0: the last one). Raises `BadConfig` for a
    session of which they are not on record, `NotFound` for a call that there is not."""
    if loaded.source != NAME or loaded.path is None:
        raise BadConfig(
            f"{loaded.name} was not recorded through ctxtui: its answers are not on record as they went",
            place="--fork",
            way_out="`ctxtui offline --play` gives the words of any recording's answers",
        )
    session = loaded.session
    calls = session.thread_calls(thread)
    if not calls or number > len(calls):
        raise NotFound(f"there is no call {number} in {loaded.name}", place="--fork", way_out=f"it has {len(calls)}")
    number = number or len(calls)
    found = RecordedAnswers(loaded.name, number, "" if thread == MAIN else thread)
    numbers = {call.id: n for n, call in enumerate(calls[:number], 1) if BY_TRANSCRIPT not in call.extra}
    if not numbers:
        raise BadConfig(
            f"the calls up to {number} of {loaded.name} went by without ctxtui: only the client's transcript has them",
            place="--fork",
            way_out="fork from a later call",
        )
    by_id = session.calls
    by_line = {call.line: call for call in session.calls.values() if BY_TRANSCRIPT not in call.extra}
    last = list(numbers)[-1]
    exchanges = [(one, by_id.get(one.id) if one.id else by_line.get(one.begun)) for one in _exchanges(loaded.path)]
    end = max((one.begun for one, call in exchanges if call is not None and call.id == last), default=0)
    for one, call in exchanges:
        asked = (
            _said(session.tree.items(call.raw_head))
            if call is not None
            else said_in(one.exchange.url, one.exchange.request)
        )
        if one.begun <= end:
            found.add(asked, RecordedAnswer(one.raw, numbers.get(call.id, 0) if call is not None else 0))
    return found


def parted(text: str) -> tuple[str, int]:
    """``SESSION:CALL`` in parts; without a call it is 0."""
    name, colon, number = text.rpartition(":")
    return (name, int(number)) if colon and number.isdecimal() else (text, 0)


def _exchanges(path: Path) -> list[AnsweredExchange]:
    """The exchanges that were answered whole, in the order in which they began."""
    bodies, open_ = BodiesByReference(), dict[str, _Answered | _Socket]()
    found: list[AnsweredExchange] = []
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            told = as_dict(parse_body(line))
            name = as_str(told.get("x"))
            one = open_.get(name)
            if "asked" in told:
                asked = as_dict(told["asked"])
                body = bodies.body(name, as_dict(asked.get("body")))
                if body is not None:
                    open_[name] = _Answered(Exchange(body, url=as_str(asked.get("url")), line=number))
            elif isinstance(one, _Socket):
                found += one.take(told, number)
            elif one is not None:
                one.take(told)
                if one.switched:
                    open_[name] = _Socket(one.exchange.url)
                elif "ended" in told:
                    del open_[name]
                    if one.whole and not as_str(told.get("error")):
                        found.append(AnsweredExchange(exchange=one.exchange, raw=one.raw, begun=one.exchange.line))
    return sorted(found, key=lambda one: one.begun)


class AnsweredExchange(Struct, frozen=True, kw_only=True):
    """An exchange, its answer as it is given again, the line at which it `begun`, and the id of its response where it
    went over a WebSocket ("" elsewhere)."""

    exchange: Exchange
    raw: bytes
    begun: int
    id: str = ""


class _Answered:
    """An exchange, and what came back so far."""

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self._status = 0
        self._fields: list[tuple[str, str]] = []
        self._pieces: list[bytes] = []

    def take(self, told: dict[str, Json]) -> None:
        """A line of it."""
        if "answered" in told:
            answered = as_dict(told["answered"])
            self._status = as_count(answered.get("status"))
            pairs = [as_list(one) for one in as_list(answered.get("headers"))]
            self._fields = [(as_str(one[0]), as_str(one[1])) for one in pairs if len(one) == 2]
        elif "data" in told:
            self._pieces.append(decode_bytes({"base64" if told.get("base64") else "text": told["data"]}))

    @property
    def switched(self) -> bool:
        """Whether it has become a WebSocket."""
        return self._status == 101

    @property
    def whole(self) -> bool:
        """Whether a model answered it: what was refused or broke off is asked again."""
        return self._status == 200

    @property
    def raw(self) -> bytes:
        """Its answer as it is given again: unpacked, at once, and the connection ends with it."""
        return _raw([(name, text) for name, text in self._fields if "\n" not in text], b"".join(self._pieces))


class _Socket:
    """A WebSocket, and the answers that came over it."""

    def __init__(self, url: str) -> None:
        self._talk = SocketExchanges(url)
        self._begun = 0

    def take(self, told: dict[str, Json], number: int) -> Iterator[AnsweredExchange]:
        """A line of it; what that completes."""
        if "frame" not in told:
            return
        asks = told.get("by") == "client"
        done = self._talk.frame(as_str(told["frame"]), asks, None)
        begun, self._begun = self._begun, number if asks else self._begun
        if done is None or warm_up_id(done):
            # A warm-up is asked live: it costs nothing.
            return
        events = [as_dict(parse_body(line[6:])) for line in done.response.splitlines() if line.startswith(b"data: ")]
        last = events[-1] if events else {}
        if as_str(last.get("type")) == "response.completed":
            raw = _raw([("content-type", "text/event-stream")], done.response)
            yield AnsweredExchange(exchange=done, raw=raw, begun=begun, id=as_str(get_path(last, "response", "id")))


def _raw(fields: Sequence[tuple[str, str]], body: bytes) -> bytes:
    head = "".join(f"{name}: {text}\r\n" for name, text in fields if name.lower() not in _LEFT_OUT)
    length = f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
    return f"HTTP/1.1 200 OK\r\n{head}{length}".encode("latin-1", "replace") + body
