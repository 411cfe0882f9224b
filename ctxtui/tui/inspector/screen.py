"""The inspector screen: any call of any session, recorded or growing."""

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
    INSERTED,
    MARKED,
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
from ctxtui.tui.inspector.controllers.compactions import Compactions
from ctxtui.tui.inspector.controllers.edit_log import EditLogController
from ctxtui.tui.inspector.controllers.fork import ForkController, ForksController
from ctxtui.tui.inspector.controllers.live_answer import LiveAnswerController
from ctxtui.tui.inspector.controllers.marking import MarkController
from ctxtui.tui.inspector.controllers.opening import OpeningController
from ctxtui.tui.inspector.controllers.rules import RulesController
from ctxtui.tui.inspector.controllers.search import SearchController
from ctxtui.tui.inspector.controllers.summaries import RecordedModelAccess
from ctxtui.tui.inspector.controllers.why import WhyController
from ctxtui.tui.inspector.held_requests import ATTACHED_KEYS, DecideRequest, HeldRequestsController
from ctxtui.tui.inspector.loader import EndRead
from ctxtui.tui.inspector.map_board import MapBoard
from ctxtui.tui.inspector.navigation import NavigationController
from ctxtui.tui.inspector.panels import ALL_LINES, Panels
from ctxtui.tui.inspector.place_in_end import NOT_LOADED
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
    from ctxtui.services.own_command import Target
    from ctxtui.views.glossary.spots import Spot


class PaneLayout(Layout):
    """Layout that puts each child into its box of `boxes`, by id.

    A child without a box is hidden.
    """

    name = "panes"

    def __init__(self, boxes: Callable[[int, int], Mapping[str, Box]]) -> None:
        self._boxes = boxes

    def arrange(self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True) -> ArrangeResult:
        parent.pre_layout(self)
        if any(child.id == "textual-tooltip" for child in children):
            # Textual's tooltip has its own layer and the size of its text.
            return VerticalLayout().arrange(parent, children, size, greedy)
        boxes = self._boxes(size.width, size.height)
        return [
            WidgetPlacement(Region(*boxes[child.id]), NULL_OFFSET, Spacing(), child, order)
            for order, child in enumerate(children)
            if child.id is not None and child.id in boxes
        ]


RECORDED: Final[tuple[type[Command], ...]] = (*ATTACHED_KEYS, *PROGRAM_KEYS, *INSPECTOR)
"""Commands of a recorded or attached session, without those of every screen."""
_POINT_SECONDS = 0.06
"""Seconds that the cursor must rest before map and key line are updated, which takes two thirds of a frame."""
_NOTHING_LOADED = "Nothing of this recording is loaded yet; this key needs it."
_HINT: Spans = (Span("g", "accent bold"), Span(" call number, event or category", "faint"))


