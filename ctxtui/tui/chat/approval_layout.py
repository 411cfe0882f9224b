"""Prepares the approval pane for a tool that waits for permission."""

from __future__ import annotations

import json
from collections.abc import Callable

from ctxtui.agent.events import ToolCall
from ctxtui.agent.tools.tool import PlannedCall
from ctxtui.services.chat.host import Host
from ctxtui.tui.chat.approval import Approval
from ctxtui.tui.inspector.controller import ScreenAccess
from ctxtui.views.blocks import live_text


class ApprovalLayout:
    """Layout of the tool call that waits for permission."""

    def __init__(self, host: Host, access: ScreenAccess, on_laid_out: Callable[[], None]) -> None:
        self._host = host
        self._access = access
        self._on_laid_out = on_laid_out
        self._last: tuple[str, int, Approval] | None = None
        """Last layout: call id, cells of a line, approval."""

    @property
    def waiting_call(self) -> ToolCall | None:
        """The call that the user is asked about; None if there is none, or while it is planned."""
        runner = self._host.runner
        if runner is None or not runner.state.planned:
            return None
        return next(call for call in runner.state.calls if call.id == runner.state.to_ask[0])

    @property
    def approval(self) -> Approval | None:
        """Content of the pane for the waiting call, for any width; None until it is laid out."""
        call = self.waiting_call
        return self._last[2] if call is not None and self._last is not None and self._last[0] == call.id else None

    @property
    def is_current(self) -> bool:
        """Whether there is an `approval` that was laid out for the present width."""
        return self.approval is not None and self._last is not None and self._last[1] == self._room

    def take_answered_call(self) -> ToolCall | None:
        """Return the waiting call, which the user has answered, and forget its layout.

        None if none is laid out.
        """
        call = self.waiting_call if self.approval is not None else None
        if call is not None:
            self._last = None
        return call

    @property
    def _room(self) -> int:
        return max(20, self._access.width - 2)

    def lay_out(self) -> None:
        """Lay out the content of the waiting call.

        A change of a file in a worker, since it may be large.
        """
        call, runner, room = self.waiting_call, self._host.runner, self._room
        planned = runner.plan_of(call) if call is not None and runner is not None else None
        if call is None or planned is None:
            return

        if isinstance(planned, PlannedCall):
            lines = live_text.render_file_change(
                None, json.dumps(planned.input, ensure_ascii=False, indent=2).encode(), room
            )
            approval = Approval(
                tool=call.name,
                path=planned.command,
                given_path=planned.command,
                effect=planned.description,
                guard=planned.guard,
                lines=lines,
                is_call=True,
            )
            self._set_approval((call.id, room, approval))
            return

        def work() -> None:
            lines = live_text.render_file_change(planned.before, planned.after, room)
            effect = live_text.describe_file_change(planned.before, planned.after)
            approval = Approval(
                tool=call.name,
                path=planned.path,
                given_path=planned.given_path,
                effect=effect,
                guard=planned.guard,
                lines=lines,
            )
            self._access.deliver(lambda: self._set_approval((call.id, room, approval)))

        self._access.work(work, "approval", exclusive=True)

    def _set_approval(self, laid_out: tuple[str, int, Approval]) -> None:
        self._last = laid_out
        if self.approval is not None:
            self._on_laid_out()
