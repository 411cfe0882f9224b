"""What stands where on a terminal that was sent a frame: told by a small terminal."""

from __future__ import annotations

import re

_ESCAPE = re.compile(r"\x1b\[([0-9;]*)([mH])")


def cells(sent: str) -> dict[tuple[int, int], tuple[str, str, str, frozenset[str]]]:
    """What stands where on a terminal that was sent this, and in which style."""
    found = {}
    row, column, at = 1, 1, 0
    style = "", "", frozenset[str]()
    while at < len(sent):
        escape = _ESCAPE.match(sent, at)
        if escape is None:
            if sent[at] == "\n":
                row, column = row + 1, 1
            elif sent[at] != "\r":
                found[row, column] = (sent[at], *style)
                column += 1
            at += 1
            continue
        at, numbers = escape.end(), escape[1].split(";")
        if escape[2] == "H":
            row, column = int(numbers[0]), int(numbers[1])
            continue
        while numbers:
            one = numbers.pop(0)
            foreground, background, others = style
            if one in ("", "0"):
                foreground, background, others = "", "", frozenset()
            elif one in ("38", "48"):
                size = 4 if numbers[0] == "2" else 2
                colour, numbers = ";".join(numbers[:size]), numbers[size:]
                foreground, background = (colour, background) if one == "38" else (foreground, colour)
            elif 30 <= int(one) < 40 or 90 <= int(one) < 100:
                foreground = one
            elif 40 <= int(one) < 50 or 100 <= int(one) < 110:
                background = one
            else:
                others |= {one}
            style = foreground, background, others
    found[0, 0] = ("end", *style)
    return found
