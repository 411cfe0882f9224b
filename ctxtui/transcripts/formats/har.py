"""HAR files, recorded by a browser or proxy; their model traffic becomes calls (facts §11)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from ctxtui.core.canonical import Json
from ctxtui.core.session import Described, Event, Happened, Skipped
from ctxtui.core.tree import Tree
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.fields import at, count, listed, moment, money, obj, objects, word
from ctxtui.transcripts.kit.http_exchange.exchanges import Exchanges
from ctxtui.transcripts.kit.http_exchange.pair import Exchange, betas_in, sender_of
from ctxtui.transcripts.kit.http_exchange.sockets import SocketTalk, warm_up
from ctxtui.transcripts.kit.readers import json_reader

NAME: Final = "har"


def sniff(head: bytes, name: str) -> float:
    """Confidence that `head` begins a HAR file."""
    first = next(iter(file_head.values(head)), None)
    log = obj(obj(first).get("log"))
    if "entries" in log or {"version", "creator"} <= log.keys():
        return 0.95
    return 0.5 if name.endswith(".har") and log else 0.0


def take(recorded: Json, tree: Tree) -> Iterator[Event]:
    """Yield the events of a HAR file; requests that no model reads are only counted."""
    log = obj(obj(recorded).get("log"))
    exchanges = Exchanges(tree)
    yield Described(source=NAME, client=word(at(log, "creator", "name")), version=word(at(log, "creator", "version")))
    for n, entry in enumerate(listed(log.get("entries"))):
        if not isinstance(entry, dict):
            yield Skipped(1, f"an entry that is no object @ $.log.entries[{n}]")
            continue
        asked = _exchange(entry)
        for exchange in (asked, *(replace(one, sender=asked.sender) for one in _framed(entry))):
            warmed = warm_up(exchange)
            if warmed:
                exchanges.holds(warmed)
                continue
            yield from (event for event in exchanges.take(exchange) if not isinstance(event, Happened))
    if exchanges.other:
        many = "s" if len(exchanges.other) > 1 else ""
        yield Happened("other request", f"{len(exchanges.other):,} request{many} that no model reads")
    yield from exchanges.threads.settle()
    yield Described(title=exchanges.threads.title)


def _exchange(entry: dict[str, Json]) -> Exchange:
    asked, answered = obj(entry.get("request")), obj(entry.get("response"))
    started, lasted = moment(entry.get("startedDateTime")), money(entry.get("time"))
    waited = [money(at(entry, "timings", name)) for name in ("blocked", "dns", "connect", "send", "wait")]
    headers = [(word(one.get("name")), word(one.get("value"))) for one in objects(asked.get("headers"))]
    first = sum(ms for ms in waited if ms is not None and ms > 0) / 1000
    return Exchange(
        request=_text(obj(asked.get("postData"))),
        response=_text(obj(answered.get("content"))),
        url=word(asked.get("url")),
        method=word(asked.get("method")) or "GET",
        status=count(answered.get("status")),
        started=started,
        first_byte=started + first if started is not None and first else None,
        ended=started + lasted / 1000 if started is not None and lasted is not None and 0 <= lasted < 1e12 else None,
        extra=betas_in(headers),
        sender=sender_of({name.lower(): text for name, text in headers}),
    )


def _framed(entry: dict[str, Json]) -> Iterator[Exchange]:
    """Yield the requests sent over an entry's WebSocket, each with its events."""
    talk = SocketTalk(word(at(entry, "request", "url")))
    for frame in listed(entry.get("_webSocketMessages")):
        told = obj(frame)
        done = talk.frame(word(told.get("data")), word(told.get("type")) == "send", moment(told.get("time")))
        if done is not None:
            yield done
    if (rest := talk.close()) is not None:
        yield rest


def _text(held: dict[str, Json]) -> bytes:
    text = word(held.get("text"))
    if held.get("encoding") == "base64":
        try:
            return base64.b64decode(text)
        except (binascii.Error, ValueError):
            return b""
    return text.encode("utf-8", "surrogatepass")


reader = json_reader(take)
