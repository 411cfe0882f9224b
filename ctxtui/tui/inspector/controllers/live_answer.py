"""The answer to a request of an attached program, while it comes in: below the record, as in a chat."""

from __future__ import annotations

from ctxtui.core.session import AnswerGrew, Session
from ctxtui.tui.inspector.controller import Controller, ScreenAccess
from ctxtui.tui.inspector.growing_answer import GrowingAnswer
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.views.transcript.live_rows import LiveAnswer


class LiveAnswerController(Controller):
    """Shows what comes in in the thread shown, at its last call."""

    def __init__(self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess) -> None:
        super().__init__(state, prompt, access)
        self._coming: dict[str, tuple[tuple[str, str], ...]] = {}
        """The answers that come in, by thread, of the session `_of`."""
        self._of: Session | None = None
        self._shown: LiveAnswer | None = None
        self._thread = ""
        self._tail = GrowingAnswer(self.panels.transcript)
        state.on.grew.subscribe(self._heard)
        state.on.shown.subscribe(self._show)

    def _heard(self, events: tuple[AnswerGrew, ...]) -> None:
        session = self.state.study.session if self.state.study is not None else None
        if session is not self._of:
            self._coming, self._of = {}, session
        for event in events:
            self._coming[event.thread] = event.blocks
        self._show()

    def _show(self) -> None:
        rows, scene = self._tail.rows, self.panels.scene
        if rows is None:
            return
        here = scene is not None and scene.last and scene.session is self._of
        blocks = self._coming.get(self.state.thread, ()) if here else ()
        if not blocks:
            self._shown = None
            if rows.answer is not None:
                rows.answer = None
                self._tail.grew()
            return
        if self._shown is None or self._thread != self.state.thread or not self._goes_on(self._shown, blocks):
            self._shown, self._thread = LiveAnswer(), self.state.thread
        answer, room, grew = self._shown, self.panels.transcript.grid.body, rows.answer is not self._shown
        for number, (kind, text) in enumerate(blocks):
            known = answer.blocks.get(number)
            before = len(known.body.text) if known is not None else 0
            if known is None or len(text) > before:
                answer.feed(number, kind, text[before:], room)
                grew = True
        rows.answer = answer
        if grew:
            self._tail.grew()

    @staticmethod
    def _goes_on(answer: LiveAnswer, blocks: tuple[tuple[str, str], ...]) -> bool:
        """Whether `blocks` begin with what is shown: else it is another answer."""
        if len(blocks) < len(answer.blocks):
            return False
        return all(blocks[number][1].startswith(block.body.text) for number, block in answer.blocks.items())
