"""Cache misses: the list, dearest first, and one miss in detail."""

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
from ctxtui.core.model_names import short_model
from ctxtui.views.blocks.body import wrap
from ctxtui.views.blocks.word_diff import count_words, render
from ctxtui.views.text import bars, cells, numbers, safe_text, sums
from ctxtui.views.text.signs import MARK, category
from ctxtui.views.text.span import Span, Spans, shortened, width
from ctxtui.views.text.table import Column, Table

NARROW: int = 100
_BARS: int = 110
READ_TOLERANCE: float = 0.02
"""Tolerated difference between read tokens and the shared prefix, as a share of it."""
MIN_COMMON_SHARE: float = 0.3
"""Share of common words (of the shorter text) from which two blocks are compared word by word."""
LABEL_CELLS: int = 8


def _local_time(unix_time: float | None) -> str:
    return numbers.clock(datetime.fromtimestamp(unix_time, UTC).astimezone()) if unix_time is not None else ""


def _sign_of(miss: CacheMiss) -> Span:
    if miss.cause == TTL:
        return MARK["ttl miss"].span
    if miss.cause == COMPACTION:
        return MARK["compaction"].span
    if miss.cause in (MODEL, RESTART):
        return MARK["model"].span
    return MARK["miss"].span


def describe_cause(miss: CacheMiss) -> str:
    """The cause in a few words: ``TTL 5m``."""
    if miss.cause == TTL:
        return f"TTL {_format_lifetime(miss.life)}"
    return miss.cause


def _format_lifetime(seconds: float) -> str:
    return f"{seconds / 3600:.0f}h" if seconds >= 3600 else f"{seconds / 60:.0f}m"


def _describe_change(miss: CacheMiss) -> Spans:
    if miss.cause == TTL:
        return [Span(f"expired {numbers.ago(miss.by)} before the call", "dim")]
    if miss.cause == MODEL:
        old, _, new = miss.what.partition(" → ")
        return [Span(f"{short_model(old)} → {short_model(new)}", "dim")]
    if miss.new is not None and miss.cause not in (COMPACTION, RESTART, UNKNOWN):
        sign = category(miss.new.category)
        return [sign.span, Span(f" {safe_text.one_line(miss.new.label, 120)}", "dim")]
    if miss.cause == STRIPPED:
        # The cause column and the details have the rest.
        return [Span("earlier thinking dropped", "dim")]
    text = miss.what or miss.evidence or "part of the cached prefix was not read"
    return [Span(safe_text.one_line(text, 200), "dim")]


def none_found(misses: Misses) -> str:
    """Sentence for an empty list: no misses, or why none can be known."""
    if not misses.calls:
        return "Misses are unknown: no call's cache reads could be forecast."
    return f"No misses in {numbers.many(misses.calls, 'call')}."


def heading(misses: Misses) -> list[Span]:
    lost = numbers.least(misses.lost, misses.partly_lost) if misses.misses else "$0.000"
    of = f" lost of {numbers.least(misses.usd, misses.at_least)}" if misses.usd is not None else " lost"
    return [
        Span(f"{numbers.many(len(misses.misses), 'miss', 'misses')}  ", "dim"),
        Span(numbers.tokens(misses.tokens), "ink bold"),
        Span(" written again  ", "dim"),
        Span(lost, "crit bold" if misses.misses else "dim"),
        Span(of, "dim"),
    ]


def forecast_note(misses: Misses) -> list[Span]:
    if not misses.calls:
        return []
    of = f"{misses.tested:,} tested" if misses.tested < misses.count else f"{misses.count:,}"
    return [
        Span("foreseen ", "dim"),
        Span(f"{misses.foreseen:,} of {of}"),
        Span("   false alarms ", "dim"),
        Span(f"{misses.false_alarms:,}"),
    ]


def explain_tokens(miss: CacheMiss) -> str:
    return sums.difference(miss.tokens, miss.read + miss.tokens, miss.read, ("written again", "in the cache", "read"))


def explain_money(miss: CacheMiss) -> str:
    return sums.loss(miss.usd, miss.paid)


def _call(miss: CacheMiss) -> str:
    return f"Call {miss.number:,}; the previous call of this thread was {miss.base:,}."


def explain_total(misses: Misses) -> dict[str, str]:
    """Explanations of the figures in the title rule, by glossary word."""
    tokens = sums.addition(misses.tokens, "written again", [miss.tokens for miss in misses.misses], "misses")
    money = sums.money_addition(misses.lost, [miss.usd for miss in misses.misses], "misses")
    whole = sums.share_of_money(misses.lost, misses.usd, " for all calls")
    alarms = f"{misses.false_alarms:,} of {misses.calls:,} calls were forecast to miss but did not."
    forecasts = f"{misses.foreseen:,} of {misses.tested:,} tested misses were forecast. {alarms}"
    return {
        "written again": tokens,
        "lost": f"{money} {whole}".strip(),
        "cost": f"{money} {whole}".strip(),
        "foreseen": forecasts if misses.calls else "",
        "miss": f"{numbers.many(misses.count, 'call')} read less than the previous call left in the cache.",
    }


