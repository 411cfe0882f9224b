"""The end of a long recording, to be shown until all of it is read: its last blocks, and no figure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Final, cast

from ctxtui.analysis.call_figures import CallFigures, UncountedBook, UncountedTotals, uncounted
from ctxtui.analysis.context_window import ContextWindow, context_window
from ctxtui.analysis.short_names import Names
from ctxtui.core.session import MAIN, Session
from ctxtui.core.tree import ROOT
from ctxtui.core.turns import turns_of
from ctxtui.dataclasses import dataclass, replace
from ctxtui.services.config.settings import Settings
from ctxtui.views.model.block_cache import LARGE, Readings
from ctxtui.views.model.preview import Preview
from ctxtui.views.model.scene import Scene, calls_of
from ctxtui.views.transcript.row_index import Boundaries

# What counts is imported where it is used: the end is shown before, and another process may have read it.
if TYPE_CHECKING:
    from ctxtui.analysis.book import Book
    from ctxtui.analysis.running_totals import RunningTotals
    from ctxtui.core.block import Block
    from ctxtui.core.call import Call
    from ctxtui.tokens.features import Features
    from ctxtui.tokens.models import ModelTable

_SCREENFUL: Final = 64
"""Blocks of the end of which a first frame may have a line."""


@dataclass(frozen=True, slots=True)
class EndFacts:
    """The end of a recording, read as if it began there, with what its model's card says of the last call: values that
    may come from another process."""

    session: Session
    limits: ContextWindow
    figures: CallFigures
    strips_thinking: bool
    previews: Mapping[int, Preview]
    """The last blocks and those with which their turns begin, by node, in one line each: the first frame shows
    these."""


def end_facts(session: Session, settings: Settings) -> EndFacts:
    """What is to be shown of `session`, beside its blocks."""
    call, book = calls_of(session, session.first_thread)[-1], _uncounted_book(session, settings)
    limits = context_window(book, call, settings.usable_share)
    facts = EndFacts(session, limits, _figures(book, call), book.card(call.model).strips_thinking, {})
    end, tree = RecordingEnd(facts, settings), session.tree
    readings = Readings(session, end.names)
    last = tree.path(end.scene.tip)[-_SCREENFUL:]
    first = {tree[node].turn_start for node in last} - {ROOT}
    # What is too large for a frame is read beside the screen, too.
    shown = [node for node in sorted(first.union(last)) if len(tree[node].block.body) < LARGE]
    return replace(facts, previews={node: readings.preview(node) for node in shown})


def _figures(book: Book, call: Call) -> CallFigures:
    if call.sent_head != ROOT:
        return uncounted(call)
    # Imported here: hardly a call has no context, which needs no count.
    from ctxtui.analysis.figures import figures

    return figures(book, call)


class RecordingEnd:
    """What is shown of the end of a recording. Nothing of it is ever counted: that takes a study, which is made of the
    whole."""

    def __init__(self, facts: EndFacts, settings: Settings) -> None:
        session = self.session = facts.session
        self.previews = facts.previews
        self.thread = session.first_thread
        calls = calls_of(session, self.thread)
        self.names = Names(session.tree)
        self.boundaries = Boundaries(session.tree)
        self.boundaries.extend(calls)

        def totals() -> RunningTotals:
            from ctxtui.analysis.running_totals import RunningTotals

            return RunningTotals(_book(session, settings), calls[-1].model)

        self.scene = Scene(
            _uncounted_book(session, settings),
            # They answer whatever is asked of running totals.
            cast("RunningTotals", UncountedTotals(session.tree, facts.strips_thinking, totals)),
            calls[-1].thread or MAIN,
            calls=calls,
            index=len(calls) - 1,
            figures=facts.figures,
            limits=facts.limits,
            turns=turns_of(session.tree, calls),
            partial=True,
        )
        """Its last call. Numbers that count from the beginning are not to be believed."""


def _table(settings: Settings) -> ModelTable:
    from ctxtui.services.counting.books import table_for

    return table_for(settings)


def _uncounted_book(session: Session, settings: Settings) -> Book:
    # It answers whatever is asked of a book.
    return cast("Book", UncountedBook(session, cache(partial(_table, settings)), partial(_book, session, settings)))


def _book(session: Session, settings: Settings) -> Book:
    from ctxtui.analysis.book import Book
    from ctxtui.tokens.features import NOTHING

    def nothing(block: Block) -> Features:
        return NOTHING

    return Book(session, _table(settings), lambda card: nothing)
