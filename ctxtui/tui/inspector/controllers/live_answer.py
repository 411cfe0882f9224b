"""The answer to an attached program's request while it is received, below the recording."""

from __future__ import annotations

from ctxtui.core.session import AnswerGrew, Session
from ctxtui.tui.inspector.controller import Controller, ScreenAccess
from ctxtui.tui.inspector.growing_answer import GrowingAnswer
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.views.transcript.live_rows import LiveAnswer


class LiveAnswerController(Controller):
    """Shows the answer being received in the thread shown, at its last call."""

    def __init__(self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess) -> None:
        super().__init__(state, prompt, access)
        self._answers: dict[str, tuple[tuple[str, str], ...]] = {}
        """Answers being received, by thread, of the session `_session`."""
        self._session: Session | None = None
        self._shown: LiveAnswer | None = None
        self._thread = ""
        self._tail = GrowingAnswer(self.panels.transcript)
        state.on.grew.subscribe(self._on_grew)
        state.on.shown.subscribe(self._show)

    def _on_grew(self, events: tuple[AnswerGrew, ...]) -> None:
        session = self.state.study.session if self.state.study is not None else None
        if session is not self._session:
            self._answers, self._session = {}, session
        for event in events:
            self._answers[event.thread] = event.blocks
        self._show()

    def _show(self) -> None:
        rows, scene = self._tail.rows, self.panels.scene
        if rows is None:
            return
        is_here = scene is not None and scene.last and scene.session is self._session
        blocks = self._answers.get(self.state.thread, ()) if is_here else ()
        if not blocks:
            self._shown = None
            if rows.answer is not None:
                rows.answer = None
                self._tail.grew()
            return
        if self._shown is None or self._thread != self.state.thread or not self._continues(self._shown, blocks):
            self._shown, self._thread = LiveAnswer(), self.state.thread
        answer, room, has_grown = self._shown, self.panels.transcript.grid.body, rows.answer is not self._shown
        for number, (kind, text) in enumerate(blocks):
            block = answer.blocks.get(number)
            shown_length = len(block.body.text) if block is not None else 0
            if block is None or len(text) > shown_length:
                answer.feed(number, kind, text[shown_length:], room)
                has_grown = True
        rows.answer = answer
        if has_grown:
            self._tail.grew()

    @staticmethod
    def _continues(answer: LiveAnswer, blocks: tuple[tuple[str, str], ...]) -> bool:
        """Whether `blocks` begin with what is shown; if not, it is another answer."""
        if len(blocks) < len(answer.blocks):
            return False
        return all(blocks[number][1].startswith(block.body.text) for number, block in answer.blocks.items())
