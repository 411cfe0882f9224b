"""Loops: the same tool calls, one after the other, that got the same answers each time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ctxtui.core import canonical
from ctxtui.core.block import HEADER
from ctxtui.core.block_content import FUNCTION_RESPONSE
from ctxtui.core.canonical import Json
from ctxtui.core.session import Session
from ctxtui.core.tree import ROOT
from ctxtui.curation.context import Context, is_call

MIN_REPEATS: Final = 3
"""Times in a row from which on the same calls with the same answers are a loop."""
MAX_CYCLE: Final = 3
"""Calls of a cycle at most: A A A, A B A B, A B C A B C."""
_IDS: Final = frozenset(
    {"id", "tool_use_id", "tool_call_id", "call_id", "cache_control", "internal_chat_message_metadata_passthrough"}
)
"""Members of blocks that may differ between equal exchanges; the last is Codex's, with turn and time."""
_MEASURED: Final = re.compile(r"(?:Chunk ID: \w+|Wall time:? [\d.]+ s(?:econds)?\b)")
"""Values that Codex and Kimi Code put before a command's output, different each time; not compared."""

_STILL_RUNNING: Final = "Process running with session ID"
"""Text in Codex's answer to a call that only waits for a program: repeating such a call is no loop."""


class Exchange(NamedTuple):
    """Positions of a call and of its answer, and the `content` of both without ids."""

    call: int
    answer: tuple[int, ...]
    content: tuple[str, str, str]


class Loop(NamedTuple):
    """A cycle of `period` calls that was repeated, and the exchanges of all its runs in order."""

    period: int
    exchanges: tuple[Exchange, ...]

    @property
    def repeats(self) -> int:
        return len(self.exchanges) // self.period

    @property
    def middle(self) -> tuple[Exchange, ...]:
        """The exchanges between the first run and the last."""
        return self.exchanges[self.period : -self.period]


def find_loops(context: Context, min_repeats: int = MIN_REPEATS) -> list[Loop]:
    """The loops in `context` with at least `min_repeats` runs of a cycle.

    A person's message ends a loop.
    """
    return [loop for run in _exchange_runs(context) for loop in _find_loops_in(run, min_repeats)]


def loops_by_call(session: Session, thread: str) -> dict[int, str]:
    """Calls (from 1) of `thread` that sent results of a loop, with the last loop's name.

    A name is like ``Read, Bash x3``. The contexts at the end of the thread and of each epoch are searched.
    """
    tree, calls = session.tree, session.thread_calls(thread)
    names: dict[int, str] = {}
    ends = [n for n, call in enumerate(calls) if n + 1 == len(calls) or calls[n + 1].epoch.number != call.epoch.number]
    for end in ends:
        context = Context(tree, calls[end].sent_head)
        for loop in find_loops(context):
            tools = ", ".join(context.reading(exchange.call).name for exchange in loop.exchanges[: loop.period])
            answers = (position for exchange in loop.exchanges for position in exchange.answer)
            names |= dict.fromkeys((context.nodes[position] for position in answers), f"{tools} x{loop.repeats}")
    by_call: dict[int, str] = {}
    before = ROOT
    for number, call in enumerate(calls, 1) if names else ():
        added = tree.path(call.sent_head, tree.common(before, call.sent_head))
        sent = [names.pop(node) for node in added if node in names]
        by_call |= {number: sent[-1]} if sent else {}
        before = call.sent_head
    return by_call


def longest_loop(context: Context) -> int:
    """Largest number of runs of a cycle; 0 without calls, 1 without repetitions."""
    periods = range(1, MAX_CYCLE + 1)
    return max((_count_repeats(run, period) for run in _exchange_runs(context) for period in periods), default=0)


def _exchange_runs(context: Context) -> Iterator[list[Exchange]]:
    """Yield the exchanges between each two messages of a person.

    Calls that wait for a program are left out.
    """
    run: list[Exchange] = []
    user_texts = set(context.user_texts)
    for position, item in enumerate(context.items):
        if position in user_texts and run:
            yield run
            run = []
        elif is_call(item.block.kind):
            exchange = _make_exchange(context, position)
            if _STILL_RUNNING not in exchange.content[2]:
                run.append(exchange)
    if run:
        yield run


def _make_exchange(context: Context, call: int) -> Exchange:
    content = context.reading(call)
    answer: list[int] = []
    for partner in context.partners.get(call, ()):
        message = context.message_at(partner)
        headed = context.items[partner].block.kind == HEADER and message is not None
        answer += range(message.start, message.stop) if headed and message is not None else (partner,)
    result_text = "\n".join(canonical.dump_text(_without_ids(context.items[p].block.value())) for p in answer)
    return Exchange(call, tuple(answer), (content.name, content.arguments, _MEASURED.sub("", result_text)))


def _without_ids(value: Json) -> Json:
    if not isinstance(value, dict):
        return value
    # Google's results are one level deeper.
    return {k: _without_ids(v) if k in FUNCTION_RESPONSE else v for k, v in value.items() if k not in _IDS}


def _find_loops_in(run: Sequence[Exchange], min_repeats: int) -> Iterator[Loop]:
    start = 0
    while start < len(run):
        longest = max(
            (_loop_at(run, start, period) for period in range(1, MAX_CYCLE + 1)), key=lambda loop: loop.repeats
        )
        if longest.repeats < min_repeats:
            start += 1
            continue
        yield longest
        start += len(longest.exchanges)


def _count_repeats(run: Sequence[Exchange], period: int) -> int:
    longest = repeated_count = 0
    for before, exchange in zip(run, run[period:], strict=False):
        repeated_count = repeated_count + 1 if _repeats(exchange, before) else 0
        longest = max(longest, repeated_count)
    return 1 + longest // period


def _repeats(exchange: Exchange, before: Exchange) -> bool:
    """Whether `exchange` is the same call and answer as `before`.

    An unanswered call repeats nothing.
    """
    return bool(exchange.answer) and exchange.content == before.content


def _loop_at(run: Sequence[Exchange], start: int, period: int) -> Loop:
    end = start + period
    while end < len(run) and _repeats(run[end], run[end - period]):
        end += 1
    complete_count = (end - start) // period * period
    return Loop(period, tuple(run[start : start + complete_count]))
