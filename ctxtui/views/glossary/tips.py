"""Tips in the first inspector that a user opens, each at a pane that it explains."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple


class Tip(NamedTuple):
    """A tip shown at the first of `panes` that is on the screen; keys in backticks."""

    title: str
    text: str
    panes: tuple[str, ...]


TIPS: Final = (
    Tip(
        "What the model reads",
        "One row for each block, in the order in which it is sent; `↑` `↓` move, `⏎` opens one. The line at the left "
        "is the prompt cache: ┃ read from it, ╏ written to it, ┊ neither. Brighter is more expensive.",
        ("transcript",),
    ),
    Tip(
        "Call by call",
        "A column for each call to the model. `[` and `]` go to the one before and after, `g` to a number, `}` to the "
        "next event. A click and the wheel do the same.",
        ("calls",),
    ),
    Tip(
        "Where the cache missed",
        "Input that is read from the cache usually costs a tenth. ▼ marks a call that missed the cache and paid again: "
        "`c` lists all misses, most expensive first, with cause and fix.",
        ("this-call", "next-call", "calls"),
    ),
    Tip(
        "How full, how expensive",
        "The bar is the context window, ┃ where it should stop; at the right what was paid up to this call. `$` is the "
        "bill: what it was paid for, and what would have been cheaper.",
        ("header",),
    ),
    Tip(
        "What fills it",
        "Tokens by kind of block; its digit shows the blocks of one kind in full. `W` lists the heaviest, `/` finds a "
        "text in all of them.",
        ("context",),
    ),
    Tip(
        "Change it, without risk",
        "`space` marks blocks and `d` drops them: what that frees, breaks and saves is shown before anything is sent. "
        "`a` applies, `u` takes it back. Recordings are never changed. `=` explains any word here, `?` is the help.",
        ("keys",),
    ),
)


def place_tips(panes: Iterable[str]) -> list[tuple[Tip, str]]:
    shown_panes = set(panes)
    placements = ((tip, next((pane for pane in tip.panes if pane in shown_panes), None)) for tip in TIPS)
    return [(tip, pane) for tip, pane in placements if pane is not None]
