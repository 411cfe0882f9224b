"""A chat history that aider restores (``--restore-chat-history``), with an edited context.

aider takes from such a file what was typed and what was answered, in order, and nothing else: system prompt, examples,
files and the map of the repository it puts together anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from ctxtui.core import block_content
from ctxtui.core.block import HEADER, NOT_RECORDED
from ctxtui.transcripts.kit.resume import UNANSWERED, ResumedFile, ResumeOrder, losses

_TYPED: Final = "#### "
_OWN: Final = "aider puts its system prompt, its examples, files and the map of the repository together anew"
_INDENTED: Final = "a line of an answer that begins with # or > is indented by a blank: aider would pass over it"
_OTHER: Final = "aider restores words alone: no"
_UNTOLD: Final = "the recording is no chat history: it does not tell aider's own messages from the others, all are kept"
_MARK: Final = re.compile(r"# |> |#### ")
_APART: Final = "> And:  "
"""Stands between two messages of one side, which would else be taken for one."""


def resume(order: ResumeOrder) -> ResumedFile:
    """A chat history, so that aider, when it restores it, has the context that is asked for."""
    history = order.source.decode("utf-8", "replace")
    known = set(_told(history)) if f"\n{_TYPED.strip()}" in f"\n{history}" else set()
    lost: list[str] = [] if known else [_UNTOLD]
    said: list[tuple[bool, str]] = []
    for item, at in order.sent:
        beyond = order.end is not None and at is not None and at >= order.end
        if beyond or item.block.kind in (HEADER, NOT_RECORDED):
            continue
        reading = block_content.read(item.block)
        was = reading.text if at is None else block_content.read(order.path[at].block).text
        added = _behind(was, known) if at is not None else ""
        if item.place.section != "messages" or item.place.role == "system" or added is None:
            lost.append(_OWN)
        elif reading.text.strip():
            lost += [_OWN] if added else []
            said.append((item.place.role != "assistant", reading.text.removesuffix(added)))
        else:
            lost.append(f"{_OTHER} {item.block.kind}")
    if order.end is not None and len(order.path) > order.end:
        lost.append(UNANSWERED)
    # What aider puts together anew is one thing, however many blocks it is.
    lost = [*(one for one in lost if one != _OWN), *([_OWN] if _OWN in lost else [])]
    started = datetime.fromtimestamp(order.now, UTC).strftime("%Y-%m-%d %H:%M:%S")
    lines = ["", f"# aider chat started at {started}", ""]
    before: bool | None = None
    for typed, words in said:
        lines += [_APART, ""] if before is typed else []
        lines += [*(_asked(words) if typed else _answer(words, lost)), ""]
        before = typed
    data = "\n".join(lines).encode("utf-8", "surrogatepass")
    stamp = started.replace(":", "-").replace(" ", "T")
    return ResumedFile(data, losses(lost), "", f"curated.{stamp}.aider.chat.history.md")


def _behind(text: str, known: set[str]) -> str | None:
    """What aider put behind a message that the history holds: to the newest prompt it adds the rules of its format.
    "" where it is as it was said, or nothing is known; None where no message of the history is in it."""
    if not known or _plain(text) in known:
        return ""
    lines = text.splitlines(keepends=True)
    for n in range(len(lines) - 1, 0, -1):
        if not lines[n].strip() and _plain("".join(lines[:n])) in known:
            return "".join(lines[n - 1 :])[len(lines[n - 1].rstrip()) :]
    return None


def _asked(words: str) -> Iterator[str]:
    for line in words.strip("\n").splitlines():
        yield f"{_TYPED}{line.rstrip()}  "


def _answer(words: str, lost: list[str]) -> Iterator[str]:
    for line in words.strip("\n").splitlines():
        if _MARK.match(line):
            lost.append(_INDENTED)
            yield f" {line}"
        else:
            yield line


def _told(history: str) -> Iterator[str]:
    """What a chat history holds of both sides, message by message."""
    held: list[str] = []
    kind = ""
    for line in [*history.splitlines(), "> "]:
        of = "typed" if line.startswith("####") else "notice" if _MARK.match(line) else "said"
        if of != kind and (of != "said" or line.strip()):
            if held:
                yield _plain("\n".join(held))
            held, kind = [], of
        if kind != "notice":
            held.append(line[len(_TYPED) :] if of == "typed" else line)


def _plain(words: str) -> str:
    return "\n".join(line.rstrip() for line in words.strip().splitlines())
