"""The policies, with what each would do to the context shown; Enter stages one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import ClassVar

from textual.message import Message
from textual.widget import Widget
from textual.worker import get_current_worker

from ctxtui.core.errors import BadConfig
from ctxtui.services.editing.policy_proposals import Proposals
from ctxtui.tui.commands import Act, Command
from ctxtui.tui.lists.list_screen import ListScreen
from ctxtui.tui.widgets.board import Board
from ctxtui.tui.widgets.pane import Pane
from ctxtui.tui.widgets.prompt_line import Question
from ctxtui.views.lists import policies
from ctxtui.views.lists.policies import Proposed
from ctxtui.views.text.signs import failed
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.sums import ROW
from ctxtui.views.text.table import Table


class StagePolicy(Command):
    """Stage the edits of this policy as one action, under its name; where they stand already, take them back. It never
    changes what you pinned, nor does again what you took back."""

    name, keys, label, group = "stage policy", ("enter",), "stage or take back", "policies"
    run = Act(lambda: PoliciesScreen, lambda screen: screen.take())


class SetPolicy(Command):
    """Set the policy under the cursor otherwise: `n=5`, `exclude=Read,Bash`. What it would do is worked out anew; an
    empty line stands for its defaults."""

    name, keys, label, group = "settings of policy", ("i",), "settings", "policies"
    run = Act(lambda: PoliciesScreen, lambda screen: screen.type_settings())


class PolicyWorked(Message):
    """Row `index` is worked out."""

    def __init__(self, index: int, row: Proposed) -> None:
        super().__init__()
        self.index = index
        self.row = row


class AboutBoard(Board):
    """What the policy under the cursor does, and how it is set."""

    row: Proposed | None = None

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        """In words."""
        return policies.details(self.row, width, height) if self.row is not None else ()


class PoliciesScreen(ListScreen[Proposed, Proposed]):
    """Lists what `proposals` works out, row by row, in a worker. Closes with the row whose edits are to be staged, or
    taken back where it has no new ones."""

    commands: ClassVar[tuple[type[Command], ...]] = (StagePolicy, SetPolicy)
    heading, none = "policies", "There are no policies."
    DEFAULT_CSS = """
    PoliciesScreen #policies { height: 1fr; }
    PoliciesScreen #about { height: 5; }
    """

    def __init__(self, proposals: Proposals) -> None:
        self._proposals = proposals
        self._rows = proposals.empty
        self.about = AboutBoard(title="what it does", id="about")
        super().__init__()

    def below(self) -> Iterable[Widget]:
        """What one does."""
        yield self.about

    def begin(self) -> None:
        """Every policy is named at once, and worked out row by row."""
        self.show(self.load())
        self.run_worker(self._work, thread=True, exclusive=True)

    def load(self) -> Sequence[Proposed]:
        """What is known of them."""
        return policies.sort_policies(self._rows)

    def _work(self) -> None:
        worker = get_current_worker()
        for index, row in enumerate(self._proposals.rows()):
            if worker.is_cancelled:
                return
            self.post_message(PolicyWorked(index, row))

    def table(self, rows: Sequence[Proposed]) -> Table[Proposed]:
        """What each would do."""
        return policies.TABLE

    def noted(self, rows: Sequence[Proposed]) -> Spans:
        """How many are worked out."""
        return policies.notes(rows)

    def sums_of_rule(self) -> Mapping[str, str]:
        """How many can do something."""
        return {ROW: policies.explain_notes(self.rows)}

    def on_policy_worked(self, message: PolicyWorked) -> None:
        """One more is known."""
        if message.row.settings == self._proposals.empty[message.index].settings:
            self._rows[message.index] = message.row
            self.show(self.load())

    def show(self, what: Sequence[Proposed]) -> None:
        """The rows, and what is said of the one under the cursor, which stays on its policy when they are ordered."""
        before = self.pane.row
        super().show(what)
        if before is not None and self.pane.row is not None and self.pane.row.name != before.name and not self.order:
            self.draw_rows(next(n for n, row in enumerate(what) if row.name == before.name))
        self._tell()

    def on_pane_moved(self, message: Pane.Moved) -> None:
        """Another one is under the cursor."""
        self._tell()

    def _tell(self) -> None:
        self.about.row = self.pane.row
        self.about.redraw()

    def type_settings(self) -> None:
        """Type other settings."""
        row = self.pane.row
        if row is not None and row.settings:
            lead = [Span(f" {row.name} › ", "accent bold")]
            self.prompt.ask(Question(lead, partial(self._set, row.name), text=policies.format_settings(row)))

    def _set(self, name: str, text: str) -> None:
        """Work it out anew."""
        index = next(n for n, one in enumerate(self._rows) if one.name == name)
        try:
            self._proposals.set(index, text)
        except BadConfig as error:
            self.said.say(failed(error))
            return
        self._rows[index] = self._proposals.empty[index]
        self.show(self.load())
        self.run_worker(lambda: self.post_message(PolicyWorked(index, self._proposals.row(index))), thread=True)

    def choose(self, row: Proposed) -> Proposed | None:
        """A row that has something to stage or to take back."""
        return row if not row.why and (row.has_gain or row.stands) else None
