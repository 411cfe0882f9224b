"""The inspector's first line: session, call, state, window use, and cost so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from ctxtui.analysis.context_window import ContextWindow
from ctxtui.core.model_names import short_model
from ctxtui.views.model.scene import Scene, is_unreported
from ctxtui.views.text import bars, cells, numbers, safe_text
from ctxtui.views.text.signs import MARK
from ctxtui.views.text.span import Span, width

if TYPE_CHECKING:
    from ctxtui.analysis.money.totals import SessionTotals


CHAT_ID: Final = "chat-"
NEW_CHAT: Final = "new chat"
TITLE_CELLS: Final = 24


class Header(Struct, frozen=True, kw_only=True):
    """Content of the header.

    - `call`: number of the call shown; 0: none, or not known yet.
    - `state`: ``live``, ``following``, ``reading``, ``held`` or ``recorded``.
    - `behind`: number of newer calls.
    - `fidelity`: printed after ``recorded`` if there is room.
    - `used`: tokens of the context; None if not known yet. `after`: those under staged edits.
    - `cost`: USD of the thread up to this call; not shown until `priced`.
    - `thread`: label of a subagent, "" for the main thread.
    - `auto_release_s`: seconds until a held request is sent.
    - `record`: (correct forecasts, all forecasts) so far, for the explanations of figures; not drawn.
    """

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
    auto_release_s: int | None = None
    record: tuple[int, int] = (0, 0)
    spent: int | None = None
    """Input and output tokens so far, if a subscription pays; the list price is shown with them from 100 cells on."""
    after: int | None = None
    partial: bool = False
    """Whether the cost is a lower bound, because a price or the end of an answer is missing."""
    partly_answered: bool = False
    """Whether `spent` is a lower bound, because some answers are reported in part."""
    unreported: bool = False
    totals: SessionTotals | None = None
    """Totals of the whole session; None until computed. Shown if other threads used anything."""


def header(scene: Scene, state: str, cost: float | None, priced: bool, *, subscription: bool = False) -> Header:
    """The header of a scene; `cost` is the thread's cost up to the call shown, in USD."""
    description, call = scene.session.about, scene.call
    used = scene.figures.context_tokens if scene.figures.reported or scene.figures.counted else None
    thread = scene.session.threads.get(scene.thread)
    label = safe_text.one_line(thread.label, 80) if thread and thread.parent else ""
    return Header(
        title=safe_text.one_line(description.title, 200) or _untitled(description.id),
        model=safe_text.one_line(short_model(call.model), 40),
        call=scene.number if call.id and not scene.partial else 0,
        state=state,
        fidelity=str(call.fidelity),
        used=used,
        limits=scene.limits,
        # Before the first call the cost is 0, even if the model has no known price.
        cost=cost if scene.session.calls else 0.0,
        priced=priced,
        thread=label,
        spent=_tokens_so_far(scene) if subscription else None,
        partly_answered=subscription and any(call.is_partial for call in scene.calls[: scene.number]),
        unreported=is_unreported(scene),
    )


def _untitled(id_: str) -> str:
    return NEW_CHAT if id_.startswith(CHAT_ID) else safe_text.one_line(id_, 80)


def _tokens_so_far(scene: Scene) -> int:
    # Late import: the first screenful needs no prices.
    from ctxtui.pricing.price import count_charged_tokens

    return sum(map(count_charged_tokens, scene.calls[: scene.number]))


