"""The header: which session, which call, in what state, how full the window is, what it cost so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct, field

from ctxtui.analysis.context_window import ContextWindow
from ctxtui.analysis.short_names import short_model
from ctxtui.views.model.scene import Scene, is_unreported
from ctxtui.views.text import bars, cells, numbers, safe_text
from ctxtui.views.text.signs import MARK
from ctxtui.views.text.span import Span, Spans, width

if TYPE_CHECKING:
    from ctxtui.analysis.money.totals import SessionTotals


CHAT_ID: Final = "chat-"
"""How the id of a chat of ours begins."""
NEW_CHAT: Final = "new chat"
_TITLE: Final = 24
"""Cells that a title gets before anything that can go takes them."""


class Header(Struct, frozen=True, kw_only=True):
    """The header's content. `call` 0: none; `used` None: not known yet; `cost` None: unknown, `priced` False: not yet
    asked. `state` is ``live``, ``following``, ``reading`` or ``recorded``; `fidelity` follows it, or
    how many calls the view is `behind` a live recording. A held request leaves by itself in `waits` seconds.
    `record`: how many forecasts of the calls so far were right, and how many there were. `after` is what the context
    comes to under staged edits, in tokens."""

    title: str
    model: str = ""
    call: int = 0
    state: str = "recorded"
    fidelity: str = ""
    used: int | None = None
    limits: ContextWindow = field(default_factory=ContextWindow)
    cost: float | None = None
    priced: bool = False
    thread: str = ""
    behind: int = 0
    waits: int | None = None
    record: tuple[int, int] = (0, 0)
    spent: int | None = None
    """Tokens in and out of the thread's calls so far, where a subscription paid: they lead then."""
    after: int | None = None
    partial: bool = False
    """Whether a price is missing in the cost, or the end of an answer: it is the least then."""
    partly_answered: bool = False
    """Whether answers are reported in part: what is `spent` is the least then."""
    unreported: bool = False
    """Whether there are answers, and no call is reported: what was paid is not known."""
    totals: SessionTotals | None = None
    """What the whole session comes to, where it has more threads than the one shown."""


def header(scene: Scene, state: str, cost: float | None, priced: bool, *, subscription: bool = False) -> Header:
    """The header of a scene; `cost` is what the thread cost up to the call shown, in USD."""
    about, call = scene.session.about, scene.call
    used = scene.figures.context_tokens if scene.figures.reported or scene.figures.counted else None
    thread = scene.session.threads.get(scene.thread)
    label = safe_text.one_line(thread.label, 80) if thread and thread.parent else ""
    return Header(
        title=safe_text.one_line(about.title, 200) or _untitled(about.id),
        model=safe_text.one_line(short_model(call.model), 40),
        call=scene.number if call.id and not scene.partial else 0,
        state=state,
        fidelity=str(call.fidelity),
        used=used,
        limits=scene.limits,
        # Before the first call nothing was paid, whatever the prices are.
        cost=cost if scene.session.calls else 0.0,
        priced=priced,
        thread=label,
        spent=_spent(scene) if subscription else None,
        partly_answered=subscription and any(call.is_partial for call in scene.calls[: scene.number]),
        unreported=is_unreported(scene),
    )


def _untitled(id_: str) -> str:
    """What a session without a title is called: a chat in which nothing was said yet has no name worth reading."""
    return NEW_CHAT if id_.startswith(CHAT_ID) else safe_text.one_line(id_, 80)


def _spent(scene: Scene) -> int:
    # Imported here: the first screenful of a long recording has no figures.
    from ctxtui.pricing.price import count_charged_tokens

    return sum(map(count_charged_tokens, scene.calls[: scene.number]))


