"""The Inspector: one screen for any call of any session, recorded or growing (look book 1, 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.geometry import NULL_OFFSET, Region, Size, Spacing
from textual.layout import ArrangeResult, Layout, WidgetPlacement
from textual.layouts.vertical import VerticalLayout
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget

from ctxtui.core.edit import Edit
from ctxtui.services.session_source import SessionSource
from ctxtui.tui.commands import EVERYWHERE, Command, CommandContext, Commanded, available_commands, bindings, moved
from ctxtui.tui.commands.situation import (
    ASKING,
    BLOCK,
    CALLS,
    FILTERED,
    FOLLOWS,
    MARKED,
    PUT_IN,
    SEARCHING,
    SKIPPED,
    STAGED,
    THREADS,
)
from ctxtui.tui.inspector import key_order
from ctxtui.tui.inspector.boards import ContextBoard, WhyLine
from ctxtui.tui.inspector.calls_board import CallsBoard
from ctxtui.tui.inspector.commands import INSPECTOR
from ctxtui.tui.inspector.context_edits import BlocksCommand, ContextEdits
from ctxtui.tui.inspector.controller import Controller, Delivery, ScreenAccess
from ctxtui.tui.inspector.controllers.attached_program import PROGRAM_KEYS, AttachedProgramController
from ctxtui.tui.inspector.controllers.blocks import BlocksController
from ctxtui.tui.inspector.controllers.compactions import CompactionsController
from ctxtui.tui.inspector.controllers.edit_log import EditLogController
from ctxtui.tui.inspector.controllers.fork import ForkController, ForksController
from ctxtui.tui.inspector.controllers.live_answer import LiveAnswerController
from ctxtui.tui.inspector.controllers.marking import MarkController
from ctxtui.tui.inspector.controllers.opening import OpeningController
from ctxtui.tui.inspector.controllers.rules import RulesController
from ctxtui.tui.inspector.controllers.search import SearchController
from ctxtui.tui.inspector.controllers.summaries import RecordedAsker
from ctxtui.tui.inspector.controllers.why import WhyController
from ctxtui.tui.inspector.held_requests import ATTACHED_KEYS, DecideRequest, HeldRequestsController
from ctxtui.tui.inspector.loader import Glimpsed
from ctxtui.tui.inspector.map_board import MapBoard
from ctxtui.tui.inspector.navigation import NavigationController
from ctxtui.tui.inspector.panels import ALL_LINES, Panels
from ctxtui.tui.inspector.place_in_end import UNREAD
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.inspector.session_controllers import session_controllers
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.tui.inspector.transcript import Transcript
from ctxtui.tui.messages import Aim, Opened
from ctxtui.tui.widgets.keyline import ALWAYS, WHILE_TYPING, KeyLine
from ctxtui.tui.widgets.line_edit import LineEdit
from ctxtui.tui.widgets.pane import Pane
from ctxtui.tui.widgets.still import StillScreen
from ctxtui.views.inspector.layout import Box
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.transcript.live_rows import LiveRows

if TYPE_CHECKING:
    from ctxtui.views.glossary.spots import Spot


_OVER = frozenset({"textual-tooltip"})


class Stage(Layout):
    """Puts each child where `boxes` says, by the child's id; a child without a box is not shown."""

    name = "stage"

    def __init__(self, boxes: Callable[[int, int], Mapping[str, Box]]) -> None:
        self._boxes = boxes

    def arrange(self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True) -> ArrangeResult:
        """Textual's own."""
        parent.pre_layout(self)
        if all(child.id not in _OVER for child in children):
            boxes = self._boxes(size.width, size.height)
        else:
            # Textual's tooltip is in a layer of its own and is as large as what it says.
            return VerticalLayout().arrange(parent, children, size, greedy)
        return [
            WidgetPlacement(Region(*boxes[child.id]), NULL_OFFSET, Spacing(), child, order)
            for order, child in enumerate(children)
            if child.id is not None and child.id in boxes
        ]


RECORDED: Final[tuple[type[Command], ...]] = (*ATTACHED_KEYS, *PROGRAM_KEYS, *INSPECTOR)
"""The commands of a recorded or attached session, but those of every screen."""
_POINT = 0.06
"""Seconds for which the cursor must rest before the map's mark and the line of keys follow: a frame of the cursor alone
costs a third."""
_HINT: Spans = (Span("g", "accent bold"), Span(" call number, event or category", "faint"))


