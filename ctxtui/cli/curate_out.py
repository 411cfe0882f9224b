"""What `ctxtui curate` says of a curation: the price tag in lines, and everything as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from ctxtui.core import canonical
from ctxtui.core.edit_json import to_json
from ctxtui.curation.legality.violation import Violation
from ctxtui.curation.price.price_tag import Moment
from ctxtui.services.editing.curate import Curation
from ctxtui.views.text import numbers
from ctxtui.views.text.safe_text import one_line

SHOWN = 3
"""Quoted and lost literals that are named."""


def lines(found: Curation, lost: Sequence[str], violations: Sequence[Violation]) -> Iterator[str]:
    """The price tag and what to look out for, for standard error."""
    tag, chosen = found.tag, found.chosen
    what = f"{chosen.thread} call {chosen.number}{', after its answer' if found.after else ''}"
    counts = Counter(edit.author if edit.author != "user" else edit.kind for edit in found.log)
    told = ", ".join(f"{name} {count}" for name, count in counts.items()) or "no edits"
    yield f"{what}: {told}" + (f", {tag.repairs:,} by repair" if tag.repairs else "")
    yield f"context  {numbers.tokens(tag.before)} -> {numbers.tokens(tag.after)} ({numbers.signed(-tag.freed)})"
    if tag.breaks_at is not None:
        yield f"breaks   {numbers.tokens(tag.broken)} cached tokens, from block {tag.breaks_at + 1:,} on"
        yield f"{'apply':<12}{'once':>10}{'per call':>10}{'pays back':>12}"
        yield from (_moment(moment) for moment in tag.moments)
    if tag.thinking_lost:
        yield f"lost     {numbers.tokens(tag.thinking_lost)} of thinking behind the change"
    if tag.quotes:
        words = list(dict.fromkeys(quote.literal for quote in tag.quotes))
        named = ", ".join(one_line(word)[:60] for word in words[:SHOWN])
        blocks = {by for quote in tag.quotes for by in quote.by}
        yield f"quoted   {len(blocks):,} later blocks quote what goes: {named}"
    if tag.lost:
        yield "summary  does not say: " + ", ".join(one_line(one.literal)[:60] for one in tag.lost[:SHOWN])
    for held in tag.held:
        yield f"held     {held}"
    if tag.asleep:
        yield f"asleep   {tag.asleep:,} edits: their targets are not in this context"
    if tag.refused:
        yield f"refused  {tag.refused}"
    for violation in violations[:10]:
        yield f"refused  by the provider: {violation.message} @ {violation.path}"
    for line in lost:
        yield f"not carried over: {line}"


def _moment(moment: Moment) -> str:
    back = "never" if moment.pays_back is None else "at once" if not moment.pays_back else f"{moment.pays_back:,} calls"
    once, later = numbers.signed_money(moment.once), numbers.signed_money(moment.per_call)
    return f"{moment.name:<12}{once:>10}{later:>10}{back if moment.once is not None else '?':>12}"


def fields(
    found: Curation, lost: Sequence[str], violations: Sequence[Violation], data: bytes, form: str
) -> dict[str, Any]:
    """Everything, as JSON."""
    tag, chosen = found.tag, found.chosen
    return {
        "session": found.session.about.id,
        "thread": chosen.thread,
        "call": chosen.number or None,
        "after": found.after,
        "format": form,
        "edits": [to_json(edit) for edit in found.log],
        "repairs": [to_json(edit) for edit in found.applied.repairs],
        "tokens": {"before": tag.before, "after": tag.after, "freed": tag.freed, "broken": tag.broken},
        "breaks_at_block": None if tag.breaks_at is None else tag.breaks_at + 1,
        "moments": [
            {"name": m.name, "at": m.at, "once_usd": m.once, "per_call_usd": m.per_call, "pays_back_calls": m.pays_back}
            for m in tag.moments
        ],
        "thinking_lost_tokens": tag.thinking_lost,
        "quotes": [{"literal": q.literal, "block": q.position + 1, "by": [p + 1 for p in q.by]} for q in tag.quotes],
        "summary_lost": [{"literal": one.literal, "quoted_later": one.quoted} for one in tag.lost],
        "held": list(tag.held),
        "asleep": tag.asleep,
        "refused": tag.refused or None,
        "violations": [{"path": v.path, "message": v.message} for v in violations],
        "lost": list(lost),
        "request": _request(data),
    }


def _request(data: bytes) -> Any:
    if not data:
        return None
    try:
        return canonical.loads(data)
    except ValueError:
        return data.decode("utf-8", "replace")
