"""The answers of a recorded session up to one of its calls, as they went: a program that forks from there gets them
again, and goes on with its provider behind them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ctxtui.core.call import BY_TRANSCRIPT
from ctxtui.core.canonical import Json
from ctxtui.core.errors import BadConfig, Malformed, NotFound
from ctxtui.offline.playback import Said, said
from ctxtui.services.recordings.recording import Loaded
from ctxtui.transcripts.formats.attached import NAME
from ctxtui.transcripts.kit.fields import count, listed, obj, word
from ctxtui.transcripts.kit.http_exchange.decode import decode
from ctxtui.transcripts.kit.http_exchange.pair import Exchange, value
from ctxtui.transcripts.kit.http_exchange.recorded_bodies import BodiesByReference, bytes_of

_LEFT_OUT: Final = frozenset(
    ("content-length", "content-encoding", "transfer-encoding", "connection", "keep-alive", "date", "server")
)
"""Headers of an answer that are of its way, not of what it says."""


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """An answer of HTTP/1.1 as it is given again, and the `number` of its call in the thread that is forked (0: it is
    of another thread, or beside the conversation)."""

    raw: bytes
    number: int


class RecordedAnswers:
    """Answers by what was asked: whoever says the same in its messages gets the same answer. System prompt, tools and
    parameters may be others: they are what a fix changes. `name` is the session's, `calls` are those of the forked
    thread that are answered from the record."""

    def __init__(self, name: str, calls: int) -> None:
        self.name, self.calls = name, calls
        self._known: defaultdict[Said, list[RecordedAnswer]] = defaultdict(list)

    def add(self, exchange: Exchange, answer: RecordedAnswer) -> None:
        """A recorded exchange and its answer."""
        asked = _asked(exchange)
        if asked is not None:
            self._known[asked].append(answer)

    def __len__(self) -> int:
        return sum(map(len, self._known.values()))

    def answer(self, url: str, body: bytes) -> RecordedAnswer | None:
        """The next recorded answer to a request that says the same; None where there is none, or no more."""
        asked = _asked(Exchange(body, url=url))
        found = self._known.get(asked) if asked is not None else None
        return found.pop(0) if found else None


def _asked(exchange: Exchange) -> Said | None:
    try:
        decoded = decode(exchange)
    except Malformed:
        return None
    return None if decoded is None else said(decoded.items)


def answers_of(loaded: Loaded, thread: str, number: int) -> RecordedAnswers:
    """The answers of an attached session up to call `number` of `thread` (0: the last one). Raises `BadConfig` for a
    session of which they are not on record, `NotFound` for a call that there is not."""
    if loaded.source != NAME or loaded.path is None:
        raise BadConfig(
            f"{loaded.name} was not recorded through ctxtui: its answers are not on record as they went",
            place="--fork",
            way_out="`ctxtui offline --play` gives the words of any recording's answers",
        )
    calls = loaded.session.thread_calls(thread)
    if not calls or number > len(calls):
        raise NotFound(f"there is no call {number} in {loaded.name}", place="--fork", way_out=f"it has {len(calls)}")
    number = number or len(calls)
    found = RecordedAnswers(loaded.name, number)
    numbers = {call.line: n for n, call in enumerate(calls[:number], 1) if BY_TRANSCRIPT not in call.extra}
    if not numbers:
        raise BadConfig(
            f"the calls up to {number} of {loaded.name} went by without ctxtui: only the client's transcript has them",
            place="--fork",
            way_out="fork from a later call",
        )
    for exchange, raw in _exchanges(loaded.path, max(numbers)):
        found.add(exchange, RecordedAnswer(raw, numbers.get(exchange.line, 0)))
    return found


def parted(text: str) -> tuple[str, int]:
    """``SESSION:CALL`` in parts; without a call it is 0."""
    name, colon, number = text.rpartition(":")
    return (name, int(number)) if colon and number.isdecimal() else (text, 0)


def _exchanges(path: Path, last: int) -> list[tuple[Exchange, bytes]]:
    """The exchanges that began up to the line `last` and were answered whole, in order, each with its answer."""
    bodies, open_ = BodiesByReference(), dict[str, _Answered]()
    found: list[tuple[Exchange, bytes]] = []
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            told = obj(value(line))
            name, one = word(told.get("x")), open_.get(word(told.get("x")))
            if "asked" in told:
                asked = obj(told["asked"])
                body = bodies.body(name, obj(asked.get("body")))
                if number <= last and body is not None:
                    open_[name] = _Answered(Exchange(body, url=word(asked.get("url")), line=number))
            elif one is not None:
                one.take(told)
                if "ended" in told:
                    del open_[name]
                    if one.whole and not word(told.get("error")):
                        found.append((one.exchange, one.raw))
    return sorted(found, key=lambda pair: pair[0].line)


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
            answered = obj(told["answered"])
            self._status = count(answered.get("status"))
            pairs = [listed(one) for one in listed(answered.get("headers"))]
            self._fields = [(word(one[0]), word(one[1])) for one in pairs if len(one) == 2]
        elif "data" in told:
            self._pieces.append(bytes_of({"base64" if told.get("base64") else "text": told["data"]}))

    @property
    def whole(self) -> bool:
        """Whether a model answered it: what was refused or broke off is asked again."""
        return self._status == 200

    @property
    def raw(self) -> bytes:
        """Its answer as it is given again: unpacked, at once, and the connection ends with it."""
        body = b"".join(self._pieces)
        fields = [(name, text) for name, text in self._fields if name.lower() not in _LEFT_OUT]
        head = "".join(f"{name}: {text}\r\n" for name, text in fields if "\n" not in text)
        length = f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        return f"HTTP/1.1 200 OK\r\n{head}{length}".encode("latin-1", "replace") + body
