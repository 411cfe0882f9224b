"""Token counts of files with interval and price, and the total as a share of the window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from ctxtui.project.file_block import BINARY
from ctxtui.tokens.image import ImageSize
from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.span import Span

_NOTES = {"binary": "binary: no model reads it", "pdf": "PDF, pages with their pictures"}


def lines(files: Sequence[FileCount], half: float, usd: float | None, model: str, usable: int) -> Iterator[list[Span]]:
    """A row for each file, and a total of several.

    `half` is half of the total's interval, `usd` its price, `usable` the usable window of `model` in tokens.
    """
    total = sum(file.tokens for file in files)
    token_width = max(8, *(len(numbers.exact(file.tokens)) for file in files), len(numbers.exact(total)))
    yield [Span(f"{'tokens':>{token_width}}{'90 %':>9}{'price':>10}  file", "faint")]
    for file in files:
        yield _row(file.tokens, file.half, file.usd, safe_text.one_line(file.name, 200), token_width, _note(file))
    share = f", {numbers.share(total / usable)} of {numbers.tokens(usable)} usable" if usable else ""
    note = f"read once by {model}{share}"
    if len(files) == 1:
        yield [Span(" " * (token_width + 21) + note, "dim")]
    else:
        yield _row(total, half, usd, f"{len(files):,} files {note}", token_width)


def _row(tokens: int, half: float, usd: float | None, name: str, wide: int, note: str = "") -> list[Span]:
    return [
        Span(cells.right(numbers.exact(tokens), wide), "bold"),
        Span(cells.right(numbers.interval(tokens, tokens - half, tokens + half), 9), "dim"),
        Span(cells.right(_price(usd), 10)),
        Span(f"  {name}"),
        Span(f"  {note}" if note else "", "dim"),
    ]


def _price(usd: float | None) -> str:
    return "<$0.001" if usd is not None and 0 < usd < 0.0005 else numbers.money(usd)


def _note(file: FileCount) -> str:
    if file.size is not None:
        return f"{file.size.format}, {file.size.width} x {file.size.height}"
    return _NOTES.get(file.kind, "")


class FileCount(Struct, frozen=True, kw_only=True):
    """One file: its kind, bytes, tokens, and `half` of their 90 % interval.

    `usd` is the list price of reading it once, `cached_usd` of reading it from the cache. `size` is an image's size.
    """

    name: str
    kind: str
    bytes: int
    tokens: int
    half: float
    usd: float | None = None
    cached_usd: float | None = None
    size: ImageSize | None = None

    @property
    def method(self) -> str:
        return "not read" if self.kind == BINARY else "guessed" if self.half else "exact"
