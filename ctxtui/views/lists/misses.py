"""Why the cache missed: the list, dearest first, and one miss in detail (look book 5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice

from ctxtui.analysis.cache.miss import (
    COMPACTION,
    CONTENT,
    EDITS,
    MODEL,
    RESTART,
    STRIPPED,
    SYSTEM,
    TOOLS,
    TTL,
    UNKNOWN,
    CacheMiss,
)
from ctxtui.analysis.cache.miss_finder import Misses, find_cure
from ctxtui.analysis.content.word_diff import word_diff
from ctxtui.analysis.short_names import short_model
from ctxtui.views.blocks.body import wrapped
from ctxtui.views.blocks.word_diff import counted, drawn
from ctxtui.views.text import bars, cells, numbers, safe_text, sums
from ctxtui.views.text.signs import MARK, category
from ctxtui.views.text.span import Span, Spans, width
from ctxtui.views.text.table import Column, Table

NARROW: int = 100
_BARS: int = 110
"""Cells from which there is room for bars beside what changed."""
_NEAR: float = 0.02
"""The share of what two requests have in common by which what is read may be off it."""
_ALIKE: float = 0.3
"""The share of the shorter text's words that two blocks have in common where one became the other."""
_LANE: int = 8


def clock(at: float | None) -> str:
    """The local time of Unix seconds."""
    return numbers.clock(datetime.fromtimestamp(at, UTC).astimezone()) if at is not None else ""


def sign_of(one: CacheMiss) -> Span:
    """The glyph of a cause, in its colour."""
    if one.cause == TTL:
        return MARK["ttl miss"].span
    if one.cause == COMPACTION:
        return MARK["compaction"].span
    if one.cause in (MODEL, RESTART):
        return MARK["model"].span
    return MARK["miss"].span


def cause_of(one: CacheMiss) -> str:
    """The cause in a few words: ``TTL 5m``."""
    if one.cause == TTL:
        return f"TTL {_life(one.life)}"
    return one.cause


def _life(seconds: float) -> str:
    return f"{seconds / 3600:.0f}h" if seconds >= 3600 else f"{seconds / 60:.0f}m"


def what_of(one: CacheMiss) -> Spans:
    """What changed, for the list."""
    if one.cause == TTL:
        return [Span(f"expired {numbers.ago(one.by)} before the call", "dim")]
    if one.cause == MODEL:
        old, _, new = one.what.partition(" → ")
        return [Span(f"{short_model(old)} → {short_model(new)}", "dim")]
    if one.new is not None and one.cause not in (COMPACTION, RESTART, UNKNOWN):
        sign = category(one.new.category)
        return [sign.span, Span(f" {safe_text.one_line(one.new.label, 120)}", "dim")]
    if one.cause == STRIPPED:
        # The cause's column says the rest; why it was is told below the list.
        return [Span("earlier thinking dropped", "dim")]
    told = one.what or one.evidence or "part of what the cache held was not read"
    return [Span(safe_text.one_line(told, 200), "dim")]


def none_of(what: Misses) -> str:
    """That there are none, or why nothing is known of them."""
    if not what.calls:
        return "Nothing is known of misses: no call's cache reads could be foretold."
    return f"No misses in {numbers.many(what.calls, 'call')}."


def head(what: Misses) -> list[Span]:
    """The sum of all, for the rule."""
    count = len(what.misses)
    lost = numbers.least(what.lost, what.partly_lost) if what.misses else "$0.000"
    of = f" lost of {numbers.least(what.usd, what.at_least)}" if what.usd is not None else " lost"
    return [
        Span(f"{count:,} miss{'' if count == 1 else 'es'}  ", "dim"),
        Span(numbers.tokens(what.tokens), "ink bold"),
        Span(" written again  ", "dim"),
        Span(lost, "crit bold" if what.misses else "dim"),
        Span(of, "dim"),
    ]


def foreseen(what: Misses) -> list[Span]:
    """How the forecasts did, for the list's rule."""
    if not what.calls:
        return []
    of = f"{what.tested:,} tested" if what.tested < what.count else f"{what.count:,}"
    return [
        Span("foreseen ", "dim"),
        Span(f"{what.foreseen:,} of {of}"),
        Span("   false alarms ", "dim"),
        Span(f"{what.false_alarms:,}"),
    ]


def sum_of_tokens(one: CacheMiss) -> str:
    """What was written again, as what is left of what the cache held."""
    return sums.less(one.tokens, one.read + one.tokens, one.read, ("written again", "in the cache", "read"))


def sum_of_money(one: CacheMiss) -> str:
    """What was lost, as what was paid less what a read would have cost."""
    return sums.lost(one.usd, one.paid)


def _call(one: CacheMiss) -> str:
    return f"Call {one.number:,}; the one before it in this line of context was {one.base:,}."


