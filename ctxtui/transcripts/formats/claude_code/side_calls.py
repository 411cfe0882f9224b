"""Finds usage that Claude Code reports and does not record as calls (facts §13.1).

At its end each process writes the session's usage so far, by model (its *meter*). What exceeds the recorded calls was
used by requests that no record names: compactions, titles, classifiers, interrupted attempts. These become one *side
call* per model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from operator import add
from typing import Final, NamedTuple

from msgspec.structs import replace

from ctxtui.core.call import IN_ALL, SUM, Call, Fidelity
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_count
from ctxtui.core.session import MAIN, CallSeen, Event, ThreadSeen
from ctxtui.core.usage import Usage
from ctxtui.wire.usage import other_passes, pass_id

_SIDE: Final = "side calls"
_LABEL: Final = "calls that the client counts and does not record"
_KEYS: Final = ("inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "outputTokens")
_HOUR: Final = "cacheCreationEphemeral1hInputTokens"
# Suffixes of a model's name: the context window, or date and revision.
_MODEL: Final = re.compile(r"\[[^\]]*\]$|(?:[-@]20\d{6})?(?:-v\d+(?::\d+)?)?$")


class TokenCounts(NamedTuple):
    """Tokens of one model.

    - `fresh`, `read`, `write`: input neither read nor written, read from the cache, written to it; `hour`: those of
      `write` that live an hour.
    - `output`; `reasoning`: those of it that are thinking.
    """

    fresh: int = 0
    read: int = 0
    write: int = 0
    hour: int = 0
    output: int = 0
    reasoning: int = 0

    def plus(self, other: TokenCounts) -> TokenCounts:
        return TokenCounts._make(map(add, self, other))

    def less(self, other: TokenCounts) -> TokenCounts:
        """Subtract per kind, not below 0; nothing is left if only `hour` and `reasoning` are."""
        difference = TokenCounts(*(max(0, a - b) for a, b in zip(self, other, strict=True)))
        return (
            difference if difference.fresh + difference.read + difference.write + difference.output else TokenCounts()
        )

    def covers(self, other: TokenCounts) -> bool:
        """Whether no count of `other` is larger.

        `hour` and `reasoning`, which old records lack, may be.
        """
        return all(a >= b for a, b in zip(self[:3] + self[4:5], other[:3] + other[4:5], strict=True))


_NONE: Final = TokenCounts()


class SideCalls:
    """Compares a session's meter records with its recorded calls, and emits the difference."""

    def __init__(self) -> None:
        self._earlier: dict[str, TokenCounts] = {}
        """Usage of processes from before the meter reset, by model."""
        self._now: dict[str, TokenCounts] = {}
        """Usage in the last meter record, by model."""
        self._since: dict[str, TokenCounts] = {}
        """Usage of the main file's calls since the last meter record, by model."""
        self._names: dict[str, str] = {}
        """Plain name of a model -> its first name in the meter."""
        self._calls: dict[str, tuple[str, TokenCounts, bool]] = {}
        """Recorded calls: model, usage, whether they are in the main file."""
        self._metered = False
        self._others: set[str] = set()
        """Recorded calls that are not in the main file, until a meter record was read."""
        self._late: set[str] = set()
        """Calls that no meter record can have counted yet."""
        self._at: float | None = None
        """Time of the last record before the last meter record."""
        self._place: tuple[int, tuple[int, int]] = (0, (0, 0))
        """Line and bytes of the last meter record."""
        self._emitted: dict[str, TokenCounts] = {}
        """Side calls as last emitted, by model."""

    def add_call(self, id_: str, model: str, usage: Usage | None, is_own_file: bool) -> None:
        """Add or update a recorded call.

        `is_own_file`: the next meter record of the session's own file counts it.
        """
        if usage is None:
            if self._metered:
                self._late.add(id_)
            return
        if not self._metered:
            # Most sessions have no meter; until one is read, only the file of each call is tracked.
            (self._others.discard if is_own_file else self._others.add)(id_)
            return
        model, spent = _plain_model(model), _counts_of(usage)
        before = self._calls.get(id_)
        if before is not None and before[2] and is_own_file and before[0] == model and before[1] == spent:
            self._late.add(id_)
            return
        self._calls[id_] = (model, spent, is_own_file)
        if is_own_file:
            added = spent.less(before[1]) if before is not None else spent
            self._since[model] = self._since.get(model, _NONE).plus(added)
            self._late.add(id_)

    def read_meter(
        self, report: Json, time: float | None, line: int, bytes_: tuple[int, int], calls: Mapping[str, Call]
    ) -> None:
        """Read a meter record; `time` is that of the record before it."""
        models = report if isinstance(report, dict) else {}
        now: dict[str, TokenCounts] = {}
        for name, model_report in models.items():
            if isinstance(model_report, dict):
                self._names.setdefault(_plain_model(name), name)
                now[_plain_model(name)] = now.get(_plain_model(name), _NONE).plus(_parse_counts(model_report))
        if not now:
            return
        if not self._metered:
            self._metered = True
            for call in calls.values():
                is_own_file = call.id not in self._others
                if call.usage is not None:
                    self._calls[call.id] = (_plain_model(call.model), _counts_of(call.usage), is_own_file)
                for number, model_report in enumerate(other_passes(call.extra), 1):
                    self._calls[pass_id(call.id, number)] = (
                        _plain_model(model_report.model or call.model),
                        _counts_of(model_report.usage),
                        is_own_file,
                    )
        if not self._is_continued(now):
            for model, spent in self._now.items():
                self._earlier[model] = self._earlier.get(model, _NONE).plus(spent)
        self._now, self._since = now, {}
        self._late.clear()
        self._at, self._place = time, (line, bytes_)

    def _is_continued(self, now: dict[str, TokenCounts]) -> bool:
        """True if the cumulative counter continues; it resets when the client restarts."""
        if any(not now.get(model, _NONE).covers(spent) for model, spent in self._now.items()):
            return False
        grown = {model: spent.less(self._now.get(model, _NONE)) for model, spent in now.items()}
        if all(grown.get(model, _NONE).covers(spent) for model, spent in self._since.items()):
            return True
        return not all(now.get(model, _NONE).covers(spent) for model, spent in self._since.items())

    def unrecorded_events(self, calls: dict[str, Call]) -> list[Event]:
        """Return events for the unrecorded usage, if known and changed."""
        if not self._now:
            return []
        total = dict(self._earlier)
        for model, spent in self._now.items():
            total[model] = total.get(model, _NONE).plus(spent)
        counted: dict[str, TokenCounts] = {}
        for id_, (model, spent, is_own_file) in self._calls.items():
            ended = calls[id_].ended if id_ in calls else None
            before = ended is None or self._at is None or ended <= self._at
            if id_ not in self._late and (is_own_file or before):
                counted[model] = counted.get(model, _NONE).plus(spent)
        covered = {model for model, spent in counted.items() if total.get(model, _NONE).covers(spent)}
        unmetered = [model for model in counted if model not in total]
        uncounted = [model for model in total if model not in counted]
        for model in unmetered if uncounted else ():
            # The meter and the answers name a model differently.
            counted[uncounted[0]] = counted.get(uncounted[0], _NONE).plus(counted[model])
        remaining = {model: spent.less(counted.get(model, _NONE)) for model, spent in total.items()}
        return [*self._mark_included(calls, covered), *self._emit_side_calls(remaining)]

    def _mark_included(self, calls: dict[str, Call], covered: set[str]) -> Iterable[Event]:
        """Mark partially reported calls of models whose remaining usage is in the meter."""
        for id_, call in calls.items():
            if call.is_partial and id_ not in self._late and _plain_model(call.model) in covered:
                calls[id_] = marked = replace(call, extra={**call.extra, IN_ALL: True})
                yield CallSeen(marked)

    def _emit_side_calls(self, remaining: dict[str, TokenCounts]) -> Iterable[Event]:
        for model, spent in remaining.items():
            if spent == self._emitted.get(model, _NONE):
                continue
            if not self._emitted:
                yield ThreadSeen(_SIDE, _LABEL, MAIN)
            self._emitted[model] = spent
            yield CallSeen(
                Call(
                    f"{_SIDE} {self._names[model]}",
                    _SIDE,
                    provider="anthropic",
                    model=model,
                    ended=self._at,
                    fidelity=Fidelity.TOTALS,
                    usage=_to_usage(spent),
                    line=self._place[0],
                    bytes_=self._place[1],
                    extra={SUM: True},
                )
            )


@lru_cache(maxsize=64)
def _plain_model(model: str) -> str:
    """Strip provider, date, revision and context window (``[1m]``) from a model's name."""
    name = model.rsplit("/", 1)[-1].rpartition("anthropic.")[2]
    return _MODEL.sub("", re.sub(r"\[[^\]]*\]$", "", name))


def _counts_of(usage: Usage) -> TokenCounts:
    return TokenCounts(usage.fresh, usage.cache_read, usage.cache_write, usage.write_1h, usage.output, usage.reasoning)


def _to_usage(spent: TokenCounts) -> Usage:
    hour = min(spent.hour, spent.write)
    return Usage(
        fresh=spent.fresh,
        cache_read=spent.read,
        write_5m=spent.write - hour,
        write_1h=hour,
        output=spent.output,
        reasoning=min(spent.reasoning, spent.output),
    )


def _parse_counts(report: dict[str, Json]) -> TokenCounts:
    fresh, read, write, output = (as_count(report.get(key)) for key in _KEYS)
    return TokenCounts(fresh, read, write, as_count(report.get(_HOUR)), output, as_count(report.get("thinkingTokens")))
