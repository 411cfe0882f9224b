"""The chat prompt: messages, permissions for tools, holding, interrupting, leaving."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from textual.timer import Timer

from ctxtui.agent import events
from ctxtui.agent.events import ToolCall
from ctxtui.core.block import HEADER
from ctxtui.core.block_content import read
from ctxtui.core.session import MAIN
from ctxtui.providers.rate_limits import Headroom
from ctxtui.tui.chat.approval import Approval
from ctxtui.tui.chat.approval_layout import ApprovalLayout
from ctxtui.tui.chat.message_files import MessageFiles, as_mention
from ctxtui.tui.chat.state import ChatController, ChatState
from ctxtui.tui.commands.situation import PERMISSION, QUESTION, TALKING, USER_ROW
from ctxtui.tui.inspector.context_edits import ContextEdits
from ctxtui.tui.inspector.controller import ScreenAccess
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.widgets.prompt_line import Question
from ctxtui.views.text import numbers, safe_text
from ctxtui.views.text.span import Span, Spans

_LEAD: Spans = [Span(" › ", "accent bold")]
HINT: Spans = [Span("i ", "accent bold"), Span("type a message", "faint")]
_DRAFT_SAVE_SECONDS = 0.7
"""Seconds after the last key until the draft is saved."""
_PERMISSIONS = {"y": "ONCE", "a": "SESSION", "n": "NOT_NOW", "N": "NEVER"}
"""Members of `ToolLeave` by the key that answers."""
_ANSWERS = {"y": "once", "a": "always", "n": "no", "N": "never"}
"""Labels of these keys."""
PAUSE_SECONDS = 0.7
"""Seconds a question must be visible, with nothing typed, before a key answers it."""


class TalkController(ChatController):
    """Asks for messages and permissions; also holds, interrupts and branches the chat."""

    def __init__(self, state: ChatState, prompt: SessionPrompt, access: ScreenAccess, edits: ContextEdits) -> None:
        super().__init__(state, prompt, access)
        self._edits = edits
        self._talk_question: Question | None = None
        self._own_question: Question | None = None
        """The last question of this controller."""
        self._permission_question: Question | None = None
        """The last question for permission."""
        self._permission_first = ""
        """Id of the waiting call that is asked about even if something is typed."""
        self._files = MessageFiles(self.host, access, self.refresh_keys)
        self._approval_layout = ApprovalLayout(self.host, access, self._on_approval_laid_out)
        self._early_messages: tuple[str, ...] = ()
        self._branch_node: int | None = None
        """Node where the next message branches off; None: at the end."""
        self._branch_hint = ""
        self._draft_timer: Timer | None = None
        self._draft = ""
        self._draft_aside: str | None = None
        """The draft put aside while an earlier message is edited."""
        state.on.complete.subscribe(self.talk)
        state.chat_signals.permission.subscribe(self._ask_permission_if_idle)

    def facts(self) -> set[str]:
        is_own = self.prompt.question is self._own_question
        facts = {TALKING if is_own else QUESTION} if self.prompt.is_asking else set()
        transcript = self.panels.transcript
        on_user_row = (
            transcript.data is not None and transcript.row_count and transcript.data.is_user_row(transcript.cursor)
        )
        is_waiting = self.waiting_call is not None
        return facts | ({USER_ROW} if on_user_row else set()) | ({PERMISSION} if is_waiting else set())

    @property
    def waiting_call(self) -> ToolCall | None:
        return self._approval_layout.waiting_call

    def talk(self, text: str = "") -> None:
        """Open the prompt with `text`, else the draft; if a tool waits for permission, ask about it."""
        if self.waiting_call is not None:
            self._ask_permission()
            return
        self._save_draft()
        self._open_prompt(text or self._draft)

    @property
    def is_talking(self) -> bool:
        return self.prompt.question is not None and self.prompt.question is self._talk_question

    def _ask_own(self, question: Question) -> None:
        self._own_question = question
        self.prompt.ask(question)

    def _resume_talk(self) -> None:
        self._open_prompt(self._draft)
        self._ask_permission_if_idle()

    def _resume_permission(self) -> None:
        self._open_prompt(self._draft)
        self._ask_permission()

    def _prompt_keys(self) -> Spans:
        hold = self.host.runner is not None and self.host.runner.state.hold
        waits = self.state.is_held
        hold_hint = [Span("held next ", "warn")] if hold and not waits else []
        branch = [Span(f"{self._branch_hint} ", "warn")] if self._branch_hint else []
        return [
            *self._files.description,
            *branch,
            *_describe_headroom(self.host.headroom, time.time()),
            *hold_hint,
            *self._permission_words,
        ]

    @property
    def _permission_words(self) -> Spans:
        """The hint in the prompt while a tool waits; [] if none does."""
        call = self.waiting_call
        if call is None:
            return []
        message = f"{safe_text.one_line(call.name, 40)} needs your permission: "
        return [Span(message, "warn"), Span("esc", "accent bold"), Span(" answers ", "dim")]

    def refresh_keys(self) -> None:
        """Update the hints in the open prompt."""
        if self._talk_question is not None and self.is_talking:
            self.prompt.edit.right, self.prompt.edit.short_right = self._prompt_keys(), self._short_hint
            self._talk_question.esc = self._esc
            self.prompt.edit.refresh()

    @property
    def _short_hint(self) -> Spans:
        return self._permission_words or self._files.description

    @property
    def _esc(self) -> str:
        return "answer" if self.waiting_call is not None else "to the panes"

    def paste_image(self) -> None:
        if not self.is_talking:
            self.talk()
        self._files.paste_image(self.prompt.edit.insert, self.prompt.refuse)

    def _ask_permission_if_idle(self) -> None:
        """Ask about a waiting tool, unless the user types or another question is open."""
        call = self.waiting_call
        first = call is not None and call.id == self._permission_first
        if not self.prompt.is_asking or (self.is_talking and (first or not self.prompt.edit.buffer.size)):
            self._ask_permission()
        self.refresh_keys()

    def ask_permission_now(self) -> bool:
        """Ask about a waiting tool even if something is typed; return whether one waits."""
        call = self.waiting_call
        if call is None:
            return False
        self._permission_first = call.id
        self._ask_permission()
        return True

    @property
    def approval(self) -> Approval | None:
        """The approval that the question is about now, or None."""
        return self._approval_layout.approval if self.prompt.question is self._permission_question else None

    def _ask_permission(self) -> None:
        shown = self._approval_layout.approval
        if shown is not None and self._approval_layout.is_current:
            self._ask_permission_for(shown)
        else:
            self._approval_layout.lay_out()

    def lay_out(self) -> None:
        if self.approval is not None:
            self._approval_layout.lay_out()

    def _on_approval_laid_out(self) -> None:
        if self.prompt.question is self._permission_question and self._permission_question is not None:
            self.access.replan()
        else:
            self._ask_permission_if_idle()

    def _ask_permission_for(self, approval: Approval) -> None:
        answers = {
            key: words for key, words in _ANSWERS.items() if not (approval.guard and _PERMISSIONS[key] == "SESSION")
        }
        lead = [Span(" ? ", "warn bold"), Span("run it?  " if approval.is_call else "write it?  ")]
        for key, words in answers.items():
            lead += [Span(key, "accent bold"), Span(f" {words}  ", "dim")]
        self._save_draft()
        self._permission_question = Question(
            lead,
            self._answer_permission,
            keys=tuple(answers),
            right=[Span("↑↓ ", "accent bold"), Span("scroll ", "dim")],
            esc="later",
            stays=True,
            on_cancel=self._stop_talking,
            resume=self._resume_permission,
            pause=PAUSE_SECONDS,
            on_early=self.typed_early,
        )
        self._ask_own(self._permission_question)

    def typed_early(self, text: str) -> None:
        """Add keys typed before the question took answers to the draft, and open the prompt again."""
        self._draft, self._permission_first = self._draft + text, ""
        self._open_prompt(self._draft)

    def _answer_permission(self, key: str) -> None:
        call = self._approval_layout.take_answered_call()
        self._open_prompt(self._draft)
        if call is not None:
            self.host.feed(events.Permitted(call.id, events.ToolLeave[_PERMISSIONS[key]]))

    def _answer_quit(self, key: str, leave: Callable[[], None]) -> None:
        self._open_prompt(self._draft)
        if key == "y":
            self.access.run(self._close_chat(leave), "leaving")
        else:
            self._ask_permission_if_idle()

    def _submit(self, text: str) -> None:
        self._draft, self._draft_aside = self._draft_aside or "", None
        self._files.count(self._draft)
        self.prompt.edit.set_text(self._draft)
        self._save_now(self._draft)
        self.send(text)
        self._ask_permission_if_idle()

    def send(self, text: str) -> None:
        """Send `text` once its files are known to be sendable; nothing if it is blank."""
        words = text.strip()
        if words:
            self._files.send(words, self._send, self._open_prompt)

    def _send(self, words: str) -> None:
        self.show_message(())
        if self._branch_node is not None:
            self.host.go_back_to(self._branch_node)
            self._branch_from(None)
        if self.host.runner is None:
            self._early_messages = (*self._early_messages, words)
            self.state.chat_signals.early.emit(len(self._early_messages))
            return
        self.state.follow_end()
        self.host.feed(events.UserSaid(words))

    def _open_prompt(self, text: str) -> None:
        self._talk_question = Question(
            _LEAD,
            self._submit,
            text=text,
            right=self._prompt_keys(),
            esc=self._esc,
            stays=True,
            on_cancel=self._stop_talking,
            on_change=self._save_draft_later,
            resume=self._resume_talk,
            on_pause=self._save_text,
        )
        self._ask_own(self._talk_question)
        self.prompt.edit.short_right, self.prompt.edit.transform_paste = self._short_hint, as_mention

    def _stop_talking(self) -> None:
        self._save_draft()
        if self._draft_aside is not None:
            self._draft, self._draft_aside = self._draft_aside, None
            self._save_now(self._draft)
        self._branch_from(None)
        self.access.soon(self._show_permission_hint)

    def _show_permission_hint(self) -> None:
        call = self.waiting_call
        if call is not None and not self.prompt.is_asking:
            message = f"{safe_text.one_line(call.name, 40)} needs your permission: "
            self.show_message(
                [Span("? ", "warn bold"), Span(message), Span("i", "accent bold"), Span(" answers", "dim")]
            )

    def send_early(self) -> None:
        """Send the messages that were typed before the model was ready."""
        early, self._early_messages = self._early_messages, ()
        for words in early:
            self.send(words)

    def append_draft(self, text: str) -> None:
        """Add `text` to the draft as a paragraph, and open the prompt."""
        self._save_draft()
        self._draft = f"{self._draft.rstrip()}\n\n{text}".lstrip() if self._draft.strip() else text
        self._open_prompt(self._draft)

    def recover_draft(self, text: str) -> None:
        """Restore a saved draft, unless something is typed already."""
        if self._draft or (self.is_talking and self.prompt.edit.text):
            return
        self._draft = text
        if self.is_talking or not self.prompt.is_asking:
            self._open_prompt(text)

    def _save_draft(self) -> None:
        if self.is_talking:
            self._save_text()

    def _save_text(self) -> None:
        self._draft = self.prompt.edit.text
        self._save_now(self._draft)
        self._files.count(self._draft)

    def _save_now(self, text: str) -> None:
        if self._draft_timer is not None:
            self._draft_timer.stop()
            self._draft_timer = None
        self.host.keep_draft(text)

    def _save_draft_later(self) -> None:
        if self._draft_timer is not None:
            self._draft_timer.stop()
        self._draft_timer = self.access.timer(_DRAFT_SAVE_SECONDS, self._save_draft)

    # The turn

    def hold(self) -> None:
        """Hold the next request, cancel that, or release the held request."""
        runner = self.host.runner
        if runner is None:
            self.show_message(
                [Span("○ ", "dim"), Span("The model is not ready, so there is no request to hold.", "dim")]
            )
            return
        self.host.feed(events.Released() if self.state.is_held else events.HoldNext())
        if self.state.is_held or not runner.state.hold:
            self.show_message(())
        elif not self.is_talking:
            self.show_message([Span("‖ ", "warn"), Span("The next request will be held before it is sent.", "dim")])
        self.refresh_keys()

    def interrupt(self) -> None:
        self.host.feed(events.Interrupted())

    def resend(self) -> None:
        """Send the context again as it is, for example after an error, or release a held request."""
        self.host.feed(events.Released())

    def leave(self) -> None:
        """Close what is open, else clear the marks, leave another pane or interrupt the turn."""
        if self.state.on.closed.emit():
            self.prompt.leave()
        elif self.state.unmark():
            return
        elif not self.panels.transcript.has_focus:
            self.prompt.leave()
        elif self.state.is_running:
            self.interrupt()
        else:
            self.prompt.leave()

    def edit_message(self) -> None:
        """Open the prompt with the message under the cursor; sending it starts a branch there."""
        node, study = self.panels.transcript.node, self.state.study
        if self._refuse_while_running() or not node or study is None:
            return
        if USER_ROW not in self.facts():
            self.show_message([Span("This is not a message of yours.", "dim")])
            return
        tree = study.session.tree
        parent = tree[node].parent
        while tree[parent].place.section == "messages" and tree[parent].place.role == tree[node].place.role:
            is_head = tree[parent].block.kind == HEADER
            parent = tree[parent].parent
            if is_head:
                break
        self._save_draft()
        if self._draft_aside is None:
            self._draft_aside = self._draft
        self.talk(read(tree[node].block).text)
        self._branch_from(parent, "starts a branch here")

    def branch_here(self) -> None:
        """Let the next message continue from the call shown, and open the prompt."""
        if self._refuse_while_running() or self.state.study is None:
            return
        calls = self.state.study.thread(self.state.thread).calls
        call = calls[min(self.state.index, len(calls) - 1)]
        if not call.id or self.state.index >= self.state.count - 1:
            self.talk()
            return
        number = self.state.index + 1
        self.talk()
        self._branch_from(call.response_head or call.raw_head, f"branch after call {number}")

    def _refuse_while_running(self) -> bool:
        """Whether a turn is running; then says so."""
        if self.state.is_running:
            self.show_message([Span("A turn is running: ", "dim"), Span("esc", "accent bold"), Span(" ends it", "dim")])
        return self.state.is_running

    def _branch_from(self, node: int | None, words: str = "") -> None:
        """Let the next message branch off at `node` (None: at the end); the prompt shows `words`."""
        self._branch_node, self._branch_hint = node, words
        self.refresh_keys()

    # Going away

    def may_quit(self, leave: Callable[[], None]) -> bool:
        """Whether the chat may be left at once; if not, asks, and calls `leave` on yes."""
        self._save_draft()
        overlay = self._edits.overlay_of(MAIN)
        staged = len(overlay.staged) if overlay is not None else 0
        if not self.state.is_running and not staged:
            return True
        question = "A turn is running. End it and leave?  " if self.state.is_running else ""
        question = question or f"{numbers.many(staged, 'staged edit')} not applied (kept for later). Leave?  "
        lead = [Span(" ? ", "warn bold"), Span(question)]
        lead += [Span("y", "accent bold"), Span(" yes  ", "dim"), Span("n", "accent bold"), Span(" no ", "dim")]
        self._ask_own(
            Question(
                lead,
                lambda key: self._answer_quit(key, leave),
                keys=("y", "n"),
                stays=True,
                on_cancel=self._stop_talking,
                resume=self._resume_talk,
            )
        )
        return False

    async def _close_chat(self, leave: Callable[[], None]) -> None:
        if self.host.runner is not None:
            await self.host.runner.close()
            await asyncio.sleep(0)
        leave()


def _describe_headroom(limits: Sequence[Headroom], now: float) -> Spans:
    """The first of `limits`, if less than half of it is left; `now` in Unix seconds."""
    if not limits or limits[0].share >= 0.5:
        return []
    tightest = limits[0]
    left = f"{tightest.what.replace('-', ' ')} {100 * tightest.share:.0f} % left"
    until = f", resets in {max(0, tightest.reset - now):.0f} s" if tightest.reset is not None else ""
    return [Span(f"{left}{until}  ", "warn" if tightest.share < 0.2 else "dim")]
