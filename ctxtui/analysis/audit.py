"""The audit: compares forecasts of each call's input, made from earlier calls, with reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from msgspec import Struct

from ctxtui.analysis.book import Book
from ctxtui.analysis.forecast import Forecast, Forecaster
from ctxtui.core.call import COMPACTIONS, Call, EpochStart, answer_path
from ctxtui.core.category import CATEGORIES
from ctxtui.core.tree import Tree
from ctxtui.core.usage import Usage
from ctxtui.tokens.features import NOTHING
from ctxtui.tokens.models import ModelCard

_SAME_TOKENS: Final = 8
"""Tokens by which two reports of one prefix may differ."""


_VISIBLE_ERROR: Final = 0.3
"""Maximum error of a count of an answer's blocks, as a share of it ..."""
_HIDDEN_ERROR: Final = 0.5
"""... and of one whose thinking is recorded by its signature only (tokens and characters together)."""


_SERVER_TOOLS: Final = frozenset({"web_search_call", "file_search_call", "code_interpreter_call", "server_tool_use"})
"""Kinds of blocks of tools that the provider runs within an answer."""


class _CallsBefore(NamedTuple):
    """Earlier calls: the latest by the tokens that it had in the cache afterwards."""

    tree: Tree
    by_cached: dict[int, Call]


def _explain_error(forecast: Forecast, usage: Usage, past: _CallsBefore) -> str:
    more = usage.input - forecast.predicted
    for check in _CHECKS:
        cause = check(forecast, usage, past, more)
        if cause:
            return cause
    return _describe_injected(forecast, more) if more > 0 else _describe_not_sent(forecast, usage, past, more)


_Check = Callable[[Forecast, Usage, _CallsBefore, int], str]


def _explain_model(forecast: Forecast, usage: Usage, past: _CallsBefore, more: int) -> str:
    model_before, model_now = forecast.step.base.model, forecast.call.model
    return (
        f"model change: {model_before} → {model_now}, the context is counted again" if model_before != model_now else ""
    )


def _explain_epoch(forecast: Forecast, usage: Usage, past: _CallsBefore, more: int) -> str:
    epoch = forecast.call.epoch
    if epoch == forecast.step.base.epoch:
        return ""
    if epoch.start in COMPACTIONS:
        return f"{epoch.start.value}: {epoch.detail or 'the context was replaced'}"
    if epoch.start is EpochStart.REWIND:
        return "rewind: the context goes back to an earlier point"
    return f"{epoch.start.value}: the client may have put other text before the model" if more > 0 else ""


def _explain_parent(forecast: Forecast, usage: Usage, past: _CallsBefore, more: int) -> str:
    base = forecast.step.usage
    # Providers that do not report writes read whole steps of a prefix, which identifies no call.
    earlier = past.by_cached.get(usage.cache_read) if usage.cache_read and usage.cache_write else None
    cached = base.cache_read + base.cache_write
    if earlier is None or earlier.id == forecast.step.base.id or abs(usage.cache_read - cached) <= _SAME_TOKENS:
        return ""
    is_rewind = earlier.usage is not None and earlier.usage.input <= usage.input < base.input
    if base.input + _SAME_TOKENS < usage.cache_read or is_rewind:
        return f"parent does not match usage: it read the {usage.cache_read} tokens that call {earlier.id} left"
    return ""


def _explain_lost(forecast: Forecast, usage: Usage, past: _CallsBefore, more: int) -> str:
    if forecast.step.lost == NOTHING:
        return ""
    return f"content left: the context differs from that of call {forecast.step.base.id}"


def _explain_image(forecast: Forecast, usage: Usage, past: _CallsBefore, more: int) -> str:
    added = forecast.step.added
    if added.pages:
        return f"PDF: estimated at {added.pages:.0f} tokens"
    return f"image: estimated at {added.image:.0f} tokens" if added.image else ""


def _explain_stripped(forecast: Forecast, usage: Usage, past: _CallsBefore, more: int) -> str:
    if not forecast.stripped:
        return ""
    return f"stripped thinking: a new user message, so earlier thinking was dropped; {more:+d} tokens off"


