"""The header: which session, which call, in what state, how full the window is, what it cost so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from ctxtui.lab.labels import short_model
from ctxtui.views import bars, cells, numbers, safe_text
from ctxtui.views.scene import Limits, Scene
from ctxtui.views.signs import MARK
from ctxtui.views.span import Span, width


@dataclass(frozen=True, slots=True)
class Header:
    """The header's content. `call` 0: none; `used` None: not known yet; `cost` None: unknown, `priced` False: not yet
    asked. `state` is ``live``, ``following`` or ``recorded``; `fidelity` follows it."""

    title: str
    model: str = ""
    call: int = 0
    state: str = "recorded"
    fidelity: str = ""
    used: int | None = None
    limits: Limits = field(default_factory=Limits)
    cost: float | None = None
    priced: bool = False
    thread: str = ""


def header(scene: Scene, state: str, cost: float | None, priced: bool) -> Header:
    """The header of a scene; `cost` is what the thread cost up to the call shown, in USD."""
    about, call = scene.session.about, scene.call
    used = scene.figures.context_tokens if scene.figures.reported or scene.figures.counted else None
    thread = scene.session.threads.get(scene.thread)
    label = safe_text.one_line(thread.label, 80) if thread and thread.parent else ""
    return Header(
        safe_text.one_line(about.title, 200) or safe_text.one_line(about.id, 80),
        safe_text.one_line(short_model(call.model), 40),
        scene.number if call.id else 0,
        state,
        str(call.fidelity),
        used,
        scene.limits,
        cost,
        priced,
        label,
    )


def draw(what: Header, room: int) -> list[Span]:
    """The header in exactly `room` cells: the figures at the right are whole, the title takes what is left."""
    right = _figures(what, room)
    badge = [Span(" ctxtui ", "accent-ink on-accent bold")] if room >= 100 else []
    middle = [Span("  ")]
    if what.model and room >= 100:
        middle += [Span(f"{what.model}  ", "dim")]
    if what.call:
        middle += [Span(f"call {what.call:,}  ", "ink")]
    middle += _state(what, room)
    free = room - width(badge) - width(middle) - width(right) - 2
    if free < 12 and what.model and room >= 100:
        # The model's name is the first thing to go.
        middle = [middle[0], *middle[2:]]
        free = room - width(badge) - width(middle) - width(right) - 2
    title = cells.fit(f"{what.thread} ‹ {what.title}" if what.thread else what.title, max(0, free))
    left = [*badge, Span(f" {title}", "ink bold"), *middle]
    return [*left, Span(" " * max(0, room - width(left) - width(right))), *right]


def _state(what: Header, room: int) -> list[Span]:
    if what.state == "following":
        return [MARK["replay"].span, Span(" following", "accent bold")]
    sign = MARK[what.state]
    words = [sign.span, Span(f" {what.state}", sign.style)]
    if what.state == "recorded" and what.fidelity and room >= 100:
        words.append(Span(f" {what.fidelity}", "faint"))
    return words


def _figures(what: Header, room: int) -> list[Span]:
    bar = 40 if room >= 160 else 24 if room >= 100 else 12 if room >= 70 else 0
    usable, window = what.limits.usable, what.limits.window
    cost = numbers.money(what.cost) if what.priced else numbers.NONE
    used = numbers.NONE if what.used is None else numbers.tokens(what.used)
    out = [Span("  ")]
    if bar and window:
        out += [*bars.budget(what.used or 0, usable, window, bar), Span(" ")]
    out.append(Span(f"{used:>6}", "ink bold"))
    if room >= 100 and usable:
        out.append(Span(f" of {numbers.tokens(usable).replace('.0k', 'k')}", "dim"))
    if usable and what.used is not None:
        style = bars.budget_style(what.used, usable)
        share = f"{100 * what.used / usable:.0f} %"
        out.append(
            Span(f"{share:>7}" if room >= 100 else f"{share:>6}", "ink" if style == "readtx" else f"{style} bold")
        )
    out += [Span("  " if room >= 100 else " "), Span(cost, "ink bold" if what.cost is not None else "dim")]
    return [*out, Span(" " if room >= 100 else "")]