def table(misses: Sequence[CacheMiss]) -> Table[CacheMiss]:
    """The table of misses, dearest first; it names threads if there are several."""
    most = (misses[0].usd or 0.0) if misses else 0.0
    has_threads = len({miss.thread for miss in misses}) > 1

    def bar(miss: CacheMiss, room: int) -> Span:
        return Span(bars.line(miss.usd or 0.0, most, room) if most else "", "write")

    def what(miss: CacheMiss, room: int) -> list[Span]:
        where = f"{safe_text.one_line(miss.thread, 16)}  " if has_threads and miss.thread != "main" else ""
        return [Span(where, "faint"), *shortened(_describe_change(miss), room - 1 - cells.width(where))]

    return Table(
        (
            Column("call", 6, lambda miss, _: Span(f"#{miss.number}", "ink bold"), "left", sum=_call),
            Column("time", 10, lambda miss, _: Span(_local_time(miss.at), "dim"), "left", from_width=NARROW),
            Column("cause", 20, _cause, "left", gap=1, below=NARROW),
            Column("cause", 20, _cause, "left", from_width=NARROW),
            Column("what changed", 0, what, "left", from_width=NARROW),
            Column("again", 8, _again, below=NARROW, sum=explain_tokens),
            Column("written again", 8, _again, from_width=NARROW, sum=explain_tokens),
            Column("", 8, bar, "left", gap=2, from_width=_BARS),
            Column("lost", 10, lambda miss, _: Span(numbers.money(miss.usd), "ink" + _bold(miss)), sum=explain_money),
            Column("", 0, _rest, "left", gap=1, below=NARROW, least=0),
            Column("foreseen", 8, _foreseen, "left", gap=3, from_width=NARROW),
        ),
        mark=2,
        tail=0,
        style="faint",
    )


def _bold(miss: CacheMiss) -> str:
    return " bold" if (miss.usd or 0.0) >= 1 else ""


def _cause(miss: CacheMiss, room: int) -> list[Span]:
    return [_sign_of(miss), Span(f" {describe_cause(miss)}")]


def _again(miss: CacheMiss, room: int) -> Span:
    return Span(numbers.tokens(miss.tokens), "ink" + _bold(miss))


def _rest(miss: CacheMiss, room: int) -> Spans:
    return shortened(_describe_change(miss), room) if room > 8 else ()


def _foreseen(miss: CacheMiss, room: int) -> Spans:
    if not miss.tested:
        return [Span("untested", "faint")]
    return [Span("✓ ", "ok"), Span("yes", "dim")] if miss.foreseen else [Span("– ", "faint"), Span("no", "faint")]


def detail(miss: CacheMiss, misses: Sequence[CacheMiss], room: int, height: int) -> list[Spans]:
    """One miss in detail: two sentences, two lanes to scale, the word diff, the fix."""
    out: list[Spans] = [*_sentences(miss, room), [], *_lanes(miss, room)]
    fix, savings = find_cure(miss, misses)
    foot: list[Spans] = []
    if fix:
        foot.append([])
        money = [Span("  all of this cause: ", "dim"), Span(numbers.money(savings), "warn bold")] if savings else []
        lead = [Span(" ● ", "ok"), Span("fix  ", "ink bold")]
        lines = safe_text.wrap(fix, max(10, room - 9 - width(money)))
        foot += [[*(lead if n == 0 else [Span(" " * 8)]), Span(line)] for n, line in enumerate(lines)]
        foot[-1] = [*foot[-1], *money]
    free = height - len(out) - len(foot)
    if miss.old is not None and miss.new is not None and free > 3 and miss.old.words != miss.new.words:
        out += _diff(miss, room, free)
    return [*out, *foot][:height]


def title(miss: CacheMiss) -> list[Span]:
    spans = [Span(f"#{miss.number}  ", "ink bold"), Span(describe_cause(miss), f"{_sign_of(miss).style} bold")]
    if miss.new is not None and miss.block:
        sign = category(miss.new.category)
        label = safe_text.one_line(miss.new.label, 40)
        spans += [Span(" in ", "dim"), sign.span, Span(f" {label}", sign.style), Span(f", block {miss.block}", "dim")]
        spans.append(Span(f" of {miss.blocks:,}", "dim"))
    return spans


def _sentences(miss: CacheMiss, room: int) -> Iterator[Spans]:
    more = f", {numbers.money(miss.usd)} more than a read" if miss.usd is not None else ""
    lead = [Span(" The two requests differ from "), Span(f"token {numbers.exact(miss.shared)}", "ink bold")]
    lead.append(Span(f" on{_entry_before(miss)}"))
    if not _has_diverged(miss):
        cached = numbers.tokens(miss.read + miss.tokens)
        lead = [
            Span(" Of "),
            Span(f"{cached} cached tokens", "ink bold"),
            Span(f" {numbers.tokens(miss.read)} were read"),
        ]
    parts = [
        *lead,
        Span(". "),
        Span(f"{numbers.tokens(miss.tokens)} tokens", "warn bold"),
        Span(f" were written again{more}.", "warn bold"),
    ]
    yield from ([Span(" "), *line] for line in wrap([Span(parts[0].text[1:], parts[0].style), *parts[1:]], room - 2))
    yield from ([Span(f" {line}", "dim")] for line in safe_text.wrap(_because(miss), max(20, room - 2)))


