"""The end of a long recording, to be shown until all of it is read: its last blocks, and no figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxtui.analysis.book import Book
from ctxtui.analysis.running_totals import RunningTotals
from ctxtui.core.block import Block
from ctxtui.core.session import Session
from ctxtui.dataclasses import replace
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import table_for
from ctxtui.tokens.features import NOTHING, Features
from ctxtui.views.model.scene import Scene, calls_of, scene_at
from ctxtui.views.transcript.row_index import Boundaries

if TYPE_CHECKING:
    from ctxtui.analysis.short_names import Names


class RecordingEnd:
    """What is shown of `session`, the end of a recording read as if it began there. Nothing of it is ever counted: that
    takes a study, which is made of the whole. A worker thread makes it: what its model's card says is read then."""

    def __init__(self, session: Session, settings: Settings) -> None:
        self.session = session
        self.thread = session.first_thread
        calls = calls_of(session, self.thread)
        book = Book(session, table_for(settings), lambda card: _no_features)
        running = RunningTotals(book, calls[-1].model)
        self.names: Names = book.names
        self.boundaries = Boundaries(session.tree)
        self.boundaries.extend(calls)
        self.scene: Scene = replace(scene_at(book, running, calls, len(calls) - 1, settings.usable_share), partial=True)
        """Its last call. Numbers that count from the beginning are not to be believed."""


def _no_features(block: Block) -> Features:
    return NOTHING
