"""Findings as rows and sentences: the problem, its fix, and the savings.

A finding is a problem of a context with its figures; its fix is an edit, a policy, or a setting to change by hand.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from ctxtui.analysis.findings.finding import Finding
from ctxtui.analysis.findings.priced import Findings, PricedFinding
from ctxtui.analysis.lab.placed_markers import LIFETIMES
from ctxtui.analysis.money.edited_calls import EditedCalls
from ctxtui.core.canonical import Json
from ctxtui.views.blocks.body import wrap
from ctxtui.views.lists import advice
from ctxtui.views.lists.advice import place_options
from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.transcript.staged_pane import money_style

MAX_PLACES: Final = 5
MAX_NAMES: Final = 3


class _Count(int):
    """A number in a sentence: ``{count:tool}`` is "1 tool" or "2 tools"."""

    def __format__(self, noun: str) -> str:
        return numbers.many(int(self), noun)


def sentence(finding: Finding) -> str:
    """The problem with its figures: ``Tools a, b were never called: 4.1k tokens ...``."""
    text = _fill(finding, finding.problem)
    return text[:1].upper() + text[1:]


def short(finding: Finding) -> str:
    """A risk in few words: ``secret in the context: api key``."""
    return f"{finding.kind}: {names(finding.names)}"


def fix(finding: Finding) -> str:
    """The fix: ``drop 12 unused tools``."""
    return _fill(finding, finding.fix)


def _fill(finding: Finding, text: str) -> str:
    usd = numbers.money(finding.so_far) if finding.so_far is not None else ""
    text = text.format(
        tokens=f"{numbers.tokens(finding.tokens)} tokens",
        usd=usd or "an unknown sum",
        so_far=f", {usd} so far" if usd else "",
        calls=numbers.many(finding.calls, "call"),
        count=_Count(finding.count),
        names=names(finding.names),
    )
    return " ".join(text.split())


def names(all_names: Sequence[str]) -> str:
    shown = [_shorten_name(name) for name in all_names[:MAX_NAMES]]
    more = len(all_names) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")


def _shorten_name(name: str) -> str:
    text = safe_text.one_line(name, 400)
    return cells.fit(text.rstrip("/").rpartition("/")[2] or text, 40).strip()


def format_savings(priced: PricedFinding) -> str:
    """Savings over the calls ahead: money, else tokens a call.

    ``warning`` for one that saves nothing.
    """
    if priced.finding.warning:
        return "warning"
    if priced.saves is not None:
        return numbers.money(priced.saves)
    return f"{numbers.tokens(priced.freed)} a call" if priced.freed else "unknown"


def explain(priced: PricedFinding) -> str:
    about, moment = priced.finding, priced.moment
    if moment is None or moment.once is None or moment.per_call is None:
        each = f", {numbers.money(about.usd_per_call)} for each call ahead" if about.usd_per_call is not None else ""
        return f"{about.tokens:,} tokens in {numbers.many(about.calls, 'call')} so far{each}."
    once, later = numbers.signed_money(moment.once), numbers.signed_money(moment.per_call)
    price = f"{once} with the next call, then {later} for each of {priced.horizon - 1:,} more"
    so_far = f"{about.tokens:,} in {numbers.many(about.calls, 'call')} so far"
    return f"{price}; {priced.freed:,} tokens less in each, {so_far}."


def note(findings: Findings | None) -> str:
    if findings is None or not findings.priced:
        return ""
    whole = f"; all edits together {numbers.money(findings.saves)}" if findings.saves is not None else ""
    return f"saved over the next {findings.horizon:,} calls{whole}"


def none_found(findings: Findings) -> str:
    return f"Nothing found in {numbers.many(findings.number, 'call')} that would save anything."


def command(priced: PricedFinding, name: str, findings: Findings) -> str:
    """The command line that makes the same edits; "" if there is none."""
    if not priced.finding.policy:
        return ""
    place = place_options(findings.number, findings.calls, findings.thread)
    words = (f"{key}={_format_value(value)}" for key, value in priced.finding.policy_settings.items())
    options = "".join(f" --set {shlex.quote(word)}" for word in words)
    return f"ctxtui curate {shlex.quote(name)}{place} --after --policy {priced.finding.policy}{options} --keep-quoted"


def _format_value(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def detail(priced: PricedFinding, findings: Findings, name: str, room: int) -> list[Spans]:
    """A finding in full: sentence, fix, price, and savings in the recorded rest."""
    text_room = max(20, room - 2)
    out: list[Spans] = [[Span(f" {text}", "ink bold")] for text in safe_text.wrap(sentence(priced.finding), text_room)]
    out += [[Span(" fix: " if n == 0 else "      ", "dim"), Span(text)]
            for n, text in enumerate(safe_text.wrap(fix(priced.finding), text_room - 6))]  # fmt: skip
    out += [part for line in places(priced.finding) for part in wrap([Span(f" {line}", "dim")], room, 3)]
    rest = [*price_lines(priced, findings)]
    if priced.finding.setting and priced.finding.setting != priced.finding.fix:
        rest.append([Span(f" {priced.finding.setting}", "dim")])
    out += [part for line in rest for part in wrap(line, room, 1)]
    command_line = command(priced, name, findings)
    out += [[Span(f" {part}", "faint")] for part in safe_text.wrap(command_line, text_room)] if command_line else []
    return out


def places(finding: Finding) -> list[str]:
    lines = [f"call {at.call:,}: {at.what} ({at.origin})" for at in finding.places[:MAX_PLACES]]
    more = len(finding.places) - len(lines)
    return [safe_text.one_line(line, 400) for line in lines] + ([f"and {more:,} more"] if more else [])


def price_lines(priced: PricedFinding, findings: Findings) -> Iterator[Spans]:
    """Savings by the price tag, and in the recorded calls that followed."""
    if priced.tag is not None and not priced.finding.warning:
        yield from advice.price_lines(priced.tag, priced.risk)
    elif priced.saves is not None:
        horizon = numbers.many(findings.horizon, "call")
        yield [Span(f" saves about {numbers.money(priced.saves)} over {horizon} like those so far")]
    yield from _staged_lines(priced)
    rest = priced.rest
    if rest is not None and rest.affected_calls:
        affected = f"{rest.affected_calls:,} of {numbers.many(rest.calls, 'later call')}"
        line = [Span(f" applied now, {affected}: {numbers.tokens(sum(rest.saved))} tokens less", "dim")]
        if rest.usd is not None:
            least = " at least" if rest.partial else ""
            line += [Span(", ", "dim"), Span(f"{numbers.signed_money(rest.usd)}{least}", money_style(rest.usd))]
            line.append(Span(" in all", "dim"))
        yield line
    if priced.proved is not None:
        cache = priced.finding.cache
        markers = f"with entries of {cache}" if cache in LIFETIMES else f"with the markers of {cache}"
        condition = markers if cache else "if used from call 1 on"
        yield [Span(f" {condition}: {_describe_proof(priced.proved)}", "dim")]


def _staged_lines(priced: PricedFinding) -> Iterator[Spans]:
    """Yield the edits that `enter` stages, or the reason why there are none."""
    if priced.blocks:
        text = f"staged: {numbers.many(priced.blocks, 'block')}"
        text += f"; {priced.longer:,} of them would not get shorter" if priced.longer else ""
        text += f"; {priced.along:,} more must go with {'it' if priced.blocks == 1 else 'them'}" if priced.along else ""
        yield [Span(f" {text}", "dim")]
    elif priced.marks:
        many = numbers.many(len(priced.marks), "breakpoint")
        yield [Span(f" staged as {many} of the next request; savings come with later calls", "dim")]
    elif priced.why_not:
        yield [Span(f" nothing to stage: {priced.why_not}", "warn")]


def _describe_proof(result: EditedCalls) -> str:
    tokens = (
        f"{numbers.tokens(abs(result.tokens))} tokens {'less' if result.tokens >= 0 else 'more'}, "
        if result.tokens
        else ""
    )
    usd = numbers.signed_money(result.usd) if result.usd is not None else "cost unknown"
    costs_more = result.tokens > 0 and result.usd is not None and result.usd > 0
    reason = ": tokens read from the cache are written again" if costs_more else ""
    return f"{tokens}{usd} in {numbers.many(result.calls, 'call')}{reason}"


def lines(findings: Findings, name: str, room: int) -> Iterator[Spans]:
    """All findings as text in their order, then the checks without a finding."""
    if not findings.priced:
        yield [Span(f" {none_found(findings)}", "dim")]
    for priced in findings.priced:
        lead = [Span(f" {format_savings(priced):>9}  ", "ok bold")]
        for n, text in enumerate(safe_text.wrap(sentence(priced.finding), max(20, room - 13))):
            yield [*(lead if n == 0 else [Span(" " * 12)]), Span(text)]
        wide = max(40, room)
        yield from wrap([Span(" " * 12 + "→ ", "dim"), Span(fix(priced.finding))], wide, 14)
        for place in places(priced.finding):
            yield from wrap([Span(" " * 12), Span(place, "dim")], wide, 14)
        for line in price_lines(priced, findings):
            yield from wrap([Span(" " * 11), *line], wide, 12)
        command_line = command(priced, name, findings)
        if command_line:
            yield [Span(" " * 12 + command_line, "faint")]
    yield from checks_without_findings(findings, room)


def checks_without_findings(findings: Findings, room: int) -> Iterator[Spans]:
    for missing in findings.lacks:
        yield from wrap([Span(f" left out: {missing}", "dim")], room, 2)
    if findings.absent:
        yield from wrap([Span(f" not found: {', '.join(findings.absent)}", "dim")], room, 2)
