"""A session opened from Python (`ctxtui.api`): calls, figures, misses, requests under edits."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from ctxtui.analysis.cache.miss import CacheMiss
from ctxtui.analysis.cache.miss_finder import Misses
from ctxtui.analysis.call_choice import ChosenCall, choose_call
from ctxtui.analysis.figures import BlockFigure, CallFigures, block_figures, figures
from ctxtui.analysis.money.totals import SessionTotals, session_totals
from ctxtui.core.call import Call
from ctxtui.core.edit import Edit
from ctxtui.core.session import Session
from ctxtui.curation.legality.violation import Violation
from ctxtui.curation.price.price_tag import PriceTag
from ctxtui.services.config.config import load
from ctxtui.services.config.policy_registry import build_steps
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import Account, make_account
from ctxtui.services.counting.count_cache import cached_counter
from ctxtui.services.counting.counting import Counter
from ctxtui.services.editing.curate import curate_context
from ctxtui.services.editing.edited_context import write_context
from ctxtui.services.recordings.open_by_name import locate, open_named
from ctxtui.services.recordings.recording import Loaded


class SessionCall(Struct, frozen=True, kw_only=True):
    """One call of an opened session.

    - `number`: from 1 in `thread`.
    - `cost_usd`: None if the price is unknown.
    - `miss`: None if it missed nothing.
    """

    thread: str
    number: int
    call: Call
    figures: CallFigures
    cost_usd: float | None
    miss: CacheMiss | None


class EditedRequest(Struct, frozen=True, kw_only=True):
    """A request under edits.

    - `body`: the JSON that would be sent.
    - `edits`: those given, then those of policies.
    - `violations`: what the provider would refuse; `lost`: what the body's format cannot hold.
    """

    body: bytes
    edits: tuple[Edit, ...]
    price: PriceTag
    violations: tuple[Violation, ...] = ()
    lost: tuple[str, ...] = ()


class OpenedSession:
    """A session with the figures of the commands; each is computed when it is first needed."""

    def __init__(self, loaded: Loaded, settings: Settings, counter: Counter) -> None:
        self._loaded = loaded
        self._settings = settings
        self._counter = counter

    @property
    def recording(self) -> Session:
        """Everything recorded: calls, threads, and the tree of their contexts."""
        return self._loaded.session

    @property
    def id(self) -> str:
        """The session's own id, else the name of its file."""
        return self.recording.about.id or self._loaded.name

    @cached_property
    def _account(self) -> Account:
        return make_account(self.recording, self._counter, self._settings)

    @cached_property
    def misses(self) -> Misses:
        """All cache misses with their causes, most expensive first (`ctxtui cache`)."""
        return self._account.misses()

    @cached_property
    def _miss_by_call(self) -> dict[tuple[str, int], CacheMiss]:
        return {(miss.thread, miss.number): miss for miss in self.misses.misses}

    @cached_property
    def totals(self) -> SessionTotals:
        """Calls, tokens and USD of the session (`ctxtui cost`)."""
        return session_totals(self.recording, self._account.costs)

    def calls(self, thread: str = "") -> list[SessionCall]:
        """The calls of `thread` ("": the main one, or the first with calls), in order.

        Raises `NotFound`.
        """
        name = choose_call(self.recording, thread).thread
        return [
            self._with_figures(ChosenCall(name, number, call))
            for number, call in enumerate(self.recording.thread_calls(name), 1)
        ]

    def call(self, number: int = 0, thread: str = "") -> SessionCall:
        """Call `number` (from 1; 0: the last) of `thread` (`ctxtui show`). Raises `NotFound`."""
        return self._with_figures(choose_call(self.recording, thread, number))

    def blocks(self, number: int = 0, thread: str = "") -> list[BlockFigure]:
        """The blocks of a call's context in prompt order, with tokens (`ctxtui show --blocks`).

        Raises `NotFound`.
        """
        return list(block_figures(self._account.book, choose_call(self.recording, thread, number).call))

    def _with_figures(self, chosen: ChosenCall) -> SessionCall:
        cost = self._account.costs.get(chosen.call.id)
        return SessionCall(
            thread=chosen.thread,
            number=chosen.number,
            call=chosen.call,
            figures=figures(self._account.book, chosen.call),
            cost_usd=None if cost is None else cost.usd,
            miss=self._miss_by_call.get((chosen.thread, chosen.number)),
        )

    def edit(
        self,
        edits: Iterable[Edit] = (),
        *,
        policies: Sequence[str] = (),
        policy_settings: Sequence[str] = (),
        number: int = 0,
        thread: str = "",
        after: bool = False,
    ) -> EditedRequest:
        """Apply `edits`, then policies, to a call's context, and price the result (`ctxtui curate`).

        Nothing is stored or sent.

        - `policies`: names, or profile files; `policy_settings`: ``key=value`` for those that have the setting.
        - `number`, `thread`: the call, as for `call`; `after`: the context after its answer, where the next request
          begins.

        Raises `CtxtuiError`.
        """
        curation = curate_context(
            self._account.book,
            self._counter,
            choose_call(self.recording, thread, number),
            steps=build_steps(policies, policy_settings),
            edits=tuple(edits),
            after=after,
            usable_share=self._settings.usable_share,
            prices=self._account.table,
        )
        written = write_context(curation, "", self._loaded.path)
        return EditedRequest(
            body=written.data,
            edits=curation.log,
            price=curation.tag,
            violations=written.violations,
            lost=written.lost,
        )


@contextmanager
def open_session(name: str | os.PathLike[str], *, cwd: str | os.PathLike[str] = ".") -> Iterator[OpenedSession]:
    """Open a recording or stored session: ``with open_session("last") as session:``.

    `name` is what commands take; ``last`` is the newest session of `cwd`, whose settings apply. A path is relative to
    the current directory of the process. The recording is only read; new token counts are cached in the database if
    there is one. Raises `CtxtuiError` if it cannot be found or read.
    """
    folder = Path(cwd).resolve()
    settings = load([], cwd=folder).settings
    loaded = open_named(locate(os.fspath(name), folder, settings), settings)
    with cached_counter(settings) as counter:
        yield OpenedSession(loaded, settings, counter)
