"""Reads LM Studio's server logs: text lines with JSON bodies of requests and answers."""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtui.core import canonical
from ctxtui.core.call import Call
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_dict
from ctxtui.core.session import Described, Event, Skipped
from ctxtui.core.tree import Tree
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.fields import parse_timestamp
from ctxtui.transcripts.kit.http_exchange.exchanges import Exchanges
from ctxtui.transcripts.kit.http_exchange.pair import Exchange
from ctxtui.transcripts.kit.readers import whole_reader

NAME: Final = "lm studio"
_HEAD: Final = r"^\[?(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\]?[ \t]*\[\w+\]\s*(?:\[[^\]\n]*\]\s*)*(?:\d\d:\d\d:\d\d )?"
_MARK: Final = re.compile(
    _HEAD + r"(?:(Received request: )(\w+) to (\S+)(?: with body\s*)?"
    r"|(Generated (?:prediction|packet|[\w-]+ \S+ response)):\s*"
    r"|(Finished streaming response|Done · )([^\n]*))",
    re.MULTILINE,
)
"""A line before a request's or an answer's body, or at the end of an answer.

Groups: time; request, its method and path; answer; end and the rest of its line.
"""
_DONE: Final = re.compile(r"input ([\d,]+)(?: · cached ([\d,]+))? · output ([\d,]+)")


def sniff(head: bytes, name: str) -> float:
    text = file_head.decode_head(head)
    if "[LM STUDIO SERVER]" in text or "LMSAuthenticator" in text or "LMStudio" in text[:4000]:
        return 0.9 if re.search(_HEAD, text, re.MULTILINE) else 0.0
    match = _MARK.search(text)
    return 0.85 if match and match.group(2) else 0.0


class _Pending(Struct):
    """A request, the packets of its answer that are not joined yet, and its usage."""

    exchange: Exchange
    packets: list[Json] = field(default_factory=list)
    usage: Usage | None = None


def _parse(data: bytes, tree: Tree) -> tuple[list[Event], Skipped | None]:
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").replace("\r\n", "\n")
    exchanges = Exchanges(tree)
    events: list[Event] = [Described(source=NAME, client="LM Studio")]
    for pending in _find_requests(text, events):
        events += exchanges.add_exchange(pending.exchange, partial(_with_usage, pending.usage))
    return [*events, *exchanges.threads.settle(), Described(title=exchanges.threads.title)], None


def _with_usage(usage: Usage | None, call: Call) -> Call:
    return call if usage is None or call.usage is not None else replace(call, usage=usage)


def _find_requests(text: str, skipped: list[Event]) -> list[_Pending]:
    """List every request in order, with its answer.

    Answers and packets go to the oldest request without an answer. Requests whose body cannot be read are added to
    `skipped`.
    """
    requests: list[_Pending] = []
    waiting: list[_Pending] = []
    for match in _MARK.finditer(text):
        stamp, received, method, path, answer, end, rest = match.groups()
        time, line = parse_timestamp(stamp), text.count("\n", 0, match.start()) + 1
        body = _parse_object(text, match.end()) if received or answer else None
        if received and body is None and text[match.end() : match.end() + 1] == "{":
            skipped.append(Skipped(line, "the body of this request is not complete JSON"))
        if received and body is not None:
            body_bytes = canonical.dumps(body)
            waiting.append(
                _Pending(Exchange(body_bytes, b"", f"http://localhost{path}", method, started=time, line=line))
            )
            requests.append(waiting[-1])
        elif waiting and answer and answer != "Generated packet" and body is not None:
            _set_answer(waiting.pop(0), canonical.dumps(body), time)
        elif waiting and answer and body is not None:
            waiting[0].packets.append(body)
        elif end and end.startswith("Finished") and waiting and waiting[0].packets:
            pending = waiting.pop(0)
            _set_answer(
                pending, b"".join(_encode_event(packet) for packet in pending.packets) + b"data: [DONE]\n\n", time
            )
        elif end and requests:
            requests[-1].usage = _parse_usage(rest) or requests[-1].usage
    return [_finish_stream(pending) for pending in requests]


def _set_answer(pending: _Pending, body: bytes, time: float | None) -> None:
    pending.exchange = replace(pending.exchange, response=body, ended=time)
    pending.packets = []


def _finish_stream(pending: _Pending) -> _Pending:
    """Answer a request whose stream has no end with the packets received."""
    if pending.packets:
        _set_answer(pending, b"".join(_encode_event(packet) for packet in pending.packets), None)
    return pending


def _encode_event(packet: Json) -> bytes:
    return b"data: " + canonical.dumps(packet) + b"\n\n"


def _parse_usage(text: str) -> Usage | None:
    match = _DONE.search(text)
    if not match:
        return None
    input_tokens, cached, output = (int(n.replace(",", "")[:15] or 0) if n else 0 for n in match.groups())
    return Usage(max(0, input_tokens - cached), cached, output=output, has_cache=match.group(2) is not None)


def _parse_object(text: str, offset: int) -> Json:
    if text[offset : offset + 1] != "{":
        return None
    try:
        return as_dict(canonical.raw_decode(text, offset)[0])
    except (ValueError, RecursionError):
        return None


reader = whole_reader(_parse)
