"""Messages of an OpenCode session as an imported one has them: kept as they are, changed, or new."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any, Final

from ctxtui.core import block_content
from ctxtui.core.block import Block
from ctxtui.transcripts.formats.opencode import parts as spelled
from ctxtui.transcripts.formats.opencode.parts import Part
from ctxtui.transcripts.formats.opencode.talk import OpenCodeMessage
from ctxtui.transcripts.kit.chat_messages import more
from ctxtui.transcripts.kit.fields import count, obj, word

SAID: Final = "said"
RESULT: Final = "result"
ESTIMATED: Final = "estimated"
"""What a session's metadata lists under ``ctxtui``: the ids of messages whose tokens are an estimate, not a report."""
COPIED: Final = "copied"
"""The same of messages that were copied from another session."""

_ID: Final = re.compile(r"(ses|msg|prt)_([0-9a-f]{12})(\w{14})")
_IMAGES: Final = "an image in a changed result"


def held(said: OpenCodeMessage, part: Part) -> list[tuple[str, str]]:
    """The digests of the blocks that a part makes, each with whether it is `SAID` or the `RESULT` of a call."""
    value = spelled.answered(part) if said.answers else spelled.asked(part)
    found = [(item.block.digest, SAID) for item in (more("assistant", value) if value is not None else ())]
    result = spelled.result(part) if said.answers else None
    return found + [(item.block.digest, RESULT) for item in (more("user", result) if result is not None else ())]


class ImportMessage:
    """A message on its way into the new session. `gone` says that it is left out, `new` that an edit made it,
    `estimated` that its tokens are no report."""

    def __init__(self, said: OpenCodeMessage, *, new: bool = False) -> None:
        self.said, self.new = said, new
        self.value: dict[str, Any] = {"info": deepcopy(said.info), "parts": deepcopy(said.parts)}
        self._parts: list[Part | None] = list(self.value["parts"])
        self.gone = False
        self.estimated = False

    @classmethod
    def made(
        cls, near: OpenCodeMessage, behind: ImportMessage | None, every: Sequence[ImportMessage], blocks: list[Block]
    ) -> ImportMessage:
        """A message with the words of `blocks`, like the message `near`, just before `behind` (None: at the end)."""
        told = behind or every[-1]
        step = -1 - sum(one.new for one in every) if behind is not None else 1 + sum(one.new for one in every)
        id_ = _beside(told.said.id, step)
        created = count(obj(told.said.info.get("time")).get("created")) + (behind is None)
        info: dict[str, Any] = {key: near.info[key] for key in ("role", "agent", "model") if key in near.info}
        if near.answers:
            info = {**near.info, "tokens": _tokens(0, 0), "cost": 0, "finish": "stop"}
        info |= {"id": id_, "time": {"created": created}}
        if near.answers:
            info["time"]["completed"] = created
        return cls(OpenCodeMessage(info, [{"type": "text", "text": _words(one)} for one in blocks]), new=True)

    @property
    def parts(self) -> list[Part]:
        """Its parts as recorded."""
        return self.said.parts

    @property
    def has_steps(self) -> bool:
        """Whether it is several requests, as older versions kept them."""
        return [part.get("type") for part in self.parts].count("step-finish") > 1

    def drop(self, place: int) -> None:
        """Leave the part at the 0-based `place` out, and the message where nothing is left that a model reads."""
        self._parts[place] = None
        self._write()

    def cut(self, last: int) -> None:
        """Leave out what follows the part at `last` (0-based) and is more than a note of the client."""
        for n in range(last + 1, len(self._parts)):
            part = self._parts[n]
            if part is not None and held(self.said, part):
                self._parts[n] = None
        self._write()

    def _write(self) -> None:
        left = [part for part in self._parts if part is not None]
        self.value["parts"] = left
        self.gone = self.gone or not any(held(self.said, part) for part in left)

    def rewrite(self, place: int, kind: str, block: Block) -> Iterator[str]:
        """Let the part at the 0-based `place` say what `block` says; gives what that lost."""
        part, value = self._parts[place], block.value()
        if part is None:
            return
        if kind == RESULT:
            state = obj(part.get("state"))
            content = value.get("content")
            if isinstance(content, list) and any(obj(one).get("type") not in ("text", None) for one in content):
                yield _IMAGES
            state.pop("attachments", None)
            obj(state.get("time")).pop("compacted", None)
            state["error" if state.get("status") == "error" else "output"] = _words(block)
        elif part.get("type") == "tool":
            obj(part.get("state"))["input"] = value.get("input")
        elif part.get("type") in ("text", "reasoning"):
            part["text"] = _words(block)
        else:
            kept: Part = {key: part[key] for key in ("id", "sessionID", "messageID") if key in part}
            self._parts[place] = {**kept, "type": "text", "text": _words(block)}
            self._write()

    def report(self, input_tokens: int | None, answer_tokens: int) -> None:
        """Its tokens are `input_tokens` and `answer_tokens` by an estimate; without one it has no report."""
        info = self.value["info"]
        tokens = _tokens(0, 0) if input_tokens is None else _tokens(input_tokens, max(1, answer_tokens))
        self.estimated = input_tokens is not None
        for one in (info, *(part for part in self.value["parts"] if part.get("type") == "step-finish")):
            if "tokens" in one:
                one |= {"tokens": tokens, "cost": 0}


def _tokens(input_: int, output: int) -> dict[str, Any]:
    zeros = {"reasoning": 0, "cache": {"read": 0, "write": 0}}
    return {"total": input_ + output, "input": input_, "output": output, **zeros}


def _words(block: Block) -> str:
    return block_content.read(block).text


def _beside(id_: str, step: int) -> str:
    """An id that sorts `step` ids after `id_`."""
    found = _ID.fullmatch(id_)
    if found is None:
        return f"{id_}{'' if step < 0 else step}"
    return f"{found.group(1)}_{int(found.group(2), 16) + step:012x}{found.group(3)}"


def session_id(now: float, random: str) -> str:
    """The id of a session begun `now` (Unix seconds): later ones sort first."""
    return f"ses_{~(round(now * 1000) * 0x1000) & 0xFFFFFFFFFFFF:012x}{random.replace('-', '')[:14]}"


def renamed(value: Any, session: str, ids: Iterator[str]) -> Any:
    """`value` with new ids for the session, its messages and parts, wherever they are named."""
    names: dict[str, str] = {}
    for message in value["messages"]:
        info = message["info"]
        # The rows of a database have these in columns of their own.
        info["sessionID"] = session
        for n, part in enumerate(message["parts"]):
            part.setdefault("id", _beside(word(info.get("id")).replace("msg_", "prt_"), n))
            part |= {"sessionID": session, "messageID": info.get("id")}
        for one in (info, *message["parts"]):
            old = word(one.get("id"))
            found = _ID.fullmatch(old)
            tail = next(ids).replace("-", "")[:14]
            names[old] = f"{found.group(1)}_{found.group(2)}{tail}" if found else f"{old}_{tail}"
    names.pop("", None)
    return _renamed(value, names)


def _renamed(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, list):
        return [_renamed(one, names) for one in value]
    return {key: _renamed(one, names) for key, one in value.items()} if isinstance(value, dict) else value