def sums_of_total(what: Misses) -> dict[str, str]:
    """The sums behind the figures of the rule, by the glossary's words."""
    tokens = sums.added(what.tokens, "written again", [one.tokens for one in what.misses], "misses")
    money = sums.added_money(what.lost, [one.usd for one in what.misses], "misses")
    whole = sums.share_of_money(what.lost, what.usd, " for all calls")
    alarms = f"{what.false_alarms:,} of {what.calls:,} calls were foretold to miss and did not."
    foretold = f"{what.foreseen:,} of {what.tested:,} misses that the simulator was asked about. {alarms}"
    return {
        "written again": tokens,
        "lost": f"{money} {whole}".strip(),
        "cost": f"{money} {whole}".strip(),
        "foreseen": foretold if what.calls else "",
        "miss": f"{what.count:,} calls read less than the one before had left.",
    }


def table(found: Sequence[CacheMiss]) -> Table[CacheMiss]:
    """The table of `found`, the dearest of which is the first; it names threads where there are several."""
    most = (found[0].usd or 0.0) if found else 0.0
    several = len({one.thread for one in found}) > 1

    def bar(one: CacheMiss, room: int) -> Span:
        return Span(bars.line(one.usd or 0.0, most, room) if most else "", "write")

    def what(one: CacheMiss, room: int) -> list[Span]:
        where = f"{safe_text.one_line(one.thread, 16)}  " if several and one.thread != "main" else ""
        return [Span(where, "faint"), *_cut(what_of(one), max(0, room - 1 - cells.width(where)))]

    return Table(
        (
            Column("call", 6, lambda one, _: Span(f"#{one.number}", "ink bold"), "left", sum=_call),
            Column("time", 10, lambda one, _: Span(clock(one.at), "dim"), "left", from_width=NARROW),
            Column("cause", 20, _cause, "left", gap=1, below=NARROW),
            Column("cause", 20, _cause, "left", from_width=NARROW),
            Column("what changed", 0, what, "left", from_width=NARROW),
            Column("again", 8, _again, below=NARROW, sum=sum_of_tokens),
            Column("written again", 8, _again, from_width=NARROW, sum=sum_of_tokens),
            Column("", 8, bar, "left", gap=2, from_width=_BARS),
            Column("lost", 10, lambda one, _: Span(numbers.money(one.usd), "ink" + _bold(one)), sum=sum_of_money),
            Column("", 0, _rest, "left", gap=1, below=NARROW, least=0),
            Column("foreseen", 8, _foreseen, "left", gap=3, from_width=NARROW),
        ),
        mark=2,
        tail=0,
        style="faint",
    )


def _bold(one: CacheMiss) -> str:
    return " bold" if (one.usd or 0.0) >= 1 else ""


def _cause(one: CacheMiss, room: int) -> list[Span]:
    return [sign_of(one), Span(f" {cause_of(one)}")]


def _again(one: CacheMiss, room: int) -> Span:
    return Span(numbers.tokens(one.tokens), "ink" + _bold(one))


def _rest(one: CacheMiss, room: int) -> Spans:
    return _cut(what_of(one), room) if room > 8 else ()


def _foreseen(one: CacheMiss, room: int) -> Spans:
    if not one.tested:
        return [Span("untested", "faint")]
    return [Span("✓ ", "ok"), Span("yes", "dim")] if one.foreseen else [Span("– ", "faint"), Span("no", "faint")]


def _cut(spans: Sequence[Span], room: int) -> list[Span]:
    out, left = [], room
    for span in spans:
        if left <= 0:
            break
        text = span.text if cells.width(span.text) <= left else cells.fit(span.text, left)
        out.append(Span(text, span.style))
        left -= cells.width(text)
    return out


def detail(one: CacheMiss, every: Sequence[CacheMiss], room: int, height: int) -> list[Spans]:
    """One miss: two sentences, two lanes drawn to scale, the word diff, the cure."""
    out: list[Spans] = [*_sentences(one, room), [], *_lanes(one, room)]
    told, saved = find_cure(one, every)
    foot: list[Spans] = []
    if told:
        foot.append([])
        money = [Span("  such misses: ", "dim"), Span(numbers.money(saved), "warn bold")] if saved else []
        lead = [Span(" ● ", "ok"), Span("fix  ", "ink bold")]
        lines = safe_text.wrap(told, max(10, room - 9 - width(money)))
        foot += [[*(lead if n == 0 else [Span(" " * 8)]), Span(line)] for n, line in enumerate(lines)]
        foot[-1] = [*foot[-1], *money]
    free = height - len(out) - len(foot)
    if one.old is not None and one.new is not None and free > 3 and one.old.words != one.new.words:
        out += _diff(one, room, free)
    return [*out, *foot][:height]


def title(one: CacheMiss) -> list[Span]:
    """What the detail is about, for its rule."""
    spans = [Span(f"#{one.number}  ", "ink bold"), Span(cause_of(one), f"{sign_of(one).style} bold")]
    if one.new is not None and one.block:
        sign = category(one.new.category)
        label = safe_text.one_line(one.new.label, 40)
        spans += [Span(" in ", "dim"), sign.span, Span(f" {label}", sign.style), Span(f", block {one.block}", "dim")]
        spans.append(Span(f" of {one.blocks:,}", "dim"))
    return spans


