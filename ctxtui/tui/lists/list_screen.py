"""List screens: rows of one table over the screen that they are about, with a key line, palette and help of their own.

A new list is its rows (a function of `analysis`), their table (in `views.lists`), a `HostedList` here, and a line in
`tui.lists.registry`.
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
from ctxtui.tui.commands import EVERYWHERE, Act, Command, Commanded, bindings, key_text
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
from ctxtui.views.text.span import Span, Spans, cropped, plain
from ctxtui.views.text.sums import ROW
from ctxtui.views.text.table import Table

if TYPE_CHECKING:
    from ctxtui.tui.inspector.state import InspectorState


class TabLine(Still):
    """One line over a list called `title`: tab `at` of `names` is shown."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "TabLine { height: 1; }"

    class Turned(Message):
        """Tab `at` was clicked."""

        def __init__(self, at: int) -> None:
            super().__init__()
            self.at = at

    def __init__(self, title: str, names: Sequence[str], at: int) -> None:
        super().__init__(id="tabs")
        self._spans = [Span(f" {title}  ", "ink bold")]
        self._spans += [Span(f" {name} ", "accent bold reverse" if n == at else "dim") for n, name in enumerate(names)]

    def render_line(self, y: int) -> Strip:
        """Textual's Line API."""
        return paint.strip(self._spans, self.size.width, look_of(self.app), "on-panel")

    def on_click(self, event: events.Click) -> None:
        """To the tab under the pointer."""
        event.stop()
        start = 0
        for at, span in enumerate(self._spans, -1):
            start += cells.width(span.text)
            if event.x < start:
                if at >= 0:
                    self.post_message(self.Turned(at))
                return


class SaidLine(Still):
    """Shows what was said last; until something is said it takes no row."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "SaidLine { height: 1; display: none; }"

    def __init__(self) -> None:
        super().__init__(id="said")
        self.words: Spans = ()
        """What is said."""

    def say(self, words: Spans) -> None:
        """Say this; nothing takes the row away."""
        self.words, self.display = words, bool(words)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Textual's Line API."""
        room = self.size.width
        return paint.strip(cropped([Span(" "), *self.words], room), room, look_of(self.app))


What = TypeVar("What")
Row = TypeVar("Row")
Result = TypeVar("Result")

_ESC = "esc, then it works"
_FILTERED = 400
"""Cells of the line in which a filter looks for its words."""

CallAt = tuple[str, int]
"""A call: its thread and its number there, from 1."""


def overlay_bindings(commands: Iterable[type[Command]]) -> list[BindingType]:
    """The keys of a list's `commands`, those that every screen has, and the way out."""
    everywhere = [
        Binding(key, "dismiss" if each is Back else f"app.{each.action}", show=False)
        for each in EVERYWHERE
        for key in each.keys
    ]
    return [*bindings(commands), Binding("escape", "dismiss", show=False), *everywhere]


class ContentLoaded(Message, Generic[What]):
    """What a page shows is worked out, or an `error` says why not."""

    def __init__(self, what: What | None, error: CtxtuiError | None = None) -> None:
        super().__init__()
        self.what = what
        self.error = error


class NextTab(Command):
    """The next tab of this list."""

    name, keys, shown = "next tab", ("tab", "right"), "← →"
    label, short, group, parts = "other tab", "tab", "lists", ("PreviousTab", "NextTab")
    run = Act(lambda: PageScreen, lambda screen: screen.next_tab(1))


class PreviousTab(Command):
    """The tab before."""

    name, keys, group = "previous tab", ("shift+tab", "left"), "lists"
    run = Act(lambda: PageScreen, lambda screen: screen.next_tab(-1))


