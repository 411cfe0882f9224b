"""Evidence of a client's context window in its recorded calls (facts §13)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.core.call import COMPACTED, Call, Fidelity
from ctxtui.core.session import Session
from ctxtui.tokens.models import plain_id

AUTOMATIC: Final = "auto"
_UNSETTLED_CALLS: Final = 16
"""Calls at the end of a session that are read again each time."""
_LONG_CONTEXT_BETA: Final = "context-1m"
"""Beta that requests the long context, without its date."""


class ShownWindow(Struct):
    """Evidence from the calls of one model.

    `largest` is the largest input, `compacted` the sizes at which the client compacted automatically, `requested_long`
    whether it requested the long context.
    """

    largest: int = 0
    compacted: tuple[int, ...] = ()
    requested_long: bool = False

    @property
    def compacts_at(self) -> int:
        """Smallest size at which the client compacted automatically that no context exceeded.

        0 if unknown.
        """
        return min((size for size in self.compacted if size >= self.largest), default=0)


class WindowSigns:
    """Evidence by model, kept up to date with a growing session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._key: tuple[int, int, int] = (-1, 0, 0)
        self._shown: Mapping[str, ShownWindow] = {}
        self._settled: tuple[list[Call], dict[str, ShownWindow]] = ([], {})
        """The calls before the last ones, which are read once, and their evidence."""

    def signs_of(self, model: str) -> ShownWindow:
        calls = self._session.calls
        last = next(reversed(calls.values()), None) if calls else None
        key = (len(calls), len(self._session.tree), id(last))
        if key != self._key:
            # Copy first: another thread may be adding calls.
            self._key, self._shown = key, self._collect_signs(list(calls.values()))
        return self._shown.get(plain_id(model)) or ShownWindow()

    def _collect_signs(self, calls: list[Call]) -> dict[str, ShownWindow]:
        # A changed call is another object; the last ones still change. Two threads may run this at once.
        # List comparison checks identity first, which is fast.
        (before, settled_signs), settled = self._settled, calls[:-_UNSETTLED_CALLS]
        if settled[: len(before)] != before:
            before, settled_signs = [], {}
        base = {name: replace(sign) for name, sign in settled_signs.items()}
        _add_signs(base, settled[len(before) :])
        self._settled = settled, base
        shown = {name: replace(sign) for name, sign in base.items()}
        _add_signs(shown, calls[len(settled) :])
        return shown


def _add_signs(shown: dict[str, ShownWindow], calls: Iterable[Call]) -> None:
    plain: dict[str, str] = {}
    for call in calls:
        name = plain.get(call.model)
        if name is None:
            name = plain[call.model] = plain_id(call.model)
        sign = shown.setdefault(name, ShownWindow())
        if call.usage is not None and call.fidelity != Fidelity.TOTALS and not _has_several_passes(call):
            sign.largest = max(sign.largest, call.usage.input)
        if size := compaction_size(call):
            sign.compacted = (*sign.compacted, size)
        betas = call.extra.get("betas")
        asks = isinstance(betas, list) and any(str(name).startswith(_LONG_CONTEXT_BETA) for name in betas)
        sign.requested_long = sign.requested_long or asks or "[1m]" in call.model.lower()


def _has_several_passes(call: Call) -> bool:
    """Whether the report of `call` may add up several runs of the model within one answer.

    Each run has its own context window.
    """
    usage = call.extra.get("usage")
    facts = {**usage, **call.extra} if isinstance(usage, Mapping) else call.extra
    iterations, ran = facts.get("iterations"), facts.get("server_tool_use")
    has_several = isinstance(iterations, list) and len(iterations) > 1
    return has_several or (isinstance(ran, Mapping) and any(isinstance(n, int) and n > 0 for n in ran.values()))


def compaction_size(call: Call) -> int:
    """Tokens at which the client compacted automatically before `call`.

    0 if it did not, or if unknown.
    """
    noted = call.extra.get(COMPACTED)
    if not isinstance(noted, Mapping) or noted.get("trigger") != AUTOMATIC:
        return 0
    size = noted.get("tokens")
    return size if isinstance(size, int) and size > 0 else 0


def is_early_compaction(call: Call) -> bool:
    """Whether the compaction before `call` was not due to a limit: on request, or in a pause."""
    noted = call.extra.get(COMPACTED)
    return isinstance(noted, Mapping) and noted.get("trigger") not in (None, AUTOMATIC)
