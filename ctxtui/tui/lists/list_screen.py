"""Base classes of list screens: one table over another screen.

Each has its own key line, palette and help.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from textual import events, on
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.worker import end_when_closed
from ctxtui.tui.commands import EVERYWHERE, Act, Command, Commanded, bindings, command_id, key_text
from ctxtui.tui.commands.everywhere import Back
from ctxtui.tui.dialog import Dialog
from ctxtui.tui.lists.registry import TABS, list_class
from ctxtui.tui.theme import paint
from ctxtui.tui.theme.theme import look_of
from ctxtui.tui.widgets.board import Board
from ctxtui.tui.widgets.keyline import ACCEPT, LEAVE, WHILE_TYPING, Key, KeyLine
from ctxtui.tui.widgets.line_edit import LineEdit
from ctxtui.tui.widgets.pane import Pane
from ctxtui.tui.widgets.prompt_line import PromptLine, Question
from ctxtui.tui.widgets.still import Still
from ctxtui.tui.widgets.table_pane import TablePane
from ctxtui.views.glossary.spots import Spot
from ctxtui.views.text import cells
from ctxtui.views.text.span import Span, Spans, fit_spans, plain
from ctxtui.views.text.sums import ROW
from ctxtui.views.text.table import Table

if TYPE_CHECKING:
    from ctxtui.tui.inspector.state import InspectorState


class TabLine(Still):
    """One line with the tabs `names` under a `title`; tab `at` is shown."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "TabLine { height: 1; }"

    class Turned(Message):
        def __init__(self, at: int) -> None:
            super().__init__()
            self.at = at

    def __init__(self, title: str, names: Sequence[str], at: int) -> None:
        super().__init__(id="tabs")
        self._spans = [Span(f" {title}  ", "ink bold")]
        self._spans += [Span(f" {name} ", "accent bold reverse" if n == at else "dim") for n, name in enumerate(names)]

    def render_line(self, y: int) -> Strip:
        return paint.strip(self._spans, self.size.width, look_of(self.app), "on-panel")

    def on_click(self, event: events.Click) -> None:
        event.stop()
        start = 0
        for at, span in enumerate(self._spans, -1):
            start += cells.width(span.text)
            if event.x < start:
                if at >= 0:
                    self.post_message(self.Turned(at))
                return


