"""The policies, and the effect of each on the context shown; Enter stages one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import ClassVar

from textual.message import Message
from textual.widget import Widget
from textual.worker import get_current_worker

from ctxtui.core.errors import BadConfig
from ctxtui.services.editing.policy_proposals import Proposals
from ctxtui.services.worker import end_when_closed
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
    """Stage the edits of this policy as one action under its name; again: take them back."""

    name, keys, label, group = "stage policy", ("enter",), "stage or take back", "policies"
    run = Act(lambda: PoliciesScreen, lambda screen: screen.accept())


class SetPolicy(Command):
    """Change the settings of the policy under the cursor: `n=5`, `exclude=Read,Bash`.

    Empty: the defaults.
    """

    name, keys, label, group = "settings of policy", ("i",), "settings", "policies"
    run = Act(lambda: PoliciesScreen, lambda screen: screen.type_settings())


class PolicyComputed(Message):
    """Row `index` is computed."""

    def __init__(self, index: int, row: Proposed) -> None:
        super().__init__()
        self.index = index
        self.row = row


class AboutBoard(Board):
    """Description and settings of the policy under the cursor."""

    row: Proposed | None = None

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        return policies.details(self.row, width, height) if self.row is not None else ()


class PoliciesScreen(ListScreen[Proposed, Proposed]):
    """Lists the effects that `proposals` computes, row by row.

    It closes with the row to stage or take back.
    """

    commands: ClassVar[tuple[type[Command], ...]] = (StagePolicy, SetPolicy)
    heading, empty_text = "policies", "There are no policies."
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
        yield self.about

    def begin(self) -> None:
        self.show(self.load())
        self.run_worker(end_when_closed(self._compute_rows), thread=True, exclusive=True)

    def load(self) -> Sequence[Proposed]:
        return policies.sort_policies(self._rows)

    def _compute_rows(self) -> None:
        worker = get_current_worker()
        for index, row in enumerate(self._proposals.rows()):
            if worker.is_cancelled:
                return
            self.post_message(PolicyComputed(index, row))

    def table(self, rows: Sequence[Proposed]) -> Table[Proposed]:
        return policies.TABLE

    def rule_notes(self, rows: Sequence[Proposed]) -> Spans:
        return policies.notes(rows)

    def sums_of_rule(self) -> Mapping[str, str]:
        return {ROW: policies.explain_notes(self.rows)}

    def on_policy_computed(self, message: PolicyComputed) -> None:
        """Show a computed row, unless its settings were changed meanwhile."""
        if message.row.settings == self._proposals.empty[message.index].settings:
            self._rows[message.index] = message.row
            self.show(self.load())

    def show(self, rows: Sequence[Proposed]) -> None:
        """Show rows and description; the cursor stays on its policy when rows are sorted."""
        previous = self.pane.row
        super().show(rows)
        if (
            previous is not None
            and self.pane.row is not None
            and self.pane.row.name != previous.name
            and not self.order
        ):
            self.draw_rows(next(n for n, row in enumerate(rows) if row.name == previous.name))
        self._show_about()

    def on_pane_moved(self, message: Pane.Moved) -> None:
        self._show_about()

    def _show_about(self) -> None:
        self.about.row = self.pane.row
        self.about.redraw()

    def type_settings(self) -> None:
        row = self.pane.row
        if row is not None and row.settings:
            lead = [Span(f" {row.name} › ", "accent bold")]
            self.prompt.ask(Question(lead, partial(self._set, row.name), text=policies.format_settings(row)))

    def _set(self, name: str, text: str) -> None:
        index = next(n for n, row in enumerate(self._rows) if row.name == name)
        try:
            self._proposals.set(index, text)
        except BadConfig as error:
            self.show_message(failed(error))
            return
        self._rows[index] = self._proposals.empty[index]
        self.show(self.load())
        job = end_when_closed(lambda: self.post_message(PolicyComputed(index, self._proposals.row(index))))
        self.run_worker(job, thread=True)

    def choose(self, row: Proposed) -> Proposed | None:
        return row if not row.why and (row.has_gain or row.active_ids) else None
