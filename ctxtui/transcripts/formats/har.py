"""HAR files, recorded by a browser or proxy; their model traffic becomes calls (facts §11)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_count, as_dict, as_list, as_number, as_str
from ctxtui.core.session import Described, Event, Happened, Skipped
from ctxtui.core.tree import Tree
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.fields import as_dicts, as_time, get_path
from ctxtui.transcripts.kit.http_exchange.exchanges import Exchanges
from ctxtui.transcripts.kit.http_exchange.pair import Exchange, identify_sender, read_betas
from ctxtui.transcripts.kit.http_exchange.recorded_bodies import decode_bytes
from ctxtui.transcripts.kit.http_exchange.sockets import SocketExchanges, warm_up_id
from ctxtui.transcripts.kit.readers import json_reader

NAME: Final = "har"


def sniff(head: bytes, name: str) -> float:
    first = next(iter(file_head.parse_values(head)), None)
    log = as_dict(as_dict(first).get("log"))
    if "entries" in log or {"version", "creator"} <= log.keys():
        return 0.95
    return 0.5 if name.endswith(".har") and log else 0.0


def read_session(recorded: Json, tree: Tree) -> Iterator[Event]:
    """Yield the events of a HAR file; requests that no model reads are only counted."""
    log = as_dict(as_dict(recorded).get("log"))
    exchanges = Exchanges(tree)
    yield Described(
        source=NAME,
        client=as_str(get_path(log, "creator", "name")),
        version=as_str(get_path(log, "creator", "version")),
    )
    for n, entry in enumerate(as_list(log.get("entries"))):
        if not isinstance(entry, dict):
            yield Skipped(1, f"an entry that is not an object @ $.log.entries[{n}]")
            continue
        main_exchange = _exchange(entry)
        for exchange in (
            main_exchange,
            *(replace(message, sender=main_exchange.sender) for message in _socket_exchanges(entry)),
        ):
            warmed = warm_up_id(exchange)
            if warmed:
                exchanges.hold_warm_up(exchange, warmed)
                continue
            yield from (event for event in exchanges.add_exchange(exchange) if not isinstance(event, Happened))
    if exchanges.other_requests:
        many = "s" if len(exchanges.other_requests) > 1 else ""
        yield Happened("other request", f"{len(exchanges.other_requests):,} request{many} without a context")
    yield from exchanges.threads.settle()
    yield Described(title=exchanges.threads.title)


def _exchange(entry: dict[str, Json]) -> Exchange:
    request, response = as_dict(entry.get("request")), as_dict(entry.get("response"))
    started, lasted = as_time(entry.get("startedDateTime")), as_number(entry.get("time"))
    waited = [as_number(get_path(entry, "timings", name)) for name in ("blocked", "dns", "connect", "send", "wait")]
    headers = [(as_str(header.get("name")), as_str(header.get("value"))) for header in as_dicts(request.get("headers"))]
    first = sum(ms for ms in waited if ms is not None and ms > 0) / 1000
    return Exchange(
        request=_text(as_dict(request.get("postData"))),
        response=_text(as_dict(response.get("content"))),
        url=as_str(request.get("url")),
        method=as_str(request.get("method")) or "GET",
        status=as_count(response.get("status")),
        started=started,
        first_byte=started + first if started is not None and first else None,
        ended=started + lasted / 1000 if started is not None and lasted is not None and 0 <= lasted < 1e12 else None,
        extra=read_betas(headers),
        sender=identify_sender({name.lower(): text for name, text in headers}),
    )


def _socket_exchanges(entry: dict[str, Json]) -> Iterator[Exchange]:
    """Yield the requests sent over an entry's WebSocket, each with its events."""
    socket = SocketExchanges(as_str(get_path(entry, "request", "url")))
    for frame in as_list(entry.get("_webSocketMessages")):
        message = as_dict(frame)
        done = socket.add_frame(
            as_str(message.get("data")), as_str(message.get("type")) == "send", as_time(message.get("time"))
        )
        if done is not None:
            yield done
    if (rest := socket.close()) is not None:
        yield rest


def _text(content: dict[str, Json]) -> bytes:
    return decode_bytes({"base64" if content.get("encoding") == "base64" else "text": content.get("text")})


reader = json_reader(read_session)
