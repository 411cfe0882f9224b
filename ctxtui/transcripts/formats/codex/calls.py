"""Calls of a Codex rollout: the model's items between a request and its token count."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtui.core import canonical
from ctxtui.core.call import COPIED_BY, ESTIMATED_INPUT, MAKER, PAID_ID, WINDOW, Call, Epoch, EpochStart
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_count
from ctxtui.core.session import MAIN
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit.fields import ESTIMATED_BY, compaction_detail, complete_epoch, parse_timestamp


class TokenCounts(NamedTuple):
    """A token_count event, or a usage record.

    - `last`, `total`: usage of the last call and of the session; None if zero or not given.
    - `window`: the context window in tokens; 0: not given.
    - `record`: it is a usage record, which has the figures of one response, whose id is `response`.
    - `estimated`: input tokens that ctxtui estimated, in a session that it wrote to be resumed; 0: none.
    """

    last: Usage | None = None
    total: Usage | None = None
    window: int = 0
    record: bool = False
    response: str = ""
    estimated: int = 0


def parse_counts(info: Json) -> TokenCounts:
    """Parse a token_count's ``info``; the input includes cache reads (facts §11)."""
    if not isinstance(info, dict):
        return TokenCounts()
    if info.get(ESTIMATED_BY):
        last_usage = info.get("last_token_usage")
        size = as_count(last_usage.get("input_tokens")) if isinstance(last_usage, dict) else 0
        return TokenCounts(window=as_count(info.get("model_context_window")), estimated=size)
    last, total = _parse_usage(info.get("last_token_usage")), _parse_usage(info.get("total_token_usage"))
    return TokenCounts(last, total, as_count(info.get("model_context_window")))


def parse_usage_record(payload: dict[str, Json]) -> TokenCounts:
    response = payload.get("response_id")
    last, total = _parse_usage(payload.get("usage")), _parse_usage(payload.get("thread_token_usage"))
    return TokenCounts(last, total, record=True, response=response if isinstance(response, str) else "")


def _uncounted_usage(before: Usage | None, total: Usage | None, last: Usage) -> Usage | None:
    """Usage of a call without a count: the growth of the totals beyond the `last` call. None if there is none."""
    if before is None or total is None:
        return None
    names = ("fresh", "cache_read", "write_30m", "output", "reasoning")
    rest = {name: getattr(total, name) - getattr(before, name) - getattr(last, name) for name in names}
    if min(rest.values()) < 0 or rest["fresh"] + rest["cache_read"] == 0:
        return None
    return Usage(**rest, has_cache=total.has_cache)


def _parse_usage(last: Json) -> Usage | None:
    if not isinstance(last, dict):
        return None
    input_tokens, read = as_count(last.get("input_tokens")), as_count(last.get("cached_input_tokens"))
    written, output = as_count(last.get("cache_write_input_tokens")), as_count(last.get("output_tokens"))
    if input_tokens + output == 0:
        return None
    return Usage(
        fresh=max(0, input_tokens - read - written),
        cache_read=read,
        write_30m=written,
        output=output,
        reasoning=as_count(last.get("reasoning_output_tokens")),
        has_cache="cached_input_tokens" in last,
    )


