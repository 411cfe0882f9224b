"""List screens: rows of one table over the screen that they are about, with a key line, palette and help of their own.

A new list is its rows (a function of `analysis`), their table (in `views.lists`), a `HostedList` here, and a line in
`tui.lists.registry`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import ModalScreen
from textual.widget import Widget

from ctxtui.core.errors import CtxtuiError
from ctxtui.tui.commands import EVERYWHERE, Command, Commanded, bindings, key_text
from ctxtui.tui.widgets.board import Board
from ctxtui.tui.widgets.keyline import Key, KeyLine
from ctxtui.tui.widgets.pane import Pane
from ctxtui.tui.widgets.table_pane import TablePane
from ctxtui.views.text.span import Spans
from ctxtui.views.text.table import Table

if TYPE_CHECKING:
    from ctxtui.analysis.cache.misses import Misses
    from ctxtui.analysis.money.statement import Statement
    from ctxtui.services.recordings.recording import Loaded
    from ctxtui.services.study.study import Study
    from ctxtui.views.model.preview import Preview
    from ctxtui.views.model.scene import Scene

What = TypeVar("What")
Row = TypeVar("Row")
Result = TypeVar("Result")

CallAt = tuple[str, int]
"""A call: its thread and its number there, from 1."""


def overlay_bindings(commands: Iterable[type[Command]]) -> list[BindingType]:
    """The keys of a list's `commands`, those that every screen has, and the way out."""
    everywhere = [Binding(key, f"app.{each.action}", show=False) for each in EVERYWHERE for key in each.keys]
    leave = Binding("escape", "dismiss", show=False)
    # Here `q` closes the list; `^q` still leaves the program.
    return [*bindings(commands), leave, Binding("q", "dismiss", show=False), *everywhere[:-2], everywhere[-1]]


class ContentLoaded(Message, Generic[What]):
    """What a page shows is worked out, or an `error` says why not."""

    def __init__(self, what: What | None, error: CtxtuiError | None = None) -> None:
        super().__init__()
        self.what = what
        self.error = error


class PageScreen(Commanded, ModalScreen[Result], Generic[What, Result]):
    """A page that fills the screen and is closed by `esc`: it shows what `load` gives, worked out in a worker thread.

    A subclass names its `commands`; `foot` is whether they stand in a key line, `leave` what `esc` does there. What is
    there already is shown `at_once`, without a worker.
    """

    commands: ClassVar[tuple[type[Command], ...]] = ()
    foot: ClassVar[bool] = True
    leave: ClassVar[str] = "close"
    at_once: ClassVar[bool] = False
    DEFAULT_CSS = "PageScreen { background: $background; } PageScreen Board { height: 1fr; }"

    def __init_subclass__(cls) -> None:
        if "BINDINGS" not in vars(cls):
            cls.BINDINGS = overlay_bindings(cls.commands)
        super().__init_subclass__()

    def __init__(self, board: Board) -> None:
        super().__init__()
        self._board = board

    def compose(self) -> ComposeResult:
        """The page, and what its keys do."""
        yield self._board
        yield from self.below()
        if self.foot:
            shown = [Key(each.key_shown(), each.label, each.short) for each in self.commands if each.label]
            yield KeyLine([*shown, Key(key_text("escape"), self.leave)])

    def below(self) -> Iterable[Widget]:
        """What stands between the page and the key line."""
        return ()

    def commands_now(self) -> list[type[Command]]:
        """What the palette offers here."""
        return [*self.commands, *EVERYWHERE]

    def on_mount(self) -> None:
        """Begin to work it out."""
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
    def ready(cls, host: ListHost) -> bool:
        """Whether there is anything to list yet; of a page that is opened over the Inspector, its `host`."""
        return True

    def done(self, result: Result) -> None:
        """What is done over the host when the page was closed with a result."""

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
    order: str = ""

    def __init__(self, pane: TablePane[Row] | None = None) -> None:
        made = pane or TablePane[Row](self.heading, self.none, working=self.working, inset=self.inset)
        self.pane = made
        self.rows: Sequence[Row] = ()
        super().__init__(made)
        made.told = self.told(())

    @abstractmethod
    def table(self, rows: Sequence[Row]) -> Table[Row]:
        """The table of these rows."""

    def choose(self, row: Row) -> Result | None:
        """What the list closes with when this row is chosen; None keeps it open."""
        return None

    def settled(self, rows: Sequence[Row]) -> bool:
        """Whether nothing more will be known of them."""
        return True

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
            self.set_timer(self.again, self.begin)

    def tell(self) -> None:
        """Say on the title's rule what there is to say."""
        self.pane.told, self.pane.noted = self.told(self.rows), self.noted(self.rows)
        self.pane.refresh_rule()

    def draw_rows(self, cursor: int | None = None) -> None:
        """Draw the rows in their order; the cursor stays where it is, or goes to the row of that index."""
        table = self.table(self.rows)
        rows = table.ordered(self.rows, self.order)[: self.most] if self.order else self.rows
        self.pane.show(rows, table, self.order, cursor=cursor)

    def fail(self, trouble: str) -> None:
        """Say it in the place of the rows."""
        self.pane.fail(trouble)

    def next_order(self) -> None:
        """Order by the next column that has an order."""
        names = self.table(self.rows).orders
        self.order = names[(names.index(self.order) + 1) % len(names)]
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


class ListHost(Protocol):
    """What a list may ask of the Inspector that it is opened over, and what it may do there.

    Call `index` (from 0) of `thread` is shown there. `complete` says that the first reading is done.
    """

    index: int
    thread: str
    complete: bool
    loaded: Loaded | None
    study: Study | None

    @property
    def came_from(self) -> str:
        """The thread that was shown before."""

    @property
    def scene(self) -> Scene | None:
        """What is shown; None before that."""

    def preview(self, node: int) -> Preview:
        """The block of a node of the context shown, in words."""

    def price_all(self) -> None:
        """Let the calls of every thread be priced."""

    def statement(self) -> Statement:
        """The session's bill; takes its time."""

    def misses(self) -> Misses:
        """What the cache missed, and why; takes its time."""

    def to_thread(self, thread: str) -> None:
        """Show a thread."""

    def to_block(self, node: int) -> None:
        """Put the cursor on a block of the context shown."""

    def to_call(self, thread: str, number: int) -> None:
        """Show a call by its number in its thread, from 1."""


class HostedList(ListScreen[Row, Result], Generic[Row, Result]):
    """A list that is opened over the Inspector while it shows `scene`."""

    def __init__(self, host: ListHost, pane: TablePane[Row] | None = None) -> None:
        self.host = host
        self.scene = host.scene
        super().__init__(pane)
