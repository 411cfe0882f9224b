"""Why a forecast was off: what the recording itself shows about it, as a short text that can be checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ctxtui.analysis.forecast import Forecast
from ctxtui.core.call import Call, EpochStart, answer_path
from ctxtui.core.category import CATEGORIES
from ctxtui.core.tree import Tree
from ctxtui.core.usage import Usage
from ctxtui.tokens.features import NOTHING

_SHRUNK: Final = (EpochStart.COMPACTION, EpochStart.MICROCOMPACTION)
_SAME: Final = 8
"""Tokens by which two reports of one prefix may differ."""


_VISIBLE: Final = 0.3
"""Share of an answer by which the count of its blocks may be off ..."""
_UNSEEN: Final = 0.5
"""... and where it has thinking of which only the signature is recorded (tokens and characters together)."""


_SERVER: Final = frozenset({"web_search_call", "file_search_call", "code_interpreter_call", "server_tool_use"})


class CallsBefore:
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


def cause(forecast: Forecast, usage: Usage, past: CallsBefore) -> str:
    """Why the report `usage` is not what `forecast` said, in the words of the first evidence that is found."""
    more = usage.input - forecast.predicted
    for look in _LOOKS:
        found = look(forecast, usage, past, more)
        if found:
            return found
    return _injected(forecast, more) if more > 0 else _not_sent(forecast, usage, past, more)


_Look = Callable[[Forecast, Usage, CallsBefore, int], str]


def _model(forecast: Forecast, usage: Usage, past: CallsBefore, more: int) -> str:
    before, now = forecast.step.base.model, forecast.call.model
    return f"model change: {before} → {now}, the context is counted anew" if before != now else ""


def _epoch(forecast: Forecast, usage: Usage, past: CallsBefore, more: int) -> str:
    epoch = forecast.call.epoch
    if epoch == forecast.step.base.epoch:
        return ""
    if epoch.start in _SHRUNK:
        return f"{epoch.start.value}: {epoch.detail or 'the context was replaced'}"
    if epoch.start is EpochStart.REWIND:
        return "rewind: the context goes back to an earlier point"
    return f"{epoch.start.value}: the client may have put other text before the model" if more > 0 else ""


def _parent(forecast: Forecast, usage: Usage, past: CallsBefore, more: int) -> str:
    base = forecast.step.usage
    # Providers that do not report writes read whole steps of a prefix: that names no call.
    other = past.left(usage.cache_read) if usage.cache_read and usage.cache_write else None
    mine = base.cache_read + base.cache_write
    if other is None or other.id == forecast.step.base.id or abs(usage.cache_read - mine) <= _SAME:
        return ""
    back = other.usage is not None and other.usage.input <= usage.input < base.input
    if base.input + _SAME < usage.cache_read or back:
        return f"parent does not match usage: it read the {usage.cache_read} tokens that call {other.id} left"
    return ""


def _lost(forecast: Forecast, usage: Usage, past: CallsBefore, more: int) -> str:
    if forecast.step.lost == NOTHING:
        return ""
    return f"content left: the context parts from that of call {forecast.step.base.id}"


def _image(forecast: Forecast, usage: Usage, past: CallsBefore, more: int) -> str:
    tokens = forecast.step.added.image
    return f"image: estimated at {tokens:.0f} tokens" if tokens else ""


def _stripped(forecast: Forecast, usage: Usage, past: CallsBefore, more: int) -> str:
    if not forecast.stripped:
        return ""
    return f"stripped thinking: a person spoke, so earlier thinking was taken out; that is {more:+d} tokens off"


def _partial(forecast: Forecast, usage: Usage, past: CallsBefore, more: int) -> str:
    step = forecast.step
    if forecast.answers or step.usage.output_final or not step.whole:
        return ""
    # A count of blocks is wrong by a share of them, most where thinking shows only as a signature.
    share = _UNSEEN if step.thinking.hidden else _VISIBLE
    if abs(more) > share * (sum(step.answer[:3]) + step.thinking.hidden):
        return ""
    thought = f", {step.thinking.hidden:.0f} characters of signature for its thinking" if step.thinking.hidden else ""
    return (
        f"partial count: the answer before is recorded as {step.usage.output} output tokens, "
        f"so it was counted by its {step.parts} blocks{thought}; {more:+d} tokens off"
    )


def _server(forecast: Forecast, usage: Usage, past: CallsBefore, more: int) -> str:
    call, base, tree = forecast.call, forecast.step.base, past.tree
    for one in (base, call):
        found = next((k for k in (tree[n].block.kind for n in answer_path(tree, one)) if k in _SERVER), "")
        if found:
            return f"server tool: {found}, whose results the provider read and the recording lacks; {more:+d} tokens"
    return ""


def _rhythm(forecast: Forecast, usage: Usage, past: CallsBefore, more: int) -> str:
    if not forecast.added or abs(more + forecast.added) > abs(more):
        return ""
    return f"text foretold that did not come: {forecast.added:.0f} tokens, as the client had added at earlier calls"


def _dense(forecast: Forecast, usage: Usage, past: CallsBefore, more: int) -> str:
    step = forecast.step
    if step.added.result + step.added.text < 4 * abs(more):
        return ""
    tokens = step.added.result + step.added.text
    return f"text of another density: {tokens:.0f} counted tokens cost {more:+d} beyond the usual"


_LOOKS: Final[tuple[_Look, ...]] = (
    _model,
    _epoch,
    _lost,
    _parent,
    _image,
    _server,
    _stripped,
    _rhythm,
    _partial,
    _dense,
)


def _injected(forecast: Forecast, more: int) -> str:
    unsure = "" if forecast.answers or forecast.step.usage.output_final else " (the answer's own count is partial)"
    return f"text injected but not in the file: {more} tokens beyond every recorded block{unsure}"


def _not_sent(forecast: Forecast, usage: Usage, past: CallsBefore, more: int) -> str:
    step = forecast.step
    if usage.input < step.usage.input:
        return (
            f"content left: the report fell by {step.usage.input - usage.input} tokens "
            f"while the recording added {len(step.nodes)} blocks"
        )
    if step.base.error and step.parts:
        return f"recorded but not sent: the answer before ended in an error ({step.base.error}), {-more} tokens fewer"
    kinds = list(dict.fromkeys(CATEGORIES[past.tree[node].category].replace("_", " ") for node in step.nodes))
    if not forecast.answers and step.parts:
        kinds.insert(0, "answer")
    return f"recorded but not sent as recorded: {-more} tokens fewer than its blocks ({', '.join(kinds) or 'none'})"
