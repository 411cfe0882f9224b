"""How what follows the deepest hit is charged when markers have different lifetimes (facts §2)."""

from __future__ import annotations

from collections.abc import Sequence

from ctxtui.cache.prompt import Mark


def split(read: int, new: Sequence[tuple[Mark, int]]) -> tuple[tuple[float, int], ...]:
    """The writes of a request that read `read` tokens, by lifetime in seconds, the longest first.

    `new` are the markers behind the hit in prompt order, each with the tokens of its prefix. Up to the last marker of
    the longest lifetime everything costs that lifetime's write, from there to the last one of the next that one's ...
    """
    if len(new) == 1:
        return ((new[0][0].life, new[0][1] - read),) if new[0][1] > read else ()
    found: list[tuple[float, int]] = []
    done = read
    while new:
        life = max(mark.life for mark, _ in new)
        last = max(n for n, (mark, _) in enumerate(new) if mark.life == life)
        if new[last][1] > done:
            found.append((life, new[last][1] - done))
            done = new[last][1]
        new = new[last + 1 :]
    return tuple(found)
