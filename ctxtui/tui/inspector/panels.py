"""The inspector's panes as a whole: computes what each of them shows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace
from textual.widget import Widget

from ctxtui.analysis.short_names import Names
from ctxtui.core.note import Note
from ctxtui.core.session import Session
from ctxtui.tui.highlight import highlight
from ctxtui.tui.inspector.boards import (
    ContextBoard,
    Edge,
    HeaderLine,
    NextBoard,
    TooSmallLine,
    WhyLine,
    call_board,
    growth_board,
    staged_board,
    tools_board,
)
from ctxtui.tui.inspector.calls_board import CallsBoard, StripContent
from ctxtui.tui.inspector.map_board import MapBoard
from ctxtui.tui.inspector.reasons import Reasons
from ctxtui.tui.inspector.side_panels import HeaviestPane, ThreadsPane
from ctxtui.tui.inspector.transcript import Transcript
from ctxtui.tui.lazy import later
from ctxtui.views.blocks.markdown import Highlight
from ctxtui.views.inspector import header, layout
from ctxtui.views.inspector.layout import Box, Layout, PaneNeeds
from ctxtui.views.inspector.strip_columns import Window
from ctxtui.views.model.block_cache import Readings, Schedule
from ctxtui.views.model.scene import Scene
from ctxtui.views.text import numbers
from ctxtui.views.text.signs import CATEGORY
from ctxtui.views.text.span import Spans
from ctxtui.views.transcript import transcript_notes
from ctxtui.views.transcript.context_rows import LINE, ContextRows

if TYPE_CHECKING:
    from ctxtui.analysis.cache.next_call import NextCallForecast
    from ctxtui.services.study.study import Study
    from ctxtui.services.study.thread_study import RecordingEnd, ThreadStudy
    from ctxtui.tui.inspector import side_panels
    from ctxtui.tui.inspector.context_edits import ContextEdits
    from ctxtui.tui.inspector.side_panels import Sides
    from ctxtui.views.inspector import composition, this_call, threads
    from ctxtui.views.inspector.map import context_map, staged_map
    from ctxtui.views.model.staging import Staging
    from ctxtui.views.transcript import staged_pane

    MakeRows = Callable[[Readings, Highlight], ContextRows]
else:
    side_panels = later("ctxtui.tui.inspector.side_panels")
    composition, context_map = (
        later("ctxtui.views.inspector.composition"),
        later("ctxtui.views.inspector.map.context_map"),
    )
    staged_map = later("ctxtui.views.inspector.map.staged_map")
    staged_pane = later("ctxtui.views.transcript.staged_pane")
    this_call, threads = later("ctxtui.views.inspector.this_call"), later("ctxtui.views.inspector.threads")


class View(Struct, frozen=True, kw_only=True):
    """The call that the user looks at, and how.

    - `index`: the call's index (from 0) in `thread`.
    - `shown`: display mode of each category.
    - `state`: the recording's state in the header; `behind`: number of newer calls in a live recording.
    - `only_edits`: show only rows that edits touch.
    - `marks`: the marked nodes.
    - `auto_release_s`: seconds until a held request is released automatically.
    """

    thread: str
    index: int
    shown: tuple[str, ...]
    state: str = "recorded"
    behind: int = 0
    only_edits: bool = False
    marks: frozenset[int] = frozenset()
    auto_release_s: int | None = None


class Panels:
    """All panes of the screen, with state kept between updates."""

    def __init__(self, make_rows: MakeRows = ContextRows) -> None:
        self.header = HeaderLine()
        self.why = WhyLine()
        self.reasons = Reasons()
        self.transcript = Transcript()
        self._make_rows = make_rows
        self.context = ContextBoard()
        self.map = MapBoard()
        self.call = call_board()
        self.next = NextBoard()
        self.staged = staged_board()
        self.heaviest = HeaviestPane()
        self.threads = ThreadsPane()
        self.tools = tools_board()
        self.growth = growth_board()
        self.calls = CallsBoard()
        self.scene: Scene | None = None
        self.staging: Staging | None = None
        """The scene under edits; None without edits or until they are read."""
        self.next_call: NextCallForecast | None = None
        """The forecast of the next call, if it replaces this call."""
        self.layout = Layout()
        self.noted_calls: frozenset[tuple[str, int]] = frozenset()
        """Calls with notes or bookmarks, by thread and number."""
        self._needs = PaneNeeds()
        self.is_reading = False
        """Whether reading mode is on."""
        self.window: Window | None = None
        self._sides: Sides | None = None
        self._composition: composition.Composition | None = None

    def widgets(self) -> Iterator[Widget]:
        """Yield all panes in the order of the focus."""
        yield from (self.header, self.why, self.transcript, self.context, self.map, self.call, *self._side_panes)
        yield from (self.calls, Edge(id="edge"), TooSmallLine(id="sentence"))

    @property
    def _side_panes(self) -> tuple[Widget, ...]:
        """Panes that are shown only on large screens or while they have content."""
        return self.next, self.staged, self.heaviest, self.threads, self.tools, self.growth

    def open(self, session: Session, names: Names, schedule: Schedule) -> None:
        """Show another session; `schedule` reads large blocks in another thread."""
        self._sides = None
        self.window = None
        self.transcript.data = self._make_rows(Readings(session, names, schedule), highlight)
        if self.is_reading:
            self.transcript.read(True)

    def mark_noted(self, nodes: Mapping[int, Note], calls: Iterable[tuple[str, int]]) -> None:
        """Mark nodes and calls (thread, number from 1) that have notes or bookmarks."""
        if self.transcript.data is not None:
            self.transcript.data.noted = nodes
            self.noted_calls = frozenset(calls)

    def boxes(self, width: int, height: int) -> dict[str, Box]:
        """Lay out all panes for this size, and set the heights of map and strip."""
        self.layout = layout.arrange(width, height, self._needs)
        shown_composition, box = self.context.content, self.layout.boxes.get("context")
        if shown_composition is not None and box is not None:
            rows = composition.unfolded_height(shown_composition, box.width - 1, opened=self.context.opened)
            if rows != self._needs.context:
                self._needs = replace(self._needs, context=rows)
                self.layout = layout.arrange(width, height, self._needs)
        self.map.place(self.layout.map_rows or 1, shows_scale=self.layout.map_scale)
        self.calls.place(self.layout.strip_rows or 1, shows_marks=self.layout.marks)
        boxes = self.layout.boxes
        if self.next_call is not None and "this-call" in boxes:
            boxes["next-call"] = boxes.pop("this-call")
        self.heaviest.join = (
            "┬" if "growth" in boxes or boxes.get("heaviest", (0,))[0] > boxes.get("map", (0,))[0] else "├"
        )
        if self.transcript.data is not None:
            self.transcript.data.preview_lines = 6 if height < 50 else 12
        return boxes

    @property
    def sides(self) -> Sides:
        assert self.transcript.data is not None
        if self._sides is None:
            self._sides = side_panels.Sides(self.transcript.data.readings.tree)
        return self._sides

    def has_space_for(self, name: str) -> bool:
        return name in self.layout.boxes

    def show(self, study: Study, view: View, edits: ContextEdits | None) -> bool:
        """Update all panes except the map (`draw_map`); return whether they need another layout."""
        thread_study = study.thread(view.thread)
        scene = self.scene = study.scene(view.thread, view.index)
        view = replace(view, marks=frozenset(edits.nodes_in(scene, view.marks))) if edits is not None else view
        pane = edits.staged_pane_of(scene) if edits is not None else None
        self.staging = pane.staging if pane is not None else None
        self._show_rows(thread_study, scene, view)
        self.show_progress(study, view.shown)
        record = thread_study.records[scene.number] if scene.number < len(thread_study.records) else (0, 0)
        shown_composition = self._show_header(study, thread_study, scene, view, record)
        if pane is not None:
            self.staged.title = "edits" if pane.active else "staged" if pane.staging.edits else "applied"
            self.staged.show(pane)
        self.next_call = edits.next_call_of(scene) if edits is not None and scene.counted else None
        if self.next_call is not None:
            self.next.show(self.next_call)
        self.context.show(shown_composition)
        self.call.show(this_call.this_call(scene))
        self._show_calls(thread_study, scene, pane.rest.saved if pane is not None and pane.rest is not None else ())
        listed = self._thread_rows(study)
        self.threads.show(listed, view.thread)
        self._show_lists(thread_study, scene)
        return self._update_needs(shown_composition, len(listed))

    def _show_header(
        self, study: Study, thread_study: ThreadStudy, scene: Scene, view: View, record: tuple[int, int]
    ) -> composition.Composition:
        """Update the header and the line below it; return the composition of the context."""
        spent = thread_study.spent[scene.number] if scene.number < len(thread_study.spent) else None
        priced = scene.number < len(thread_study.spent)
        staging = self.staging if self.staging is not None and self.staging.counted else None
        if staging is not None and not staging.as_sent:
            # Edits are about the following request.
            scene = replace(scene, figures=staging.following)
        header_figures = header.header(scene, view.state, spent, priced, subscription=study.subscription)
        composition_ = self.sides.composition(study, thread_study, scene, view.shown)
        used, after = header_figures.used, None
        self._composition = composition_
        self.show_reasons()
        if staging is not None and numbers.tokens(staging.without) != numbers.tokens(staging.after):
            used, after = staging.without, staging.after
            composition_ = composition.with_staged_edits(
                composition_, staging.applied_by_category, staging.by_category, used, after
            )
        header_figures = replace(
            header_figures,
            partial=priced and thread_study.lacking[scene.number] > 0,
            totals=study.totals,
            behind=view.behind,
            record=record,
            used=used,
            after=after,
            auto_release_s=view.auto_release_s,
        )
        self.header.show(header_figures)
        return composition_

    def _show_rows(self, thread_study: ThreadStudy, scene: Scene, view: View) -> None:
        rows = self.transcript.data
        assert rows is not None
        rows.staging, rows.only_edits, rows.marked = self.staging, view.only_edits, view.marks
        rows.lifetimes, rows.repeats = thread_study.lifetimes, thread_study.repeated
        rows.show(scene, thread_study.boundaries, thread_study.ledger, view.shown)
        self.transcript.marks_note = _marked_note(rows, scene, view.marks)

    def set_reading(self, is_reading: bool) -> None:
        self.is_reading = is_reading
        self._needs = replace(self._needs, reading=is_reading)
        self.transcript.read(is_reading)

    def show_reasons(self) -> None:
        """Show the known reasons for the size of the context."""
        rows = self.transcript.data
        if self.scene is not None and rows is not None and self._composition is not None:
            # Claim no savings while edits are being counted.
            staging = self.staging if self.staging is not None and self.staging.edits else None
            staged = staging.freed if staging is not None and staging.counted else 0
            self.why.show(self.reasons.describe(self.scene, rows.path, self._composition, staged))

    def show_preview(self, end: RecordingEnd) -> None:
        """Show the last blocks of a recording that is not read yet, without figures."""
        rows, scene = self.transcript.data, end.scene
        assert rows is not None
        self.scene = scene
        rows.show(scene, end.boundaries, None, ALL_LINES)
        self.header.show(replace(header.header(scene, "reading", None, False), used=None))

    def show_reading_progress(self, done: int, total: int) -> None:
        """Show how much of a long recording is read, in bytes."""
        self.transcript.note = transcript_notes.reading_note(done, total)
        self.transcript.refresh_rule()

    def show_progress(self, study: Study, shown: tuple[str, ...]) -> None:
        """Show the progress of counting, and active filters."""
        note = transcript_notes.progress_note(*study.progress, len(study.session.skipped), shown)
        if note != self.transcript.note:
            self.transcript.note = note
            self.transcript.refresh_rule()

    def draw_map(self) -> None:
        """Show the map in its present number of pixels."""
        rows, scene = self.transcript.data, self.scene
        if self.staging is not None and self.has_space_for("map"):
            self.map.show(partial(_staged_map, self.staging, self.transcript.node))
        elif scene is not None and rows is not None and self.has_space_for("map"):
            self.map.show(partial(self.sides.context_map, scene, rows, self.transcript.node))

    def move_map_cursor(self) -> None:
        """Move the map's cursor to the block under the transcript's."""
        if self.staging is not None:
            self.draw_map()
        elif self.scene is not None and self.has_space_for("map"):
            self.map.set_cursor(context_map.cursor_token(self.scene, self.transcript.node))

    def _thread_rows(self, study: Study) -> list[threads.ThreadRow]:
        """Return the rows of the threads pane and start pricing all threads.

        Nothing on narrow screens.
        """
        if len(study.session.threads) < 2 or self.calls.size.width < layout.WIDE:
            return []
        for id_ in list(study.session.threads):
            study.thread(id_)
        return self.sides.threads(study)

    def _show_calls(self, thread_study: ThreadStudy, scene: Scene, ghosts: Sequence[int]) -> None:
        def render(room: int, width: int) -> StripContent:
            strip, self.window = self.sides.strip(thread_study, scene, self.window, room, self.noted_calls, ghosts)
            range_ = self.sides.range_of(self.window, thread_study, ghosts=any(ghosts), colour=self.calls.look.coloured)
            return strip, range_, self.sides.legend(thread_study, width)

        self.calls.show(render)

    def _show_lists(self, thread_study: ThreadStudy, scene: Scene) -> None:
        rows, sides = self.transcript.data, self.sides
        if rows is None:
            return
        if self.has_space_for("heaviest"):
            nodes = sides.heaviest(scene, rows.path)
            most = scene.running.block_tokens(nodes[0]) if nodes else 0
            self.heaviest.show(nodes, most, thread_study.has_costs, partial(sides.heavy, rows, thread_study, scene))
        if self.has_space_for("growth"):
            self.growth.show(sides.growth(thread_study, scene))
        if self.calls.size.width >= layout.WIDE:
            self.tools.show(sides.tools(scene))

    def _update_needs(self, shown_composition: composition.Composition, threads: int) -> bool:
        groups = len(self.tools.content.servers) if self.tools.content is not None else 0
        pane = self.staged.content if self.staging is not None else None
        staged = staged_pane.needed_height(pane, self.context.body_width) if pane is not None else None
        rows = composition.unfolded_height(shown_composition, self.context.body_width, opened=self.context.opened)
        needs = PaneNeeds(rows, threads, groups, staged, self.next_call is not None, self.is_reading)
        changed, self._needs = needs != self._needs, needs
        return changed


def _marked_note(rows: ContextRows, scene: Scene, marks: Collection[int]) -> Spans:
    shown = [node for node in marks if rows.holds(node)]
    return transcript_notes.marked_note(scene, shown, len(marks) - len(shown))


def _staged_map(staging: Staging, node: int | None, pixels: int) -> context_map.ContextMap:
    return staged_map.staged_map(staging, pixels, node)


ALL_LINES = (LINE,) * (len(CATEGORY) - 1)
"""Display modes without a filter: each category in one line per block."""
