"""Records of a Claude Code session as a resumed file has them: kept as they are, changed, or new."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct, field

from ctxtui.core import block_content, canonical
from ctxtui.core.block import of
from ctxtui.core.call import MAKER
from ctxtui.transcripts.formats.claude_code.attachments import items_of
from ctxtui.transcripts.formats.claude_code.message import SYNTHETIC, client_text, said
from ctxtui.transcripts.formats.claude_code.records import decode
from ctxtui.transcripts.kit.record_pieces import FoundObject
from ctxtui.transcripts.kit.records import RecordStream

_ABOUT: Final[tuple[str, ...]] = (
    "isSidechain",
    "userType",
    "entrypoint",
    "cwd",
    "sessionId",
    "version",
    "gitBranch",
    "slug",
)
COPIED: Final = "copiedBy"
"""The member of an answer's record that says that ctxtui wrote it: the call was made in another session, if at all. The
client passes over it."""
REQUEST: Final = "api-request"
"""How the types of records begin that tell what was sent: they repeat messages, and no client resumes from them."""
_FEW: Final = 12
"""Hex digits of a record's uuid that name a new answer."""


class SourceRecord(Struct):
    """One record of the source: its bytes as they stand, its value, the digests of the blocks it holds and which of
    them answer which call (part -> call id).

    `parts` is its message's content as it is to be and `usage` its report, None where nothing changed; `set_` gives
    other members new values (None: they go); `removed` says that the record goes.
    """

    raw: bytes
    value: dict[str, Any]
    digests: list[str] = field(default_factory=list)
    answers: dict[int, str] = field(default_factory=dict)
    removed: bool = False
    parts: list[Any] | None = None
    usage: dict[str, Any] | None = None
    set_: dict[str, bytes | None] = field(default_factory=dict)

    @property
    def touched(self) -> bool:
        """Whether what it says is not what it said."""
        return self.removed or self.parts is not None

    @property
    def answer_id(self) -> str:
        """The id of the model's answer that it is a part of; "" where it is none."""
        message = self.value.get("message")
        if self.value.get("type") != "assistant" or self.value.get("isSidechain") or not isinstance(message, dict):
            return ""
        return "" if message.get("model") == SYNTHETIC else str(message.get("id") or self.value.get("uuid") or "")

    def change(self, part: int, value: Any) -> bool:
        """Let the 0-based `part` of its message be `value` (None: leave it out); False where it holds no message."""
        message = self.value.get("message")
        if not isinstance(message, dict) or self.removed:
            return self.removed and value is None
        if self.parts is None:
            content = message.get("content")
            self.parts = list(content) if isinstance(content, list) else [content]
        self.parts[part] = value
        self.removed = all(one is None for one in self.parts)
        return True

    @property
    def members(self) -> dict[str, bytes | None]:
        """The members that a change gives other values, as JSON text; None for those that go."""
        members: dict[str, bytes | None] = dict(self.set_)
        changed: dict[str, Any] = {} if self.usage is None else {"usage": self.usage}
        if self.parts is not None:
            parts = [one for one in self.parts if one is not None]
            changed["content"] = _content(parts)
            if "toolUseResult" in self.value:
                # The client's own copy of what the result said.
                members["toolUseResult"] = canonical.dumps("\n".join(_words(one) for one in parts))
        if changed:
            members["message"] = canonical.dumps({**self.value["message"], **changed})
        return members


def read(source: bytes, until: int) -> tuple[list[SourceRecord], list[str]]:
    """The records of `source` before line `until` (1-based; 0: all of them), and what of it could not be read."""
    stream = RecordStream()
    records: list[SourceRecord] = []
    lost: list[str] = []
    known: set[str] = set()
    for piece in [*stream.feed(source), *stream.settle()]:
        if until and piece.line >= until:
            break
        if isinstance(piece, FoundObject):
            raw = source[piece.start : piece.end]
            made = _record(piece.raw if piece.note or b"\n" in raw else raw, piece.raw)
            uuid = str(made.value.get("uuid") or "")
            if uuid in known:
                lost.append("a record that stands in the file twice is written once")
                continue
            known |= {uuid} if uuid else set()
            records.append(made)
        else:
            lost.append(f"line {piece.line}: {piece.reason}")
    if stream.tail is not None and not until:
        lost.append(f"line {stream.tail.line}: {stream.tail.reason}")
    return records, lost


def _record(raw: bytes, tidy: bytes) -> SourceRecord:
    made = SourceRecord(raw, canonical.loads(tidy))
    typed = decode(tidy)
    if typed.is_sidechain or (typed.type or "").startswith(REQUEST):
        return made
    message = said(typed, None)
    if message is not None:
        made.digests = [part.block.digest for part in message.parts]
        made.answers = {n: part.answers for n, part in enumerate(message.parts) if part.answers}
    elif typed.type == "attachment":
        made.digests = [item.block.digest for item in items_of(typed.json("attachment"))]
    elif typed.subtype == "local_command":
        made.digests = [item.block.digest for item in client_text(typed.json("content"))]
    return made


def made_record(like: dict[str, Any], role: str, parts: list[Any], uuid: str) -> dict[str, Any]:
    """A new record with a message of `role`, about the same session and client as the record `like`."""
    about = {key: like[key] for key in _ABOUT if key in like}
    message: dict[str, Any] = {"role": role, "content": _content(parts)}
    if role == "assistant":
        about |= {COPIED: MAKER}
        usage = {"input_tokens": 0, "output_tokens": 0}
        own = {"id": f"msg_{uuid.replace('-', '')[:_FEW]}", "type": "message", "model": SYNTHETIC}
        message = {**own, **message, "content": parts, "stop_reason": "end_turn", "stop_sequence": None, "usage": usage}
    return {
        "parentUuid": None,
        **about,
        "type": role,
        "message": message,
        "uuid": uuid,
        "timestamp": like.get("timestamp"),
    }


def _content(parts: list[Any]) -> Any:
    """The spelling of a message's content: plain words are a string."""
    match parts:
        case [str() as words]:
            return words
        case [{"type": "text", "text": str() as words, **more}] if not more:
            return words
    return [{"type": "text", "text": one} if isinstance(one, str) else one for one in parts]


def _words(part: Any) -> str:
    return part if isinstance(part, str) else block_content.read(of(part)).text
