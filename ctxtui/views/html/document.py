"""Frame of an HTML document: head with style, escaped text, tables."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ctxtui.views.text.signs import CATEGORY, DARK, LIGHT

CONTENT_SECURITY_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
DIRECTION_CONTROLS: Final = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that change the direction of text, which could then read differently."""
CONTROL_CHARS: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
"""Controls other than tab and line ends, and lone surrogates: HTML cannot hold them."""


def escape(text: str) -> str:
    """Escape `text` for HTML; direction controls are shown, other controls are ``·``."""
    visible = DIRECTION_CONTROLS.sub(lambda m: f"⟨U+{ord(m[0]):04X}⟩", text)
    return html.escape(CONTROL_CHARS.sub("·", visible))


def head(title: str, rules: str = "") -> Iterator[str]:
    """Yield everything before the body's content; `rules` are additional CSS."""
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_SECURITY_POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{escape(title)}</title><style>{style(rules)}</style></head><body>"


def foot(text: str) -> str:
    return f"</main><footer>{escape(text)}</footer></body></html>"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[int] = (0,)) -> Iterator[str]:
    """Yield a table of cells that are HTML already; columns not in `left` are right-aligned."""
    yield '<div class="wide"><table><thead><tr>'
    yield "".join(f"<th{_align(n, left)}>{escape(name)}</th>" for n, name in enumerate(heads))
    yield "</tr></thead><tbody>"
    for row in rows:
        yield "<tr>" + "".join(f"<td{_align(n, left)}>{cell}</td>" for n, cell in enumerate(row)) + "</tr>"
    yield "</tbody></table></div>"


def _align(column: int, left: Sequence[int]) -> str:
    return ' class="left"' if column in left else ""


def style(rules: str = "") -> str:
    """The document's CSS, with the theme's colours for dark and light screens; print is light."""
    classes = "".join(
        f".c{n}{{background:var(--{sign.style})}}.t{n}{{color:var(--{sign.style})}}.f{n}{{fill:var(--{sign.style})}}"
        for n, sign in enumerate(CATEGORY)
    )
    light = f":root{{{_variables(LIGHT)}}}"
    return (
        f":root{{color-scheme:light dark;{_variables(DARK)}}}@media (prefers-color-scheme:light){{{light}}}"
        f"{BASE_CSS}{rules}{classes}@media print{{{light}{PRINT_CSS}}}"
    )


def _variables(colours: dict[str, str]) -> str:
    return "".join(f"--{name}:{colour};" for name, colour in colours.items())


BASE_CSS: Final = """
body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
header{background:var(--panel);padding:1rem 1.5rem}
h1{font-size:1.3rem;margin:0}
header p{margin:.3rem 0;color:var(--dim)}
header .masked{color:var(--warn)}
main{max-width:70rem;margin:0 auto;padding:0 1.5rem 3rem}
h2{font-size:1.05rem;margin:2rem 0 .5rem}
h2 small,.dim,footer{color:var(--dim);font-weight:400}
table{border-collapse:collapse;margin:.7rem 0;font-variant-numeric:tabular-nums}
footer{padding:1rem 1.5rem}
"""
PRINT_CSS: Final = """
body{font-size:11px;background:#fff}
header{padding:.5rem 0;background:none}
main{max-width:none;padding:0}
figure,tr,.cards,.sentences{break-inside:avoid}
h2,h3{break-after:avoid}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}
"""
