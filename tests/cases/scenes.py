"""Scenes of hand-built sessions, with everything worked out."""

from __future__ import annotations

from ctxtui.core.session import MAIN, Session
from ctxtui.services.config.package_data import price_table
from ctxtui.services.counting.pricing import local_pricer
from ctxtui.services.study.study import Study
from ctxtui.views.model.block_cache import Readings
from ctxtui.views.model.scene import Scene
from ctxtui.views.text.grid import Grid
from ctxtui.views.text.span import plain
from ctxtui.views.transcript.context_rows import LINE, ContextRows
from tests.cases.sessions import book_of


def study_of(session: Session, thread: str = MAIN) -> Study:
    study = Study(session, book_of(session, counted=False), None, local_pricer(price_table()))
    study.thread(thread)
    while study.work() or study.work_idle():
        pass
    return study


def rows_of(study: Study, index: int = -1, shown: tuple[str, ...] | None = None, thread: str = MAIN) -> ContextRows:
    known = study.thread(thread)
    rows = ContextRows(Readings(study.session, study.book.names))
    scene = study.scene(thread, index % len(known.calls))
    rows.show(scene, known.boundaries, known.ledger, shown or (LINE,) * 11)
    return rows


def text_of(rows: ContextRows, pane: int = 73, screen: int = 120) -> list[str]:
    """All rows as they are drawn, opened ones too."""
    grid, out = Grid.for_pane(pane, screen), []
    for index in range(rows.count):
        out += [plain(rows.line(index, line, grid, " ")) for line in range(rows.height(index, grid))]
    return out


def scene_of(session: Session, index: int = -1) -> Scene:
    study = study_of(session)
    calls = study.thread(MAIN).calls
    return study.scene(MAIN, index % len(calls))
