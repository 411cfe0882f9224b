"""What a chat shows before the first word: who answers, where that is, what it costs, what leaves the machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.span import Span, Spans, cropped

_KEYS: Final = (
    ("⏎", "say it"),
    ("^o", "hold the request, to look at it before it is sent"),
    ("esc", "to the panes: what the model will read, and edits of it"),
    ("f1", "all keys"),
)
_WIDEST: Final = 100


class ChatStart(Struct, frozen=True):
    """Who answers: the `model`, the provider `of` it and the `address` it has. `local`: on this machine; `keeps`: and
    what it is told stays there (a gateway may send it on); `offline`: the embedded provider, which is no model. `why`
    says how it was chosen, `window` is in tokens (0: not known). `usd` are the list prices of a million tokens read and
    written (None: not known), once they are `priced`. The tools work in `folder`; `waiting` messages go as soon as the
    partner is there."""

    model: str = ""
    of: str = ""
    address: str = ""
    local: bool = False
    keeps: bool = False
    offline: bool = False
    why: str = ""
    window: int = 0
    usd: tuple[float, float] | None = None
    priced: bool = False
    folder: str = ""
    waiting: int = 0


def lines(what: ChatStart, room: int) -> list[Spans]:
    """The lines, each of at most `room` cells."""
    whole, room = room, min(room, _WIDEST) - 2
    out: list[Spans] = [[]]
    if not what.model:
        out.append([Span(" ○ looking for who answers: your keys, then servers on this machine", "dim")])
    else:
        out += _partner(what, room)
        out.append([])
        for paragraph in _told(what):
            out += [[Span("   "), Span(line, "dim")] for line in safe_text.wrap(paragraph, room - 3)]
    if what.waiting:
        many = "message" if what.waiting == 1 else "messages"
        out += [[], [Span(f"   Your {many} will be sent as soon as the provider is ready.", "warn")]]
    out.append([])
    out += [[Span(f"   {key:>3}", "accent bold"), Span(f"  {cells.fit(says, room - 8)}", "dim")] for key, says in _KEYS]
    return [cropped(line, whole) for line in out]


def _partner(what: ChatStart, room: int) -> Iterator[Spans]:
    name = "the offline provider" if what.offline else safe_text.one_line(what.model, 60)
    of = " answers; no model is running" if what.offline else f" of {safe_text.one_line(what.of, 40)} answers"
    yield [Span(" ● ", "ok"), Span(name, "ink bold"), Span(cells.fit(of, max(0, room - 3 - cells.width(name))), "dim")]
    yield [Span("   "), Span(cells.fit(_price(what), room - 3))]
    yield [Span("   "), Span(*_leaves(what, room - 3))]


def _price(what: ChatStart) -> str:
    if what.keeps:
        return "costs nothing: it runs on this machine"
    if what.usd is not None:
        read, written = (f"${usd:,.2f}" for usd in what.usd)
        return f"costs {read} a million tokens read, {written} written (list price)"
    return "costs: no list price is known" if what.priced else "costs: looked up"


def _leaves(what: ChatStart, room: int) -> tuple[str, str]:
    if what.keeps:
        return "nothing leaves this machine", "ok"
    if what.local:
        told = f"it is asked at {safe_text.one_line(what.address, 60)} on this machine; what that sends on is not known"
        return cells.fit(told, room), "warn"
    address = f" ({safe_text.one_line(what.address, 60)})" if what.address else ""
    whom = f"{safe_text.one_line(what.of, 40)}{address}"
    return cells.fit(f"what you say and what its tools read goes to {whom}", room), "warn"


def _told(what: ChatStart) -> Iterator[str]:
    window = f"It takes {numbers.exact(what.window)} tokens. " if what.window else ""
    why = f"{safe_text.one_line(what.why, 200).capitalize()}." if what.why else ""
    if window or why:
        yield window + why
    if what.offline:
        yield (
            "It follows rules, calls the tools you name (read a file, list a folder, find, search) and says what they "
            "gave. With ANTHROPIC_API_KEY or OPENAI_API_KEY set, or a local server running, a model answers."
        )
    folder = safe_text.one_line(what.folder, 200)
    yield f"Its tools work in {folder} and nowhere else; before they write you see what, and are asked."
    yield "The chat is kept in ctxtui's own database; `h` lists it with all others."
