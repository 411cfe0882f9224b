"""Policies in the Inspector: what each would do here, and staging what one proposes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ctxtui.core.edit import Edit
from ctxtui.core.session import MAIN
from ctxtui.services.worker import Worker
from ctxtui.tui.commands.command import Act, Command
from ctxtui.tui.commands.situation import CALLS, EDITS
from ctxtui.tui.inspector.context_edits import EditController
from ctxtui.tui.messages import Open
from ctxtui.views.model.scene import Scene
from ctxtui.views.text.span import Span

if TYPE_CHECKING:
    from ctxtui.analysis.findings.priced import PricedFinding
    from ctxtui.curation.price.advice import Advice
    from ctxtui.services.editing.policy_proposals import Proposals
    from ctxtui.views.lists.policies import Proposed


class PoliciesController(EditController):
    """Lists what policies propose."""

    def policies(self) -> None:
        """The list; what is chosen there is staged under the policy's name, and only staged."""
        scene, desk = self.panels.scene, self.edits.desk
        if scene is None or desk is None or not self.edits.ready(counted=True):
            return
        from ctxtui.services.editing.policy_proposals import Proposals
        from ctxtui.tui.lists.policies import PoliciesScreen

        proposals = Proposals(desk, scene, lambda: desk.next_call(scene, self.state.feed.want, live=self.state.live))

        def take(row: Proposed | None) -> None:
            if row is not None and row.edits:
                self._stage(proposals, scene.thread, row.edits)
            elif row is not None:
                self._take_back(row)

        self.access.push(PoliciesScreen(proposals), take)

    def advice(self) -> None:
        """What would help from here on; what is chosen there is staged, and only staged."""
        scene, desk, loaded = self.panels.scene, self.edits.desk, self.state.loaded
        if scene is None or desk is None or loaded is None or not self.edits.ready(counted=True):
            return
        from ctxtui.services.editing.policy_proposals import Proposals
        from ctxtui.tui.lists.advice import AdviceScreen
        from ctxtui.views.lists.advice import command, place_options

        proposals = Proposals(desk, scene, lambda: desk.next_call(scene, self.state.feed.want, live=self.state.live))
        horizon = self.state.source.settings.horizon

        def found(stopped: Callable[[], bool]) -> list[Advice]:
            def over() -> bool:
                self.state.feed.wait_for_keys()
                return stopped()

            return proposals.advice(horizon, over)

        def take(row: Advice | None) -> None:
            if row is not None:
                self._stage(proposals, scene.thread, row.edits)

        place = place_options(self.state.index + 1, len(scene.calls), scene.thread)
        name = str(loaded.path or loaded.name)
        self.access.push(AdviceScreen(found, lambda one: command(one, name, place)), take)

    def findings(self) -> None:
        """What is the case in this thread and what cures it; what is chosen there is staged, and only staged."""
        scene, desk, loaded = self.panels.scene, self.edits.desk, self.state.loaded
        if scene is None or desk is None or loaded is None or not self.edits.ready(counted=True):
            return
        from ctxtui.services.workers.session_report import findings_report
        from ctxtui.tui.lists.findings import FindingsScreen

        overlay = self.edits.overlay
        kind = findings_report(scene.thread or MAIN, self.state.index + 1, overlay.log if overlay is not None else ())

        def take(rows: Sequence[PricedFinding] | None) -> None:
            made = {edit.id: edit for row in rows or () for edit in row.stages}
            if made:
                self._stage_made(scene, tuple(made.values()))

        self.access.push(FindingsScreen(lambda: self.state.reported(kind), str(loaded.path or loaded.name)), take)

    def lab(self) -> None:
        """The session under other policies, caches and models; what is chosen there is opened, or staged."""
        scene, loaded = self.panels.scene, self.state.loaded
        if scene is None or loaded is None:
            return
        if self.state.source.name == "-":
            self.say([Span("what came from standard input is not read again: ctxtui lab - tries it", "warn")])
            return
        from ctxtui.services.workers.lab_worker import OpenLab
        from ctxtui.tui.lists.lab import OPEN, PLACE, LabScreen, LabWish

        def take(wish: LabWish | None) -> None:
            if wish is None:
                return
            if wish.kind == PLACE:
                self._place(scene, wish.cache)
            elif wish.kind == OPEN:
                self.access.post(Open(wish.path, note=wish.note))
            elif wish.row is not None and self.edits.ready():
                made = wish.row.edits.get(scene.thread or MAIN, ())
                if made:
                    self._stage_made(scene, tuple(made))
                else:
                    self.say([Span(f"{wish.row.policy} made no edits in this thread", "dim")])

        source = self.state.source
        self.access.push(LabScreen(Worker(OpenLab, source.name, Path.cwd(), source.settings)), take)

    def _place(self, scene: Scene, cache: str) -> None:
        """Stage the breakpoints that the strategy `cache` sets in the next request."""
        from ctxtui.services.lab.breakpoints import placed_breakpoints

        if not self.edits.ready() or self.state.study is None:
            return
        made = placed_breakpoints(self.edits.context_of(scene), scene.call, self.state.study.book, cache)
        if made:
            self.edits.stage(made)
        else:
            self.say([Span(f"{cache} sets no breakpoint here: its provider takes none, or there is no place", "dim")])

    def _stage_made(self, scene: Scene, edits: tuple[Edit, ...]) -> None:
        """Stage `edits` of the context shown; what they put outside is kept with them."""
        from ctxtui.curation.apply.references import externalized_content

        assert self.edits.desk is not None
        for name, text in externalized_content(self.edits.context_of(scene), edits).items():
            self.edits.desk.keep(scene.thread)(name, text.encode("utf-8", "replace"))
        self.edits.stage(edits)

    def _stage(self, proposals: Proposals, thread: str, edits: tuple[Edit, ...]) -> None:
        """Stage `edits`; what they put outside is kept with them."""
        assert self.edits.desk is not None
        for name, text in proposals.artifacts(edits).items():
            self.edits.desk.keep(thread)(name, text.encode("utf-8", "replace"))
        self.edits.stage(edits)

    def _take_back(self, row: Proposed) -> None:
        """Its edits no longer stand, and it does not make them again: the user's word counts."""
        if self.edits.overlay is not None:
            self.edits.overlay.revert(row.stands)
            self.say([Span(f"the edits of {row.name} are taken back; u brings them back", "ink")])
            self.edits.changed()