class PageScreen(Commanded, Dialog[Result], Generic[What, Result]):
    """A page that fills the screen and is closed by `esc`: it shows what `load` gives, worked out in a worker thread.

    A subclass names its `commands`; `foot` is whether they stand in a key line, `leave` what `esc` does there. What is
    there already is shown `at_once`, without a worker.
    """

    commands: ClassVar[tuple[type[Command], ...]] = ()
    foot: ClassVar[bool] = True
    leave: ClassVar[str] = "close"
    at_once: ClassVar[bool] = False
    leave_to_edit: ClassVar[str] = _ESC
    """What to do to use a key that edits a block, and does nothing here."""
    DEFAULT_CSS = "PageScreen { background: $background; } PageScreen Board { height: 1fr; }"

    tabs: ClassVar[str] = ""
    """The list that this one is a tab of (a key of `registry.TABS`), if any."""
    host: InspectorState

    def __init_subclass__(cls) -> None:
        if cls.tabs and NextTab not in cls.commands:
            cls.commands = (*cls.commands[:1], NextTab, PreviousTab, *cls.commands[1:])
        if "BINDINGS" not in vars(cls):
            cls.BINDINGS = overlay_bindings(cls.commands)
        super().__init_subclass__()

    def __init__(self, board: Board) -> None:
        super().__init__()
        self.said = SaidLine()
        self._board = board

    def compose(self) -> ComposeResult:
        """The page, and what its keys do."""
        if self.tabs:
            yield TabLine(self.tabs, tuple(TABS[self.tabs]), self._tab)
        yield self._board
        yield from self.below()
        yield self.said
        if self.foot:
            yield KeyLine()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Other keys act while a line is typed in."""
        for line in self.query(KeyLine):
            if isinstance(event.widget, LineEdit):
                line.show([ACCEPT], right=WHILE_TYPING, out=LEAVE)
            else:
                self._show_keys(line)

    def _show_keys(self, line: KeyLine) -> None:
        shown = [Key(*each.key_line()) for each in self.commands if each.label]
        line.show(shown, out=Key(key_text("escape"), self.leave, "", ("dismiss",)))

    def below(self) -> Iterable[Widget]:
        """What stands between the page and the key line."""
        return ()

    def commands_now(self) -> list[type[Command]]:
        """What the palette offers here."""
        return [*self.commands, *EVERYWHERE]

    async def on_key(self, event: events.Key) -> None:
        """The key that opened the list closes it; one that edits in the screen below and does nothing here says so."""
        below: object = next(iter(self.app.screen_stack[-2:-1]), None)
        if not isinstance(below, Commanded) or event.key in self.active_bindings:
            return
        if below.done_last is not None and event.key in below.done_last.keys:
            event.stop()  # else it would open the list again
            await self.action_dismiss()
            return
        found = [each for each in below.commands if event.key in each.keys and each.group == "editing the context"]
        if found:
            what = [Span(key_text(event.key), "accent bold"), Span(f" {found[0].name}: not in this list. ")]
            # What acts on the block under the cursor can be done where that is in the transcript.
            self.said.say([*what, Span(self.leave_to_edit if found[0].panes else _ESC, "dim")])

    def on_mount(self) -> None:
        """Begin to work it out."""
        for line in self.query(KeyLine):
            self._show_keys(line)
        self.begin()

    def begin(self) -> None:
        """Work it out, not on the screen's time."""
        if self.at_once:
            self.on_content_loaded(self._loaded())
        else:
            self.run_worker(lambda: self.post_message(self._loaded()), thread=True, exclusive=True)

    def _loaded(self) -> ContentLoaded[What]:
        try:
            return ContentLoaded(self.load())
        except CtxtuiError as error:
            return ContentLoaded(None, error)

    @classmethod
    def ready(cls, host: InspectorState) -> bool:
        """Whether there is anything to list yet; of a page that is opened over the Inspector, its `host`."""
        return True

    def done(self, result: Result) -> None:
        """What is done over the host when the page was closed with a result."""

    def dismiss(self, result: Result | None = None) -> AwaitComplete:
        """Close, then do what the result asks for."""
        if self.is_current and result is not None:
            self.app.call_later(self.done, result)
        return super().dismiss(result)

    @property
    def _tab(self) -> int:
        """Which tab this is."""
        return [opens.rpartition(".")[2] for opens in TABS[self.tabs].values()].index(type(self).__name__)

    def next_tab(self, step: int) -> None:
        """To the next tab, or back."""
        self.to_tab((self._tab + step) % len(TABS[self.tabs]))

    def to_tab(self, at: int) -> None:
        """To tab `at`."""
        kind = list_class([*TABS[self.tabs].values()][at])
        if kind is not type(self) and kind.ready(self.host):
            self.app.switch_screen(kind(self.host))

    def on_tab_line_turned(self, message: TabLine.Turned) -> None:
        """A tab was clicked."""
        self.to_tab(message.at)

    @abstractmethod
    def load(self) -> What:
        """What is shown; for a worker thread. May raise `CtxtuiError`."""

    @abstractmethod
    def show(self, what: What) -> None:
        """Show it."""

    @abstractmethod
    def fail(self, trouble: str) -> None:
        """Say why there is nothing to show."""

    def on_content_loaded(self, message: ContentLoaded[What]) -> None:
        """Show it, or why there is none."""
        if message.error is not None:
            self.fail(str(message.error))
        elif message.what is not None:
            self.show(message.what)


