"""Rebuilds the requests of one Claude Code file from its request records (facts §13.1).

Such a record has the parameters of a request, and names its system prompt, tools and messages by hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
from msgspec import Raw, Struct, field

from ctxtui.core import canonical
from ctxtui.core.block import Item
from ctxtui.core.call import Call, Fidelity, Skeleton
from ctxtui.core.canonical import Json
from ctxtui.core.session import Skipped
from ctxtui.core.tree import Tree
from ctxtui.transcripts.formats.claude_code.request_log.store import MESSAGES, SYSTEM, TOOLS, RequestShape, RequestStore
from ctxtui.transcripts.kit.fields import parse_timestamp
from ctxtui.transcripts.kit.records import RawRecord
from ctxtui.wire.codec.frame import Frame, MemberText
from ctxtui.wire.codec.skeleton import STRING, markers_json
from ctxtui.wire.codec.style import COMPACT
from ctxtui.wire.grammar import ANTHROPIC
from ctxtui.wire.parts import WireMarker
from ctxtui.wire.request import Request

_SHAPE: Final = "api-request-shape"
_BLOB: Final = "api-request-blob"
_REQUEST: Final = "api-request"
KINDS: Final = frozenset({_SHAPE, _BLOB, _REQUEST})


class RequestRecord(msgspec.Struct, rename="camel"):
    """A record of any of the three kinds.

    A *shape* has system texts and tools. A *blob* has one message. A *request* has hashes of its messages: the first
    `keep` of the request `base`, then those of `tail`.
    """

    type: str
    id: str = ""
    hash: str = ""
    message: Raw = Raw(b"null")
    shape_hash: str = ""
    shape: Raw = Raw(b"null")
    base: str | None = None
    keep: int = 0
    tail: list[str] = []
    params: Raw = Raw(b"{}")
    withheld: Raw = Raw(b"null")
    cut: Raw = Raw(b"null")
    cache_control: Raw = Raw(b"[]")
    query_source: str | None = None
    request_digest: str | None = None
    timestamp: str | float | None = None


_decoder: Final = msgspec.json.Decoder(RequestRecord)


def decode_request(raw: bytes) -> RequestRecord:
    """Decode the JSON object `raw`; raises `msgspec.MsgspecError` if a member has another type."""
    return _decoder.decode(raw)


class RecordedMarker(NamedTuple):
    """A cache breakpoint: its value, and its `path` from the body's top.

    For example ``("messages", 1, "content", 0)``; empty if it was recorded in another form.
    """

    path: tuple[str | int, ...]
    value: Json


def recorded_markers(record: RequestRecord) -> list[RecordedMarker]:
    """List the cache breakpoints of a recorded request."""
    listed = canonical.loads(bytes(record.cache_control))
    markers = []
    for entry in listed if isinstance(listed, list) else [listed]:
        path = entry.get("path") if isinstance(entry, dict) else None
        steps = path if isinstance(path, list) else []
        plain = all(type(step) in (str, int) for step in steps)
        markers.append(
            RecordedMarker(tuple(steps) if plain else (), entry.get("value") if isinstance(entry, dict) else entry)
        )
    return markers


_UNKNOWN: Final = -1
_ROOT: Final = ""
"""The hash of the path without messages."""
_BETAS, _CUT, _WITHHELD = "betas", "cut", "withheld"
_MODEL: Final = "model"
_MARKER: Final = "cache_control"


class SentMessage(Struct, eq=False):
    """A message of a request, after the messages before it (`up`).

    - `count`: number of messages including it.
    - `head`: the node at which it ends.
    - `lost`: hash of a message up to it that is missing in the file; "": none is.
    - `next`: messages that follow it in some request, by hash.
    """

    up: SentMessage | None
    hash: str
    count: int
    head: int = _UNKNOWN
    lost: str = ""
    next: dict[str, SentMessage] = field(default_factory=dict)


class ClaudeRequest(Struct, kw_only=True, eq=False):
    """A recorded request.

    - `shape`: hash of its system prompt and tools (`RequestShape`).
    - `last`: its last message; None if the request that it continues is not in the file (`lost`: its id).
    - `answered`: an answer names it; `fresh`: it continues no other request.
    - `at`: its time (Unix seconds); None if not recorded.
    """

    id: str
    record: RequestRecord
    line: int
    bytes_: tuple[int, int]
    shape: str
    last: SentMessage | None
    lost: str
    fresh: bool
    at: float | None
    answered: bool = False


class ClaudeRequests:
    """The requests of one file; `shared` is the store of the session's own file."""

    def __init__(self, tree: Tree, shared: RequestStore | None = None) -> None:
        self._tree = tree
        self._shared = shared
        self.store = RequestStore(tree)
        self._requests: dict[str, ClaudeRequest] = {}
        self._roots: dict[str, SentMessage] = {}
        """The path without messages of each shape, by the shape's hash."""
        self._frames: dict[tuple[bytes, str], Json] = {}
        self._reported: set[str] = set()
        self.last: ClaudeRequest | None = None
        self.answered: ClaudeRequest | None = None
        """The request that the latest answer names."""

    def add_record(self, source: RawRecord) -> tuple[ClaudeRequest | None, list[Skipped]]:
        """Handle a record; return its request, if any, and what could not be read."""
        try:
            record = decode_request(source.raw)
            if record.type == _SHAPE:
                self.store.put_shape(record.shape_hash, canonical.loads(bytes(record.shape)))
            elif record.type == _BLOB:
                self.store.put_blob(record.hash, canonical.loads(bytes(record.message)))
            else:
                return self._add_request(record, source), []
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            return None, [Skipped(source.line, f"a record of a request that cannot be read: {error}")]
        return None, []

    def _add_request(self, record: RequestRecord, source: RawRecord) -> ClaudeRequest:
        for raw in (record.params, record.cache_control, record.withheld, record.cut):
            # Raises if nested too deeply.
            canonical.loads(bytes(raw))
        last: SentMessage | None = self._roots.setdefault(record.shape_hash, SentMessage(None, _ROOT, 0))
        base = self._requests.get(record.base) if record.base else None
        if record.keep:
            last = self._kept_message(base, record) if base is not None else None
        for hash_ in record.tail if last is not None else ():
            previous = last
            assert previous is not None
            last = previous.next.get(hash_)
            if last is None:
                last = previous.next[hash_] = SentMessage(previous, hash_, previous.count + 1)
        request = ClaudeRequest(
            id=record.id,
            record=record,
            line=source.line,
            bytes_=(source.start, source.end),
            shape=record.shape_hash,
            last=last,
            lost="" if last is not None else base.lost if base is not None and base.lost else str(record.base),
            fresh=not record.base,
            at=parse_timestamp(record.timestamp),
        )
        self._requests[record.id] = request
        self.last = request
        return request

    def _kept_message(self, base: ClaudeRequest, record: RequestRecord) -> SentMessage | None:
        last = base.last
        if last is None or not 0 <= record.keep <= last.count:
            return None
        while last is not None and last.count > record.keep:
            last = last.up
        if last is None or base.shape == record.shape_hash:
            return last
        hashes: list[str] = []
        while last is not None and last.up is not None:
            hashes.append(last.hash)
            last = last.up
        moved = self._roots[record.shape_hash]
        for hash_ in reversed(hashes):
            kept_message = moved.next.get(hash_)
            if kept_message is None:
                kept_message = moved.next[hash_] = SentMessage(moved, hash_, moved.count + 1)
            moved = kept_message
        return moved

    def continues_answered(self, request: ClaudeRequest) -> bool:
        """Whether a request begins with all messages of the last answered one."""
        last = self.answered.last if self.answered is not None else None
        message = request.last
        while message is not None and last is not None and message.count > last.count:
            message = message.up
        while message is not None and last is not None and message is not last:
            if message.hash != last.hash or message.count != last.count:
                return False
            message, last = message.up, last.up
        return (message is not None and message is last) or (
            message is None and last is None and self.answered is not None
        )

    def find(self, id_: str) -> ClaudeRequest | None:
        return self._requests.get(id_)

    def shape_of(self, request: ClaudeRequest) -> RequestShape | None:
        """Return system prompt and tools of a request; None if they are not recorded."""
        shape = self.store.shape(request.shape)
        return shape or (self._shared.shape(request.shape) if self._shared is not None else None)

    def rebuild(self, request: ClaudeRequest) -> tuple[Call | None, list[Skipped]]:
        """Rebuild a request as a call without an answer; None if impossible. Also returns what is missing.

        The same missing part is returned only once.
        """
        shape = self.shape_of(request)
        if shape is None:
            return None, self._skip_once(request, f"shape {request.shape[:12]}", "its system prompt and tools are")
        if request.last is None:
            return None, self._skip_once(request, request.lost, "the request that it continues is")
        lost = self._build_nodes(request.last, shape)
        if lost:
            return None, self._skip_once(request, lost, f"message {lost[:12]} of it is")
        if not request.last.count:
            return None, self._skip_once(request, request.id, "every message of it is")
        markers, notes = self._locate_markers(request, shape)
        parts: dict[str, Json] = {"frame": self._build_frame(request, shape)}
        if markers:
            parts["marks"] = markers_json(markers)
        if shape.string:
            parts["sections"] = {SYSTEM: {"form": STRING}}
        extra = _extra_facts(request.record)
        head, skeleton = request.last.head, Skeleton(ANTHROPIC, parts)
        call = Call(
            request.id,
            "",
            head,
            head,
            head,
            provider=ANTHROPIC,
            model=Request((), skeleton).model,
            started=request.at,
            # The client may omit texts from its records.
            fidelity=Fidelity.TRANSCRIPT if extra.keys() & {_CUT, _WITHHELD} else Fidelity.WIRE,
            skeleton=skeleton,
            line=request.line,
            bytes_=request.bytes_,
            extra=extra,
        )
        return call, notes

    def _skip_once(self, request: ClaudeRequest, cause: str, what: str) -> list[Skipped]:
        if cause in self._reported:
            return []
        self._reported.add(cause)
        text = f"a request cannot be rebuilt: {what} not in the file; it is read from the recorded messages"
        return [Skipped(request.line, text)]

    def _build_nodes(self, last: SentMessage, shape: RequestShape) -> str:
        """Build the nodes up to `last`; returns the hash of a missing message ("": none)."""
        unbuilt: list[SentMessage] = []
        at: SentMessage | None = last
        while at is not None and at.head == _UNKNOWN:
            if at.lost and self._message_items(at.lost) is None:
                last.lost = at.lost
                return at.lost
            unbuilt.append(at)
            at = at.up
        for message in reversed(unbuilt):
            if message.up is None:
                message.head = shape.head
                continue
            items = self._message_items(message.hash)
            if items is None:
                last.lost = message.lost = message.hash
                return message.hash
            message.head = self._tree.extend(message.up.head, items)
        return ""

    def _message_items(self, hash_: str) -> Sequence[Item] | None:
        items = self.store.message(hash_)
        return items if items is not None or self._shared is None else self._shared.message(hash_)

    def _locate_markers(
        self, request: ClaudeRequest, shape: RequestShape
    ) -> tuple[dict[int, tuple[WireMarker, ...]], list[Skipped]]:
        """The cache breakpoints by item index, and a note on those whose position does not exist."""
        markers: dict[int, tuple[WireMarker, ...]] = {}
        lost = 0
        message = request.last
        tree, nodes = self._tree, self._tree.path(shape.head)
        listed = recorded_markers(request.record)
        for marker in sorted(listed, key=lambda member: -_message_index(member)):
            path, node, inner = marker.path, -1, -1
            match path:
                case ("tools", int(n)) if 0 <= n < shape.tools:
                    node = nodes[n]
                case ("system", int(n)) if 0 <= n < shape.system:
                    node = nodes[shape.tools + n]
                case ("messages", int(m), "content", int(n), *rest):
                    while message is not None and message.up is not None and message.count > m + 1:
                        message = message.up
                    if message is not None and message.up is not None and message.count == m + 1:
                        message_nodes = tree.path(message.head, message.up.head)
                        node = message_nodes[n + 1] if 0 <= n < len(message_nodes) - 1 else -1
                    if rest:
                        inner = rest[1] if len(rest) == 2 and isinstance(rest[1], int) else -2
            value = tree[node].block.value() if node >= 0 else None
            if not isinstance(value, dict) or inner < -1:
                lost += 1
                continue
            item = tree[node].depth - 1
            last = len(value) if inner < 0 else _count_parts(value, inner)
            markers[item] = (*markers.get(item, ()), WireMarker(inner, _MARKER, last, marker.value))
        if not lost:
            return markers, []
        text = f"{lost} cache marker{'s' if lost > 1 else ''} of a request at positions that it does not have"
        return markers, [Skipped(request.line, text)]

    def _build_frame(self, request: ClaudeRequest, shape: RequestShape) -> Json:
        key = (bytes(request.record.params), request.shape)
        frame = self._frames.get(key)
        if frame is None:
            params = _body_params(request.record)
            texts: list[tuple[str, str | None]] = (
                [(_MODEL, COMPACT.write(params.pop(_MODEL)))] if _MODEL in params else []
            )
            texts.append((MESSAGES, None))
            texts += [(name, None if full else "[]") for name, full in shape.sections.items()]
            texts += [(name, COMPACT.write(value)) for name, value in params.items()]
            entries = [
                MemberText("," if n else "{", COMPACT.write(name), ":", text) for n, (name, text) in enumerate(texts)
            ]
            frame = self._frames[key] = Frame(tuple(entries), "}").to_json()
        return frame


def _body_params(record: RequestRecord) -> dict[str, Json]:
    value = canonical.loads(bytes(record.params))
    beyond = (MESSAGES, SYSTEM, TOOLS, _BETAS)
    return {key: item for key, item in value.items() if key not in beyond} if isinstance(value, dict) else {}


def _extra_facts(record: RequestRecord) -> dict[str, Json]:
    params = canonical.loads(bytes(record.params))
    facts = {
        _BETAS: params.get(_BETAS) if isinstance(params, dict) else None,
        "querySource": record.query_source,
        "requestDigest": record.request_digest,
        _WITHHELD: canonical.loads(bytes(record.withheld)),
        _CUT: canonical.loads(bytes(record.cut)),
    }
    return {key: value for key, value in facts.items() if value}


def _message_index(marker: RecordedMarker) -> int:
    path = marker.path
    return path[1] if len(path) > 1 and path[0] == MESSAGES and isinstance(path[1], int) else -1


def _count_parts(value: dict[str, Json], inner: int) -> int:
    content = value.get("content")
    item = content[inner] if isinstance(content, list) and 0 <= inner < len(content) else None
    return len(item) if isinstance(item, dict) else 0