class Policies(Command):
    """Policies, with what each would do to this context: its edits, the tokens that it frees, the price at the cheapest
    moment. Enter stages one; nothing leaves before you apply it."""

    name, keys, label, group = "policies", ("L",), "policies", "editing the context"
    sought = ("stale", "old", "automatic", "rules")
    run = Act(PoliciesController, PoliciesController.policies)
    needs = frozenset({EDITS})


class AdviceList(Command):
    """What would help from here on: every policy and every two of them, ranked by what they risk, then by what they
    save over the next calls. What is quoted later stays. Enter stages one; nothing leaves before you apply it."""

    name, keys, label, group = "what would help (advice)", ("H",), "advice", "editing the context"
    sought = ("save", "stale", "cheaper", "recommend")
    run = Act(PoliciesController, PoliciesController.advice)
    needs = frozenset({EDITS})


class OpenLab(Command):
    """The lab: this session, call by call, under other policies, cache strategies and models, without a model call:
    contexts, cost, and what each would have risked. Enter opens a variant as a session, `a` stages its edits."""

    name, keys, shown, label, group = "lab: what if", ("percent_sign",), "%", "lab", "lists"
    sought = ("compare", "policies", "cheaper", "replay", "try", "model")
    run = Act(PoliciesController, PoliciesController.lab)
    needs = frozenset({CALLS})


class FindingsList(Command):
    """What is the case in this thread up to this call, and what cures it: tools that were never called, results that
    nobody quoted, files read twice, a prefix that keeps changing; ranked by what the cure saves. Enter stages it."""

    name, keys, label, group = "findings", ("exclamation_mark",), "findings", "editing the context"
    sought = ("save", "waste", "unused", "duplicates", "cheaper", "report")
    run = Act(PoliciesController, PoliciesController.findings)
    needs = frozenset({EDITS})
