"""Phases of a thread: stretches of calls that a user or a rule names, with their growth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Final, NamedTuple

from msgspec import Struct

from ctxtui.analysis.money.spending import SpendingRow, sum_rows
from ctxtui.core.block import HEADER
from ctxtui.core.block_content import read
from ctxtui.core.call import Call
from ctxtui.core.category import INDEX
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.turns import turns_of

TURN, EPOCH, CALL = "turn", "epoch", "call"
"""Rules that need no expression: a phase for each turn, each epoch, each call."""

NOTE_PREFIX: Final = "phase:"
"""Prefix of a note on a call that names the phase beginning with it."""

_SPOKEN: Final = frozenset({INDEX["user"], INDEX["assistant"], INDEX["summary"]})

Search = Callable[[str], str]
"""Gives the first hit in a text, "" without one."""
Input = Callable[[Call], int]
"""Gives the tokens of a call's whole context."""


class Start(NamedTuple):
    """Start of a phase at call `call` (from 1); `own`: named by the user."""

    call: int
    name: str
    own: bool = False


class Phase(Struct, frozen=True):
    """One phase: the calls `first` to `last` (from 1).

    - `before`: context of the previous call in tokens; 0 for the first phase.
    - `end`, `peak`: context of its last call, and its largest context.
    - `sent`, `answered`: all input and all output in it.
    - `usd`: cost of its calls; None if a price is unknown or `partial` calls are not fully reported. `least`: the known
      part.
    - `priced`: False while prices are not computed yet; then `usd` is None.
    - `own`: named by the user.
    """

    name: str
    first: int
    last: int
    before: int
    end: int
    peak: int
    sent: int
    answered: int
    usd: float | None
    least: float | None = None
    partial: int = 0
    own: bool = False
    priced: bool = True

    @property
    def calls(self) -> int:
        return self.last - self.first + 1

    @property
    def growth(self) -> int:
        return self.end - self.before


def find_starts(tree: Tree, calls: Sequence[Call], rule: str, search: Search | None = None) -> list[Start]:
    """Find the starts of phases by `rule`: `TURN`, `EPOCH`, `CALL`, or else by `search`.

    New text of user and model is searched. A hit with the current phase's name begins no new one.
    """
    if rule == CALL:
        return [Start(n, f"call {n}") for n in range(1, len(calls) + 1)]
    if rule in (TURN, EPOCH):
        turns = turns_of(tree, calls)
        values = [turns.of_call(n) if rule == TURN else call.epoch.number for n, call in enumerate(calls)]
        return [Start(n, f"{rule} {value}") for n, value in enumerate(values, 1) if n == 1 or value != values[n - 2]]
    starts: list[Start] = []
    if search is None:
        return starts
    for number, words in _new_texts(tree, calls):
        name = search(words)
        if name and (not starts or starts[-1].name != name):
            if starts and starts[-1].call == number:
                starts.pop()
            starts.append(Start(number, name))
    return starts


def _new_texts(tree: Tree, calls: Sequence[Call]) -> Iterator[tuple[int, str]]:
    """Yield (number of the call, text) of new text, in the order in which it was added."""
    head, seen_digests = ROOT, set[str]()
    for number, call in enumerate(calls, 1):
        for node in tree.path(call.sent_head, tree.common(head, call.sent_head)):
            node_row = tree[node]
            if (
                node_row.category in _SPOKEN
                and node_row.block.kind != HEADER
                and node_row.block.digest not in seen_digests
            ):
                seen_digests.add(node_row.block.digest)
                yield number, read(node_row.block).text
        head = call.sent_head


def named_starts(calls: Sequence[Call], notes: Mapping[str, str]) -> list[Start]:
    """Starts of the phases that `notes` (text by call id) name, as in ``phase: tests``."""
    starts = []
    for number, call in enumerate(calls, 1):
        text = notes.get(call.id, "").strip()
        if text.lower().startswith(NOTE_PREFIX):
            starts.append(Start(number, text[len(NOTE_PREFIX) :].strip() or f"from call {number}", True))
    return starts


def merge_starts(by_rule: Iterable[Start], own: Iterable[Start]) -> list[Start]:
    """Merge the starts of a rule and of the user's notes (`own`), in order.

    Of two at one call the user's is used.
    """
    by_call = {start.call: start for start in (*by_rule, *own)}
    return [by_call[call] for call in sorted(by_call)]


Cost = Callable[[Call], tuple[SpendingRow, bool]]
"""Gives the cost of a call, and whether its price is already computed."""


def build_phases(calls: Sequence[Call], starts: Sequence[Start], tokens: Input, cost: Cost) -> list[Phase]:
    """Build the phases of a thread's `calls`; `tokens` gives a call's context.

    Calls before the first start form a phase without a name.
    """
    if not calls:
        return []
    every = list(starts) if starts and starts[0].call == 1 else [Start(1, ""), *starts]
    sizes = [tokens(call) for call in calls]
    phases = []
    for index, start in enumerate(every):
        last = every[index + 1].call - 1 if index + 1 < len(every) else len(calls)
        phase_calls, phase_sizes = calls[start.call - 1 : last], sizes[start.call - 1 : last]
        costs = [cost(call) for call in phase_calls]
        spent = sum_rows(row for row, _ in costs)
        least = spent.usd if spent.usd is not None or spent.at_least else 0.0
        phases.append(
            Phase(
                start.name,
                start.call,
                last,
                before=sizes[start.call - 2] if start.call > 1 else 0,
                end=phase_sizes[-1],
                peak=max(phase_sizes),
                sent=sum(size for call, size in zip(phase_calls, phase_sizes, strict=True) if call.id),
                answered=sum(call.output for call in phase_calls),
                usd=None if spent.at_least else least,
                least=least,
                own=start.own,
                partial=spent.partial,
                priced=all(priced for _, priced in costs),
            )
        )
    return phases


def typical_growth(phases: Sequence[Phase]) -> tuple[int, int]:
    """Median growth of a phase, and median growth per call, in tokens.

    The first and then the last are left out while others remain: the prompt is in the first, and the last may not be
    over.
    """
    complete_phases = phases[1:-1] if len(phases) > 2 else phases[1:] or phases
    if not complete_phases:
        return 0, 0
    grown = [phase.growth for phase in complete_phases]
    each = [phase.growth / phase.calls for phase in complete_phases]
    return round(median(grown)), round(median(each))