def draw(what: Header, room: int) -> list[Span]:
    """The header in exactly `room` cells: the figures at the right are whole, the title takes what is left."""
    badge = [Span(" ctxtui ", "accent-ink on-accent bold")] if room >= 100 else []
    name = f"{what.thread} ‹ {what.title}" if what.thread else what.title
    state, fidelity = _state(what, room)
    call = [Span(f"  call {what.call:,}")] if what.call else []
    model = [Span(f"  {what.model}", "dim")] if what.model and room >= 100 else []
    # How the limit is known is said on the map, too.
    right = _figures(what, room, origin=room >= 100)
    long = min(cells.width(name), _TITLE)
    if width([*badge, *model, *call, *state, *fidelity, *right]) + 1 + long > room:
        right = _figures(what, room)
    free = room - width(badge) - width(right) - 1
    # The title needs its room more than the fidelity does, then more than the model's name; on a tiny screen the
    # figures need theirs more than anything.
    for part, title in ((fidelity, long), (model, _TITLE // 2), (state, 0), (call, 0)):
        if free - width([*model, *call, *state, *fidelity]) < title:
            part.clear()
    middle = [*model, *call, *state, *fidelity]
    left = [*badge, Span(" " + cells.fit(name, max(0, free - width(middle))), "ink bold"), *middle]
    gap = room - width(left) - width(right)
    return [*(left if gap >= 0 else []), Span(" " * max(0, gap)), *right]


def _state(what: Header, room: int) -> tuple[list[Span], list[Span]]:
    """The state, and the fidelity that may follow it."""
    if what.state == "reading":
        return [Span("  reading", "dim")], []
    if what.state == "following":
        return [Span("  "), MARK["following"].span, Span(" following", "accent bold")], []
    sign = MARK[what.state]
    if what.behind:
        held = [Span("  "), sign.span, Span(f" {what.state}", sign.style), Span(f" +{what.behind:,}", "warn bold")]
        return held, []
    if what.state == "held" and what.waits is not None:
        left = f" {what.waits // 60}:{what.waits % 60:02}"
        return [Span("  "), sign.span, Span(f" {what.state}", sign.style), Span(left, sign.style)], []
    fidelity = what.fidelity if what.state == "recorded" and room >= 100 else ""
    return [Span("  "), sign.span, Span(f" {what.state}", sign.style)], [
        Span(f" {fidelity}", "faint")
    ] if fidelity else []


def _figures(what: Header, room: int, *, origin: bool = False) -> list[Span]:
    bar = 40 if room >= 160 else 24 if room >= 100 else 12 if room >= 70 else 0
    others = _with_others(what, room)
    how = bars.limit_short(what.limits) if origin else ""
    bar = min(bar, 12) if others and room < 140 else min(bar, 24) if how else bar
    usable, window = what.limits.usable, what.limits.limit
    cost = numbers.least(what.cost, what.partial) if what.priced else numbers.NONE
    cost = "no usage" if what.unreported else cost
    used = numbers.NONE if what.used is None else numbers.tokens(what.used)
    out = [Span("  ")]
    if bar and window:
        out += [*bars.budget(what.used or 0, usable, window, bar, what.after), Span(" ")]
    if what.after is not None and what.used is not None:
        out += _falling(what.used, what.after, usable, room)
    else:
        out.append(Span(f"{used:>6}", "ink bold"))
    if room >= 100 and usable and what.after is None:
        out.append(Span(f" of {numbers.tokens(usable).replace('.0k', 'k')}", "dim"))
    if usable and what.used is not None:
        level = what.used if what.after is None else what.after
        style = bars.budget_style(level, usable)
        share = f"{100 * level / usable:.0f} %"
        out.append(
            Span(f"{share:>7}" if room >= 100 else f"{share:>6}", "ink" if style == "readtx" else f"{style} bold")
        )
    if how and usable and what.after is None:
        out.append(Span(f"  {how}", "dim"))
    out.append(Span("  " if room >= 100 else " "))
    if what.spent is not None:
        out.append(Span(numbers.least_tokens(what.spent, what.partly_answered), "ink bold"))
        out += [Span(" tokens", "dim"), Span(f"  {cost} list", "faint")] if room >= 100 else []
    else:
        out.append(Span(cost, "ink bold" if what.cost is not None and not what.unreported else "dim"))
        out += others
    return [*out, Span(" " if room >= 100 else "")]


def _with_others(what: Header, room: int) -> list[Span]:
    """What the session costs with its subagents, where there are any."""
    totals = what.totals
    if totals is None or not totals.others.calls or not what.priced:
        return []
    if what.cost is None and totals.total.usd is None:
        return []  # unknown of unknown
    usd = numbers.least(totals.total.usd, totals.total.at_least)
    agents = f" with {totals.agents:,} subagent{'' if totals.agents == 1 else 's'}" if totals.agents else ""
    return [Span(f" of {usd}", "dim"), Span(agents if room >= 120 else "", "dim")]


def _falling(used: int, after: int, usable: int, room: int) -> list[Span]:
    """What the context comes to under staged edits: ``154.0k → 107.3k``."""
    before = [Span(numbers.tokens(used), bars.budget_style(used, usable)), Span(" → ", "dim")] if room >= 70 else []
    return [*before, Span(numbers.tokens(after), f"{bars.budget_style(after, usable)} bold")]


_TIGHT: Final = 0.5
"""The share of a rate limit under which it is told."""
_LOW: Final = 0.2


class RateLimit(Protocol):
    """One limit, see `providers.rate_limits.Headroom`: what it is on, the share that is left, when it is whole again
    (Unix seconds)."""

    @property
    def what(self) -> str: ...
    @property
    def share(self) -> float: ...
    @property
    def reset(self) -> float | None: ...


def headroom(limits: Sequence[RateLimit], now: float) -> Spans:
    """The tightest of `limits` at Unix time `now`, where little of it is left; they come tightest first."""
    room = next((one for one in limits if one.share < _TIGHT), None)
    if room is None:
        return []
    left = f"{room.what.replace('-', ' ')} {100 * room.share:.0f} % left"
    until = f", whole in {max(0, room.reset - now):.0f} s" if room.reset is not None else ""
    return [Span(f"{left}{until}  ", "warn" if room.share < _LOW else "dim")]
