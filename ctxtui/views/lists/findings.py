"""Findings as rows and sentences: what is the case, what cures it, what that saves."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from ctxtui.analysis.findings.finding import Finding
from ctxtui.analysis.findings.priced import Findings, PricedFinding
from ctxtui.analysis.lab.placed_markers import LIVES
from ctxtui.analysis.money.edited_calls import EditedCalls
from ctxtui.core.canonical import Json
from ctxtui.views.blocks.body import wrapped
from ctxtui.views.lists import advice
from ctxtui.views.lists.advice import place_options
from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.transcript.staged_pane import paid

PLACES: Final = 5
"""Places that are listed; of the others only how many there are."""
NAMED: Final = 3
"""Names that a sentence has; of the others it says how many there are."""


def sentence(one: Finding) -> str:
    """What is the case, with its figures: ``tools a, b were never called: 4.1k tokens in every call, $0.83 so far``."""
    text = _filled(one, one.says)
    return text[:1].upper() + text[1:]


def short(one: Finding) -> str:
    """What a risk is, in few words: ``secret in the context: api key``."""
    return f"{one.kind}: {names(one.names)}"


def cure(one: Finding) -> str:
    """What to do: ``drop 12 unused tools``."""
    return _filled(one, one.cure)


def _filled(one: Finding, text: str) -> str:
    usd = numbers.money(one.so_far) if one.so_far is not None else ""
    text = text.format(
        tokens=f"{numbers.tokens(one.tokens)} tokens",
        usd=usd or "an unknown sum",
        so_far=f", {usd} so far" if usd else "",
        calls=f"{one.calls:,} call{'' if one.calls == 1 else 's'}",
        count=f"{one.count:,}",
        names=names(one.names),
    )
    return " ".join(text.split())


def names(every: Sequence[str]) -> str:
    """The first names, and how many there are besides."""
    shown = [_short(name) for name in every[:NAMED]]
    more = len(every) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")


def _short(name: str) -> str:
    """A name in few words; of a path its end."""
    text = safe_text.one_line(name, 400)
    return cells.fit(text.rstrip("/").rpartition("/")[2] or text, 40).strip()


def saved(one: PricedFinding) -> str:
    """What it saves over the calls ahead."""
    if one.finding.warning:
        return "warning"
    if one.saves is not None:
        return numbers.money(one.saves)
    return f"{numbers.tokens(one.freed)} a call" if one.freed else "unknown"


def sum_of(one: PricedFinding) -> str:
    """What the figures of a finding are made of."""
    about, moment = one.finding, one.moment
    if moment is None or moment.once is None or moment.per_call is None:
        each = f", {numbers.money(about.ahead)} for each call ahead" if about.ahead is not None else ""
        return f"{about.tokens:,} tokens in {about.calls:,} calls so far{each}."
    once, later = numbers.signed_money(moment.once), numbers.signed_money(moment.per_call)
    price = f"{once} with the next call, then {later} for each of {one.horizon - 1:,} more"
    return f"{price}; {one.freed:,} tokens less in each, {about.tokens:,} in {about.calls:,} calls so far."


def note(what: Findings | None) -> str:
    """Over how many calls savings are added up, and what all come to."""
    if what is None or not what.found:
        return ""
    whole = f"; all edits together {numbers.money(what.saves)}" if what.saves is not None else ""
    return f"saved over the next {what.horizon:,} calls{whole}"


def none(what: Findings) -> str:
    """The sentence where nothing was found."""
    return f"Nothing found in {what.number:,} call{'' if what.number == 1 else 's'} that would save anything."


def command(one: PricedFinding, name: str, what: Findings) -> str:
    """The command line that makes the same edits, "" where there is none."""
    if not one.finding.policy:
        return ""
    place = place_options(what.number, what.calls, what.thread)
    words = (f"{key}={_spelled(value)}" for key, value in one.finding.given.items())
    wanted = "".join(f" --set {shlex.quote(word)}" for word in words)
    return f"ctxtui curate {shlex.quote(name)}{place} --after --policy {one.finding.policy}{wanted} --keep-quoted"


def _spelled(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def detail(one: PricedFinding, what: Findings, name: str, room: int) -> list[Spans]:
    """All that is known of one: the whole sentence, the cure, its price, and what it would have saved."""
    wrap = max(20, room - 2)
    out: list[Spans] = [[Span(f" {text}", "ink bold")] for text in safe_text.wrap(sentence(one.finding), wrap)]
    out += [[Span(" fix: " if n == 0 else "      ", "dim"), Span(text)]
            for n, text in enumerate(safe_text.wrap(cure(one.finding), wrap - 6))]  # fmt: skip
    out += [[Span(f" {line}", "dim")] for line in places(one.finding)]
    rest = [*price_lines(one, what)]
    if one.finding.setting and one.finding.setting != one.finding.cure:
        rest.append([Span(f" {one.finding.setting}", "dim")])
    out += [part for line in rest for part in wrapped(line, room, 1)]
    told = command(one, name, what)
    out += [[Span(f" {part}", "faint")] for part in safe_text.wrap(told, wrap)] if told else []
    return out


def places(one: Finding) -> list[str]:
    """Where it was found, a line each: ``call 3: api key (Bash cat .env)``."""
    lines = [f"call {at.call:,}: {at.what} ({at.origin})" for at in one.places[:PLACES]]
    more = len(one.places) - len(lines)
    return [safe_text.one_line(line, 400) for line in lines] + ([f"and {more:,} more"] if more else [])


def price_lines(one: PricedFinding, what: Findings) -> Iterator[Spans]:
    """What it saves: by the price tag, and in the calls that followed."""
    if one.tag is not None and not one.finding.warning:
        yield from advice.price_lines(one.tag, one.risk)
    elif one.saves is not None:
        yield [Span(f" saves about {numbers.money(one.saves)} over {what.horizon:,} calls like those so far")]
    yield from _staged(one)
    rest = one.rest
    if rest is not None and rest.affected_calls:
        held = f"{rest.affected_calls:,} of {numbers.many(rest.calls, 'later call')}"
        line = [Span(f" applied now, {held}: {numbers.tokens(sum(rest.saved))} tokens less", "dim")]
        if rest.usd is not None:
            least = " at least" if rest.partial else ""
            line += [Span(", ", "dim"), Span(f"{numbers.signed_money(rest.usd)}{least}", paid(rest.usd))]
            line.append(Span(" in all", "dim"))
        yield line
    if one.proved is not None:
        cache = one.finding.cache
        markers = f"with entries of {cache}" if cache in LIVES else f"with the markers of {cache}"
        since = markers if cache else "had it stood from call 1 on"
        yield [Span(f" {since}: {_proof(one.proved)}", "dim")]


def _staged(one: PricedFinding) -> Iterator[Spans]:
    """What `enter` stages, or why nothing."""
    if one.blocks:
        told = f"staged: {one.blocks:,} block{'' if one.blocks == 1 else 's'}"
        told += f"; {one.longer:,} of them would get no shorter" if one.longer else ""
        told += f"; {one.along:,} more must go with {'it' if one.blocks == 1 else 'them'}" if one.along else ""
        yield [Span(f" {told}", "dim")]
    elif one.marks:
        many = f"{len(one.marks)} breakpoint{'' if len(one.marks) == 1 else 's'}"
        yield [Span(f" staged as {many} of the next request; they save over many calls", "dim")]
    elif one.why_not:
        yield [Span(f" nothing to stage: {one.why_not}", "warn")]


def _proof(one: EditedCalls) -> str:
    """What it comes to in all: ``6.2M tokens less, −$11.69 in 200 calls``. Fewer tokens that cost more
    are said to: with the same answers that is only where less of them is read from the cache."""
    tokens = f"{numbers.tokens(abs(one.tokens))} tokens {'less' if one.tokens >= 0 else 'more'}, " if one.tokens else ""
    usd = numbers.signed_money(one.usd) if one.usd is not None else "cost unknown"
    dearer = one.tokens > 0 and one.usd is not None and one.usd > 0
    why = ": what was read from the cache is written again" if dearer else ""
    return f"{tokens}{usd} in {one.calls:,} call{'' if one.calls == 1 else 's'}{why}"


def lines(what: Findings, name: str, room: int) -> Iterator[Spans]:
    """Every finding for people, what risks least first."""
    if not what.found:
        yield [Span(f" {none(what)}", "dim")]
    for one in what.found:
        lead = [Span(f" {saved(one):>9}  ", "ok bold")]
        for n, text in enumerate(safe_text.wrap(sentence(one.finding), max(20, room - 13))):
            yield [*(lead if n == 0 else [Span(" " * 12)]), Span(text)]
        wide = max(40, room)
        yield from wrapped([Span(" " * 12 + "→ ", "dim"), Span(cure(one.finding))], wide, 14)
        for place in places(one.finding):
            yield from wrapped([Span(" " * 12), Span(place, "dim")], wide, 14)
        for line in price_lines(one, what):
            yield from wrapped([Span(" " * 11), *line], wide, 12)
        told = command(one, name, what)
        if told:
            yield [Span(" " * 12 + told, "faint")]
    yield from not_told(what, room)


def not_told(what: Findings, room: int) -> Iterator[Spans]:
    """What nothing is proposed for, and why."""
    for lacking in what.lacks:
        yield from wrapped([Span(f" left out: {lacking}", "dim")], room, 2)
    if what.absent:
        yield from wrapped([Span(f" not the case: {', '.join(what.absent)}", "dim")], room, 2)