def _sentences(one: CacheMiss, room: int) -> Iterator[Spans]:
    more = f", {numbers.money(one.usd)} more than a read" if one.usd is not None else ""
    lead = [Span(" The two requests differ from "), Span(f"token {numbers.exact(one.shared)}", "ink bold")]
    lead.append(Span(f" on{_entry_before(one)}"))
    if not _parts(one):
        held = numbers.tokens(one.read + one.tokens)
        lead = [
            Span(" Of "),
            Span(f"{held} cached tokens", "ink bold"),
            Span(f" {numbers.tokens(one.read)} were read"),
        ]
    parts = [
        *lead,
        Span(". "),
        Span(f"{numbers.tokens(one.tokens)} tokens", "warn bold"),
        Span(f" were written again{more}.", "warn bold"),
    ]
    yield from ([Span(" "), *line] for line in wrapped([Span(parts[0].text[1:], parts[0].style), *parts[1:]], room - 2))
    yield from ([Span(f" {line}", "dim")] for line in safe_text.wrap(_because(one), max(20, room - 2)))


def _entry_before(one: CacheMiss) -> str:
    """Why less was read than both requests have in common; "" where it was not."""
    if one.read >= (1 - _NEAR) * one.shared:
        return ""
    return f"; the cache entry before that ended at {numbers.tokens(one.read)}" if one.read else "; no entry before it"


def _parts(one: CacheMiss) -> bool:
    """Whether the contexts themselves part; elsewhere the entry was gone, or out of reach."""
    return one.cause in (CONTENT, SYSTEM, TOOLS, COMPACTION, STRIPPED, EDITS)


def _because(one: CacheMiss) -> str:
    match one.cause:
        case "TTL":
            wait = numbers.ago(one.by + one.life)
            return f"The call came {wait} after the one before; what that had left lived {_life(one.life)}."
        case "content changed" | "system changed" if one.writer:
            when = f"between {clock(one.between)} and {clock(one.at)}" if one.at and one.between else "in between"
            return f"Changed {when}, by {one.writer} of this session."
        case "content changed" | "system changed" if one.at and one.between:
            when = f"between {clock(one.between)} and {clock(one.at)}"
            return f"Changed {when}; no tool call of this session wrote it."
        case "edits applied":
            return "The agent only appended; edits that you applied or took back changed the prefix."
        case "compaction":
            return f"The client put a summary in place of the history: {one.what}." if one.what else one.evidence
    return one.evidence[:1].upper() + one.evidence[1:] + "." if one.evidence else one.what


def _lanes(one: CacheMiss, room: int) -> Iterator[Spans]:
    """Both requests drawn to scale: what they share, and what was read of the second."""
    longest = max(*one.sizes, 1)
    bar = max(10, room - 2 * _LANE - 2)

    def reach(tokens: float) -> int:
        return min(bar, round(tokens * bar / longest))

    first, second = (reach(size) for size in one.sizes)
    yield [
        Span(cells.left(f" #{one.base}", _LANE), "dim"),
        Span("━" * first, "read"),
        Span(" " * (bar - first)),
        Span(cells.right(numbers.tokens(one.sizes[0]), _LANE), "dim"),
    ]
    cut = reach(one.shared if _parts(one) else one.read)
    yield [Span(" " * (_LANE + min(cut, bar - 1))), Span(MARK["break"].glyph, "crit")]
    read = reach(one.read)
    yield [
        Span(cells.left(f" #{one.number}", _LANE), "dim"),
        Span("━" * read, "read"),
        Span("╍" * max(0, second - read), "write"),
        Span(" " * (bar - max(read, second))),
        Span(cells.right(numbers.tokens(one.sizes[1]), _LANE), "dim"),
    ]
    told = [Span(" " * _LANE), Span(f"read {numbers.tokens(one.read)}", "readtx")]
    yield [*told, Span(f"   written again {numbers.tokens(one.tokens)}", "write")]


def _diff(one: CacheMiss, room: int, height: int) -> Iterator[Spans]:
    assert one.old is not None and one.new is not None
    pieces = list(word_diff(one.old.words, one.new.words))
    gone, come = counted(pieces)
    lengths = [len(side.words.split()) for side in (one.old, one.new)]
    if one.old.category != one.new.category or lengths[1] - come < _ALIKE * min(lengths):
        # Another block stands there: word by word they have nothing to do with each other.
        yield []
        for mark, style, side in (("−", "del", one.old), ("+", "add", one.new)):
            sign = category(side.category)
            lead = [
                Span(f" {mark} ", f"{style} bold"),
                sign.span,
                Span(f" {safe_text.one_line(side.label, 40)} ", "ink bold"),
            ]
            words = safe_text.one_line(side.words, 400)
            yield [*lead, Span(cells.fit(words, max(1, room - width(lead) - 1)).rstrip(), style)]
        return
    sign = category(one.new.category)
    lead = [Span(" "), sign.span, Span(f" {safe_text.one_line(one.new.label, 40)} ", "ink bold")]
    note = [Span(f" word diff  −{gone} ", "del"), Span(f"+{come} words ", "add")]
    yield []
    yield [*lead, Span("─" * max(0, room - width(lead) - width(note) - 1), "hair"), *note]
    yield from islice(drawn(pieces, room), max(0, height - 2))
