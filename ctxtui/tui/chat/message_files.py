"""What goes with the message in a chat's prompt: its files, with their cost before they are sent; pasted images."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.chat.clipboard_image import NoImage, save_image
from ctxtui.services.chat.host import Host
from ctxtui.tui.inspector.controller import ScreenAccess
from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.span import Span, Spans

if TYPE_CHECKING:
    from ctxtui.services.project.attachments import AttachedFile

_NAME = 24


class MessageFiles:
    """The files that the message being typed names. `words` is what they come to, for the end of the line; `changed`
    is called when that is another one."""

    def __init__(self, host: Host, access: ScreenAccess, changed: Callable[[], object]) -> None:
        self._host = host
        self._access = access
        self._changed = changed
        self.words: Spans = []
        self._text = ""

    def look(self, text: str) -> None:
        """Count what `text` names, in a thread; what was found for another text is not shown."""
        self._text = text
        if "@" in text and self._host.chat_model is not None:
            used = self._used()
            self._access.work(lambda: self._count(text, used), "message files", exclusive=True)
        else:
            self._show(text, [])

    def send(self, words: str, tell: Callable[[str], object], back: Callable[[str], object]) -> None:
        """`tell` the message as soon as it is known that the files which it names can be sent; else it goes `back`
        into the prompt, which says why."""
        if "@" in words and self._host.runner is not None:
            self._access.run(self._send(words, tell, back), "message files")
        else:
            tell(words)

    async def _send(self, words: str, tell: Callable[[str], object], back: Callable[[str], object]) -> None:
        try:
            await asyncio.to_thread(self._host.files.read_named, words, self._used())
        except CtxtuiError as error:
            back(words)
            self._text = words
            self._refused(error)
        else:
            tell(words)

    def _refused(self, error: CtxtuiError) -> None:
        """Say why a file cannot go along."""
        self._show(self._text, [Span(f"✗ {safe_text.one_line(str(error), 120)} ", "crit")])

    def paste_image(self, insert: Callable[[str], object], refuse: Callable[[str], object]) -> None:
        """Keep the image in the clipboard as a file, and `insert` how a message names it; `refuse` says why not."""

        def job() -> None:
            try:
                name = save_image(self._host.config.settings)
            except NoImage as error:
                why = str(error)
                self._access.deliver(lambda: refuse(why))
            else:
                self._access.deliver(lambda: insert(f"{name} "))

        self._access.work(job, "clipboard")

    def _used(self) -> int:
        calls = self._host.session.calls
        last = next((call.usage for call in reversed(calls.values()) if call.usage is not None), None)
        return last.input + last.output if last is not None else 0

    def _count(self, text: str, used: int) -> None:
        try:
            found = self._host.files.read_named(text, used)
        except CtxtuiError as error:
            failed = error
            self._access.deliver(lambda: self._refused(failed) if self._text == text else None)
            return
        usd = self._host.files.price(sum(one.tokens for one in found)) if found else None
        lacking = self._host.files.missing(text)
        self._access.deliver(lambda: self._show(text, [*_lacking(lacking), *_told(found, usd)]))

    def _show(self, text: str, words: Spans) -> None:
        if text == self._text and list(words) != list(self.words):
            self.words = words
            self._changed()


def _lacking(names: list[str]) -> Spans:
    if not names:
        return []
    more = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
    return [Span("▲ ", "warn"), Span(f"no file {cells.cut(safe_text.one_line(names[0], 200), _NAME)}{more}  ", "dim")]


def _told(files: tuple[AttachedFile, ...], usd: float | None) -> Spans:
    if not files:
        return []
    total = sum(one.tokens for one in files)
    name = cells.cut(safe_text.one_line(Path(files[0].name).name, 200), _NAME)
    short = " as signatures" if any(one.form != "whole" for one in files) else ""
    what = name if len(files) == 1 else f"{len(files):,} files"
    price = f", {numbers.money(usd)}" if usd is not None else ""
    glyph = "□" if all(one.kind == "image" for one in files) else "¶"
    style = "cat-image" if glyph == "□" else "cat-document"
    told = f"{what} {numbers.exact(total)} tokens{short}{price}  "
    return [Span(f"{glyph} ", style), Span(told, "dim")]


def as_mention(pasted: str) -> str:
    """What is pasted as it goes into a message: the path of a picture, as a file manager or a terminal gives it for a
    file that is dropped, as ``@path``."""
    text = pasted.strip()
    if not text.lower().rstrip("'\"").endswith((".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf")) or "\n" in text:
        return pasted
    from ctxtui.services.project.attachments import mention_dropped_file

    mention = mention_dropped_file(text)
    # With blanks round it: what stands before may be a word.
    return f" {mention} " if mention else pasted
