"""Answers side by side: what was recorded, and what came when the call was sent again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from ctxtui.analysis.content.agreement import Agreement, NextStep, Share, Trial
from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.span import Span, Spans, padded

_GAP = " │ "


def step_lines(step: NextStep | None, room: int) -> Iterator[Spans]:
    """What an answer says and calls, in lines of `room` cells."""
    if step is None:
        return
    for line in step.text.splitlines():
        for text in safe_text.wrap(line, max(10, room)) or [""]:
            yield [Span(text)]
    for call in step.calls:
        yield [Span("→ ", "cat-call"), Span(safe_text.one_line(call.name, 80), "cat-call bold")]
        for text in safe_text.wrap(_arguments(call.arguments), max(10, room - 2)):
            if text:
                yield [Span(f"  {text}", "dim")]
    if not step.calls and not step.text:
        yield [Span("nothing", "faint")]


def _arguments(text: str) -> str:
    value = json.loads(text)
    if isinstance(value, dict):
        return ", ".join(f"{key}={json.dumps(one, ensure_ascii=False)}" for key, one in value.items())
    return text


def beside(one: Trial, room: int) -> list[Spans]:
    """Both answers, side by side."""
    wide = max(10, (room - 2 - len(_GAP)) // 2)
    left, right = list(step_lines(one.recorded, wide)), list(_came(one, wide))
    out: list[Spans] = [
        [Span(" " + cells.left("recorded", wide), "dim"), Span(_GAP, "hair"), Span("sent again", "dim")]
    ]
    for n in range(max(len(left), len(right))):
        first = padded(left[n] if n < len(left) else [], wide)
        out.append([Span(" "), *first, Span(_GAP, "hair"), *(right[n] if n < len(right) else [])])
    return out


def _came(one: Trial, room: int) -> Iterator[Spans]:
    if one.got is None:
        for text in safe_text.wrap(one.error, max(10, room)):
            yield [Span(text, "crit")]
    yield from step_lines(one.got, room)


def same(one: Trial) -> Span:
    """Whether they do the same, in words."""
    if one.got is None:
        return Span("nothing came back", "crit")
    if one.calls_agree:
        return Span("the same tools with the same arguments" if one.recorded.calls else "both call no tool", "ok")
    if one.tools_agree:
        return Span("the same tools, other arguments", "warn")
    return Span("another next step", "crit")


def charged(one: Trial) -> str:
    """What it was charged for."""
    if one.usage is None:
        return ""
    usd = f", {numbers.money(one.usd)}" if one.usd is not None else ""
    return f"{numbers.tokens(one.usage.input)} in, {numbers.tokens(one.usage.output)} out{usd}"


_STYLES = {"worse": "crit", "better": "ok", "not told apart": "ink", "not told": "dim"}


def agreement_lines(found: Sequence[Agreement], room: int) -> Iterator[Spans]:
    """Each variant's agreement with what was recorded, the noise floor first."""
    wide = max(12, min(40, room - 56))
    yield [Span(f" {cells.left('variant', wide)}  {'same tools':>20}  {'same arguments':>20}  beside noise", "dim")]
    for one in found:
        name = Span(f" {cells.left(cells.fit(one.variant, wide).rstrip(), wide)}  ", "ink bold")
        told = "noise floor" if one.variant == "unchanged" else one.verdict
        failed = f", {one.failed:,} failed" if one.failed else ""
        style = "dim" if one.variant == "unchanged" else _STYLES[one.verdict]
        yield [name, Span(f"{_share(one.tools):>20}  "), Span(f"{_share(one.calls):>20}  ", "dim"),
               Span(told + failed, style)]  # fmt: skip


def _share(one: Share) -> str:
    if not one.of:
        return numbers.NOT_APPLICABLE
    return f"{one.hits}/{one.of} ({one.low * 100:.0f}–{one.high * 100:.0f} %)"
