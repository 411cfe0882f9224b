"""The recorded answers of a session up to the call that a program forks from."""

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
from ctxtui.core.json_values import as_count, as_dict, as_list, as_str
from ctxtui.core.session import MAIN
from ctxtui.offline.playback import MessageContents, message_contents
from ctxtui.services.recordings.recording import Loaded
from ctxtui.transcripts.formats.attached import NAME
from ctxtui.transcripts.kit.conversations import CLIENT_TEXT
from ctxtui.transcripts.kit.fields import get_path
from ctxtui.transcripts.kit.http_exchange.decode import decode
from ctxtui.transcripts.kit.http_exchange.pair import Exchange, parse_body
from ctxtui.transcripts.kit.http_exchange.recorded_bodies import BodiesByReference, decode_bytes
from ctxtui.transcripts.kit.http_exchange.sockets import SocketExchanges, warm_up_id
from ctxtui.wire.translate.turns import RESULT, SYSTEM

VOLATILE_TEXT: Final = re.compile(r"\b(?=[0-9a-fA-F-]*\d)[0-9a-fA-F][0-9a-fA-F.:-]*")
"""Matches numbers, times, and random ids, which differ from run to run."""
CONNECTION_HEADERS: Final = frozenset(
    ("content-length", "content-encoding", "transfer-encoding", "connection", "keep-alive", "date", "server")
)
"""Headers that belong to the recorded connection."""


class RecordedAnswer(Struct, frozen=True):
    """An HTTP/1.1 answer to replay.

    `number` is that of its call in the forked thread; 0 if it has no call there.
    """

    raw: bytes
    number: int


class RecordedAnswers:
    """Recorded answers, looked up by the messages of a request.

    System prompt, tools and parameters may differ: they are what a fix changes. `name` is the session's, `thread` the
    forked thread ("": the main one); its first `calls` calls are answered from the recording.
    """

    def __init__(self, name: str, calls: int, thread: str = "") -> None:
        self.name, self.calls, self.thread = name, calls, thread
        self._answers: list[tuple[MessageContents, MessageContents, RecordedAnswer]] = []

    def add(self, messages: MessageContents | None, answer: RecordedAnswer) -> None:
        """Store the messages of a recorded request, if they could be read, and its answer."""
        if messages is not None:
            self._answers.append((messages, _mask_volatile(messages), answer))

    def __len__(self) -> int:
        return len(self._answers)

    def take_answer(self, url: str, body: bytes) -> RecordedAnswer | None:
        """Take the next recorded answer to a request with these messages; None if none is left.

        Volatile parts may differ, but an answer to exactly these messages comes first.
        """
        messages = messages_in(url, body)
        if messages is None:
            return None
        masked = _mask_volatile(messages)
        matches = [n for n, (_, steady, _) in enumerate(self._answers) if steady == masked]
        matches.sort(key=lambda n: self._answers[n][0] != messages)
        return self._answers.pop(matches[0])[2] if matches else None


def messages_in(url: str, body: bytes) -> MessageContents | None:
    """The messages of a request to `url`; None if it is no readable request to a model."""
    try:
        decoded = decode(Exchange(body, url=url))
    except Malformed:
        return None
    return None if decoded is None else _messages_of(decoded.items)


def _messages_of(items: Sequence[Item]) -> MessageContents:
    """All messages but the system's, which a client writes anew each time."""
    return tuple(message for message in message_contents(items) if message[0] not in SYSTEM)


def _mask_volatile(messages: MessageContents) -> MessageContents:
    """Mask what differs from run to run: numbers and ids in tool results and client texts."""
    return tuple(
        (side, kind, VOLATILE_TEXT.sub("#", text) if kind == RESULT or CLIENT_TEXT.match(text) else text)
        for side, kind, text in messages
    )


def collect_answers(loaded: Loaded, thread: str, number: int) -> RecordedAnswers:
    """Collect the answers of an attached session up to a call of `thread`.

    `number` is that of the call (0: the last one). Raises `BadConfig` for a session without recorded answers,
    `NotFound` for an unknown call.
    """
    if loaded.source != NAME or loaded.path is None:
        raise BadConfig(
            f"{loaded.name} was not recorded by ctxtui exec: its exact answers are not known",
            place="--fork",
            way_out="`ctxtui offline --play` replays the answers of any recording",
        )
    session = loaded.session
    calls = session.thread_calls(thread)
    if not calls or number > len(calls):
        raise NotFound(f"there is no call {number} in {loaded.name}", place="--fork", way_out=f"it has {len(calls)}")
    number = number or len(calls)
    answers = RecordedAnswers(loaded.name, number, "" if thread == MAIN else thread)
    numbers = {call.id: n for n, call in enumerate(calls[:number], 1) if BY_TRANSCRIPT not in call.extra}
    if not numbers:
        raise BadConfig(
            f"the calls up to {number} of {loaded.name} were not recorded by ctxtui exec: "
            "only the client's transcript has them",
            place="--fork",
            way_out="fork from a later call",
        )
    by_id = session.calls
    by_line = {call.line: call for call in session.calls.values() if BY_TRANSCRIPT not in call.extra}
    last = list(numbers)[-1]
    exchanges = [
        (exchange, by_id.get(exchange.id) if exchange.id else by_line.get(exchange.begun))
        for exchange in _read_exchanges(loaded.path)
    ]
    end = max((exchange.begun for exchange, call in exchanges if call is not None and call.id == last), default=0)
    for exchange, call in exchanges:
        if call is not None and call.keeps_warm:
            # The answer to this request of ctxtui is one token, which no client asked for.
            continue
        messages = (
            _messages_of(session.tree.items(call.raw_head))
            if call is not None
            else messages_in(exchange.exchange.url, exchange.exchange.request)
        )
        if exchange.begun <= end:
            answers.add(messages, RecordedAnswer(exchange.raw, numbers.get(call.id, 0) if call is not None else 0))
    return answers


