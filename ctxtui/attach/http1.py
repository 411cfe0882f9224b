"""HTTP/1.1 for passing messages on: finds the ends of heads and bodies, changes heads. No IO."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.wire.bounds import MAX_HEAD_BYTES

END: Final = b"\r\n\r\n"
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_TARGET: Final = re.compile(r"[!-~]+")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
"""All control characters except the tab; some parsers take them for a line end or a blank."""
_BLANK_LINE: Final = re.compile(rb"\n\r?\n")
_STATUS_LINE: Final = re.compile(r"HTTP/1\.[01] ([1-9][0-9]{2})(?: .*)?")
_VERSIONS: Final = ("HTTP/1.0", "HTTP/1.1")
_LENGTH, _CODING = "content-length", "transfer-encoding"
_FRAMING: Final = frozenset((_LENGTH, _CODING, "host", "connection"))
"""Headers that delimit and route messages."""
_LOOKALIKES: Final = frozenset(("content_length", "transfer_encoding"))
"""Names that CGI and WSGI gateways do not distinguish from framing headers."""
_MAX_LENGTH_DIGITS: Final = 15
_HEX: Final = frozenset(b"0123456789abcdefABCDEF")
_CHUNK: Final = re.compile(rb"([0-9a-fA-F]{1,15})\r\n")
_MAX_SIZE_LINE_BYTES: Final = 4096


class Head(Struct, frozen=True):
    """The head of a request or an answer.

    `raw`: its bytes with the blank line; `start`: its first line; `fields`: its headers as written; `values`: by
    lower-case name.
    """

    raw: bytes
    start: str
    fields: tuple[tuple[str, str], ...]
    values: Mapping[str, Sequence[str]]

    def all(self, name: str) -> Sequence[str]:
        """All values of the header `name` (lower case)."""
        return self.values.get(name, ())

    def get(self, name: str) -> str:
        """The first value of the header `name` (lower case); "" for none."""
        values = self.values.get(name)
        return values[0] if values else ""

    @property
    def last(self) -> dict[str, str]:
        return {name: values[-1] for name, values in self.values.items()}

    def holds(self, name: str, word: str) -> bool:
        """Whether a list in the headers `name` has the lower-case `word`."""
        return any(word == part.strip().lower() for value in self.all(name) for part in value.split(","))


class RequestLine(Struct, frozen=True):
    """Method and target (path and query) in a request's first line."""

    method: str
    target: str


def read_head(raw: bytes) -> Head:
    """Parse the head in `raw`, which ends with its blank line.

    Raises `Malformed`, also if parsers could disagree on its headers (RFC 9112 §2.2, §5).
    """
    lines = raw[: -len(END)].decode("latin-1").split("\r\n")
    if _CONTROL.search(lines[0]):
        raise Malformed(f"a control character in a head: {lines[0][:80]!r}")
    fields = [_field(line) for line in lines[1:]]
    values: dict[str, list[str]] = {}
    for name, value in fields:
        values.setdefault(name.lower(), []).append(value)
    return Head(raw, lines[0], tuple(fields), values)


