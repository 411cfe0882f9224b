"""Count the tokens of any text, in pieces that are short enough for the tokenizer."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tiktoken import Encoding

PIECE_CHARACTERS: Final = 256 * 1024
"""Characters passed to the tokenizer at once.

A run of more than 1,000,000 white-space characters overflows the stack of its regular expressions. It builds its list
of tokens under the GIL, which a very long text would hold for too long.
"""

_SEARCH_WINDOWS: Final = (4096, 32 * 1024)
"""Characters before the limit that are searched for a safe cut, nearest first; the search holds the GIL."""

# A blank after a visible character; what follows a line break, unless it could belong to it; a digit or mark after a
# letter (no apostrophe: it may open 's, 're ...); a mark after a digit.
_SAFE_CUT: Final = re.compile(
    r"""(?<=\S)(?=[ \t]) | (?<=\n)(?=[^\s/]) | (?<=[A-Za-z])(?=[0-9]) | (?<=[A-Za-z0-9])(?=[",:;{}\[\]()=<>\\])""",
    re.VERBOSE,
)
"""Positions that no pattern of o200k or cl100k matches across: a cut there does not change the count."""


class TokenizerFailure(RuntimeError):
    """The tokenizer failed on a text (a panic of its compiled part)."""


def count_text(encoding: Encoding, text: str) -> int:
    """Count the tokens of `text` as ordinary text.

    Text that is spelled like a special token (``<|endoftext|>``) counts as ordinary characters. The count of a text
    longer than `PIECE_CHARACTERS` may be off by a token or two for each cut that is not safe. Raises
    `TokenizerFailure`.
    """
    if len(text) <= PIECE_CHARACTERS:
        return _count_piece(encoding, text)
    return sum(_count_piece(encoding, piece) for piece in split_pieces(text))


def split_pieces(text: str, size: int = PIECE_CHARACTERS) -> Iterator[str]:
    """Split `text` into parts of at most `size` characters.

    It is cut where the token count stays the same, if there is such a place near the limit.
    """
    start = 0
    while len(text) - start > size:
        end = _find_cut(text, start, start + size)
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:] if start else text


def _find_cut(text: str, start: int, limit: int) -> int:
    """Last safe cut in (`start`, `limit`]; `limit` if there is none near it."""
    for low in (max(start, limit - window) for window in _SEARCH_WINDOWS):
        cuts = deque(_SAFE_CUT.finditer(text, low + 1, limit + 1), maxlen=1)
        if cuts and cuts[0].start() <= limit:
            return cuts[0].start()
    return limit


def _count_piece(encoding: Encoding, piece: str) -> int:
    try:
        return len(encoding.encode_ordinary(piece))
    except BaseException as error:
        # pyo3's PanicException derives from BaseException: `except Exception` would let it end the thread.
        if type(error).__name__ != "PanicException":
            raise
        raise TokenizerFailure(f"{encoding.name} failed on a text of {len(piece):,} characters: {error}") from error