def _entry_before(miss: CacheMiss) -> str:
    if miss.read >= (1 - READ_TOLERANCE) * miss.shared:
        return ""
    return (
        f"; the cache entry before that ended at {numbers.tokens(miss.read)}" if miss.read else "; no entry before it"
    )


def _has_diverged(miss: CacheMiss) -> bool:
    return miss.cause in (CONTENT, SYSTEM, TOOLS, COMPACTION, STRIPPED, EDITS)


def _because(miss: CacheMiss) -> str:
    # The values of the constants of causes, as a plain name in a pattern would match anything.
    match miss.cause:
        case "TTL":
            wait = numbers.ago(miss.by + miss.life)
            return (
                f"The call was sent {wait} after the previous one; cache entries lived {_format_lifetime(miss.life)}."
            )
        case "content changed" | "system changed" if miss.writer:
            when = (
                f"between {_local_time(miss.between)} and {_local_time(miss.at)}"
                if miss.at and miss.between
                else "in between"
            )
            return f"Changed {when}, by {miss.writer} of this session."
        case "content changed" | "system changed" if miss.at and miss.between:
            when = f"between {_local_time(miss.between)} and {_local_time(miss.at)}"
            return f"Changed {when}; no tool call of this session wrote it."
        case "edits applied":
            return "The agent only appended; edits that you applied or took back changed the prefix."
        case "compaction":
            return f"The client replaced the history with a summary: {miss.what}." if miss.what else miss.evidence
    return miss.evidence[:1].upper() + miss.evidence[1:] + "." if miss.evidence else miss.what


def _lanes(miss: CacheMiss, room: int) -> Iterator[Spans]:
    """Both requests to scale, and which tokens of the second were read.

    The sign between them is at the end of the shared prefix; at the end of the tokens read if only the cache entry was
    gone.
    """
    longest = max(*miss.sizes, 1)
    bar = max(10, room - 2 * LABEL_CELLS - 2)

    def reach(tokens: float) -> int:
        return min(bar, round(tokens * bar / longest))

    first, second = (reach(size) for size in miss.sizes)
    yield [
        Span(cells.left(f" #{miss.base}", LABEL_CELLS), "dim"),
        Span("━" * first, "read"),
        Span(" " * (bar - first)),
        Span(cells.right(numbers.tokens(miss.sizes[0]), LABEL_CELLS), "dim"),
    ]
    cut = reach(miss.shared if _has_diverged(miss) else miss.read)
    yield [Span(" " * (LABEL_CELLS + min(cut, bar - 1))), Span(MARK["break"].glyph, "crit")]
    read = reach(miss.read)
    yield [
        Span(cells.left(f" #{miss.number}", LABEL_CELLS), "dim"),
        Span("━" * read, "read"),
        Span("╍" * max(0, second - read), "write"),
        Span(" " * (bar - max(read, second))),
        Span(cells.right(numbers.tokens(miss.sizes[1]), LABEL_CELLS), "dim"),
    ]
    caption = [Span(" " * LABEL_CELLS), Span(f"read {numbers.tokens(miss.read)}", "readtx")]
    yield [*caption, Span(f"   written again {numbers.tokens(miss.tokens)}", "write")]


def _diff(miss: CacheMiss, room: int, height: int) -> Iterator[Spans]:
    assert miss.old is not None and miss.new is not None
    pieces = list(word_diff(miss.old.words, miss.new.words))
    removed, added = count_words(pieces)
    lengths = [len(side.words.split()) for side in (miss.old, miss.new)]
    if miss.old.category != miss.new.category or lengths[1] - added < MIN_COMMON_SHARE * min(lengths):
        # A different block at the same position: a word diff would be meaningless.
        yield []
        for mark, style, side in (("−", "del", miss.old), ("+", "add", miss.new)):
            sign = category(side.category)
            lead = [
                Span(f" {mark} ", f"{style} bold"),
                sign.span,
                Span(f" {safe_text.one_line(side.label, 40)} ", "ink bold"),
            ]
            words = safe_text.one_line(side.words, 400)
            yield [*lead, Span(cells.fit(words, max(1, room - width(lead) - 1)).rstrip(), style)]
        return
    sign = category(miss.new.category)
    lead = [Span(" "), sign.span, Span(f" {safe_text.one_line(miss.new.label, 40)} ", "ink bold")]
    note = [Span(f" word diff  −{removed} ", "del"), Span(f"+{added} words ", "add")]
    yield []
    yield [*lead, Span("─" * max(0, room - width(lead) - width(note) - 1), "hair"), *note]
    yield from islice(render(pieces, room), max(0, height - 2))
