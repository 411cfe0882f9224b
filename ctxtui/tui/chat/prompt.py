"""The part of a chat's screen in which one talks: the prompt, leave for tools, holding, interrupting, going away."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from textual.timer import Timer

from ctxtui.agent import events as ev
from ctxtui.agent.events import ToolCall
from ctxtui.core.block import HEADER
from ctxtui.core.block_content import read
from ctxtui.tui.chat.approval import Approval
from ctxtui.tui.chat.approvals import Approvals
from ctxtui.tui.chat.message_files import MessageFiles, as_mention
from ctxtui.tui.chat.state import ChatController, ChatState
from ctxtui.tui.commands.situation import PERMISSION, QUESTION, TALKING, USER_ROW
from ctxtui.tui.inspector.context_edits import ContextEdits
from ctxtui.tui.inspector.controller import ScreenAccess
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.widgets.prompt_line import Question
from ctxtui.views.inspector.header import headroom
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span, Spans

_LEAD: Spans = [Span(" › ", "accent bold")]
HINT: Spans = [Span("i ", "accent bold"), Span("say something", "faint")]
_DRAFT = 0.7
"""Seconds after the last key until the draft is kept."""
_LEAVES = {"y": "ONCE", "a": "SESSION", "n": "NOT_NOW", "N": "NEVER"}
_ANSWERS = {"y": "once", "a": "always", "n": "no", "N": "never"}
PAUSE = 0.7
"""Seconds for which a question for leave must have been readable, with nothing typed, before a key answers it."""


class TalkController(ChatController):
    """Takes what the user says. `edits` are those of the context, which stay when the chat is left."""

    def __init__(self, state: ChatState, prompt: SessionPrompt, access: ScreenAccess, edits: ContextEdits) -> None:
        super().__init__(state, prompt, access)
        self._edits = edits
        self._talk: Question | None = None
        self._own: Question | None = None
        """What was asked here last: to talk, for leave, whether to quit."""
        self._leave: Question | None = None
        """The last question for leave."""
        self._leave_first = ""
        """The id of the call that is asked about although something was typed."""
        self._files = MessageFiles(self.host, access, self.refresh_keys)
        self._approvals = Approvals(self.host, access, self._approval_made)
        self._early: tuple[str, ...] = ()
        self._edited: int | None = None
        """The node at which what is said next branches off; None: at the end."""
        self._branch = ""
        """What the prompt's line says of that."""
        self._draft_timer: Timer | None = None
        self._draft = ""
        self._aside = ""
        """The draft that waits while an earlier message is edited."""
        state.on.complete.subscribe(self.talk)
        state.tells.leave.subscribe(self._leave_wanted)

    def facts(self) -> set[str]:
        """One question at a time: the answer to the one is never taken for that to another."""
        own = self.prompt.question is self._own
        found = {TALKING if own else QUESTION} if self.prompt.asking else set()
        transcript = self.panels.transcript
        on_user_row = (
            transcript.data is not None and transcript.row_count and transcript.data.is_user_row(transcript.cursor)
        )
        waits = self.waiting_for_leave is not None
        return found | ({USER_ROW} if on_user_row else set()) | ({PERMISSION} if waits else set())

    @property
    def waiting_for_leave(self) -> ToolCall | None:
        """The first call that waits for the user."""
        return self._approvals.waiting

    def talk(self, text: str = "") -> None:
        """Talk; or answer for a tool that waits."""
        if self.waiting_for_leave is not None:
            self._ask_leave()
            return
        self._keep_draft()
        self._talk_on(text or self._draft)

    @property
    def talking(self) -> bool:
        """Whether the prompt takes what is said."""
        return self.prompt.question is not None and self.prompt.question is self._talk

    def _ask_own(self, question: Question) -> None:
        """One of the questions that wait while another part of the screen asks something, and are asked again."""
        self._own = question
        self.prompt.ask(question)

    def _back_to_talk(self) -> None:
        self._talk_on(self._draft)
        self._leave_wanted()

    def _back_to_leave(self) -> None:
        self._talk_on(self._draft)
        self._ask_leave()

    def _prompt_keys(self) -> Spans:
        hold = self.host.runner is not None and self.host.runner.state.hold
        waits = self.state.status == "held"
        held = [Span("held next ", "warn")] if hold and not waits else []
        branch = [Span(f"{self._branch} ", "warn")] if self._branch else []
        return [
            *self._files.words,
            *branch,
            *headroom(self.host.headroom, time.time()),
            *held,
            *self._permission_words,
        ]

    @property
    def _permission_words(self) -> Spans:
        """What stands in the prompt while a tool waits and something is typed: which tool it is; `esc` asks."""
        call = self.waiting_for_leave
        if call is None:
            return []
        told = f"{safe_text.one_line(call.name, 40)} needs your permission: "
        return [Span(told, "warn"), Span("esc", "accent bold"), Span(" answers ", "dim")]

    def refresh_keys(self) -> None:
        """What stands at the end of the line is something else: the files of the message, whether it is held."""
        if self._talk is not None and self.talking:
            self.prompt.edit.right, self.prompt.edit.brief = self._prompt_keys(), self._brief
            self._talk.esc = self._esc
            self.prompt.edit.refresh()

    @property
    def _brief(self) -> Spans:
        return self._permission_words or self._files.words

    @property
    def _esc(self) -> str:
        return "answer" if self.waiting_for_leave is not None else "look round"

    def paste_image(self) -> None:
        """Put the image that is in the clipboard into the message."""
        if not self.talking:
            self.talk()
        self._files.paste_image(self.prompt.edit.insert, self.prompt.refuse)

    def _leave_wanted(self) -> None:
        """A tool waits: ask at once, unless something is being typed or asked."""
        call = self.waiting_for_leave
        first = call is not None and call.id == self._leave_first
        if not self.prompt.asking or (self.talking and (first or not self.prompt.edit.buffer.size)):
            self._ask_leave()
        self.refresh_keys()

    def asks_leave(self) -> bool:
        """Whether a tool waits that is asked about now: what is typed waits meanwhile."""
        call = self.waiting_for_leave
        if call is None:
            return False
        self._leave_first = call.id
        self._ask_leave()
        return True

    @property
    def asked_for(self) -> Approval | None:
        """What leave is asked for now."""
        return self._approvals.shown if self.prompt.question is self._leave else None

    def _ask_leave(self) -> None:
        """Ask for leave to run the first tool that waits, as soon as what it would write can be shown."""
        shown = self._approvals.shown
        if shown is not None and self._approvals.fits:
            self._ask_leave_for(shown)
        else:
            self._approvals.lay_out()

    def lay_out(self) -> None:
        """The screen has another width: what is asked for is laid out anew."""
        if self.asked_for is not None:
            self._approvals.lay_out()

    def _approval_made(self) -> None:
        if self.prompt.question is self._leave and self._leave is not None:
            self.access.replan()
        else:
            self._leave_wanted()

    def _ask_leave_for(self, made: Approval) -> None:
        answers = {key: words for key, words in _ANSWERS.items() if not (made.guard and _LEAVES[key] == "SESSION")}
        lead = [Span(" ? ", "warn bold"), Span("run it?  " if made.runs else "write it?  ")]
        for key, words in answers.items():
            lead += [Span(key, "accent bold"), Span(f" {words}  ", "dim")]
        self._keep_draft()
        self._leave = Question(
            lead,
            self._answer_leave,
            keys=tuple(answers),
            right=[Span("↑↓ ", "accent bold"), Span("read on ", "dim")],
            esc="later",
            stays=True,
            on_cancel=self._stop_talking,
            resume=self._back_to_leave,
            pause=PAUSE,
            on_early=self.typed_early,
        )
        self._ask_own(self._leave)

    def typed_early(self, text: str) -> None:
        """What was being typed when the question came goes on in the prompt; the question waits."""
        self._draft, self._leave_first = self._draft + text, ""
        self._talk_on(self._draft)

    def _answer_leave(self, key: str) -> None:
        call = self._approvals.answered()
        self._talk_on(self._draft)
        if call is not None:
            self.host.feed(ev.Permitted(call.id, ev.ToolLeave[_LEAVES[key]]))

    def _answer_quit(self, key: str, leave: Callable[[], None]) -> None:
        self._talk_on(self._draft)
        if key == "y":
            self.access.run(self._leave_for_good(leave), "leaving")
        else:
            self._leave_wanted()

    def _said(self, text: str) -> None:
        """What was typed is said."""
        self._draft, self._aside = self._aside, ""
        self._files.look(self._draft)
        self.prompt.edit.set_text(self._draft)
        self._keep_now(self._draft)
        self.tell(text)
        self._leave_wanted()

    def tell(self, text: str) -> None:
        """Say `text` to the partner, once it is known that the files which it names can be sent."""
        words = text.strip()
        if words:
            self._files.send(words, self._tell, self._talk_on)

    def _tell(self, words: str) -> None:
        self.say(())
        if self._edited is not None:
            self.host.go_back_to(self._edited)
            self._go_on_from(None)
        if self.host.runner is None:
            self._early = (*self._early, words)
            self.state.tells.early.emit(len(self._early))
            return
        self.state.go_along()
        self.host.feed(ev.UserSaid(words))

    def _talk_on(self, text: str) -> None:
        self._talk = Question(
            _LEAD,
            self._said,
            text=text,
            right=self._prompt_keys(),
            esc=self._esc,
            stays=True,
            on_cancel=self._stop_talking,
            on_change=self._typed,
            resume=self._back_to_talk,
            on_pause=self._keep_text,
        )
        self._ask_own(self._talk)
        self.prompt.edit.brief, self.prompt.edit.pasted = self._brief, as_mention

    def _stop_talking(self) -> None:
        """`esc` closes the prompt; what was typed stays for later."""
        self._keep_draft()
        if self._aside:
            self._draft, self._aside = self._aside, ""
            self._keep_now(self._draft)
        self._go_on_from(None)
        self.access.soon(self._tell_permission)

    def _tell_permission(self) -> None:
        """In the panes: a tool waits, and `i` answers."""
        call = self.waiting_for_leave
        if call is not None and not self.prompt.asking:
            told = f"{safe_text.one_line(call.name, 40)} needs your permission: "
            self.say([Span("? ", "warn bold"), Span(told), Span("i", "accent bold"), Span(" answers", "dim")])

    def tell_early(self) -> None:
        """Say what was said before there was anyone to hear it."""
        early, self._early = self._early, ()
        for words in early:
            self.tell(words)

    def put(self, text: str) -> None:
        """Put `text` into the prompt, behind what was typed."""
        self._keep_draft()
        self._draft = f"{self._draft.rstrip()}\n\n{text}".lstrip() if self._draft.strip() else text
        self._talk_on(self._draft)

    def recover_draft(self, text: str) -> None:
        """Offer what stood in the prompt when the chat ended, unless something was typed already."""
        if self._draft or (self.talking and self.prompt.edit.text):
            return
        self._draft = text
        if self.talking or not self.prompt.asking:
            self._talk_on(text)

    def _keep_draft(self) -> None:
        if self.talking:
            self._keep_text()

    def _keep_text(self) -> None:
        self._draft = self.prompt.edit.text
        self._keep_now(self._draft)
        self._files.look(self._draft)

    def _keep_now(self, text: str) -> None:
        if self._draft_timer is not None:
            self._draft_timer.stop()
            self._draft_timer = None
        self.host.keep_draft(text)

    def _typed(self) -> None:
        """What is being typed is kept when the keys rest: not before, it may be long."""
        if self._draft_timer is not None:
            self._draft_timer.stop()
        self._draft_timer = self.access.timer(_DRAFT, self._keep_draft)

    # The turn

    def hold(self) -> None:
        """Hold the next request, or release the one that is held."""
        runner = self.host.runner
        if runner is None:
            self.say([Span("○ ", "dim"), Span("there is nobody to hold a request for yet", "dim")])
            return
        self.host.feed(ev.Released() if self.state.status == "held" else ev.HoldNext())
        if self.state.status == "held" or not runner.state.hold:
            self.say(())
        elif not self.talking:
            self.say([Span("‖ ", "warn"), Span("the next request is held before it is sent", "dim")])
        self.refresh_keys()

    def interrupt(self) -> None:
        """End the turn."""
        self.host.feed(ev.Interrupted())

    def resend(self) -> None:
        """The context once more."""
        self.host.feed(ev.Released())

    def leave(self) -> None:
        """`esc` outside the prompt closes one thing, in this order: a search, marks, another pane; with nothing open it
        interrupts what runs. It never discards staged edits."""
        if self.state.on.closed.emit():
            self.prompt.leave()
        elif self.state.unmark():
            return
        elif not self.panels.transcript.has_focus:
            self.prompt.leave()
        elif self.state.running:
            self.interrupt()
        else:
            self.prompt.leave()

    def edit_message(self) -> None:
        """The user's message under the cursor, to be sent anew."""
        node, study = self.panels.transcript.node, self.state.study
        if not node or study is None or self.state.running:
            return
        tree = study.session.tree
        before = tree[node].parent
        while tree[before].place.section == "messages" and tree[before].place.role == tree[node].place.role:
            is_head = tree[before].block.kind == HEADER
            before = tree[before].parent
            if is_head:
                break
        self._keep_draft()
        if self._edited is None:
            self._aside = self._draft
        self.talk(read(tree[node].block).text)
        self._go_on_from(before, "sent anew as a branch")

    def branch_here(self) -> None:
        """What is said next goes on from the call shown: a branch of this chat."""
        if self.state.study is None or self.state.running:
            return
        calls = self.state.study.thread(self.state.thread).calls
        call = calls[min(self.state.index, len(calls) - 1)]
        if not call.id or self.state.index >= self.state.count - 1:
            self.talk()
            return
        number = self.state.index + 1
        self.talk()
        self._go_on_from(call.response_head or call.raw_head, f"a branch after call {number}")

    def _go_on_from(self, node: int | None, words: str = "") -> None:
        """What is said next branches off at `node` (None: it goes on at the end); the prompt's line says so."""
        self._edited, self._branch = node, words
        self.refresh_keys()

    # Going away

    def may_quit(self, leave: Callable[[], None]) -> bool:
        """Whether the chat may be left at once; asks otherwise, and calls `leave` where the answer is yes."""
        self._keep_draft()
        staged = len(self._edits.overlay.staged) if self._edits.overlay is not None else 0
        if not self.state.running and not staged:
            return True
        what = "a turn runs: end it and leave?  " if self.state.running else ""
        what = what or f"{staged} staged edit{'s are' if staged > 1 else ' is'} not applied and kept: leave?  "
        lead = [Span(" ? ", "warn bold"), Span(what)]
        lead += [Span("y", "accent bold"), Span(" yes  ", "dim"), Span("n", "accent bold"), Span(" no ", "dim")]
        self._ask_own(
            Question(
                lead,
                lambda key: self._answer_quit(key, leave),
                keys=("y", "n"),
                stays=True,
                on_cancel=self._stop_talking,
                resume=self._back_to_talk,
            )
        )
        return False

    async def _leave_for_good(self, leave: Callable[[], None]) -> None:
        if self.host.runner is not None:
            await self.host.runner.close()
            await asyncio.sleep(0)
        leave()
