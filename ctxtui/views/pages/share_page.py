"""One page that shows exactly what a call sent: self-contained HTML without scripts, readable from any browser."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from ctxtui.core.category import INDEX
from ctxtui.views.html.document import foot, head, safe
from ctxtui.views.text import numbers
from ctxtui.views.text.signs import CATEGORY, NOT_RECORDED, Sign

LONGEST: Final = 200
"""Characters of a block's text that stand in its row."""

_IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_BASE64: Final = re.compile(r"[A-Za-z0-9+/=\s]*")


class SharedBlock(Struct, frozen=True, kw_only=True):
    """One block of the page: its `category` index, `label` and `text` as the model read it, its tokens, and images in
    it as (media type, base64). `read` is False for a block that the provider took out."""

    category: int
    role: str
    label: str
    text: str
    tokens: int
    method: str
    read: bool = True
    images: tuple[tuple[str, str], ...] = ()


class SharedCall(Struct, frozen=True, kw_only=True):
    """What the page is made of. `facts` are short texts under the title, `total` the context's tokens and `method` how
    they were obtained, `residual` the total less the blocks', `body` the request's JSON text ("" where it cannot be
    told), `lost` what of the context the body could not say, `masked` a line per kind of thing that was masked."""

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


def page(what: SharedCall) -> str:
    """The HTML of `what`: no script, nothing loaded from anywhere."""
    parts = [*_head(what), *_composition(what), *_blocks(what.blocks), *_body(what)]
    return "\n".join(parts) + "\n"


def _head(what: SharedCall) -> Iterator[str]:
    yield from head(what.title, _RULES)
    yield f"<header><h1>{safe(what.title)}</h1><p>{' · '.join(map(safe, what.facts))}</p>"
    masked = "; ".join(map(safe, what.masked)) or "nothing was found to mask"
    yield f'<p class="masked">Masked ({safe(what.level)}): {masked}</p></header><main>'


def _composition(what: SharedCall) -> Iterator[str]:
    yield f"<h2>Context <b>{numbers.exact(what.total)}</b> tokens <small>{safe(what.method)}</small></h2>"
    sums: dict[int, int] = {}
    for block in what.blocks:
        sums[block.category] = sums.get(block.category, 0) + (block.tokens if block.read else 0)
    shown = [(category, tokens) for category, tokens in sorted(sums.items()) if tokens]
    whole = sum(tokens for _, tokens in shown) or 1
    cells = (f'<i class="c{n}" style="width:{tokens / whole:.2%}" title="{_sign(n).name}"></i>' for n, tokens in shown)
    yield f'<div class="bar">{"".join(cells)}</div><table>'
    for n, tokens in shown:
        share = numbers.share(tokens / what.total) if what.total else ""
        name = f'<td class="t{n}">{_sign(n).glyph} {_sign(n).name}</td>'
        yield f"<tr>{name}<td>{numbers.tokens(tokens)}</td><td>{share}</td></tr>"
    if what.residual:
        yield f'<tr class="dim"><td>residual</td><td>{numbers.signed(what.residual)}</td><td></td></tr>'
    yield "</table>"


def _blocks(blocks: Iterable[SharedBlock]) -> Iterator[str]:
    yield "<h2>Blocks, in prompt order</h2>"
    for block in blocks:
        sign, n = _sign(block.category), block.category
        tokens = numbers.tokens(block.tokens) if block.read else numbers.unread(block.tokens)
        first = block.text[: LONGEST * 4].strip().split("\n", 1)[0][:LONGEST]
        state = "" if block.read else ' class="unread"'
        yield f'<details{state}><summary><span class="g t{n}">{sign.glyph}</span>'
        if first.startswith(block.label):
            yield f'<span class="w t{n}">{safe(first)}</span>'
        else:
            yield f'<span class="l t{n}">{safe(block.label)}</span><span class="w dim">{safe(first)}</span>'
        yield f'<span class="n" title="{safe(block.method)}">{tokens}</span></summary>'
        yield f"<pre>{safe(block.text)}</pre>{''.join(_images(block))}</details>"


def _images(block: SharedBlock) -> Iterator[str]:
    for media_type, data in block.images:
        if media_type in _IMAGES and _BASE64.fullmatch(data):
            yield f'<img alt="an image of the prompt" src="data:{media_type};base64,{data}">'


def _body(what: SharedCall) -> Iterator[str]:
    if what.body:
        lost = "".join(f'<p class="dim">not in the body: {safe(one)}</p>' for one in what.lost)
        yield f"<h2>Request body</h2>{lost}<details><summary>JSON</summary><pre>{safe(what.body)}</pre></details>"
    yield foot("Made by ctxtui: what the model read, block by block.")


def _sign(category: int) -> Sign:
    return CATEGORY[category if category < len(CATEGORY) else NOT_RECORDED]


def index_of(category: str) -> int:
    """The index that the page has for a category's name; what is not recorded comes last."""
    return INDEX.get(category, NOT_RECORDED)


_RULES: Final = """
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