class SessionScreen(StillScreen, Commanded):
    """The panes of a session, its prompt and its keys.

    A subclass sets the `state`, the `edits` of the context, and the `controllers` that run the commands.
    """

    AUTO_FOCUS = "#transcript"
    DEFAULT_CSS = """
    SessionScreen { background: $background; }
    SessionScreen KeyLine { dock: none; }
    """

    state: InspectorState
    edits: ContextEdits
    controllers: tuple[Controller, ...] = ()
    first_keys: ClassVar[tuple[type[Command], ...]] = ()
    """Commands before the navigation keys in the key line."""

    def __init__(self, panels: Panels, prompt: LineEdit, hint: Spans) -> None:
        super().__init__()
        self.panels, self.prompt = panels, prompt
        self.access = ScreenAccess(self, prompt)
        self.line = SessionPrompt(prompt, panels.transcript, hint, self._line_changed)
        self.keys, self._pane_layout = KeyLine(id="keys"), PaneLayout(self._boxes)
        self._point_timer: Timer | None = None
        self._last_offer: tuple[CommandContext, bool, str, bool] | None = None
        self._fitted_size = Size(0, 0)

    @property
    def session_name(self) -> str:
        """Name of the open session, for a crash message."""
        loaded = self.state.loaded
        return str(loaded.path or loaded.name) if loaded is not None else ""

    @property
    def layout(self) -> Layout:
        return self._pane_layout

    def compose(self) -> ComposeResult:
        """Yield the panes in the order of the focus."""
        yield from self.panels.widgets()
        yield self.keys
        yield self.prompt  # on a tiny screen it covers the keys

    def on_mount(self) -> None:
        self.prompt.can_focus, self.prompt.lead = False, [Span(" › ", "accent")]
        self.line.show_message(())
        self.offer_keys()
        self.state.on.shown.subscribe(self.offer_keys)
        self.state.on.fitted.subscribe(self.offer_keys)
        self.state.on.message.subscribe(self.line.show_message)
        self.state.on.complete.subscribe(self._all_read)
        self.line.message_shown.subscribe(self.state.on.message_shown.emit)
        self.set_interval(1.0, self._tick)

    def begin(self) -> None:
        self.owner(OpeningController).start()

    def on_unmount(self) -> None:
        for controller in self.controllers:
            controller.close()

    def _tick(self) -> None:
        """Update countdowns of the cache and of waiting edits."""
        if self.panels.next_call is not None and self.panels.has_space_for("next-call"):
            self.panels.next.redraw_changed()
        self.edits.tick()

    def _boxes(self, width: int, height: int) -> dict[str, Box]:
        boxes = dict(self.panels.boxes(width, height))
        if boxes.get("prompt") == boxes.get("keys") and not (self.line.is_asking or self.line.has_message):
            boxes.pop("prompt", None)
        return boxes

    # Messages of widgets and threads

    has_background_work = True

    def pause_background(self) -> None:
        self.state.loader.pause_for_key()

    def resume_background(self) -> None:
        self.call_after_refresh(self.state.loader.resume)

    def on_delivery(self, message: Delivery) -> None:
        message.do()

    def on_resize(self, event: events.Resize) -> None:
        """Fill panes that became visible or wider."""
        # Textual reports each size twice: for the terminal, and for the screen's layout.
        if event.size != self._fitted_size:
            self._fitted_size = event.size
            self.call_after_refresh(self.state.fit)

    def on_pane_moved(self, message: Transcript.Moved) -> None:
        """Update what points to the cursor's block once the cursor rests."""
        if message.pane is self.panels.transcript:
            self.state.on.moved.emit()
            if self._point_timer is not None:
                self._point_timer.stop()
            self._point_timer = self.set_timer(_POINT_SECONDS, self._point)

    def _point(self) -> None:
        self.panels.move_map_cursor()
        self.offer_keys()

    def on_pane_chosen(self, message: Pane.Chosen) -> None:
        if message.pane is self.panels.transcript:
            rule = self.panels.transcript.place.rule
            if rule is not None and self.state.recording_end is not None:
                self.line.refuse(NOT_LOADED)
            elif rule is None:
                self.call_later(self.owner(BlocksController).open_block)
            elif rule.kind == "compaction":
                self.call_later(self.action_command, Compactions.__name__)
            else:
                self.call_later(self.owner(RulesController).open_rule, rule)
        elif message.pane is self.panels.heaviest:
            self.owner(NavigationController).to_heavy()
        elif message.pane is self.panels.threads:
            self.owner(NavigationController).to_listed(message.index)

    def on_why_line_chosen(self, message: WhyLine.Chosen) -> None:
        self.owner(WhyController).go_to_blocks()

    def on_map_board_pointed(self, message: MapBoard.Pointed) -> None:
        self.owner(NavigationController).to_token(message.token)

    def on_calls_board_pointed(self, message: CallsBoard.Pointed) -> None:
        self.owner(NavigationController).to_column(message.column)

    def on_context_board_picked(self, message: ContextBoard.Picked) -> None:
        self.owner(NavigationController).next_filter(message.category)

    def on_context_board_opened(self, message: ContextBoard.Opened) -> None:
        """Lay out again for the lines of the residual."""
        self.state.show()

    def action_moved(self, key: str) -> None:
        self.line.show_message([Span(key, "accent bold"), Span(f" has moved: {moved.describe_moved_key(key)}")])

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        self.offer_keys()

    def on_click(self, event: events.Click) -> None:
        if event.widget is self.prompt and not self.line.is_asking:
            self.enter_prompt()

    def apply_when_ready(self, edits: Sequence[Edit]) -> None:
        self.edits.apply_when_ready(edits)

    def enter_prompt(self) -> None:
        """Ask for a destination on the prompt line."""
        self.owner(NavigationController).go()

    def _line_changed(self) -> None:
        self.access.replan()
        self.offer_keys()

    def on_line_edit_changed(self, message: LineEdit.Changed) -> None:
        self.line.change()

    def on_line_edit_submitted(self, message: LineEdit.Submitted) -> None:
        self.line.submit(message.edit.text)

    def on_line_edit_left(self, message: LineEdit.Left) -> None:
        self.leave_prompt()

    def leave_prompt(self) -> None:
        self.line.cancel()

    def sums(self, spot: Spot) -> Mapping[str, str]:
        from ctxtui.tui.inspector.sums import sums  # late: rarely needed

        return sums(self.panels, spot.pane, spot.line, self.state.count)

    # Commands

    def target(self) -> Target:
        return self.owner(BlocksController).target()

    def show_message(self, message: Spans) -> None:
        self.line.show_message(message)

    def owners(self) -> Iterable[object]:
        return self.controllers

    async def action_command(self, name: str) -> None:
        """Run a command; ask first if it would only change marked blocks out of view."""
        command, do = self.command(name), partial(super().action_command, name)
        if command is not None and not self._is_read_for(command):
            self.line.refuse(NOT_LOADED if self.state.recording_end is not None else _NOTHING_LOADED)
            return
        marked = command is not None and issubclass(command, BlocksCommand) and command.on_marked
        if not marked or not self.owner(MarkController).ask_if_out_of_view(lambda: self.call_later(do)):
            await do()

    def _is_read_for(self, command: type[Command]) -> bool:
        return self._is_all_loaded or command.works_on_end or command in EVERYWHERE

    @property
    def _is_all_loaded(self) -> bool:
        """Whether more than a preview of the session's end is loaded."""
        return self.state.recording_end is None

    def _all_read(self) -> None:
        """Clear the message that a key needs the whole session."""
        if self.line.has_message and any(span.text in (NOT_LOADED, _NOTHING_LOADED) for span in self.prompt.hint):
            self.line.show_message(())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a key runs this command now."""
        command = self.command(str(parameters[0])) if action == "command" else None
        if command is None or not (command.key_needs or command.key_unless):
            return True
        facts = self._command_context().facts
        return command.key_needs <= facts and not command.key_unless & facts

    @property
    def current_groups(self) -> tuple[str, ...]:
        """Groups of commands for the current task, for the help."""
        facts = self._command_context().facts
        editing = ("editing the context",) if facts & {MARKED, STAGED} else ()
        return (*(("searching",) if SEARCHING in facts else ()), *editing)

    def commands_now(self) -> list[type[Command]]:
        """Return the available commands, in the order of use."""
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
        facts = facts.union(*(controller.facts() for controller in self.controllers))
        pane, at = (self.focused.id or "") if self.focused is not None else "", self.panels.transcript
        row = BLOCK if at.node is not None else INSERTED if at.place.new is not None else ""
        return CommandContext(pane, row if pane == "transcript" else "", frozenset(facts))

    def offer_keys(self) -> None:
        """Show the keys that are available now."""
        question, situation = self.line.question, self._command_context()
        choice, esc = (bool(question.keys), question.esc) if question is not None else (False, "")
        is_partial = self.state.recording_end is not None
        if (situation, choice, esc, is_partial) != self._last_offer:
            self._last_offer = situation, choice, esc, is_partial
            top = len(self.app.screen_stack) == 1
            available = self.commands_now()
            named = key_order.keys(available, situation, first=self.first_keys, choice=choice, esc=esc, top=top)
            self.keys.show(named, right=ALWAYS if question is None else WHILE_TYPING)


class InspectorScreen(SessionScreen):
    """Shows the session that `source` opens.

    `pager` is the user's setting, `follow` whether a growing recording is followed at once.
    """

    commands: ClassVar[tuple[type[Command], ...]] = (*RECORDED, *EVERYWHERE)
    BINDINGS = [*bindings(RECORDED), *moved.bindings(RECORDED)]
    first_keys = (DecideRequest,)

    def __init__(self, source: SessionSource, *, pager: str = "", follow: bool = True) -> None:
        super().__init__(Panels(LiveRows), LineEdit(id="prompt"), _HINT)
        self.state = InspectorState(source, self.panels, self.access, follow=follow)
        parts = self.state, self.line, self.access
        self.edits = ContextEdits(*parts)
        session = session_controllers(*parts, self.edits, pager, RecordedModelAccess(source))
        log = next(controller for controller in session if isinstance(controller, EditLogController))
        self.controllers = (
            *session,
            NavigationController(*parts, [Span(" › ", "accent bold")]),
            ForksController(*parts),
            ForkController(*parts, self.edits),
            HeldRequestsController(*parts, self.edits, log),
            AttachedProgramController(*parts),
            LiveAnswerController(*parts),
        )

    @property
    def _is_all_loaded(self) -> bool:
        """Whether the recording is opened, and more than a preview of its end is loaded."""
        return super()._is_all_loaded and self.state.study is not None

    def on_mount(self) -> None:
        self.state.on.complete.subscribe(self._complete)
        self.state.on.loader.subscribe(self._heard)

    def _heard(self, message: Message) -> None:
        if isinstance(message, EndRead):
            self.offer_keys()

    def _complete(self) -> None:
        self.post_message(Opened(self))
        if self.note:
            self.line.show_message([Span("▲ ", "warn"), Span(safe_text.one_line(self.note))])
            self.note = ""

    @property
    def aim(self) -> Aim | None:
        return self.owner(SearchController).aim

    @aim.setter
    def aim(self, aim: Aim | None) -> None:
        self.owner(SearchController).aim = aim

    def may_quit(self, leave: Callable[[], None]) -> bool:
        """Whether the program may end. With staged edits it warns once; the same key again quits."""
        return self.owner(EditLogController).may_quit()