def _read_exchanges(path: Path) -> list[AnsweredExchange]:
    """Read the exchanges with complete answers, in the order in which they began."""
    bodies, open_exchanges = BodiesByReference(), dict[str, _PendingExchange | _Socket]()
    exchanges: list[AnsweredExchange] = []
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            record = as_dict(parse_body(line))
            name = as_str(record.get("x"))
            pending = open_exchanges.get(name)
            if "asked" in record:
                request = as_dict(record["asked"])
                body = bodies.resolve(name, as_dict(request.get("body")))
                if body is not None:
                    open_exchanges[name] = _PendingExchange(Exchange(body, url=as_str(request.get("url")), line=number))
            elif isinstance(pending, _Socket):
                exchanges += pending.add_record(record, number)
            elif pending is not None:
                pending.add_record(record)
                if pending.is_websocket:
                    open_exchanges[name] = _Socket(pending.exchange.url)
                elif "ended" in record:
                    del open_exchanges[name]
                    if pending.is_answered and not as_str(record.get("error")):
                        exchanges.append(
                            AnsweredExchange(exchange=pending.exchange, raw=pending.raw, begun=pending.exchange.line)
                        )
    return sorted(exchanges, key=lambda exchange: exchange.begun)


class AnsweredExchange(Struct, frozen=True, kw_only=True):
    """An exchange with its answer to replay.

    `begun` is the line at which it begins, `id` that of a response over a WebSocket.
    """

    exchange: Exchange
    raw: bytes
    begun: int
    id: str = ""


class _PendingExchange:
    """An exchange, and the part of its answer read so far."""

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self._status = 0
        self._fields: list[tuple[str, str]] = []
        self._pieces: list[bytes] = []

    def add_record(self, record: dict[str, Json]) -> None:
        if "answered" in record:
            answer = as_dict(record["answered"])
            self._status = as_count(answer.get("status"))
            pairs = [as_list(pair) for pair in as_list(answer.get("headers"))]
            self._fields = [(as_str(pair[0]), as_str(pair[1])) for pair in pairs if len(pair) == 2]
        elif "data" in record:
            self._pieces.append(decode_bytes({"base64" if record.get("base64") else "text": record["data"]}))

    @property
    def is_websocket(self) -> bool:
        return self._status == 101

    @property
    def is_answered(self) -> bool:
        return self._status == 200

    @property
    def raw(self) -> bytes:
        """Its answer to replay: decompressed, in one piece, closing the connection."""
        return _raw([(name, text) for name, text in self._fields if "\n" not in text], b"".join(self._pieces))


class _Socket:
    """A WebSocket, and the answers that came over it."""

    def __init__(self, url: str) -> None:
        self._exchanges = SocketExchanges(url)
        self._begun = 0

    def add_record(self, record: dict[str, Json], number: int) -> Iterator[AnsweredExchange]:
        """Read a line; yield the exchange that it completes."""
        if "frame" not in record:
            return
        from_client = record.get("by") == "client"
        exchange = self._exchanges.add_frame(as_str(record["frame"]), from_client, None)
        begun, self._begun = self._begun, number if from_client else self._begun
        if exchange is None or warm_up_id(exchange):
            # A warm-up request goes to the provider: it costs nothing.
            return
        events = [
            as_dict(parse_body(line[6:])) for line in exchange.response.splitlines() if line.startswith(b"data: ")
        ]
        last = events[-1] if events else {}
        if as_str(last.get("type")) == "response.completed":
            raw = _raw([("content-type", "text/event-stream")], exchange.response)
            yield AnsweredExchange(exchange=exchange, raw=raw, begun=begun, id=as_str(get_path(last, "response", "id")))


def _raw(fields: Sequence[tuple[str, str]], body: bytes) -> bytes:
    head = "".join(f"{name}: {text}\r\n" for name, text in fields if name.lower() not in CONNECTION_HEADERS)
    length = f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
    return f"HTTP/1.1 200 OK\r\n{head}{length}".encode("latin-1", "replace") + body