class SessionScreen(StillScreen, Commanded):
    """The panes of a session, its prompt and its keys. A subclass has the `state` of what is shown, the `edits` of its
    context, and the `controllers` that do the commands."""

    AUTO_FOCUS = "#transcript"
    DEFAULT_CSS = """
    SessionScreen { background: $background; }
    SessionScreen KeyLine { dock: none; }
    """

    state: InspectorState
    edits: ContextEdits
    controllers: tuple[Controller, ...] = ()
    first_keys: ClassVar[tuple[type[Command], ...]] = ()
    """What the key line names before the keys that go about."""

    def __init__(self, panels: Panels, prompt: LineEdit, hint: Spans) -> None:
        super().__init__()
        self.panels, self.prompt = panels, prompt
        self.access = ScreenAccess(self, prompt)
        self.line = SessionPrompt(prompt, panels.transcript, hint, self._line_changed)
        self.keys, self._stage = KeyLine(id="keys"), Stage(self._boxes)
        self._pointing: Timer | None = None
        self._offered: tuple[CommandContext, bool, str, bool] | None = None
        self._fitted = Size(0, 0)
        self._later: Sequence[Widget] = ()

    @property
    def session_name(self) -> str:
        """What is open, for a crash's message."""
        loaded = self.state.loaded
        return str(loaded.path or loaded.name) if loaded is not None else ""

    @property
    def layout(self) -> Layout:
        """Textual asks here where the panes stand."""
        return self._stage

    def compose(self) -> ComposeResult:
        """The panes in the order of the focus; where each has its place, is the stage's business."""
        yield from self.panels.widgets()
        yield self.keys
        yield self.prompt  # on a tiny screen it stands over the keys

    def on_mount(self) -> None:
        """The empty screen is the first frame; a worker reads while it is painted."""
        self.prompt.can_focus, self.prompt.lead = False, [Span(" › ", "accent")]
        self.line.say(())
        self.offer_keys()
        self.state.on.shown.subscribe(self.offer_keys)
        self.state.on.fitted.subscribe(self.offer_keys)
        self.state.on.told.subscribe(self.line.say)
        self.state.on.complete.subscribe(self._all_read)
        self.line.spoken.subscribe(self.state.on.said.emit)
        self.set_interval(1.0, self._tick)

    def begin(self) -> None:
        """From now on what is read is shown in the panes."""
        self.owner(OpeningController).start()

    def on_unmount(self) -> None:
        """What the controllers began ends with the screen."""
        for one in self.controllers:
            one.close()

    def _tick(self) -> None:
        """What is left of the cache's lifetime, and until waiting edits leave."""
        if self.panels.coming is not None and self.panels.shows("next-call"):
            self.panels.next.redraw_changed()
        self.edits.tick()

    def _boxes(self, width: int, height: int) -> dict[str, Box]:
        boxes = dict(self.panels.boxes(width, height))
        if boxes.get("prompt") == boxes.get("keys") and not (self.line.is_asking or self.line.said):
            boxes.pop("prompt", None)
        return boxes

    # What the widgets and the threads tell

    gives_way = True

    def give_way(self) -> None:
        """A key came: what is worked out in the background waits until its frame is on the screen."""
        self.state.feed.hold()

    def answered(self) -> None:
        """What the key does is done."""
        self.call_after_refresh(self.state.feed.go_on)

    def on_delivery(self, message: Delivery) -> None:
        """A thread has something for the screen's turn."""
        message.do()

    def on_resize(self, event: events.Resize) -> None:
        """Panes that were not there have nothing to show yet; a wider one may want more lines."""
        # Textual tells of each size twice: as the terminal's, and as what the layout gave the screen.
        if event.size != self._fitted:
            self._fitted = event.size
            self.call_after_refresh(self.state.fit)

    def on_pane_moved(self, message: Transcript.Moved) -> None:
        """The cursor is on another block: what points to it follows when it rests."""
        if message.pane is self.panels.transcript:
            self.state.on.moved.emit()
            if self._pointing is not None:
                self._pointing.stop()
            self._pointing = self.set_timer(_POINT, self._point)

    def _point(self) -> None:
        self.panels.point()
        self.offer_keys()

    def on_pane_chosen(self, message: Pane.Chosen) -> None:
        """Open a block, go to a heavy one, show a thread."""
        if message.pane is self.panels.transcript:
            rule = self.panels.transcript.place.rule
            if rule is not None and self.state.glimpse is not None:
                self.line.refuse(UNREAD)
            elif rule is None:
                self.call_later(self.owner(BlocksController).open_block)
            elif rule.kind == "compaction":
                self.call_later(self.owner(CompactionsController).compactions)
            else:
                self.call_later(self.owner(RulesController).open_rule, rule)
        elif message.pane is self.panels.heaviest:
            self.owner(NavigationController).to_heavy()
        elif message.pane is self.panels.threads:
            self.owner(NavigationController).to_listed(message.index)

    def on_why_line_chosen(self, message: WhyLine.Chosen) -> None:
        """To what makes the context so big."""
        self.owner(WhyController).go_there()

    def on_map_board_pointed(self, message: MapBoard.Pointed) -> None:
        """To the block at a token."""
        self.owner(NavigationController).to_token(message.token)

    def on_calls_board_pointed(self, message: CallsBoard.Pointed) -> None:
        """To the call in a column."""
        self.owner(NavigationController).to_column(message.column)

    def on_context_board_picked(self, message: ContextBoard.Picked) -> None:
        """Filter by a category that was clicked."""
        self.owner(NavigationController).next_filter(message.category)

    def on_context_board_opened(self, message: ContextBoard.Opened) -> None:
        """The opened residual takes lines."""
        self.state.show()

    def action_moved(self, key: str) -> None:
        """A key that did something before 1.0, and nothing now, says where that is."""
        self.line.say([Span(key, "accent bold"), Span(f" moved · {moved.describe_moved_key(key)}")])

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Other keys are used on another pane."""
        self.offer_keys()

    def on_click(self, event: events.Click) -> None:
        """A click on the prompt enters it."""
        if event.widget is self.prompt and not self.line.is_asking:
            self.enter_prompt()

    def bring(self, edits: Sequence[Edit]) -> None:
        """Apply these to the context, as soon as it is read."""
        self.edits.apply_when_ready(edits)

    def enter_prompt(self) -> None:
        """Take words on the prompt's line."""
        self.owner(NavigationController).go()

    def _line_changed(self) -> None:
        """Something else is asked or said on the prompt's line."""
        self.access.replan()
        self.offer_keys()

    def on_line_edit_changed(self, message: LineEdit.Changed) -> None:
        """Another text."""
        self.line.change()

    def on_line_edit_submitted(self, message: LineEdit.Submitted) -> None:
        """The question is answered."""
        self.line.submit(message.edit.text)

    def on_line_edit_left(self, message: LineEdit.Left) -> None:
        """`esc` leaves the question."""
        self.leave_prompt()

    def leave_prompt(self) -> None:
        """Leave what is asked on the prompt's line."""
        self.line.cancel()

    def sums(self, spot: Spot) -> Mapping[str, str]:
        """The arithmetic behind the figures at a spot."""
        from ctxtui.tui.inspector.sums import sums  # here: it is asked for seldom

        return sums(self.panels, spot.pane, spot.line, self.state.count)

    # Commands

    def owners(self) -> Iterable[object]:
        """The controllers do the commands."""
        return self.controllers

    async def action_command(self, name: str) -> None:
        """Do the command of the class `name`; one that would change marked blocks only out of view asks first."""
        command, do = self.command(name), partial(super().action_command, name)
        if command is not None and not self._is_read_for(command):
            self.line.refuse(UNREAD)
            return
        marked = command is not None and issubclass(command, BlocksCommand) and command.on_marked
        if not marked or not self.owner(MarkController).ask_if_out_of_view(lambda: self.call_later(do)):
            await do()

    def _is_read_for(self, command: type[Command]) -> bool:
        """Whether enough of the recording is read for a command."""
        return self.state.glimpse is None or command.works_on_end or command in EVERYWHERE

    def _all_read(self) -> None:
        """What was refused can be done now."""
        if self.line.said and any(span.text == UNREAD for span in self.prompt.hint):
            self.line.say(())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a key is this command's now."""
        command = self.command(str(parameters[0])) if action == "command" else None
        if command is None or not (command.key_needs or command.key_unless):
            return True
        facts = self._command_context().facts
        return command.key_needs <= facts and not command.key_unless & facts

    @property
    def doing(self) -> tuple[str, ...]:
        """The groups of commands that what one is doing is about, for the help."""
        facts = self._command_context().facts
        editing = ("editing the context",) if facts & {MARKED, STAGED} else ()
        return (*(("searching",) if SEARCHING in facts else ()), *editing)

    def commands_now(self) -> list[type[Command]]:
        """The commands that are available, in the order of their use."""
        return list(filter(self._is_read_for, available_commands(self.commands, self._command_context())))

    def _command_context(self) -> CommandContext:
        state, facts = self.state, self.edits.facts()
        if state.study is not None:
            facts |= {CALLS} if state.count > 1 else set()
            facts |= {SKIPPED} if state.study.session.skipped else set()
            facts |= {THREADS} if len(state.study.session.threads) > 1 else set()
        facts |= {FILTERED} if state.shown != ALL_LINES else set()
        facts |= {FOLLOWS} if state.loaded is not None and state.loaded.follows else set()
        facts |= {ASKING} if self.line.is_asking else set()
        facts = facts.union(*(one.facts() for one in self.controllers))
        pane, at = (self.focused.id or "") if self.focused is not None else "", self.panels.transcript
        row = BLOCK if at.node is not None else PUT_IN if at.place.new is not None else ""
        return CommandContext(pane, row if pane == "transcript" else "", frozenset(facts))

    def offer_keys(self) -> None:
        """Show the keys that can be used now."""
        question, situation = self.line.question, self._command_context()
        choice, esc = (bool(question.keys), question.esc) if question is not None else (False, "")
        partly = self.state.glimpse is not None
        if (situation, choice, esc, partly) != self._offered:
            self._offered = situation, choice, esc, partly
            top = len(self.app.screen_stack) == 1
            can = self.commands_now()
            named = key_order.keys(can, situation, first=self.first_keys, choice=choice, esc=esc, top=top)
            self.keys.show(named, right=ALWAYS if question is None else WHILE_TYPING)


