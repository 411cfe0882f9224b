"""The chat's start page: model, provider, cost, and what data leaves the machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.span import Span, Spans, cropped

_KEYS: Final = (
    ("⏎", "send"),
    ("^o", "hold the next request, to inspect it before it is sent"),
    ("esc", "go to the panes: see and edit what the model will read"),
    ("f1", "all keys"),
)
MAX_TEXT_WIDTH: Final = 100


class ChatStart(Struct, frozen=True):
    """Facts of the start page of a chat.

    - `of`: the model's provider; `address`: where requests go.
    - `local`: `address` is on this machine; `keeps`: also the model runs there (a local gateway may forward requests).
    - `offline`: it is the offline provider, which is no model.
    - `why`: how the model was chosen.
    - `usd`: list prices of a million input and output tokens, valid once `priced`.
    - `waiting`: number of messages that are sent when the provider is ready.
    """

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


def lines(start: ChatStart, room: int) -> list[Spans]:
    """The page in lines of `room` cells; without a model, that one is being chosen."""
    full_room, room = room, min(room, MAX_TEXT_WIDTH) - 2
    out: list[Spans] = [[]]
    if not start.model:
        out.append([Span(" ○ choosing a model: API keys first, then servers on this machine", "dim")])
    else:
        out += _model_lines(start, room)
        out.append([])
        for paragraph in _paragraphs(start):
            out += [[Span("   "), Span(line, "dim")] for line in safe_text.wrap(paragraph, room - 3)]
    if start.waiting:
        many = "message" if start.waiting == 1 else "messages"
        out += [[], [Span(f"   Your {many} will be sent as soon as the provider is ready.", "warn")]]
    out.append([])
    out += [[Span(f"   {key:>3}", "accent bold"), Span(f"  {cells.fit(says, room - 8)}", "dim")] for key, says in _KEYS]
    return [cropped(line, full_room) for line in out]


def _model_lines(start: ChatStart, room: int) -> Iterator[Spans]:
    name = "the offline provider" if start.offline else safe_text.one_line(start.model, 60)
    provider_text = (
        " answers; no model is running" if start.offline else f" of {safe_text.one_line(start.of, 40)} answers"
    )
    yield [
        Span(" ● ", "ok"),
        Span(name, "ink bold"),
        Span(cells.fit(provider_text, max(0, room - 3 - cells.width(name))), "dim"),
    ]
    yield [Span("   "), Span(cells.fit(_price(start), room - 3))]
    yield [Span("   "), Span(*_destination(start, room - 3))]


def _price(start: ChatStart) -> str:
    if start.keeps:
        return "free: it runs on this machine"
    if start.usd is not None:
        read, written = (f"${usd:,.2f}" for usd in start.usd)
        return f"costs {read} per million input tokens, {written} output (list price)"
    return "price: no list price is known" if start.priced else "price: being looked up"


def _destination(start: ChatStart, room: int) -> tuple[str, str]:
    if start.keeps:
        return "nothing leaves this machine", "ok"
    if start.local:
        server = safe_text.one_line(start.address, 60)
        text = f"the server is {server} on this machine; whether it forwards data is not known"
        return cells.fit(text, room), "warn"
    address = f" ({safe_text.one_line(start.address, 60)})" if start.address else ""
    destination = f"{safe_text.one_line(start.of, 40)}{address}"
    return cells.fit(f"your messages and what its tools read are sent to {destination}", room), "warn"


def _paragraphs(start: ChatStart) -> Iterator[str]:
    window = f"Its window is {numbers.exact(start.window)} tokens. " if start.window else ""
    why = safe_text.one_line(start.why, 200)
    why = f"{why[:1].upper()}{why[1:]}." if why else ""
    if window or why:
        yield window + why
    if start.offline:
        yield (
            "It follows rules, calls the tools you name (read a file, list a folder, find, search) and repeats their "
            "results. With ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY set, or a local server running, a model "
            "answers."
        )
    folder = safe_text.one_line(start.folder, 200)
    yield f"Its file tools work in {folder}; writing there, or running a program, needs your permission."
    yield "The chat is stored in ctxtui's database; `esc`, then `h` lists all sessions."
