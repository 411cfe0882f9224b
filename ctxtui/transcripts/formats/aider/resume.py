"""Write a chat history that aider restores with ``--restore-chat-history``.

aider takes only user input and answers from such a file, in order; it rebuilds system prompt, examples, files and the
map of the repository.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from ctxtui.core.block import HEADER, NOT_RECORDED
from ctxtui.transcripts.formats.aider.chat_history import COPIED
from ctxtui.transcripts.kit.resume import UNANSWERED, ResumedFile, ResumeOrder, count_losses, read_block_text

_TYPED: Final = "#### "
_OWN: Final = "aider builds its system prompt, examples, files and repository map itself"
_INDENTED: Final = "a line of an answer that begins with # or > is indented by a space: aider would skip it"
_OTHER: Final = "aider restores only text: dropped a block of the kind"
_CHAT: Final = "# aider chat started at 2"
_EXAMPLES_END: Final = "I switched to a new code base"
_OWN_TEXTS: Final = (
    _EXAMPLES_END,
    "I have *added these files to the chat*",
    "I am not sharing any files that you can edit yet.",
    "I am not sharing the full contents of any files with you yet.",
    "Don't try and edit any existing code without asking me to add the files to the chat!",
    "Here are summaries of some files present in my git repo",
    "Here are some READ ONLY files, provided for your reference.",
    "Here are the image files:",
)
_REMINDER: Final = re.compile(
    r"\n\n(?=To suggest changes to a file you MUST|# \*SEARCH/REPLACE block\* Rules|# File editing rules:)"
)
_MARK: Final = re.compile(r"# |> |#### ")
_APART: Final = "> And:  "
"""Separates two messages of one side, which would otherwise be merged."""


def resume(order: ResumeOrder) -> ResumedFile:
    """Write a chat history with the user input and the answers of the requested context."""
    dialogue_texts = _dialogue_texts(order)
    lost: list[str] = []
    messages: list[tuple[bool, str]] = []
    for item, index in order.sent:
        is_after_end = order.end is not None and index is not None and index >= order.end
        if is_after_end or item.block.kind in (HEADER, NOT_RECORDED):
            continue
        text = read_block_text(item.block)
        if index is not None and index not in dialogue_texts:
            lost.append(_OWN)
        elif text.strip():
            is_unchanged = index is not None and item.block.digest == order.path[index].block.digest
            messages.append(
                (item.place.role != "assistant", dialogue_texts[index] if is_unchanged and index is not None else text)
            )
        else:
            lost.append(f"{_OTHER} {item.block.kind}")
    if order.drops_prompt:
        lost.append(UNANSWERED)
    # Everything that aider rebuilds is one loss, however many blocks it has.
    lost = [*(loss for loss in lost if loss != _OWN), *([_OWN] if _OWN in lost else [])]
    started = datetime.fromtimestamp(order.now, UTC).strftime("%Y-%m-%d %H:%M:%S")
    lines = ["", f"# aider chat started at {started}", "", f"> {COPIED}", ""]
    before: bool | None = None
    for typed, text in messages:
        lines += [_APART, ""] if before is typed else []
        lines += [*(_prompt_lines(text) if typed else _answer_lines(text, lost)), ""]
        before = typed
    data = "\n".join(lines).encode("utf-8", "surrogatepass")
    stamp = started.replace(":", "-").replace(" ", "T")
    return ResumedFile(data, count_losses(lost), "", f"curated.{stamp}.aider.chat.history.md")


def _prompt_lines(text: str) -> Iterator[str]:
    for line in text.strip("\n").splitlines():
        yield f"{_TYPED}{line.rstrip()}  "


def _answer_lines(text: str, lost: list[str]) -> Iterator[str]:
    for line in text.strip("\n").splitlines():
        if _MARK.match(line):
            lost.append(_INDENTED)
            yield f" {line}"
        else:
            yield line


def _dialogue_texts(order: ResumeOrder) -> dict[int, str]:
    """Text of the person and the model, by index on the path; aider inserts everything else.

    The chat history holds only that text, so blocks are looked up in it. In the message history, aider's own texts are
    recognized by their wording (that of aider 0.86).
    """
    texts = {
        index: read_block_text(item.block)
        for index, item in enumerate(order.path)
        if item.block.kind != HEADER and item.place.section == "messages" and item.place.role != "system"
    }
    source = order.source.decode("utf-8", "replace")
    if _CHAT in source:
        history_texts = sorted(set(_history_texts(source)), key=len, reverse=True)
        return {index: match for index, text in texts.items() if (match := _find_history_text(text, history_texts))}
    dialogue_texts: dict[int, str] = {}
    is_client_text = False
    for index, text in texts.items():
        asks = order.path[index].place.role != "assistant"
        if asks and text.startswith(_EXAMPLES_END):
            # Everything before is aider's examples.
            dialogue_texts = {}
        # The answer "Ok ..." to one of aider's own texts is aider's, too.
        is_client_text = text.startswith(_OWN_TEXTS) if asks else is_client_text and text.startswith("Ok")
        if not is_client_text:
            dialogue_texts[index] = _REMINDER.split(text, maxsplit=1)[0].rstrip() if asks else text
    return dialogue_texts


def _find_history_text(words: str, history_texts: list[str]) -> str:
    """The first of `history_texts` that `words` equals or begins with; "" if there is none.

    aider's reminder may follow user input.
    """
    plain = _plain_lines(words)
    return next((text for text in history_texts if text and (plain == text or plain.startswith(f"{text}\n"))), "")


def _history_texts(history: str) -> Iterator[str]:
    """Yield the text of both sides in a chat history, message by message."""
    collected: list[str] = []
    kind = ""
    for line in [*history.splitlines(), "> "]:
        line_kind = "typed" if line.startswith("####") else "notice" if _MARK.match(line) else "said"
        if line_kind != kind and (line_kind != "said" or line.strip()):
            if collected:
                yield _plain_lines("\n".join(collected))
            collected, kind = [], line_kind
        if kind != "notice":
            collected.append(line[len(_TYPED) :] if line_kind == "typed" else line)


def _plain_lines(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())