class InspectorScreen(SessionScreen):
    """Shows the session that `source` opens. `pager` is the user's setting, `follow` whether a growing recording is
    followed at once."""

    commands: ClassVar[tuple[type[Command], ...]] = (*RECORDED, *EVERYWHERE)
    BINDINGS = [*bindings(RECORDED), *moved.bindings(RECORDED)]
    first_keys = (DecideRequest,)

    def __init__(self, source: SessionSource, *, pager: str = "", follow: bool = True) -> None:
        super().__init__(Panels(LiveRows), LineEdit(id="prompt"), _HINT)
        self.state = InspectorState(source, self.panels, self.access, follow=follow)
        every = self.state, self.line, self.access
        self.edits = ContextEdits(*every)
        session = session_controllers(*every, self.edits, pager, RecordedAsker(source))
        log = next(one for one in session if isinstance(one, EditLogController))
        self.controllers = (
            *session,
            NavigationController(*every, [Span(" › ", "accent bold")]),
            ForksController(*every),
            ForkController(*every, self.edits),
            HeldRequestsController(*every, self.edits, log),
            AttachedProgramController(*every),
            LiveAnswerController(*every),
        )

    def on_mount(self) -> None:
        """Tell when there is something to look at."""
        self.state.on.complete.subscribe(self._complete)
        self.state.on.loader.subscribe(self._heard)

    def _heard(self, message: Message) -> None:
        if isinstance(message, Glimpsed):
            self.offer_keys()

    def _complete(self) -> None:
        self.post_message(Opened(self))
        if self.note:
            self.line.say([Span("▲ ", "warn"), Span(safe_text.one_line(self.note))])
            self.note = ""

    @property
    def aim(self) -> Aim | None:
        """Where to stand once all is read."""
        return self.owner(SearchController).aim

    @aim.setter
    def aim(self, aim: Aim | None) -> None:
        self.owner(SearchController).aim = aim

    def may_quit(self, leave: Callable[[], None]) -> bool:
        """Whether the program may end: with staged edits it says so once; the same key again leaves, they are kept."""
        return self.owner(EditLogController).may_quit()