def _field(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon or _TOKEN.fullmatch(name) is None or name.lower() in _LOOKALIKES:
        raise Malformed(f"an invalid header: {line[:80]!r}")
    if _CONTROL.search(value):
        raise Malformed(f"a control character in a head: {line[:80]!r}")
    return name, value.strip(" \t")


def next_head(data: bytes) -> tuple[Head, bytes] | None:
    """The head at the start of `data`, and the rest; None until it is complete. Raises `Malformed`."""
    raw, end, rest = data.partition(END)
    if len(raw) > MAX_HEAD_BYTES:
        raise Malformed(f"a head of more than {MAX_HEAD_BYTES >> 10} KiB")
    if end:
        return read_head(raw + end), rest
    if _BLANK_LINE.search(raw):
        raise Malformed("a head with lines that do not end in CRLF")
    return None


def request_line(head: Head) -> RequestLine:
    """Parse a request's first line. Raises `Malformed`."""
    parts = head.start.split(" ")
    if len(parts) != 3 or parts[2] not in _VERSIONS or not (_TOKEN.fullmatch(parts[0]) and _TARGET.fullmatch(parts[1])):
        raise Malformed(f"not an HTTP/1.1 request: {head.start[:80]!r}")
    return RequestLine(parts[0], parts[1])


def status_of(head: Head) -> int:
    """The status in an answer's first line. Raises `Malformed`."""
    match = _STATUS_LINE.fullmatch(head.start)
    if match is None:
        raise Malformed(f"not an HTTP/1.1 answer: {head.start[:80]!r}")
    return int(match[1])


def with_field(head: Head, name: str, value: str) -> bytes:
    """The bytes of `head` with `value` for the header `name` (lower case), added if missing."""
    lines = head.raw[: -len(END)].split(b"\r\n")
    name_bytes, value_bytes = name.encode() + b":", b": " + value.encode("latin-1")
    size = len(name_bytes)
    is_present = False
    for n, line in enumerate(lines):
        if line[:size].lower() == name_bytes and n:
            lines[n] = line[: size - 1] + value_bytes
            is_present = True
    if not is_present:
        lines.append(name.title().encode() + value_bytes)
    return b"\r\n".join(lines) + END


def with_target(head: bytes, old: str, new: str) -> bytes:
    line, rest = head.split(b"\r\n", 1)
    return line.replace(old.encode("latin-1"), new.encode("latin-1"), 1) + b"\r\n" + rest


def with_length(head: bytes, length: int) -> bytes:
    """The bytes of a head for a plain body of `length` bytes."""
    lines = head[: -len(END)].split(b"\r\n")
    removed = (b"content-length", b"transfer-encoding", b"content-encoding")
    fields = [line for line in lines[1:] if line.partition(b":")[0].strip().lower() not in removed]
    return b"\r\n".join([lines[0], *fields, b"Content-Length: %d" % length]) + END


def keeps_open(head: Head) -> bool:
    if head.holds("connection", "close"):
        return False
    return "HTTP/1.0" not in head.start or head.holds("connection", "keep-alive")


class BodyReader(Struct):
    """Reads a body in chunks, or of `length` bytes (None: up to the connection's end)."""

    length: int | None = 0
    chunked: bool = False
    done: bool = False
    _left: int = 0
    _partial_line: bytes = b""
    _state: str = "size"
    _trailer_bytes: int = 0

    def __post_init__(self) -> None:
        self._left = 0 if self.chunked else self.length or 0
        self.done = not self.chunked and self.length == 0

    def feed(self, data: bytes) -> tuple[int, bytes]:
        """Number of bytes of `data` that belong to the body, and these without chunk framing. Raises `Malformed`."""
        if self.chunked:
            return self._read_chunks(data)
        if self.length is None:
            return len(data), data
        length = min(len(data), self._left)
        self._left -= length
        self.done = not self._left
        return length, data[:length]

    def end(self) -> bool:
        """Handle the end of the connection; returns whether the body is complete."""
        if self.length is None and not self.chunked:
            self.done = True
        return self.done

    def _read_chunks(self, data: bytes) -> tuple[int, bytes]:
        contents: list[bytes] = []
        at = 0
        while at < len(data) and not self.done:
            if self._state == "size" and not self._partial_line:
                at = self._read_complete_chunks(data, at, contents)
            if self._state == "data":
                piece = data[at : at + self._left]
                contents.append(piece)
                at += len(piece)
                self._left -= len(piece)
                if not self._left:
                    self._state = "end"
                continue
            stop = data.find(b"\n", at)
            piece = data[at : stop + 1] if stop >= 0 else data[at:]
            at += len(piece)
            self._partial_line += piece
            if len(self._partial_line) > _MAX_SIZE_LINE_BYTES:
                raise Malformed("a chunk size or trailer field that is too long")
            if stop >= 0:
                line, self._partial_line = self._partial_line, b""
                if not line.endswith(b"\r\n") or b"\r" in line[:-2]:
                    raise Malformed("a line of a chunked body that does not end in CRLF")
                self._read_line(line[:-2])
        return at, b"".join(contents)

    def _read_complete_chunks(self, data: bytes, at: int, contents: list[bytes]) -> int:
        head, size = b"", 0
        while True:
            # Fast path: many chunks are as long as the previous one.
            if not (head and data.startswith(head, at)):
                match = _CHUNK.match(data, at)
                if match is None:
                    return at
                head, size = match[0], int(match[1], 16)
            begin = at + len(head)
            end = begin + size
            if not size or data[end : end + 2] != b"\r\n":
                return at
            contents.append(data[begin:end])
            at = end + 2

    def _read_line(self, line: bytes) -> None:
        text = line.decode("latin-1")
        if _CONTROL.search(text):
            raise Malformed(f"a control character in a chunked body's framing: {line[:40]!r}")
        if self._state == "end":
            if line:
                raise Malformed("a chunk that is longer than its size")
            self._state = "size"
        elif self._state == "size":
            size = line.partition(b";")[0].rstrip(b" \t")
            if not size or not _HEX.issuperset(size) or len(size) > _MAX_LENGTH_DIGITS:
                raise Malformed(f"an invalid chunk size: {line[:40]!r}")
            self._left = int(size, 16)
            self._state = "data" if self._left else "trailer"
        elif not line:
            self.done = True
        else:
            self._trailer_bytes += len(line)
            if _field(text)[0].lower() in _FRAMING or self._trailer_bytes > MAX_HEAD_BYTES:
                raise Malformed(f"a trailer field that is not allowed: {line[:40]!r}")


def _declared_length(head: Head) -> int | None:
    values = head.all(_LENGTH)
    if not values:
        return None
    if len(set(values)) > 1 or not values[0].isdecimal() or len(values[0]) > _MAX_LENGTH_DIGITS:
        raise Malformed(f"an invalid content-length: {', '.join(values)[:40]!r}")
    return int(values[0])


def request_body(head: Head) -> BodyReader:
    """The body after a request's `head`.

    Raises `Malformed`, also for an ambiguous length or host (RFC 9112 §3.2, §6.1, §6.3).
    """
    coding, length, old = head.all(_CODING), _declared_length(head), head.start.endswith("1.0")
    hosts = len(head.all("host"))
    if hosts > 1 or not (hosts or old):
        raise Malformed(f"{hosts} hosts")
    if (coding and length is not None) or len(head.all(_LENGTH)) > 1:
        raise Malformed("a body with two lengths")
    if coding and (old or [value.lower() for value in coding] != ["chunked"]):
        raise Malformed(f"a transfer-encoding without a known end: {', '.join(coding)[:40]!r}")
    if any(head.holds("connection", name) for name in _FRAMING):
        raise Malformed("a Connection header that removes a framing header")
    return BodyReader(0, chunked=True) if coding else BodyReader(length or 0)


def answer_body(head: Head, status: int, method: str) -> BodyReader:
    """The body after an answer's `head`, to a request of `method`. Raises `Malformed`."""
    if method == "HEAD" or status < 200 or status in (204, 304):
        return BodyReader(0)
    coding = ",".join(head.all(_CODING))
    if coding.rpartition(",")[2].strip().lower() == "chunked":
        return BodyReader(0, chunked=True)
    return BodyReader(None if coding else _declared_length(head))


def has_sure_length(head: Head) -> bool:
    """Whether an answer's length is unambiguous.

    If not, nothing may follow it on its connection.
    """
    coding, lengths = head.all(_CODING), len(head.all(_LENGTH))
    return not lengths if coding and head.start.startswith("HTTP/1.1") else not coding and lengths < 2


_REASONS: Final = {
    400: "Bad Request",
    403: "Forbidden",
    404: "Not Found",
    407: "Proxy Authentication Required",
    502: "Bad Gateway",
}


def build_error_answer(status: int, why: str) -> bytes:
    """An error answer in a form that the SDKs show; it asks to close the connection."""
    error = {"type": "error", "error": {"type": "ctxtui_relay", "message": f"ctxtui: {why}"}}
    body = json.dumps(error).encode()
    # RFC 9110 §15.5.8: clients may wait for this before they send credentials.
    challenge = 'proxy-authenticate: Basic realm="ctxtui"\r\n' if status == 407 else ""
    head = (
        f"HTTP/1.1 {status} {_REASONS.get(status, 'Error')}\r\n{challenge}content-type: application/json\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body


def to_socket_messages(answer: bytes) -> list[str]:
    """The WebSocket messages for an HTTP/1.1 answer: a stream's events, or one error."""
    head, _, body = answer.partition(END)
    start = head.split(b"\r\n", 1)[0].split(b" ")
    status = int(start[1]) if len(start) > 1 and start[1].isdigit() else 502
    events = [line[5:].strip().decode("utf-8", "replace") for line in body.splitlines() if line.startswith(b"data:")]
    if events and status == 200:
        return [event for event in events if event != "[DONE]"]
    try:
        value = json.loads(body)
    except ValueError:
        value = {}
    error: Json = value.get("error") if isinstance(value, dict) else None
    return [json.dumps({"type": "error", "status": status, "error": error or {"message": "refused"}})]