class FilterRows(Command):
    """Show only the rows that have what you type. Enter goes to them, `esc` shows all again."""

    name, keys, label, group = "filter the list", ("slash",), "filter", "lists"
    run = Act(lambda: ListScreen, lambda screen: screen.type_filter())


class OrderRows(Command):
    """Order by the next column."""

    name, keys, label, group, sought = "order by next column", ("S",), "order", "lists", ("sort",)
    run = Act(lambda: ListScreen, lambda screen: screen.next_order())


class ListScreen(PageScreen[Sequence[Row], Result], Generic[Row, Result]):
    """A list of the rows that `load` gives, drawn by their `table`. Enter closes it with what `choose` makes of a row.

    `heading` is its title, `none` the sentence where there are no rows, `working` what is said before. Rows stand in
    the order of the column `order`, "" as they are, `most` of them. While rows are not `settled` they are worked out
    again every `again` seconds.
    """

    heading: ClassVar[str] = ""
    none: ClassVar[str] = ""
    working: ClassVar[Spans] = ()
    inset: ClassVar[int] = 1
    most: ClassVar[int | None] = None
    again: ClassVar[float] = 0.5
    least_below: ClassVar[int] = 0
    """Lines that stand below the list at least: it takes what its rows need, and leaves them the rest. 0: its height is
    its style's."""
    order: str = ""

    def __init_subclass__(cls) -> None:
        cls.commands = (*(each for each in cls.commands if each is not FilterRows), FilterRows)
        super().__init_subclass__()

    def __init__(self, pane: TablePane[Row] | None = None) -> None:
        made = pane or TablePane[Row](self.heading, self.none, working=self.working, inset=self.inset)
        self.pane = made
        self.line = LineEdit(id="prompt")
        self.line.display = False
        self.prompt = PromptLine(self.line, self._asking, self._asked)
        """Asks on a line over the keys."""
        self.rows: Sequence[Row] = ()
        super().__init__(made)
        made.told = self.told(())

    def compose(self) -> ComposeResult:
        """The page, and over its keys the line on which something is asked."""
        yield from super().compose()
        yield self.line

    @abstractmethod
    def table(self, rows: Sequence[Row]) -> Table[Row]:
        """The table of these rows."""

    def choose(self, row: Row) -> Result | None:
        """What the list closes with when this row is chosen; None keeps it open."""
        return None

    def settled(self, rows: Sequence[Row]) -> bool:
        """Whether nothing more will be known of them."""
        return True

    def pause(self) -> float:
        """Seconds until rows that are not settled are worked out again."""
        return self.again

    def begins_at(self, rows: Sequence[Row]) -> int:
        """The row on which the cursor stands at first."""
        return 0

    def told(self, rows: Sequence[Row]) -> Spans:
        """What follows the title."""
        return ()

    def noted(self, rows: Sequence[Row]) -> Spans:
        """What stands at the right of the title's rule."""
        return ()

    def show(self, what: Sequence[Row]) -> None:
        """Show these rows; the cursor stays where it is unless they are the first."""
        first = self.pane.rows is None
        if first or what != self.rows:
            self.rows = what
            self.tell()
            self.draw_rows(self.begins_at(what) if first else None)
        if not self.settled(what):
            self.set_timer(self.pause(), self.begin)

    def tell(self) -> None:
        """Say on the title's rule what there is to say."""
        self.pane.told, self.pane.noted = self.told(self.rows), self.noted(self.rows)
        self.pane.refresh_rule()

    def draw_rows(self, cursor: int | None = None) -> None:
        """Draw the rows in their order; the cursor stays where it is, or goes to the row of that index."""
        table = self.table(self.rows).with_column(self.order)
        listed, words = self.in_order(self.rows, table), self.pane.filtered.lower().split()
        if words:
            listed = [row for row in listed if _has(plain(table.draw(row, _FILTERED)).lower(), words)]
        self.pane.show(listed, table, self.order, cursor=cursor)
        self.pane.refresh_rule()
        self.fit_list()

    def type_filter(self) -> None:
        """Type what rows must have."""
        self.prompt.ask(
            Question(
                [Span(" / ", "accent bold")],
                self.filter_rows,
                text=self.pane.filtered,
                on_change=lambda: self.filter_rows(self.line.text),
                on_cancel=lambda: self.filter_rows(""),
            )
        )

    def filter_rows(self, text: str) -> None:
        """Show the rows that have the words of `text`; "": all."""
        if text.strip() != self.pane.filtered and self.pane.rows is not None:
            self.pane.filtered = text.strip()
            self.draw_rows(0)
            self.pane.post_message(Pane.Moved(self.pane, self.pane.cursor))

    def _asking(self) -> None:
        self.line.display = True
        self.set_focus(self.line)

    def _asked(self) -> None:
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
        """Close; first show all rows again."""
        if self.pane.filtered:
            self.filter_rows("")
        else:
            await super().action_dismiss(result)

    def fit_list(self) -> None:
        """Give the list as many lines as its rows need, and what stands below it the rest."""
        if self.least_below:
            needed = self.pane.body_top + max(1, self.pane.lines)
            self.pane.styles.height = min(needed, max(4, self.size.height - 1 - self.least_below))

    def on_resize(self) -> None:
        """Another height leaves others."""
        if self.pane.rows is not None:
            self.fit_list()

    def in_order(self, rows: Sequence[Row], table: Table[Row]) -> Sequence[Row]:
        """`rows` as they are listed."""
        return (
            table.sort_rows(rows, self.order)[: self.most] if self.order in table.sortable_names else rows[: self.most]
        )

    def sums(self, spot: Spot) -> Mapping[str, str]:
        """What the figure at a spot is made of: in a row as its column says, on the rule and beside the list as the
        screen does."""
        if spot.pane != self.pane.id:
            return self.sums_beside(spot)
        if spot.line == 0:
            return self.sums_of_rule()
        x, _ = self.pane.region.offset
        said = self.pane.sum_at(spot.x - x, spot.line)
        return {ROW: said} if said else {}

    def is_text(self, spot: Spot) -> bool:
        """Whether a spot is only part of a row's words."""
        return spot.pane == self.pane.id and self.pane.is_text(
            spot.x - self.pane.region.x, spot.line, figure=spot.figure
        )

    def sums_of_rule(self) -> Mapping[str, str]:
        """The sums behind the figures of the title's rule, by the glossary's words."""
        return {}

    def sums_beside(self, spot: Spot) -> Mapping[str, str]:
        """The sums behind the figures of other panes."""
        return {}

    def fail(self, trouble: str) -> None:
        """Say it in the place of the rows."""
        self.pane.fail(trouble)

    def next_order(self) -> None:
        """Order by the next column that has an order; the one that the list begins with is the first of them."""
        first = type(self).order
        names = sorted(self.table(self.rows).sortable_names, key=lambda name: name != first)
        self.order = names[(names.index(self.order) + 1) % len(names) if self.order in names else 0]
        self.draw_rows(0)

    def on_table_pane_head_clicked(self, message: TablePane.HeadClicked) -> None:
        """Order by a column whose head was clicked, where rows can be ordered by it."""
        if message.name in self.table(self.rows).sortable_names:
            self.order = message.name
            self.draw_rows(0)

    def on_pane_chosen(self, message: Pane.Chosen) -> None:
        """Enter, or a double click."""
        self.take()

    def take(self) -> None:
        """Choose the row under the cursor."""
        row = self.pane.row
        result = self.choose(row) if row is not None else None
        if result is not None:
            self.dismiss(result)


def _has(text: str, words: Iterable[str]) -> bool:
    return all(word in text for word in words)


class HostedList(ListScreen[Row, Result], Generic[Row, Result]):
    """A list that is opened over the Inspector while it shows `scene`."""

    def __init__(self, host: InspectorState, pane: TablePane[Row] | None = None) -> None:
        self.host = host
        self.scene = host.scene
        super().__init__(pane)
