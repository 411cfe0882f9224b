"""The end of a long recording, to be shown until all of it is read: its last blocks, and no figure."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from ctxtui.analysis.book import Book
from ctxtui.analysis.running_totals import RunningTotals
from ctxtui.core.block import Block
from ctxtui.core.session import Session
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import table_for
from ctxtui.tokens.features import NOTHING, Features
from ctxtui.tokens.models import ModelCard
from ctxtui.views.model.scene import calls_of, scene_at
from ctxtui.views.transcript.row_index import Boundaries


class RecordingEnd:
    """What is shown of the end of a recording, read into `session` as if it began there. Nothing of it is ever counted:
    that takes a study, which is made of the whole."""

    def __init__(self, session: Session, settings: Settings) -> None:
        self.session = session
        self.thread = session.first_thread
        calls = calls_of(session, self.thread)
        self.boundaries = Boundaries(session.tree)
        self.boundaries.extend(calls)
        book = Book(session, table_for(settings), _counts_nothing)
        totals = RunningTotals(book, calls[-1].model)
        self.names = book.names
        self.scene = replace(scene_at(book, totals, calls, len(calls) - 1, settings.usable_share), partial=True)
        """Its last call. Numbers that count from the beginning are not to be believed."""


def _counts_nothing(card: ModelCard) -> Callable[[Block], Features]:
    def nothing(block: Block) -> Features:
        return NOTHING

    return nothing
