"""Files with what each would come to: tokens, interval, price; and all of them as a share of the window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from ctxtui.project.file_block import BINARY
from ctxtui.tokens.image import ImageSize
from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.span import Span

_NOTES = {"binary": "binary: no model reads it", "pdf": "PDF, pages with their pictures"}


def lines(files: Sequence[FileCount], half: float, usd: float | None, model: str, usable: int) -> Iterator[list[Span]]:
    """A row for each file, and one for all of them: `half` of their interval, `usd`; `usable` tokens of the window of
    `model` (0: not known)."""
    total = sum(one.tokens for one in files)
    wide = max(8, *(len(numbers.exact(one.tokens)) for one in files), len(numbers.exact(total)))
    yield [Span(f"{'tokens':>{wide}}{'90 %':>9}{'price':>10}  file", "faint")]
    for one in files:
        yield _row(one.tokens, one.half, one.usd, safe_text.one_line(one.name, 200), wide, _note(one))
    share = f", {numbers.share(total / usable)} of {numbers.tokens(usable)} usable" if usable else ""
    told = f"read once by {model}{share}"
    if len(files) == 1:
        yield [Span(" " * (wide + 21) + told, "dim")]
    else:
        yield _row(total, half, usd, f"{len(files):,} files {told}", wide)


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


def _note(one: FileCount) -> str:
    if one.size is not None:
        return f"{one.size.format}, {one.size.width} x {one.size.height}"
    return _NOTES.get(one.kind, "")


class FileCount(Struct, frozen=True, kw_only=True):
    """One file: its `kind` (see `project.file_block`), bytes, `tokens`, and half of their 90 % interval (`half`, 0:
    exact). `usd` is the list price of reading it once, `cached_usd` from the cache; None where no price is known.
    `size` is an image's."""

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
        """How the tokens were obtained."""
        return "not read" if self.kind == BINARY else "guessed" if self.half else "exact"
