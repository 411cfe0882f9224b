"""Phases in the Inspector: their table, and naming one at the call shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxtui.analysis.growth.phases import NAMED
from ctxtui.tui.screens.inspector_notes import Noting
from ctxtui.views.text.span import Span

if TYPE_CHECKING:
    from ctxtui.analysis.growth.phases import Phase
    from ctxtui.core.call import Call


class Phasing(Noting):
    """The part of the Inspector that shows phases; a note on a call that begins with ``phase:`` names one."""

    def action_phases(self) -> None:
        """The table of phases."""
        from ctxtui.tui.screens.phases import NAME, PhasesScreen

        if self.study is None or not self.count:
            return

        def go(number: int | None) -> None:
            if number == NAME:
                self.action_name_phase()
            elif number is not None:
                self.go(number - 1)

        self.app.push_screen(PhasesScreen(self._phases, self.index + 1), go)

    def action_name_phase(self) -> None:
        """Ask for the name of the phase that begins with the call shown."""
        note = self._of_call()
        if note is not None:
            self._writing = note
            self.ask([Span(" ✎ ", "accent bold")], note.text or f"{NAMED} ")

    def _phases(self) -> list[Phase]:
        """Worked out in a worker. Raises `BadPattern`."""
        from ctxtui.analysis.figures import figures
        from ctxtui.analysis.growth.phases import phases
        from ctxtui.services.study.phase_rules import begun

        study, known = self.study, self.study.thread(self.thread) if self.study is not None else None
        if study is None or known is None:
            return []
        calls, costs, book = list(known.calls), study.costs, study.book

        def tokens(call: Call) -> int:
            return call.usage.input if call.usage is not None else figures(book, call).context_tokens

        def cost(call: Call) -> tuple[float | None, bool]:
            if call.usage is None or call.usage.cost is not None:
                return (call.usage.cost if call.usage else 0.0), True
            found = costs.get(call.id)
            return (found.usd if found is not None else None), call.id in costs

        return phases(calls, begun(study.session, calls, self.source.phase_rule, self._kept), tokens, cost)
