"""Syntax highlighting; only the shown part is lexed. Pygments is imported on first use."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span

if TYPE_CHECKING:
    from pygments.lexer import Lexer

_STYLES: Final = (
    ("Comment", "dim italic"),
    ("Keyword.Constant", "cat-image"),
    ("Keyword.Type", "cat-call"),
    ("Keyword", "cat-document"),
    ("Operator.Word", "cat-document"),
    ("Literal.String", "cat-summary"),
    ("Literal.Number", "cat-image"),
    ("Name.Decorator", "cat-call"),
    ("Name.Function", "cat-call"),
    ("Name.Tag", "cat-call"),
    ("Name.Attribute", "cat-call"),
    ("Generic.Deleted", "del on-del-bg"),
    ("Generic.Inserted", "add on-add-bg"),
    ("Generic.Heading", "ink bold"),
    ("Generic.Subheading", "accent"),
    ("Punctuation", "ink"),
)


@cache
def _style(token: str) -> str:
    return next((style for kind, style in _STYLES if token == kind or token.startswith(kind + ".")), "ink")


@lru_cache(256)
def _lexer(hint: str) -> Lexer | None:
    """Return the lexer for a language name or a file name; None if there is none."""
    from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
    from pygments.util import ClassNotFound

    options: dict[str, Any] = {"stripnl": False, "ensurenl": False, "stripall": False}
    name = hint.rsplit("/", 1)[-1]
    for find, by in ((get_lexer_by_name, name.lower()), (get_lexer_for_filename, name)):
        try:
            lexer: Lexer = find(by, **options)
        except ClassNotFound:
            continue
        return lexer
    return None


def highlight(text: str, hint: str) -> Iterator[list[Span]]:
    """Yield the lines of `text` as spans, highlighted for `hint`, a language or a file name."""
    lexer = _lexer(hint[-80:])
    if lexer is None:
        yield from (safe_text.spans(line, "ink") for line in text.split("\n"))
        return
    line: list[Span] = []
    for _, token, piece in lexer.get_tokens_unprocessed(text):
        style = _style(".".join(token))
        head, *rest = piece.split("\n")
        if head:
            line += safe_text.spans(head, style)
        for part in rest:
            yield line
            line = safe_text.spans(part, style) if part else []
    yield line
