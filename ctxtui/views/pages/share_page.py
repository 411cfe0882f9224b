"""A page that shows what a call sent, masked: self-contained HTML without scripts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from ctxtui.core.category import INDEX
from ctxtui.views.html.document import escape, foot, head
from ctxtui.views.text import numbers
from ctxtui.views.text.signs import CATEGORY, NOT_RECORDED, Sign

MAX_ROW_CHARS: Final = 200

_IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_BASE64: Final = re.compile(r"[A-Za-z0-9+/=\s]*")
"""Data of an image that is embedded: other characters could end the attribute that holds it."""


class SharedBlock(Struct, frozen=True, kw_only=True):
    """One block.

    - `text`: as the model read it; `images`: as (media type, base64).
    - `tokens`: its size; `method`: how that was counted.
    - `read`: False if the provider removed the block.
    """

    category: int
    role: str
    label: str
    text: str
    tokens: int
    method: str
    read: bool = True
    images: tuple[tuple[str, str], ...] = ()


class SharedCall(Struct, frozen=True, kw_only=True):
    """Content of the page about one call.

    - `total`: the context's tokens; `method`: how they were obtained.
    - `residual`: the total minus the blocks' tokens.
    - `body`: the request's JSON ("": it cannot be built); `lost`: parts of the context missing in it.
    - `level`: the masking level; `masked`: one line for each kind of masked text.
    """

    title: str
    facts: tuple[str, ...]
    total: int
    method: str
    blocks: tuple[SharedBlock, ...]
    residual: int
    body: str
    lost: tuple[str, ...]
    level: str
    masked: tuple[str, ...]


def page(call: SharedCall) -> str:
    parts = [*_head(call), *_composition(call), *_blocks(call.blocks), *_body(call)]
    return "\n".join(parts) + "\n"


def _head(call: SharedCall) -> Iterator[str]:
    yield from head(call.title, SHARE_CSS)
    yield f"<header><h1>{escape(call.title)}</h1><p>{' · '.join(map(escape, call.facts))}</p>"
    masked = "; ".join(map(escape, call.masked)) or "nothing was found to mask"
    yield f'<p class="masked">Masked ({escape(call.level)}): {masked}</p></header><main>'


def _composition(call: SharedCall) -> Iterator[str]:
    yield f"<h2>Context <b>{numbers.exact(call.total)}</b> tokens <small>{escape(call.method)}</small></h2>"
    sums: dict[int, int] = {}
    for block in call.blocks:
        sums[block.category] = sums.get(block.category, 0) + (block.tokens if block.read else 0)
    shown = [(category, tokens) for category, tokens in sorted(sums.items()) if tokens]
    whole = sum(tokens for _, tokens in shown) or 1
    cells = (f'<i class="c{n}" style="width:{tokens / whole:.2%}" title="{_sign(n).name}"></i>' for n, tokens in shown)
    yield f'<div class="bar">{"".join(cells)}</div><table>'
    for n, tokens in shown:
        share = numbers.share(tokens / call.total) if call.total else ""
        name = f'<td class="t{n}">{_sign(n).glyph} {_sign(n).name}</td>'
        yield f"<tr>{name}<td>{numbers.tokens(tokens)}</td><td>{share}</td></tr>"
    if call.residual:
        yield f'<tr class="dim"><td>residual</td><td>{numbers.signed(call.residual)}</td><td></td></tr>'
    yield "</table>"


def _blocks(blocks: Iterable[SharedBlock]) -> Iterator[str]:
    yield "<h2>Blocks, in prompt order</h2>"
    for block in blocks:
        sign, n = _sign(block.category), block.category
        tokens = numbers.tokens(block.tokens) if block.read else numbers.unread(block.tokens)
        first = block.text[: MAX_ROW_CHARS * 4].strip().split("\n", 1)[0][:MAX_ROW_CHARS]
        state = "" if block.read else ' class="unread"'
        yield f'<details{state}><summary><span class="g t{n}">{sign.glyph}</span>'
        if first.startswith(block.label):
            yield f'<span class="w t{n}">{escape(first)}</span>'
        else:
            yield f'<span class="l t{n}">{escape(block.label)}</span><span class="w dim">{escape(first)}</span>'
        yield f'<span class="n" title="{escape(block.method)}">{tokens}</span></summary>'
        yield f"<pre>{escape(block.text)}</pre>{''.join(_images(block))}</details>"


def _images(block: SharedBlock) -> Iterator[str]:
    for media_type, data in block.images:
        if media_type in _IMAGES and _BASE64.fullmatch(data):
            yield f'<img alt="an image of the prompt" src="data:{media_type};base64,{data}">'


def _body(call: SharedCall) -> Iterator[str]:
    if call.body:
        lost = "".join(f'<p class="dim">not in the body: {escape(part)}</p>' for part in call.lost)
        yield f"<h2>Request body</h2>{lost}<details><summary>JSON</summary><pre>{escape(call.body)}</pre></details>"
    yield foot("Made by ctxtui: what the model read, block by block.")


def _sign(category: int) -> Sign:
    return CATEGORY[category if category < len(CATEGORY) else NOT_RECORDED]


def category_index(category: str) -> int:
    return INDEX.get(category, NOT_RECORDED)


SHARE_CSS: Final = """
.bar{display:flex;height:1rem}
.bar i{display:block}
td{padding:0 1.2rem 0 0}
td+td{text-align:right}
details{border-top:1px solid var(--hair)}
summary{display:flex;gap:.7rem;padding:.25rem 0;cursor:pointer;list-style:none}
summary:hover{background:var(--cur)}
.g{width:1rem;text-align:center}
.l{white-space:nowrap;max-width:18rem;overflow:hidden;text-overflow:ellipsis}
.w{flex:1;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
.n{font-variant-numeric:tabular-nums}
.unread{opacity:.55}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--panel);padding:.8rem}
pre{font:13px/1.45 ui-monospace,monospace}
img{max-width:100%;border:1px solid var(--hair)}
"""
