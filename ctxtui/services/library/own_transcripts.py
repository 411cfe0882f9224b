"""A session that ctxtui recorded as it went by, and the client's own transcript of it: one row, each call once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ctxtui.services.library.totals.spending import with_sums
from ctxtui.services.recordings.discover import ATTACHED, FoundRecording
from ctxtui.views.model.session_summary import CallSpent, SessionSummary


def own_transcripts(found: Iterable[FoundRecording]) -> dict[str, str]:
    """Attached recording -> the one transcript of a client that has the same id, by their files."""
    attached: dict[str, str] = {}
    others: dict[str, list[str]] = {}
    for one in found:
        if one.source == ATTACHED:
            attached[one.id] = one.file
        else:
            others.setdefault(one.id, []).append(one.file)
    return {file: others[id_][0] for id_, file in attached.items() if len(others.get(id_, ())) == 1}


def as_one(attached: SessionSummary, own: SessionSummary) -> SessionSummary:
    """The attached session, and those calls of the transcript that went by without ctxtui. Both were read."""
    if own.error or attached.error:
        return attached if own.error else replace(own, key=attached.key)
    there = {call.id for call in attached.spent}
    more = [call for call in own.spent if call.id not in there]
    joined = replace(
        attached,
        cwd=attached.cwd or own.cwd,
        turns=max(attached.turns, own.turns),
        first_user_text=own.first_user_text or attached.first_user_text,
        tags=own.tags or attached.tags,
        usage_only=attached.usage_only or own.usage_only,
    )
    if not more:
        return joined
    models = dict(attached.models)
    names = [*models]
    calls: list[CallSpent] = []
    for call in more:
        name = own.models[call.model][0] if call.model >= 0 else ""
        if name and name not in names:
            names.append(name)
        if name:
            models[name] = models.get(name, 0) + 1
        calls.append(call._replace(model=names.index(name) if name else -1))
    whole = sum(call.cost or 0.0 for call in own.spent)
    share = sum(call.cost or 0.0 for call in more) / whole if whole else 0.0
    larger = own if own.peak_tokens > attached.peak_tokens else attached
    spent = (*attached.spent, *calls)
    read, sent = sum(call.read for call in spent), sum(call.input for call in spent)
    return with_sums(
        replace(
            joined,
            calls=len(spent),
            spent=spent,
            # Names keep their places, which the calls are numbered by.
            models=tuple((name, models[name]) for name in names),
            sent_tokens=sent,
            read_tokens=read,
            read_share=read / sent if sent and attached.read_share is not None else attached.read_share,
            misses=attached.misses + sum("m" in call.marks for call in more),
            by_category=_summed(attached.by_category, own.by_category, share),
            by_tool=_summed(attached.by_tool, own.by_tool, share),
            peak_tokens=larger.peak_tokens,
            peak_call=larger.peak_call,
            window=larger.window,
            usable=larger.usable,
            window_origin=larger.window_origin,
            composition_at_peak=larger.composition_at_peak,
        )
    )


def _summed(
    one: tuple[tuple[str, float], ...], other: tuple[tuple[str, float], ...], share: float
) -> tuple[tuple[str, float], ...]:
    found = dict(one)
    for name, usd in other:
        found[name] = found.get(name, 0.0) + usd * share
    return tuple(found.items())


@dataclass(slots=True)
class PairedSummaries:
    """Summaries as they are read, one after the other, in any order: those of `own` (attached file: transcript) wait
    for each other. `glimpses` are the transcripts' as their files show them."""

    own: Mapping[str, str]
    glimpses: Mapping[str, SessionSummary]
    _waiting: dict[str, SessionSummary] = field(default_factory=dict)

    def with_transcripts(self, wanted: Iterable[SessionSummary]) -> Iterator[SessionSummary]:
        """What has to be read for `wanted`."""
        for one in wanted:
            yield one
            if one.path in self.own:
                yield self.glimpses[self.own[one.path]]

    def joined(self, known: dict[str, SessionSummary]) -> dict[str, SessionSummary]:
        """Of summaries that are known by key, what is to be shown; nothing of a session that is known in part."""
        found = dict(known)
        for path, other in self.own.items():
            attached, own = found.pop(path, None), found.pop(other, None)
            if attached is not None and own is not None:
                found[path] = as_one(attached, own)
        return found

    def taken(self, one: SessionSummary) -> SessionSummary | None:
        """A summary that was read; what is to be shown by now."""
        other = self.own.get(one.path) or next((a for a, b in self.own.items() if b == one.path), "")
        if not other:
            return one
        before = self._waiting.pop(other, None)
        if before is None:
            self._waiting[one.path] = one
            return None
        attached, own = (one, before) if one.path in self.own else (before, one)
        return as_one(attached, own)
