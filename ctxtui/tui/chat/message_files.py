"""Files and pasted images of a chat message, with their cost before it is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ctxtui.core.errors import CtxtuiError
from ctxtui.core.tree import ROOT
from ctxtui.services.chat.clipboard_image import NoImage, save_image
from ctxtui.services.chat.host import Host
from ctxtui.tui.inspector.controller import ScreenAccess
from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.span import Span, Spans

if TYPE_CHECKING:
    from ctxtui.services.project.attachments import AttachedFile

_NAME_CELLS = 24


class MessageFiles:
    """The files named in the message being typed.

    `changed` is called when their `description` changes.
    """

    def __init__(self, host: Host, access: ScreenAccess, changed: Callable[[], object]) -> None:
        self._host = host
        self._access = access
        self._changed = changed
        self.description: Spans = []
        self._text = ""

    def count(self, text: str) -> None:
        """Count the tokens of the files named in `text`, in a thread."""
        self._text = text
        if "@" in text and self._host.chat_model is not None:
            head = self._head
            self._access.work(lambda: self._count(text, head), "message files", exclusive=True)
        else:
            self._show(text, [])

    def send(self, message: str, tell: Callable[[str], object], back: Callable[[str], object]) -> None:
        """Pass the message to `tell` if its files can be sent, else to `back`.

        The error is then shown.
        """
        if "@" in message and self._host.runner is not None:
            self._access.run(self._send(message, tell, back), "message files")
        else:
            tell(message)

    async def _send(self, message: str, tell: Callable[[str], object], back: Callable[[str], object]) -> None:
        try:
            await asyncio.to_thread(self._read_named, message, self._head)
        except CtxtuiError as error:
            back(message)
            self._text = message
            self._show_error(error)
        else:
            tell(message)

    def _show_error(self, error: CtxtuiError) -> None:
        self._show(self._text, [Span(f"✗ {safe_text.one_line(str(error), 120)} ", "crit")])

    def paste_image(self, insert: Callable[[str], object], refuse: Callable[[str], object]) -> None:
        """Save the clipboard's image as a file; `insert` its name, or `refuse` with the reason."""

        def job() -> None:
            try:
                name = save_image(self._host.config.settings)
            except NoImage as error:
                why = str(error)
                self._access.deliver(lambda: refuse(why))
            else:
                self._access.deliver(lambda: insert(f"{name} "))

        self._access.work(job, "clipboard")

    @property
    def _head(self) -> int:
        return self._host.runner.conversation.head if self._host.runner is not None else ROOT

    def _read_named(self, text: str, head: int) -> tuple[AttachedFile, ...]:
        files = self._host.files
        return files.read_named(text, files.used_tokens(self._host.session, head))

    def _count(self, text: str, head: int) -> None:
        try:
            files = self._read_named(text, head)
        except CtxtuiError as error:
            failed = error
            self._access.deliver(lambda: self._show_error(failed) if self._text == text else None)
            return
        usd = self._host.files.price(sum(file.tokens for file in files)) if files else None
        missing = self._host.files.missing_paths(text)
        self._access.deliver(lambda: self._show(text, [*_missing_spans(missing), *_file_spans(files, usd)]))

    def _show(self, text: str, words: Spans) -> None:
        if text == self._text and list(words) != list(self.description):
            self.description = words
            self._changed()


def _missing_spans(names: list[str]) -> Spans:
    if not names:
        return []
    more = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
    return [
        Span("▲ ", "warn"),
        Span(f"not found: {cells.cut(safe_text.one_line(names[0], 200), _NAME_CELLS)}{more}  ", "dim"),
    ]


def _file_spans(files: tuple[AttachedFile, ...], usd: float | None) -> Spans:
    if not files:
        return []
    total = sum(file.tokens for file in files)
    name = cells.cut(safe_text.one_line(Path(files[0].name).name, 200), _NAME_CELLS)
    suffix = " as signatures" if any(file.form != "whole" for file in files) else ""
    what = name if len(files) == 1 else f"{len(files):,} files"
    price = f", {numbers.money(usd)}" if usd is not None else ""
    glyph = "□" if all(file.kind == "image" for file in files) else "¶"
    style = "cat-image" if glyph == "□" else "cat-document"
    description = f"{what} {numbers.exact(total)} tokens{suffix}{price}  "
    return [Span(f"{glyph} ", style), Span(description, "dim")]


def as_mention(pasted: str) -> str:
    """Convert a pasted path of an image or PDF to ``@path``; return other text as it is.

    File managers paste such a path, and terminals when a file is dropped on them.
    """
    text = pasted.strip()
    if not text.lower().rstrip("'\"").endswith((".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf")) or "\n" in text:
        return pasted
    from ctxtui.services.project.attachments import mention_dropped_file

    mention = mention_dropped_file(text)
    # Add blanks, since a word may come before.
    return f" {mention} " if mention else pasted
