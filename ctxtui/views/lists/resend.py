"""Recorded and new answers of resent calls, side by side.

A resent call (`Trial`) is a recorded one that was sent to a model again, as it was or changed, to compare the answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from ctxtui.analysis.content.agreement import Agreement, NextStep, Share, Trial
from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.span import Span, Spans, padded

_GAP = " │ "


def _step_lines(step: NextStep | None, room: int) -> Iterator[Spans]:
    if step is None:
        return
    for line in safe_text.lines(step.text):
        yield from ([Span(text)] for text in safe_text.wrap(line, max(10, room)))
    for call in step.calls:
        yield [Span("→ ", "cat-call"), Span(safe_text.one_line(call.name, 80), "cat-call bold")]
        for text in safe_text.wrap(safe_text.line(_arguments(call.arguments)), max(10, room - 2)):
            if text:
                yield [Span(f"  {text}", "dim")]
    if not step.calls and not step.text:
        yield [Span("nothing", "faint")]


def _arguments(text: str) -> str:
    value = json.loads(text)
    if isinstance(value, dict):
        return ", ".join(f"{key}={json.dumps(item, ensure_ascii=False)}" for key, item in value.items())
    return text


def side_by_side(trial: Trial, room: int) -> list[Spans]:
    column_width = max(10, (room - 2 - len(_GAP)) // 2)
    left, right = list(_step_lines(trial.recorded, column_width)), list(_new_answer(trial, column_width))
    out: list[Spans] = [
        [Span(" " + cells.left("recorded", column_width), "dim"), Span(_GAP, "hair"), Span("sent again", "dim")]
    ]
    for n in range(max(len(left), len(right))):
        first = padded(left[n] if n < len(left) else [], column_width)
        out.append([Span(" "), *first, Span(_GAP, "hair"), *(right[n] if n < len(right) else [])])
    return out


def _new_answer(trial: Trial, room: int) -> Iterator[Spans]:
    if trial.new is None:
        for text in safe_text.wrap(safe_text.line(trial.error), max(10, room)):
            yield [Span(text, "crit")]
    yield from _step_lines(trial.new, room)


def describe_agreement(trial: Trial) -> Span:
    """Whether both answers take the same next step, in words."""
    if trial.new is None:
        return Span("no answer", "crit")
    if trial.calls_agree:
        return Span("the same tools with the same arguments" if trial.recorded.calls else "both call no tool", "ok")
    if trial.tools_agree:
        return Span("the same tools, other arguments", "warn")
    return Span("another next step", "crit")


def describe_charge(trial: Trial) -> str:
    if trial.usage is None:
        return ""
    usd = f", {numbers.money(trial.usd)}" if trial.usd is not None else ""
    return f"{numbers.tokens(trial.usage.input)} in, {numbers.tokens(trial.usage.output)} out{usd}"


_STYLES = {"worse": "crit", "better": "ok", "not told apart": "ink", "not told": "dim"}


def agreement_lines(agreements: Sequence[Agreement], room: int) -> Iterator[Spans]:
    """Each variant's agreement with the recording.

    The variant ``unchanged``, sent again as it was, is the noise floor with which the others are compared.
    """
    name_width = max(12, min(40, room - 56))
    yield [Span(f" {cells.left('variant', name_width)}  {'same tools':>20}  {'same arguments':>20}  vs noise", "dim")]
    for agreement in agreements:
        name = Span(f" {cells.left(cells.fit(agreement.variant, name_width).rstrip(), name_width)}  ", "ink bold")
        verdict = "noise floor" if agreement.variant == "unchanged" else agreement.verdict
        failed = f", {agreement.failed:,} failed" if agreement.failed else ""
        style = "dim" if agreement.variant == "unchanged" else _STYLES[agreement.verdict]
        yield [name, Span(f"{_share(agreement.tools):>20}  "), Span(f"{_share(agreement.calls):>20}  ", "dim"),
               Span(verdict + failed, style)]  # fmt: skip


def _share(share: Share) -> str:
    if not share.cases:
        return numbers.NOT_APPLICABLE
    return f"{share.hits}/{share.cases} ({share.low * 100:.0f}–{share.high * 100:.0f} %)"