def draw_header(content: Header, room: int) -> list[Span]:
    """The header in `room` cells; its figures are never cut, so that it may be wider."""
    badge = [Span(" ctxtui ", "accent-ink on-accent bold")] if room >= 100 else []
    name = f"{content.thread} ‹ {content.title}" if content.thread else content.title
    state, fidelity = _state(content, room)
    call = [Span(f"  call {content.call:,}")] if content.call else []
    model = [Span(f"  {content.model}", "dim")] if content.model and room >= 100 else []
    # The origin of the window limit is dropped first: the context map names it too.
    right = _figures(content, room, origin=room >= 100)
    title_room = min(cells.width(name), TITLE_CELLS)
    if width([*badge, *model, *call, *state, *fidelity, *right]) + 1 + title_room > room:
        right = _figures(content, room)
    free = room - width(badge) - width(right) - 1
    # Dropped in this order: fidelity, model, state, call. On a tiny screen only the figures stay.
    for part, title in ((fidelity, title_room), (model, TITLE_CELLS // 2), (state, 0), (call, 0)):
        if free - width([*model, *call, *state, *fidelity]) < title:
            part.clear()
    middle = [*model, *call, *state, *fidelity]
    left = [*badge, Span(" " + cells.fit(name, max(0, free - width(middle))), "ink bold"), *middle]
    gap = room - width(left) - width(right)
    return [*(left if gap >= 0 else []), Span(" " * max(0, gap)), *right]


def _state(content: Header, room: int) -> tuple[list[Span], list[Span]]:
    if content.state == "reading":
        return [Span("  reading", "dim")], []
    sign = MARK[content.state]
    state = [Span("  "), sign.span, Span(f" {content.state}", sign.style)]
    if content.behind:
        return [*state, Span(f" +{content.behind:,}", "warn bold")], []
    if content.state == "held" and content.auto_release_s is not None:
        return [*state, Span(f" {numbers.countdown(content.auto_release_s)}", sign.style)], []
    shows_fidelity = content.fidelity and content.state == "recorded" and room >= 100
    return state, [Span(f" {content.fidelity}", "faint")] if shows_fidelity else []


def _figures(content: Header, room: int, *, origin: bool = False) -> list[Span]:
    """Bar, size of the context and its share of the usable window, and cost.

    `origin`: the origin of the window limit is shown.
    """
    bar = 40 if room >= 160 else 24 if room >= 100 else 12 if room >= 70 else 0
    others = _session_cost(content, room)
    limit_origin = bars.limit_short(content.limits) if origin else ""
    bar = min(bar, 12) if others and room < 140 else min(bar, 24) if limit_origin else bar
    usable, window = content.limits.usable, content.limits.limit
    cost = numbers.least(content.cost, content.partial) if content.priced else numbers.NONE
    cost = "no usage" if content.unreported else cost
    used = numbers.NONE if content.used is None else numbers.tokens(content.used)
    out = [Span("  ")]
    if bar and window:
        out += [*bars.budget(content.used or 0, usable, window, bar, content.after), Span(" ")]
    if content.after is not None and content.used is not None:
        if room >= 70:
            out += [Span(used, bars.budget_style(content.used, usable)), Span(" → ", "dim")]
        out.append(Span(numbers.tokens(content.after), f"{bars.budget_style(content.after, usable)} bold"))
    else:
        out.append(Span(f"{used:>6}", "ink bold"))
    if room >= 100 and usable and content.after is None:
        out.append(Span(f" of {numbers.tokens(usable).replace('.0k', 'k')}", "dim"))
    if usable and content.used is not None:
        level = content.used if content.after is None else content.after
        # `readtx` is the style of a context within the limit, which needs no emphasis here.
        style = bars.budget_style(level, usable)
        share = f"{100 * level / usable:.0f} %"
        out.append(
            Span(f"{share:>7}" if room >= 100 else f"{share:>6}", "ink" if style == "readtx" else f"{style} bold")
        )
    if limit_origin and usable and content.after is None:
        out.append(Span(f"  {limit_origin}", "dim"))
    out.append(Span("  " if room >= 100 else " "))
    if content.spent is not None:
        out.append(Span(numbers.least_tokens(content.spent, content.partly_answered), "ink bold"))
        out += [Span(" tokens", "dim"), Span(f"  {cost} list", "faint")] if room >= 100 else []
    else:
        out.append(Span(cost, "ink bold" if content.cost is not None and not content.unreported else "dim"))
        out += others
    return [*out, Span(" " if room >= 100 else "")]


def _session_cost(content: Header, room: int) -> list[Span]:
    """Cost of all threads, and the number of subagents.

    Empty without other threads or known costs.
    """
    totals = content.totals
    if totals is None or not totals.is_split or not content.priced:
        return []
    if content.cost is None and totals.total.usd is None:
        return []
    usd = numbers.least(totals.total.usd, totals.total.at_least)
    agents = f" with {numbers.many(totals.agents, 'subagent')}" if totals.agents else ""
    return [Span(f" of {usd}", "dim"), Span(agents if room >= 120 else "", "dim")]