def _explain_partial(forecast: Forecast, usage: Usage, past: _CallsBefore, more: int) -> str:
    step = forecast.step
    if forecast.answers or step.usage.output_final or not step.is_whole_answer:
        return ""
    # The error of a count of blocks grows with them, most if thinking is recorded by its signature only.
    share = _HIDDEN_ERROR if step.thinking.hidden else _VISIBLE_ERROR
    if abs(more) > share * (sum(step.answer[:3]) + step.thinking.hidden):
        return ""
    thought = f", {step.thinking.hidden:.0f} characters of signature for its thinking" if step.thinking.hidden else ""
    return (
        f"partial count: the previous answer is recorded as {step.usage.output} output tokens, "
        f"so it was counted by its {step.parts} blocks{thought}; {more:+d} tokens off"
    )


def _explain_server(forecast: Forecast, usage: Usage, past: _CallsBefore, more: int) -> str:
    call, base, tree = forecast.call, forecast.step.base, past.tree
    for endpoint in (base, call):
        kind = next((k for k in (tree[n].block.kind for n in answer_path(tree, endpoint)) if k in _SERVER_TOOLS), "")
        if kind:
            return f"server tool: {kind}, with results that are not recorded; {more:+d} tokens"
    return ""


def _explain_missing_reminder(forecast: Forecast, usage: Usage, past: _CallsBefore, more: int) -> str:
    if not forecast.added or abs(more + forecast.added) > abs(more):
        return ""
    return f"forecast text was not added: {forecast.added:.0f} tokens, which the client added at earlier calls"


def _explain_dense(forecast: Forecast, usage: Usage, past: _CallsBefore, more: int) -> str:
    step = forecast.step
    if step.added.result + step.added.text < 4 * abs(more):
        return ""
    tokens = step.added.result + step.added.text
    return f"text of unusual density: {tokens:.0f} counted tokens are {more:+d} off"


_CHECKS: Final[tuple[_Check, ...]] = (
    _explain_model,
    _explain_epoch,
    _explain_lost,
    _explain_parent,
    _explain_image,
    _explain_server,
    _explain_stripped,
    _explain_missing_reminder,
    _explain_partial,
    _explain_dense,
)


def _describe_injected(forecast: Forecast, more: int) -> str:
    unsure = "" if forecast.answers or forecast.step.usage.output_final else " (the answer's own count is partial)"
    return f"text injected but not in the file: {more} tokens beyond every recorded block{unsure}"


def _describe_not_sent(forecast: Forecast, usage: Usage, past: _CallsBefore, more: int) -> str:
    step = forecast.step
    if usage.input < step.usage.input:
        return (
            f"content left: the report fell by {step.usage.input - usage.input} tokens "
            f"while the recording added {len(step.nodes)} blocks"
        )
    if step.base.error and step.parts:
        return f"recorded but not sent: the previous answer ended in an error ({step.base.error}), {-more} tokens fewer"
    kinds = list(dict.fromkeys(CATEGORIES[past.tree[node].category].replace("_", " ") for node in step.nodes))
    if not forecast.answers and step.parts:
        kinds.insert(0, "answer")
    return f"recorded but not sent as recorded: {-more} tokens fewer than its blocks ({', '.join(kinds) or 'none'})"


MIN_TOKENS: Final = 100
"""Errors of newly added tokens are relative to at least this many tokens."""
MAX_ERROR_SHARE: Final = 0.22
"""A call whose new tokens are off by more than this share gets a cause."""


class AuditedCall(Struct, frozen=True, kw_only=True):
    """One call's forecast and report, in tokens.

    - `call`: its number in its thread, from 1.
    - `predicted`: the forecast; `lo` to `hi` is its 90 % interval.
    - `reported`: the reported input.
    - `new_predicted`, `new_reported`: the tokens beyond the report of the call whose context this one extends;
      `new_reported` is negative if content was removed.
    - `cause`: explains an error above `MAX_ERROR_SHARE`; "" if it is smaller.
    - `follows_user`: the user wrote before the call; otherwise it continues from tool results.
    """

    thread: str
    call: int
    predicted: int
    lo: int
    hi: int
    reported: int
    new_predicted: int
    new_reported: int
    cause: str
    follows_user: bool


