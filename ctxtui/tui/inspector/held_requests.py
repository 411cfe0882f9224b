"""Requests of an attached program that wait for the user: shown as the next call, with what is left of their time, and
what becomes of them. The run of `ctxtui exec` that holds them is asked over loopback."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from ctxtui.core.errors import CtxtuiError
from ctxtui.tui.commands.command import Act, Command
from ctxtui.tui.commands.situation import ATTACHED, HELD
from ctxtui.tui.inspector.context_edits import ContextEdits
from ctxtui.tui.inspector.controller import Controller, ScreenAccess
from ctxtui.tui.inspector.controllers.attached_program import NOBODY, recording
from ctxtui.tui.inspector.controllers.edit_log import EditLogController
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.tui.lazy import later
from ctxtui.tui.widgets.prompt_line import Question
from ctxtui.views.text.signs import MARK
from ctxtui.views.text.span import Span, Spans

if TYPE_CHECKING:
    from ctxtui.services.attach import held_requests
    from ctxtui.services.attach.held_requests import RemoteHeldRequest
    from ctxtui.views.inspector import composition, header, held_lines
else:
    composition = later("ctxtui.views.inspector.composition")
    header = later("ctxtui.views.inspector.header")
    held_lines = later("ctxtui.views.inspector.held_lines")
    composition = later("ctxtui.views.inspector.composition")
    held_requests = later("ctxtui.services.attach.held_requests")

_LOOK: Final = 0.5
"""Seconds between two looks at what is held."""


class HeldRequestsController(Controller):
    """Looks what waits in the session shown, and asks what becomes of it. Staged edits are applied by `log`."""

    def __init__(
        self,
        state: InspectorState,
        prompt: SessionPrompt,
        access: ScreenAccess,
        edits: ContextEdits,
        log: EditLogController,
    ) -> None:
        super().__init__(state, prompt, access)
        self._edits, self._log = edits, log
        self._runs = self._next = False
        self._held: tuple[RemoteHeldRequest, ...] = ()
        self._asked = ""
        """The request that was asked about last."""
        self._until = 0.0
        """Until when it was seen to wait: requests over a WebSocket share one id, the next one waits longer."""
        self._own: Question | None = None
        self._looking = False
        self._lost: set[str] = set()
        """Why something was not recorded, of which one was told."""
        state.on.complete.subscribe(self._begin)
        state.on.shown.subscribe(self._figures)
        state.on.fitted.subscribe(self._figures)

    def facts(self) -> set[str]:
        """Whether a program is attached, and whether a request of it is held."""
        return ({ATTACHED} if self._runs else set()) | ({HELD} if self._held else set())

    # Looking

    def _begin(self) -> None:
        if recording(self.state) is not None and not self._looking:
            self._looking = True
            self._look()

    def _look(self) -> None:
        """Ask the runs, in a thread, again and again."""
        path = recording(self.state)
        if path is None:
            self._looking = False
            return

        def ask() -> None:
            found = held_requests.read_status(path)
            self.access.deliver(partial(self._take, found))

        self.access.work(ask, "held requests")

    def _take(self, found: held_requests.AttachedProgram) -> None:
        self.access.timer(_LOOK, self._look)
        before = self.facts()
        self._runs, self._next, self._held = found.runs, found.next, found.held
        one = self._first
        if one is None:
            self._gone()
        else:
            self._came(one)
        self._tell(found.troubles)
        if self.facts() != before:
            self.state.on.fitted.emit()

    def _tell(self, troubles: tuple[str, ...]) -> None:
        """Each cause for which something of the program's calls is not on record is said once, while it runs."""
        fresh = {one.rpartition(": ")[2]: one for one in troubles}
        fresh = {why: one for why, one in fresh.items() if why not in self._lost}
        if fresh and not self.prompt.asking:
            self._lost |= fresh.keys()
            self.say([MARK["error"].span, Span(f" not everything is recorded: {', '.join(fresh)}", "crit")])

    @property
    def _first(self) -> RemoteHeldRequest | None:
        return self._held[0] if self._held else None

    def _came(self, one: RemoteHeldRequest) -> None:
        """A request waits: it is asked about once by itself, and what is left of its time is shown."""
        self.state.wait(one.seconds_left(time.monotonic()))
        fresh = one.id != self._asked or one.until > self._until + _LOOK
        self._until = one.until
        if self._own is not None and self.prompt.question is self._own:
            if not fresh:
                self._refresh(one)
                return
            self.prompt.cancel()
        if fresh:
            self._asked = one.id
            self._show(one)
            if not self.prompt.asking:
                self._ask(one)

    def _show(self, one: RemoteHeldRequest) -> None:
        """Go to the thread and the end of it: there it is the next call."""
        study = self.state.study
        if study is not None and one.thread in study.session.threads:
            self.state.to_thread(one.thread)
        self.state.go(self.state.count - 1, to_end=True)

    def _figures(self) -> None:
        """Header and composition are those of the request that waits: the next call."""
        scene, study, staging = self.panels.scene, self.state.study, self.panels.staging
        if self.state.waits is None or scene is None or study is None or not scene.last:
            return
        now = composition.next_scene(scene, self._held[0].model if self._held else "")
        if staging is not None:
            if (what := self.panels.header.what) is not None:
                self.panels.header.show(replace(what, call=scene.number + 1 if scene.call.id else 1))
            return
        if now is None:
            return
        known = study.thread(self.state.thread)
        self.panels.context.show(
            composition.composition(now, scene.figures if scene.call.id else None, None, self.state.shown)
        )
        spent = known.spent[scene.number] if scene.number < len(known.spent) else None
        shown = header.header(now, self.state.word, spent, scene.number < len(known.spent))
        number = now.number if scene.call.id else 1
        self.panels.header.show(replace(shown, call=number, waits=self.state.waits, totals=study.totals))

    def _gone(self) -> None:
        """Nothing waits any more."""
        self._asked = ""
        self.state.wait(None)
        if self._own is not None and self.prompt.question is self._own:
            self.prompt.cancel()
        self._own = None

    # Asking

    def hold(self) -> None:
        """Hold the next request, or do not; where one is held, ask what becomes of it."""
        one, path, study = self._first, recording(self.state), self.state.study
        if one is not None:
            self._ask(one)
            return
        if not self._runs or path is None or study is None:
            self.say(NOBODY)
            return
        self._next = not self._next
        self.access.work(
            partial(held_requests.hold_next, path, study.session.about.id, hold=self._next), "held requests"
        )
        words = "the next request will be held before it leaves" if self._next else "the next request leaves as it is"
        self.say([Span("‖ " if self._next else "● ", "warn" if self._next else "ok"), Span(words)])

    def _staged(self) -> int:
        overlay = self._edits.overlay
        return len(overlay.ready) if overlay is not None else 0

    def _question(self, one: RemoteHeldRequest) -> Spans:
        overlay = self._edits.overlay
        standing = len(overlay.applied) if overlay is not None else 0
        return held_lines.question(one.seconds_left(time.monotonic()), self._staged(), one.can_wait, standing)

    def _ask(self, one: RemoteHeldRequest) -> None:
        self._own = Question(
            self._question(one),
            partial(self._answered, one.id),
            keys=(*held_lines.ANSWER_KEYS, held_lines.MORE_KEY) if one.can_wait else held_lines.ANSWER_KEYS,
            esc="look",
            on_cancel=self._later,
        )
        self.prompt.ask(self._own)

    def _refresh(self, one: RemoteHeldRequest) -> None:
        """Say anew how much time is left."""
        assert self._own is not None
        self._own.lead = self.prompt.edit.lead = self._question(one)
        self.prompt.edit.refresh()

    def _later(self) -> None:
        """It is looked at, or changed, in the panes."""
        if self._held:
            self.access.soon(self._told_later)

    def _told_later(self) -> None:
        if self._held and not self.prompt.asking:
            self.say(held_lines.LATER)

    def _answered(self, id_: str, key: str) -> None:
        if key == "w":
            self.prompt.ask_for(held_lines.WRITING, partial(self._written, id_))
        elif key == "a":
            if self._staged():
                self._log.apply()
            if self._staged():
                # It was refused, or is to be read first: that stands on the line.
                return
            self._decide(id_, "apply")
        elif key == held_lines.MORE_KEY:
            self._wait_longer(id_)
        else:
            self._decide(id_, "refuse" if key == "x" else "release")

    def _wait_longer(self, id_: str) -> None:
        """Ten minutes more; it is asked about again at once."""
        path = recording(self.state)
        if path is None:
            return

        def do() -> None:
            try:
                held_requests.decide(path.parent, id_, "more")
            except CtxtuiError as error:
                self.access.deliver(partial(self.prompt.refuse, str(error)))
                return
            self.access.deliver(partial(self.say, held_lines.OUTCOMES["more"]))

        self._asked = ""
        self.access.work(do, "held requests")

    def _written(self, id_: str, text: str) -> None:
        if text.strip():
            self._decide(id_, "answer", text)
        else:
            self.say([Span("an empty answer is none: the request waits still; ", "dim"), *held_lines.DECIDES])

    def _decide(self, id_: str, how: str, text: str = "") -> None:
        """Tell the run, in a thread; edits are in the database before it looks there."""
        path, desk = recording(self.state), self._edits.desk
        if path is None:
            return

        def do() -> None:
            try:
                if how == "apply" and desk is not None:
                    desk.save()
                held_requests.decide(path.parent, id_, how, text)
            except CtxtuiError as error:
                self.access.deliver(partial(self.prompt.refuse, str(error)))
                return
            self.access.deliver(partial(self.say, held_lines.OUTCOMES[how]))

        self._held = tuple(one for one in self._held if one.id != id_)
        self._asked = id_
        self.access.work(do, "held requests")


class HoldRequest(Command):
    """Hold the attached program's next request before it leaves, so that it can be looked at and changed; again: let it
    leave."""

    name, keys, label, short, group = "hold the next request", ("ctrl+o",), "hold", "hold", "attached program"
    run = Act(HeldRequestsController, HeldRequestsController.hold)
    needs = frozenset({ATTACHED})
    unless = frozenset({HELD})


class DecideRequest(Command):
    """What becomes of the held request: it leaves as it is, or under the edits that are applied; you answer it
    yourself, in the model's place; or it is refused."""

    name, label, short, group = "decide about the held request", "decide", "decide", "attached program"
    run = Act(HeldRequestsController, HeldRequestsController.hold)
    shown = "^o"
    needs = frozenset({HELD})


ATTACHED_KEYS: tuple[type[Command], ...] = (DecideRequest, HoldRequest)
"""What is done with the requests of an attached program."""
