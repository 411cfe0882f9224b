"""Why a forecast was off: what the recording itself shows about it, as a short text that can be checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ctxtui.core.call import Call, EpochStart
from ctxtui.core.category import CATEGORIES
from ctxtui.core.tree import Tree
from ctxtui.core.usage import Usage
from ctxtui.lab.forecast import Forecast
from ctxtui.tokens.features import NOTHING

_SHRUNK: Final = (EpochStart.COMPACTION, EpochStart.MICROCOMPACTION)
_SAME: Final = 8
"""Tokens by which two reports of one prefix may differ."""


_VISIBLE: Final = 0.3
"""Share of a visible answer by which its own count may be off."""


class Past:
    """The calls before the one in question: what each left in the cache, and what it read."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._left: dict[int, Call] = {}

    def add(self, call: Call) -> None:
        """Remember `call`."""
        if call.usage is not None and call.usage.cache_read + call.usage.cache_write:
            self._left[call.usage.cache_read + call.usage.cache_write] = call

    def left(self, tokens: int) -> Call | None:
        """The latest call that left just `tokens` in the cache."""
        return self._left.get(tokens)


def cause(forecast: Forecast, usage: Usage, past: Past) -> str:
    """Why the report `usage` is not what `forecast` said, in the words of the first evidence that is found."""
    more = usage.input - forecast.predicted
    for look in _LOOKS:
        found = look(forecast, usage, past, more)
        if found:
            return found
    return _injected(more) if more > 0 else _not_sent(forecast, past, more)


_Look = Callable[[Forecast, Usage, Past, int], str]


def _model(forecast: Forecast, usage: Usage, past: Past, more: int) -> str:
    before, now = forecast.step.base.model, forecast.call.model
    return f"model change: {before} → {now}, the context is counted anew" if before != now else ""


def _epoch(forecast: Forecast, usage: Usage, past: Past, more: int) -> str:
    epoch = forecast.call.epoch
    if epoch == forecast.step.base.epoch:
        return ""
    if epoch.start in _SHRUNK:
        return f"{epoch.start.value}: {epoch.detail or 'the context was replaced'}"
    if epoch.start is EpochStart.REWIND:
        return "rewind: the context goes back to an earlier point"
    return f"{epoch.start.value}: the client may have put other text before the model" if more > 0 else ""


def _parent(forecast: Forecast, usage: Usage, past: Past, more: int) -> str:
    base = forecast.step.usage
    other = past.left(usage.cache_read) if usage.cache_read else None
    mine = base.cache_read + base.cache_write
    if other is None or other.id == forecast.step.base.id or abs(usage.cache_read - mine) <= _SAME:
        return ""
    back = other.usage is not None and other.usage.input <= usage.input < base.input
    if base.input + _SAME < usage.cache_read or back:
        return f"parent does not match usage: it read the {usage.cache_read} tokens that call {other.id} left"
    return ""


def _lost(forecast: Forecast, usage: Usage, past: Past, more: int) -> str:
    if forecast.step.lost == NOTHING:
        return ""
    return f"content left: the context parts from that of call {forecast.step.base.id}"


def _image(forecast: Forecast, usage: Usage, past: Past, more: int) -> str:
    tokens = forecast.step.added.image
    return f"image: estimated at {tokens:.0f} tokens" if tokens else ""


def _stripped(forecast: Forecast, usage: Usage, past: Past, more: int) -> str:
    step = forecast.step
    # The forecast took out what the call's strips_thinking says; it shows in the features it applied.
    gone = step.asked and (step.earlier_tokens or step.earlier != NOTHING or step.thinking != NOTHING)
    took = gone and forecast.features != step.net and not _kept_everything(forecast)
    if not took:
        return ""
    return f"stripped thinking: a person spoke, so earlier thinking was taken out; that is {more:+d} tokens off"


def _kept_everything(forecast: Forecast) -> bool:
    step = forecast.step
    return step.earlier == NOTHING and not step.earlier_tokens and forecast.answers == 1 and not step.usage.reasoning


def _partial(forecast: Forecast, usage: Usage, past: Past, more: int) -> str:
    step = forecast.step
    if forecast.answers or step.usage.output_final or not step.whole:
        return ""
    hidden = step.thinking.hidden
    if not hidden and abs(more) > _VISIBLE * sum(step.answer[:3]):
        # All of the answer is there to be counted: its count is not what is off.
        return ""
    thought = f", {hidden:.0f} characters of signature for its thinking" if hidden else ""
    return (
        f"partial count: the answer before is recorded as {step.usage.output} output tokens, "
        f"so it was counted by its {step.parts} blocks{thought}; {more:+d} tokens off"
    )


def _rhythm(forecast: Forecast, usage: Usage, past: Past, more: int) -> str:
    if not forecast.added or abs(more + forecast.added) > abs(more):
        return ""
    return f"text foretold that did not come: {forecast.added:.0f} tokens, as the client had added at earlier calls"


def _dense(forecast: Forecast, usage: Usage, past: Past, more: int) -> str:
    step = forecast.step
    if step.added.result + step.added.text < 4 * abs(more):
        return ""
    tokens = step.added.result + step.added.text
    return f"text of another density: {tokens:.0f} counted tokens cost {more:+d} beyond the usual"


_LOOKS: Final[tuple[_Look, ...]] = (_model, _epoch, _lost, _parent, _image, _stripped, _rhythm, _partial, _dense)


def _injected(more: int) -> str:
    return f"text injected but not in the file: {more} tokens beyond every recorded block"


def _not_sent(forecast: Forecast, past: Past, more: int) -> str:
    tree, kinds = past.tree, []
    for node in forecast.step.nodes:
        name = CATEGORIES[tree[node].category]
        if name not in kinds:
            kinds.append(name)
    return f"recorded but not sent as recorded: {-more} tokens fewer than its blocks ({', '.join(kinds) or 'none'})"