class MessageLine(Still):
    """Line for the last message; it takes no row while there is none."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "MessageLine { height: 1; display: none; }"

    def __init__(self) -> None:
        super().__init__(id="said")
        self.message: Spans = ()

    def show_message(self, message: Spans) -> None:
        self.message, self.display = message, bool(message)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        room = self.size.width
        return paint.strip(fit_spans([Span(" "), *self.message], room), room, look_of(self.app))


Content = TypeVar("Content")
Row = TypeVar("Row")
Result = TypeVar("Result")

_ESC = "press esc first"
"""Hint for a key that works only in the inspector below."""
_FILTER_CELLS = 400
"""Width of the rendered row that a filter searches."""

CallAt = tuple[str, int]
"""A call: its thread and its number in it, from 1."""


def overlay_bindings(commands: Iterable[type[Command]]) -> list[BindingType]:
    everywhere = [
        Binding(key, "dismiss" if each is Back else f"app.{each.action}", show=False, id=command_id(each))
        for each in EVERYWHERE
        for key in each.keys
    ]
    return [*bindings(commands), Binding("escape", "dismiss", show=False), *everywhere]


class ContentLoaded(Message, Generic[Content]):
    """`PageScreen.load` returned, or failed with `error`."""

    def __init__(self, content: Content | None, error: CtxtuiError | None = None) -> None:
        super().__init__()
        self.content = content
        self.error = error


class NextTab(Command):
    """Go to the next tab of this list."""

    name, keys, shown = "next tab", ("tab", "right"), "← →"
    label, short_label, group, part_commands = "other tab", "tab", "lists", ("PreviousTab", "NextTab")
    run = Act(lambda: PageScreen, lambda screen: screen.next_tab(1))


class PreviousTab(Command):
    """Go to the previous tab of this list."""

    name, keys, group = "previous tab", ("shift+tab", "left"), "lists"
    run = Act(lambda: PageScreen, lambda screen: screen.next_tab(-1))


class PageScreen(Commanded, Dialog[Result], Generic[Content, Result]):
    """A page that fills the screen, closed by `esc`; it shows the content that `load` returns.

    `load` runs in a worker thread unless `loads_at_once`.
    """

    commands: ClassVar[tuple[type[Command], ...]] = ()
    has_key_line: ClassVar[bool] = True
    esc_label: ClassVar[str] = "close"
    loads_at_once: ClassVar[bool] = False
    edit_hint: ClassVar[str] = _ESC
    """How to use an editing key that does nothing here."""
    DEFAULT_CSS = "PageScreen { background: $background; } PageScreen Board { height: 1fr; }"

    tab_group: ClassVar[str] = ""
    """The group of tabs that this list belongs to (a key of `registry.TABS`), or ""."""
    host: InspectorState

    def __init_subclass__(cls) -> None:
        if cls.tab_group and NextTab not in cls.commands:
            cls.commands = (*cls.commands[:1], NextTab, PreviousTab, *cls.commands[1:])
        if "BINDINGS" not in vars(cls):
            cls.BINDINGS = overlay_bindings(cls.commands)
        super().__init_subclass__()

    def __init__(self, board: Board) -> None:
        super().__init__()
        self.message_line = MessageLine()
        self._board = board

    def compose(self) -> ComposeResult:
        if self.tab_group:
            yield TabLine(self.tab_group, tuple(TABS[self.tab_group]), self._tab)
        yield self._board
        yield from self.below()
        yield self.message_line
        if self.has_key_line:
            yield KeyLine()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        for line in self.query(KeyLine):
            if isinstance(event.widget, LineEdit):
                line.show([ACCEPT], right=WHILE_TYPING, out=LEAVE)
            else:
                self._show_keys(line)

    def _show_keys(self, line: KeyLine) -> None:
        shown = [Key(*each.key_line()) for each in self.commands if each.label]
        line.show(shown, out=Key(key_text("escape"), self.esc_label, "", ("dismiss",)))

    def below(self) -> Iterable[Widget]:
        """Yield widgets between the page and the key line."""
        return ()

    def show_message(self, message: Spans) -> None:
        self.message_line.show_message(message)

    def commands_now(self) -> list[type[Command]]:
        return [*self.commands, *EVERYWHERE]

    async def on_key(self, event: events.Key) -> None:
        below: object = next(iter(self.app.screen_stack[-2:-1]), None)
        if not isinstance(below, Commanded) or event.key in self.active_bindings:
            return
        if below.last_command is not None and event.key in below.last_command.keys:
            event.stop()  # otherwise it would open the list again
            await self.action_dismiss()
            return
        commands = [each for each in below.commands if event.key in each.keys and each.group == "editing the context"]
        if commands:
            message = [
                Span(key_text(event.key), "accent bold"),
                Span(f" {commands[0].name}: not in this list. "),
            ]
            # A command on a block can be used at that block in the transcript.
            self.message_line.show_message([*message, Span(self.edit_hint if commands[0].panes else _ESC, "dim")])

    def on_mount(self) -> None:
        for line in self.query(KeyLine):
            self._show_keys(line)
        self.begin()

    def begin(self) -> None:
        if self.loads_at_once:
            self.on_content_loaded(self._loaded())
        else:
            self.run_worker(end_when_closed(lambda: self.post_message(self._loaded())), thread=True, exclusive=True)

    def _loaded(self) -> ContentLoaded[Content]:
        try:
            return ContentLoaded(self.load())
        except CtxtuiError as error:
            return ContentLoaded(None, error)

    @classmethod
    def ready(cls, host: InspectorState) -> bool:
        """Whether there is anything to list in the inspector `host`.

        If not, the tab cannot be opened.
        """
        return True

    def done(self, result: Result) -> None:
        """Act on the host after the page was closed with a result."""

    def dismiss(self, result: Result | None = None) -> AwaitComplete:
        """Close; a `result` is given to `done` afterwards."""
        if self.is_current and result is not None:
            self.app.call_later(self.done, result)
        return super().dismiss(result)

    @property
    def _tab(self) -> int:
        return [opens.rpartition(".")[2] for opens in TABS[self.tab_group].values()].index(type(self).__name__)

    def next_tab(self, step: int) -> None:
        self.to_tab((self._tab + step) % len(TABS[self.tab_group]))

    def to_tab(self, at: int) -> None:
        kind = list_class([*TABS[self.tab_group].values()][at])
        if kind is not type(self) and kind.ready(self.host):
            self.app.switch_screen(kind(self.host))

    def on_tab_line_turned(self, message: TabLine.Turned) -> None:
        self.to_tab(message.at)

    @abstractmethod
    def load(self) -> Content:
        """Return the content. May raise `CtxtuiError`."""

    @abstractmethod
    def show(self, content: Content) -> None:
        """Show the content."""

    @abstractmethod
    def fail(self, trouble: str) -> None:
        """Show why there is no content."""

    def on_content_loaded(self, message: ContentLoaded[Content]) -> None:
        if message.error is not None:
            self.fail(str(message.error))
        elif message.content is not None:
            self.show(message.content)


class FilterRows(Command):
    """Show only rows with all words that you type. Enter goes to them, `esc` shows all rows again."""

    name, keys, label, group = "filter the list", ("slash",), "filter", "lists"
    run = Act(lambda: ListScreen, lambda screen: screen.type_filter())


class OrderRows(Command):
    """Sort by the next column."""

    name, keys, label, group, synonyms = "order by next column", ("S",), "order", "lists", ("sort",)
    run = Act(lambda: ListScreen, lambda screen: screen.next_order())


class ListScreen(PageScreen[Sequence[Row], Result], Generic[Row, Result]):
    """A list of the rows that `PageScreen.load` returns, drawn by their `table`.

    - `heading`: its title. `empty_text`: shown if there are no rows; `loading_text`: shown before they are loaded.
    - `order`: the column by which rows are sorted ("": as loaded); of these the first `max_rows` are shown.
    """

    heading: ClassVar[str] = ""
    empty_text: ClassVar[str] = ""
    loading_text: ClassVar[Spans] = ()
    inset: ClassVar[int] = 1
    max_rows: ClassVar[int | None] = None
    reload_seconds: ClassVar[float] = 0.5
    min_lines_below: ClassVar[int] = 0
    """Fewest lines below the list, whose height then fits its rows; 0: its height comes from the style."""
    order: str = ""

    def __init_subclass__(cls) -> None:
        cls.commands = (*(each for each in cls.commands if each is not FilterRows), FilterRows)
        super().__init_subclass__()

    def __init__(self, pane: TablePane[Row] | None = None) -> None:
        table_pane = pane or TablePane[Row](self.heading, self.empty_text, working=self.loading_text, inset=self.inset)
        self.pane = table_pane
        self.line = LineEdit(id="prompt")
        self.line.display = False
        self.prompt = PromptLine(self.line, self._prompt_opened, self._prompt_closed)
        """For questions on a line above the key line."""
        self.rows: Sequence[Row] = ()
        super().__init__(table_pane)
        table_pane.title_spans = self.title_suffix(())

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield self.line

    @abstractmethod
    def table(self, rows: Sequence[Row]) -> Table[Row]:
        """Return the table that draws these rows."""

    def choose(self, row: Row) -> Result | None:
        """Return the result with which Enter on a row closes the list; None keeps it open."""
        return None

    def is_final(self, rows: Sequence[Row]) -> bool:
        """Whether these rows are complete; if not, they are loaded again after `pause`."""
        return True

    def pause(self) -> float:
        return self.reload_seconds

    def first_cursor(self, rows: Sequence[Row]) -> int:
        return 0

    def title_suffix(self, rows: Sequence[Row]) -> Spans:
        return ()

    def rule_notes(self, rows: Sequence[Row]) -> Spans:
        """Spans at the right end of the title's rule."""
        return ()

    def show(self, rows: Sequence[Row]) -> None:
        """Show these rows; the cursor stays, except at the first time."""
        first = self.pane.rows is None
        if first or rows != self.rows:
            self.rows = rows
            self.update_rule()
            self.draw_rows(self.first_cursor(rows) if first else None)
        if not self.is_final(rows):
            self.set_timer(self.pause(), self.begin)

    def update_rule(self) -> None:
        self.pane.title_spans, self.pane.note_spans = self.title_suffix(self.rows), self.rule_notes(self.rows)
        self.pane.refresh_rule()

    def draw_rows(self, cursor: int | None = None) -> None:
        table = self.table(self.rows).with_column(self.order)
        rows, terms = self.in_order(self.rows, table), self.pane.filter_text.lower().split()
        if terms:
            rows = [row for row in rows if _contains_all(plain(table.draw(row, _FILTER_CELLS)).lower(), terms)]
        self.pane.show(rows, table, self.order, cursor=cursor)
        self.pane.refresh_rule()
        self.fit_list()

    def type_filter(self) -> None:
        self.prompt.ask(
            Question(
                [Span(" / ", "accent bold")],
                self.filter_rows,
                text=self.pane.filter_text,
                on_change=lambda: self.filter_rows(self.line.text),
                on_cancel=lambda: self.filter_rows(""),
            )
        )

    def filter_rows(self, text: str) -> None:
        if text.strip() != self.pane.filter_text and self.pane.rows is not None:
            self.pane.filter_text = text.strip()
            self.draw_rows(0)
            self.pane.post_message(Pane.Moved(self.pane, self.pane.cursor))

    def _prompt_opened(self) -> None:
        self.line.display = True
        self.set_focus(self.line)

    def _prompt_closed(self) -> None:
        self.line.display = False
        self.set_focus(self.pane)

    @on(LineEdit.Changed, "#prompt")
    def _typed(self) -> None:
        self.prompt.change()

    @on(LineEdit.Submitted, "#prompt")
    def _answered(self) -> None:
        self.prompt.submit(self.line.text)

    @on(LineEdit.Left, "#prompt")
    def _unanswered(self) -> None:
        self.prompt.cancel()

    async def action_dismiss(self, result: Result | None = None) -> None:
        """Show all rows again, or close if no filter is active."""
        if self.pane.filter_text:
            self.filter_rows("")
        else:
            await super().action_dismiss(result)

    def fit_list(self) -> None:
        if self.min_lines_below:
            needed = self.pane.body_top + max(1, self.pane.lines)
            self.pane.styles.height = min(needed, max(4, self.size.height - 1 - self.min_lines_below))

    def on_resize(self) -> None:
        if self.pane.rows is not None:
            self.fit_list()

    def in_order(self, rows: Sequence[Row], table: Table[Row]) -> Sequence[Row]:
        limit = slice(self.max_rows)
        return table.sort_rows(rows, self.order)[limit] if self.order in table.sortable_names else rows[limit]

    def sums(self, spot: Spot) -> Mapping[str, str]:
        if spot.pane != self.pane.id:
            return self.sums_beside(spot)
        if spot.line == 0:
            return self.sums_of_rule()
        x, _ = self.pane.region.offset
        arithmetic = self.pane.sum_at(spot.x - x, spot.line)
        return {ROW: arithmetic} if arithmetic else {}

    def is_text(self, spot: Spot) -> bool:
        return spot.pane == self.pane.id and self.pane.is_text(
            spot.x - self.pane.region.x, spot.line, figure=spot.figure
        )

    def sums_of_rule(self) -> Mapping[str, str]:
        """The arithmetic of the figures on the title's rule, by glossary word."""
        return {}

    def sums_beside(self, spot: Spot) -> Mapping[str, str]:
        """The arithmetic of the figures at `spot`, which is in another pane, by glossary word."""
        return {}

    def fail(self, trouble: str) -> None:
        self.pane.fail(trouble)

    def next_order(self) -> None:
        first = type(self).order
        names = sorted(self.table(self.rows).sortable_names, key=lambda name: name != first)
        self.order = names[(names.index(self.order) + 1) % len(names) if self.order in names else 0]
        self.draw_rows(0)

    def on_table_pane_head_clicked(self, message: TablePane.HeadClicked) -> None:
        if message.name in self.table(self.rows).sortable_names:
            self.order = message.name
            self.draw_rows(0)

    def on_pane_chosen(self, message: Pane.Chosen) -> None:
        self.accept()

    def accept(self) -> None:
        row = self.pane.row
        result = self.choose(row) if row is not None else None
        if result is not None:
            self.dismiss(result)


def _contains_all(text: str, words: Iterable[str]) -> bool:
    return all(word in text for word in words)


class HostedList(ListScreen[Row, Result], Generic[Row, Result]):
    """A list over the inspector `host` while it shows `scene`."""

    def __init__(self, host: InspectorState, pane: TablePane[Row] | None = None) -> None:
        self.host = host
        self.scene = host.scene
        super().__init__(pane)
