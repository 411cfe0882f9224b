"""The next request of a session under the edits that are applied already, and which these are."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from ctxtui.analysis.cache.what_if import NextRequest
from ctxtui.analysis.call_choice import ChosenCall
from ctxtui.cache.prompt import CachedPrompt
from ctxtui.core.call import Call
from ctxtui.core.edit import Edit
from ctxtui.core.edit_log import standing
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.tree import ROOT
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.price.price_tag import Charge, PriceQuestion
from ctxtui.curation.price.sent_path import SentPath, leaving
from ctxtui.curation.price.staged_context import Count, StagedContext
from ctxtui.curation.price.staged_prompt import Front, staged_prompt, trail_of
from ctxtui.dataclasses import dataclass, replace
from ctxtui.services.config.settings import Settings

if TYPE_CHECKING:
    from ctxtui.services.recordings.recording import Loaded


def applied_edits(loaded: Loaded, settings: Settings, chosen: ChosenCall) -> tuple[Edit, ...]:
    """The edits under which the request behind the `chosen` call of the session that `loaded` read leaves: those that
    are applied to its thread; behind an earlier call than the last, those that were by the time of the next one. None
    without a database. Raises `CtxtuiError` where there is one that cannot be read."""
    # Imported here: most sessions that are read have no edits.
    from ctxtui.services.editing.overlay import SessionEdits

    log = SessionEdits(loaded, settings).of(chosen.thread).log
    later = loaded.session.thread_calls(chosen.thread)[chosen.number :]
    if chosen.number and later and (left := later[0].started) is not None:
        log = [entry for entry in log if entry.at <= left]
    return standing(log).applied


class KnownEdits(NamedTuple):
    """Edits that are applied; `trouble` says why none are known where the database cannot be read."""

    edits: tuple[Edit, ...]
    trouble: str = ""


def known_edits(loaded: Loaded, settings: Settings, chosen: ChosenCall) -> KnownEdits:
    """As `applied_edits`, for what goes on without a database that cannot be read and says so."""
    try:
        return KnownEdits(applied_edits(loaded, settings, chosen))
    except CtxtuiError as error:
        return KnownEdits((), str(error))


@dataclass(frozen=True)
class UnderEdits:
    """A context under `applied`, its request's blocks being the path to the node `head`."""

    applied: Applied
    head: int

    @classmethod
    def of(cls, applied: Applied) -> UnderEdits:
        """Make the nodes of the request as it would leave; those that were sent already are the same ones."""
        return cls(applied, applied.context.tree.extend(ROOT, leaving(applied)))

    @cached_property
    def path(self) -> SentPath:
        """Where its blocks stand."""
        return SentPath(self.applied.context, self.applied, self.applied.context.tree.path(self.head))

    def asked(self, call: Call, raw: NextRequest, found: NextRequest, charge: Charge, count: Count) -> PriceQuestion:
        """`found`, the request at `head` after `call`, with the breakpoints that are applied; `raw` is the one without
        edits. `count` gives the tokens of a new block."""
        prompt = found.prompt if call.edited else self._as_raw(raw.prompt, found.prompt, count)
        unmarked = Front(replace(self.applied, marks={}), trail_of(prompt), self.path)
        marked, _ = staged_prompt(prompt, unmarked, self.applied, count)
        front = Front(self._plain, trail_of(raw.prompt), SentPath(self._plain.context))
        return PriceQuestion(
            found.simulator, marked, charge, found.at, path=self.path, raw=front, place=found.place, floors=found.floors
        )

    def _as_raw(self, raw: CachedPrompt, made: CachedPrompt, count: Count) -> CachedPrompt:
        """`made` with lengths that are those of the raw request less what goes: reports tell of that one alone."""
        context, path = self.applied.context, self.path
        staged = StagedContext(self._plain, self.applied, raw, count, SentPath(context))
        shared = frozenset(context.nodes)

        def tokens(node: int) -> int:
            return raw.tokens(node) if node in shared or not path.holds(node) else staged.at(path.edge(node))

        return made._replace(tokens=tokens, total=staged.total)

    @property
    def _plain(self) -> Applied:
        return Applied(self.applied.context, length=self.applied.length)

    def parts_at(self, call: Call, raw: CachedPrompt, count: Count) -> int | None:
        """The raw position from which this is another request than what `call` sent, its answer being there; None
        where it only goes on. `raw` and `count` are as in `asked`."""
        context = self.applied.context
        if not call.edited:
            return StagedContext(self._plain, self.applied, raw, count, SentPath(context)).first
        tree = context.tree
        shared = tree.common(self.head, call.sent_head)
        if shared == call.sent_head:
            return None
        behind = tree.path(self.head, shared)
        return self.path.edge(behind[0])[0] if behind else len(context)
