"""Lays out what a tool that waits for the user's leave would write."""

from __future__ import annotations

import json
from collections.abc import Callable

from ctxtui.agent.events import ToolCall
from ctxtui.agent.tools.tool import PlannedCall
from ctxtui.services.chat.host import Host
from ctxtui.tui.chat.approval import Approval
from ctxtui.tui.inspector.controller import ScreenAccess
from ctxtui.views.blocks import live_text


class Approvals:
    """Knows which tool of `host` waits for leave and what is shown of it; `made` is called when that is laid out."""

    def __init__(self, host: Host, access: ScreenAccess, made: Callable[[], None]) -> None:
        self._host = host
        self._access = access
        self._made = made
        self._last: tuple[str, int, Approval] | None = None
        """What was laid out last: the call's id, the cells of a line, what is shown."""

    @property
    def waiting(self) -> ToolCall | None:
        """The first call that waits for the user."""
        runner = self._host.runner
        if runner is None or not runner.state.planned:
            return None
        return next(call for call in runner.state.calls if call.id == runner.state.to_ask[0])

    @property
    def shown(self) -> Approval | None:
        """What is shown of the call that waits; None where it is not laid out."""
        call = self.waiting
        return self._last[2] if call is not None and self._last is not None and self._last[0] == call.id else None

    @property
    def fits(self) -> bool:
        """Whether that was laid out for the screen's width of now."""
        return self.shown is not None and self._last is not None and self._last[1] == self._room

    def answered(self) -> ToolCall | None:
        """The call that an answer is for: an answer holds for what was on the screen."""
        call = self.waiting if self.shown is not None else None
        if call is not None:
            self._last = None
        return call

    @property
    def _room(self) -> int:
        return max(20, self._access.width - 2)

    def lay_out(self) -> None:
        """Lay out what the call that waits would write, in a worker: a large file takes a moment, and no key waits."""
        call, runner, room = self.waiting, self._host.runner, self._room
        planned = runner.plan_of(call) if call is not None and runner is not None else None
        if call is None or planned is None:
            return

        if isinstance(planned, PlannedCall):
            lines = live_text.render_file_change(
                None, json.dumps(planned.given, ensure_ascii=False, indent=2).encode(), room
            )
            made = Approval(
                tool=call.name,
                path=planned.what,
                given=planned.what,
                told=planned.told,
                guard=planned.guard,
                lines=lines,
                runs=True,
            )
            self._take((call.id, room, made))
            return

        def work() -> None:
            lines = live_text.render_file_change(planned.before, planned.after, room)
            told = live_text.describe_file_change(planned.before, planned.after)
            made = Approval(
                tool=call.name,
                path=planned.path,
                given=planned.given_path,
                told=told,
                guard=planned.guard,
                lines=lines,
            )
            self._access.deliver(lambda: self._take((call.id, room, made)))

        self._access.work(work, "approval", exclusive=True)

    def _take(self, laid_out: tuple[str, int, Approval]) -> None:
        self._last = laid_out
        if self.shown is not None:
            self._made()
