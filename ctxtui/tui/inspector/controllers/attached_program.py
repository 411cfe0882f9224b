"""Rules for holding an attached program's requests, and forking the program from a call."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import MAIN
from ctxtui.tui.commands.command import Act, Command
from ctxtui.tui.commands.situation import ATTACHED, BY_RELAY
from ctxtui.tui.inspector.controller import Controller
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.tui.lazy import later
from ctxtui.tui.widgets.prompt_line import Question
from ctxtui.views.inspector import held_lines
from ctxtui.views.text.signs import key_hint
from ctxtui.views.text.span import Span

if TYPE_CHECKING:
    from ctxtui.services.attach import held_requests, hold_rules, registry
else:
    held_requests = later("ctxtui.services.attach.held_requests")
    hold_rules = later("ctxtui.services.attach.hold_rules")
    registry = later("ctxtui.services.attach.registry")

SOURCE: Final = "attached"
"""The format of recordings of attached programs."""


NOT_ATTACHED: Final = (Span("○ ", "dim"), Span("No program is attached; `ctxtui exec -- COMMAND` attaches one.", "dim"))
_NO_FORK: Final = (
    Span("○ ", "dim"),
    Span("Only recordings of `ctxtui exec -- COMMAND` can be run again from a call; ", "dim"),
    *key_hint("f", "starts a chat"),
)


def recording(state: InspectorState) -> Path | None:
    """Return the recording shown if it is one of an attached program, else None."""
    study, loaded = state.study, state.loaded
    if study is None or loaded is None or study.session.about.source != SOURCE or not loaded.paths:
        return None
    return loaded.paths[0]


class AttachedProgramController(Controller):
    """Sets hold rules of the attached run, and copies the command that forks it from a call."""

    def facts(self) -> set[str]:
        return {BY_RELAY} if recording(self.state) is not None else set()

    # Rules

    def rules(self) -> None:
        """Ask for hold rules; the line starts with the active ones."""
        path = recording(self.state)
        if path is None:
            self.show_message(NOT_ATTACHED)
            return

        def look() -> None:
            program = held_requests.read_status(path)
            self.access.deliver(partial(self._ask, path, program.rules))

        self.access.work(look, "hold rules")

    def _ask(self, path: Path, active: tuple[str, ...]) -> None:
        if not self.prompt.is_asking:
            text, right = held_lines.rules_text(active), [Span(f"{hold_rules.RULES_SPELLED} ", "dim")]
            self.prompt.ask(Question(held_lines.RULES, partial(self._set, path), text=text, right=right))

    def _set(self, path: Path, text: str) -> None:
        def do() -> None:
            try:
                active = held_requests.set_rules(path, text)
            except CtxtuiError as error:
                self.access.deliver(partial(self.prompt.refuse, str(error)))
            else:
                self.access.deliver(partial(self.show_message, held_lines.confirm_rules(active)))

        self.access.work(do, "hold rules")

    # Forking

    def fork(self) -> None:
        """Copy the command that runs the program again, answered from the recording up to this call."""
        import shlex

        path, study = recording(self.state), self.state.study
        if path is None or study is None:
            self.show_message(_NO_FORK)
            return
        try:
            program = registry.command_of(study.session.about.client) or "COMMAND"
        except CtxtuiError as error:
            self.prompt.refuse(str(error))
            return
        thread = "" if self.state.thread == MAIN else f" --thread {shlex.quote(self.state.thread)}"
        command = f"ctxtui exec --fork {shlex.quote(path.stem)}:{self.state.index + 1}{thread} -- {program}"
        self.access.copy(command)
        self.show_message([Span("copied: ", "dim"), Span(command, "ink bold"), Span(" …", "dim")])


class HoldByRules(Command):
    """Set which requests of the attached program are held; "off" returns to those at its start.

    For example all, those over a number of tokens or dollars, cache misses, or those that match a pattern.
    """

    name, group = "hold by rules", "attached program"
    run = Act(AttachedProgramController, AttachedProgramController.rules)
    needs = frozenset({ATTACHED})


class ForkProgram(Command):
    """Copy the command that runs the program again.

    Up to the call shown it is answered from the recording.
    """

    name, group = "fork the program from here", "attached program"
    synonyms = ("again", "replay", "exec")
    run = Act(AttachedProgramController, AttachedProgramController.fork)
    needs = frozenset({BY_RELAY})


PROGRAM_KEYS: tuple[type[Command], ...] = (HoldByRules, ForkProgram)