def audit_calls(book: Book, card: Callable[[str], ModelCard] | None = None) -> list[AuditedCall]:
    """Audit every call with a report except the first one of each thread, in recorded order.

    Each call is forecast from earlier calls only, then its report is learned. Everything in `book` must be counted.
    `card` gives other facts about a model than the book's, for benchmarks; it must count in the same way.
    """
    session = book.session
    forecaster = Forecaster(session, book.cumulated, card or book.card)
    numbers = {id_: n for order in session.order.values() for n, id_ in enumerate(order, 1)}
    past = _CallsBefore(session.tree, {})
    rows = []
    for call in list(session.calls.values()):
        if call.usage is None:
            continue
        forecast = forecaster.forecast(call)
        if forecast is not None:
            rows.append(_audit_call(forecast, call, numbers[call.id], past))
        forecaster.learn(call, forecast)
        past.by_cached[call.usage.cache_read + call.usage.cache_write] = call
    return rows


def _audit_call(forecast: Forecast, call: Call, number: int, past: _CallsBefore) -> AuditedCall:
    assert call.usage is not None
    reported = call.usage.input
    new = reported - forecast.step.usage.input
    off = abs(forecast.predicted - reported) > MAX_ERROR_SHARE * max(abs(new), MIN_TOKENS)
    return AuditedCall(
        thread=call.thread,
        call=number,
        predicted=forecast.predicted,
        lo=forecast.lo,
        hi=forecast.hi,
        reported=reported,
        new_predicted=forecast.new,
        new_reported=new,
        cause=_explain_error(forecast, call.usage, past) if off else "",
        follows_user=forecast.step.person_wrote,
    )


def summarize(rows: Sequence[AuditedCall]) -> dict[str, Any]:
    """Summarize `rows` in percent; None where there are no values.

    - Errors of totals are relative to the report.
    - Errors of new tokens are relative to max(new_reported, `MIN_TOKENS`); calls with negative new_reported are left
      out.
    - Widths are half of hi - lo (the x of "± x %"), relative to max(new_predicted, `MIN_TOKENS`).
    """
    totals = [100 * abs(r.predicted - r.reported) / max(r.reported, 1) for r in rows]
    grown = [r for r in rows if r.new_reported >= 0]
    new = [100 * abs(r.new_predicted - r.new_reported) / max(r.new_reported, MIN_TOKENS) for r in grown]
    widths = [50 * (r.hi - r.lo) / max(r.new_predicted, MIN_TOKENS) for r in rows]
    inside_flags = [100.0 * (r.lo <= r.reported <= r.hi) for r in rows]
    return {
        "median_abs_error_pct": percentile(totals, 50),
        "p95_abs_error_pct": percentile(totals, 95),
        "new_median_abs_error_pct": percentile(new, 50),
        "new_p90_abs_error_pct": percentile(new, 90),
        "interval_coverage_pct": round(sum(inside_flags) / len(inside_flags), 3) if inside_flags else None,
        "median_interval_width_pct": percentile(widths, 50),
    }


def percentile(values: Iterable[float], share: float) -> float | None:
    """The `share` percentile (0 to 100) of `values`, interpolated linearly; None without any."""
    ordered = sorted(values)
    if not ordered:
        return None
    position = share / 100 * (len(ordered) - 1)
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return round(ordered[low] + (ordered[high] - ordered[low]) * (position - low), 3)


def build_record(book: Book, calls: Iterable[Call]) -> list[tuple[int, int]]:
    """Running counts of reports inside their forecast interval, and of forecasts.

    The item at index n is the one after n `calls`.
    """
    record = [(0, 0)]
    for call in calls:
        (right, forecasts), forecast, usage = record[-1], book.forecasts.get(call.id), call.usage
        if forecast is not None and usage is not None:
            right, forecasts = right + (forecast.lo <= usage.input <= forecast.hi), forecasts + 1
        record.append((right, forecasts))
    return record