class Calls(Struct, kw_only=True):
    """The current call, and what decides about the next one.

    - `answered`, `spoken`: a tool result or a person's message followed, so that the model's next item belongs to
      another call.
    - `start`: why the next call begins an epoch; None if it does not.
    - `input`, `window`: the last reported input and window, in tokens.
    - `open`: the current call, None between calls; `last`: the id of the latest call.
    - `newest`: the time at which the next call starts (Unix seconds).
    """

    thread: str = MAIN
    owners: dict[str, str] = field(default_factory=dict)
    """The thread that recorded a call first, by call id: a subagent may begin with a copy of other calls."""
    provider: str = "openai"
    root: str = ""
    """The session in which the file's first calls were made: another one if it is a fork."""
    copied_lines: int = 0
    model: str = ""
    effort: str = ""
    open: Call | None = None
    last: str = ""
    input: int = 0
    window: int = 0
    answered: bool = False
    spoken: bool = False
    epoch: Epoch = field(default_factory=Epoch)
    start: EpochStart | None = EpochStart.START
    newest: float | None = None
    _total: Usage | None = None
    _last_usage: Usage | None = None
    _uncounted: list[Call] = field(default_factory=list)
    """Calls that ended without a count since the last count."""
    _model: str = ""
    _ids: dict[str, str] = field(default_factory=dict)
    _finished: dict[str, Call] = field(default_factory=dict)
    """Calls that have ended; copies of them are ignored."""
    _records: bool = False
    _compactions: int = 0
    _ended: Call | None = None

    def add_item(self, head: int, after: int, name: str, stamp: str, line: int, span: tuple[int, int]) -> Call:
        """Add an item of the model. `head` and `after` are the contexts before and after it, `name` identifies it."""
        if self.open is not None and (self.spoken or self.answered):
            self.close()
        time = parse_timestamp(stamp)
        if self.open is None:
            self._begin_epoch()
            id_ = self._derive_id(name, stamp)
            self.open = self._finished.get(id_) or self._make_call(id_, head, line, span, self.newest)
        self.answered = self.spoken = False
        if self.open.id not in self._finished:
            self.open = replace(self.open, response_head=after, ended=time, bytes_=(self.open.bytes_[0], span[1]))
        return self.open

    def add_count(self, counts: TokenCounts, head: int, stamp: str, line: int, span: tuple[int, int]) -> list[Call]:
        """Handle a token count. Return the calls whose usage it gives, none if it repeats an earlier one."""
        # Totals that grew by more than the last call include the usage of the interrupted call before it, if exactly
        # one call ended without a count. If the client writes a usage record for each response (facts §13), a count
        # that ends no call is a repetition.
        total, usage = counts.total, counts.last
        if counts.estimated and self.open is not None:
            sized = replace(self.open, extra={**self.open.extra, ESTIMATED_INPUT: counts.estimated})
            self.open = sized
            self.close()
            return [sized]
        if counts.record:
            self._records = True
        elif self._records and self.open is None:
            self._total = total or self._total
            return []
        before, self._total = self._total, total or self._total
        repeated = total == before if total is not None else usage == self._last_usage and self.open is None
        if usage is None or repeated:
            return []
        self._last_usage, self.input = usage, usage.input
        self.window = counts.window or self.window
        call = self.open
        if call is None:
            # Usage without an item: the client's own request, such as a compaction.
            self._begin_epoch()
            call = self._make_call(
                self._derive_id(f"{stamp} {self.model} {usage}", stamp), head, line, span, self.newest
            )
            call = replace(call, response_head=head, ended=parse_timestamp(stamp))
        if self.window and call.extra.get(WINDOW) != self.window:
            call = replace(call, extra={**call.extra, WINDOW: self.window})
        if counts.response:
            call = replace(call, extra={**call.extra, "response_id": counts.response})
        elif total is not None:
            # A fork may repeat nothing but counts, with times of its own; their totals stay the same.
            call = self._with_paid_id(call, total, usage)
        self.open = None
        cut, self._uncounted = self._uncounted, []
        rest = _uncounted_usage(before, total, usage) if len(cut) == 1 else None
        self.epoch = complete_epoch(self.epoch, usage.input)
        self.close()
        calls = [(call, usage)] if rest is None else [(cut[0], rest), (call, usage)]
        ended = [
            self._complete_call(replace(split_call, usage=its, epoch=complete_epoch(split_call.epoch, its.input)))
            for split_call, its in calls
        ]
        self._ended = ended[-1]
        return ended

    def compact(self, response: str, says: Callable[[Call], bool]) -> Call | None:
        """Handle a compaction; return the call that made its summary, if recorded.

        `response` is the id of its response ("": unknown); `says` tests whether a call's answer is the summary.
        """
        # A tool result or a user's message after the last call means that an unrecorded call made the summary.
        last = None if self.answered or self.spoken else self.open or self._ended
        self.begin(EpochStart.COMPACTION)
        if last is None or last.thread != self.thread:
            return None
        response_id = last.extra.get("response_id")
        if response_id != response if response and response_id else not says(last):
            return None
        self._compactions += 1
        summary_extra = {**last.extra, "purpose": "compaction"}
        prefix = "" if self.thread == MAIN else f"{self.thread} "
        thread = f"{prefix}compaction {self._compactions}"
        call = replace(last, thread=thread, epoch=Epoch(), extra=summary_extra)
        self._ended = self._finished[last.id] = call
        return call

    def close(self) -> None:
        if self.open is not None:
            self._uncounted.append(self._complete_call(self.open))
            self._ended = self._uncounted[-1]
        self.open, self.answered, self.spoken = None, False, False

    def _with_paid_id(self, call: Call, total: Usage, last: Usage) -> Call:
        figures = [[u.input, u.cache_read, u.output, u.reasoning] for u in (total, last)]
        paid = "codex-" + canonical.digest(canonical.dumps([self.root, *figures]))[:24]
        return replace(call, extra={**call.extra, PAID_ID: paid})

    def is_own(self, call: Call) -> bool:
        return self.owners.get(call.id, self.thread) == self.thread

    def _complete_call(self, call: Call) -> Call:
        previous = self._finished.get(call.id)
        if previous is not None and previous.usage is not None:
            return previous
        self._finished[call.id] = call
        return call

    def begin(self, start: EpochStart) -> None:
        """End the current call. The next one begins an epoch, because of `start` unless a stronger reason is set."""
        self.close()
        if self.start not in (EpochStart.START, EpochStart.COMPACTION):
            self.start = start

    def _begin_epoch(self) -> None:
        start = self.start
        if start is None and self._model and self.model != self._model:
            start = EpochStart.MODEL
        if start is not None:
            detail = compaction_detail(self.input, 0, "codex") if start is EpochStart.COMPACTION else ""
            detail = f"{self._model} → {self.model}" if start is EpochStart.MODEL else detail
            self.epoch = Epoch(self.epoch.number + 1 if self.last else 1, start, detail)
        self.start, self._model = None, self.model

    def _derive_id(self, seed: str, stamp: str) -> str:
        """Derive an id that the same call has in every file: forks repeat their history (facts §11)."""
        id_ = "codex-" + canonical.digest(seed.encode("utf-8", "replace"))[:24]
        if self._ids.get(id_, stamp) != stamp:
            id_ = "codex-" + canonical.digest(f"{seed} {stamp}".encode("utf-8", "replace"))[:24]
        self._ids[id_] = stamp
        self.owners.setdefault(id_, self.thread)
        self.last = id_
        return id_

    def _make_call(self, id_: str, head: int, line: int, span: tuple[int, int], started: float | None) -> Call:
        call_extra: dict[str, Json] = {"effort": self.effort} if self.effort else {}
        if self.window:
            call_extra[WINDOW] = self.window
        if line <= self.copied_lines:
            call_extra[COPIED_BY] = MAKER
        return Call(
            id_,
            self.thread,
            head,
            head,
            head,
            provider=self.provider,
            model=self.model,
            started=started,
            epoch=self.epoch,
            line=line,
            bytes_=span,
            extra=call_extra,
        )
