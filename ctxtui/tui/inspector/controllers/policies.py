"""Advice, policies and the lab in the inspector, and staging their edits."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
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
    from ctxtui.analysis.findings.priced import Findings
    from ctxtui.curation.price.advice import Advice
    from ctxtui.services.editing.policy_proposals import Proposals
    from ctxtui.tui.dialog import Dialog
    from ctxtui.views.lists.policies import Proposed
    from ctxtui.views.lists.suggestions import ChangedBlock


class PoliciesController(EditController):
    """Lists proposals of findings and policies."""

    def policies(self) -> None:
        """Show all policies; the chosen one's edits are staged, or taken back if none are new."""
        scene = self._require_editable()
        if scene is not None:
            proposals = self._proposals(scene)
            self.access.push(self._policies(proposals), partial(self._stage_or_take_back, scene))

    def advice(self) -> None:
        """Show the advice; the chosen edits are staged."""
        scene, area, loaded = self._require_editable(), self.edits.staging_area, self.state.loaded
        if scene is None or area is None or loaded is None:
            return
        from ctxtui.analysis.findings.suggestions import Suggestion, list_suggestions
        from ctxtui.services.workers.session_report import findings_report
        from ctxtui.tui.lists.advice import AdviceScreen, AdviceSource, Stopped
        from ctxtui.views.lists.advice import place_options
        from ctxtui.views.lists.suggestions import changed_blocks

        proposals, overlay, horizon = self._proposals(scene), self.edits.overlay, self.state.source.settings.horizon
        kind = findings_report(scene.thread or MAIN, self.state.index + 1, overlay.log if overlay is not None else ())

        def advice(stopped: Stopped) -> list[Advice]:
            def over() -> bool:
                self.state.loader.wait_for_keys()
                return stopped()

            return proposals.advice(horizon, over)

        def rank(findings: Findings | None, priced: Sequence[Advice]) -> list[Suggestion]:
            staging = area.staging(scene)
            staged = staging.freed if staging.edits else 0
            return list_suggestions(
                self.edits.context_of(scene), findings.priced if findings is not None else (), priced, staged
            )

        def list_changed(edits: Sequence[Edit]) -> list[ChangedBlock]:
            changed = changed_blocks(area.staging(scene), area.staging_with(scene, edits))
            if any(row.after is None for row in changed):
                self.state.loader.work()
            return changed

        def stage_choice(chosen: Sequence[Edit] | Proposed | None) -> None:
            if isinstance(chosen, Sequence):
                self._stage_edits(scene, tuple(chosen))
            else:
                self._stage_or_take_back(scene, chosen)

        source = AdviceSource(
            name=str(loaded.path or loaded.name),
            place=place_options(self.state.index + 1, len(scene.calls), scene.thread),
            findings=lambda: self.state.report(kind),
            advice=advice,
            rank=rank,
            changed=list_changed,
            preview=self.state.preview,
            policies=lambda: self._policies(proposals),
        )
        self.access.push(AdviceScreen(source), stage_choice)

    def _require_editable(self) -> Scene | None:
        """Return the scene if it can be edited and is counted, else None with a message."""
        scene, area = self.panels.scene, self.edits.staging_area
        return scene if scene is not None and area is not None and self.edits.check_ready(counted=True) else None

    def _proposals(self, scene: Scene) -> Proposals:
        from ctxtui.services.editing.policy_proposals import Proposals

        area = self.edits.staging_area
        assert area is not None
        return Proposals(
            area, scene, lambda: area.next_call(scene, self.state.loader.request_load, live=self.state.live)
        )

    def _policies(self, proposals: Proposals) -> Dialog[Proposed]:
        from ctxtui.tui.lists.policies import PoliciesScreen

        return PoliciesScreen(proposals)

    def _stage_or_take_back(self, scene: Scene, row: Proposed | None) -> None:
        if row is not None and row.edits:
            self._stage_edits(scene, row.edits)
        elif row is not None:
            self._take_back(row)

    def lab(self) -> None:
        """Open the lab; then open the variant chosen there, or stage its edits or breakpoints."""
        scene, loaded = self.panels.scene, self.state.loaded
        if scene is None or loaded is None:
            return
        if self.state.source.name == "-":
            self.show_message([Span("Standard input cannot be read again; use `ctxtui lab -` instead.", "warn")])
            return
        from ctxtui.services.workers.lab_worker import OpenLab
        from ctxtui.tui.lists.lab import OPEN, PLACE, LabAction, LabScreen

        def run(action: LabAction | None) -> None:
            if action is None:
                return
            if action.kind == PLACE:
                self._place(scene, action.cache)
            elif action.kind == OPEN:
                self.access.post(Open(action.path, note=action.note))
            elif action.row is not None and self.edits.check_ready():
                edits = action.row.edits.get(scene.thread or MAIN, ())
                if edits:
                    self._stage_edits(scene, tuple(edits))
                else:
                    self.show_message([Span(f"{action.row.policy} made no edits in this thread", "dim")])

        source = self.state.source
        self.access.push(LabScreen(Worker(OpenLab, source.name, Path.cwd(), source.settings)), run)

    def _place(self, scene: Scene, cache: str) -> None:
        from ctxtui.services.lab.breakpoints import strategy_breakpoints

        if not self.edits.check_ready() or self.state.study is None:
            return
        breakpoints = strategy_breakpoints(self.edits.context_of(scene), scene.call, self.state.study.book, cache)
        if breakpoints:
            self.edits.stage(breakpoints)
        else:
            self.show_message(
                [Span(f"{cache} sets no breakpoint here: the provider has none, or no position is left.", "dim")]
            )

    def _stage_edits(self, scene: Scene, edits: tuple[Edit, ...]) -> None:
        """Stage `edits` of the context shown, and store their externalized content."""
        from ctxtui.curation.apply.references import externalized_content

        assert self.edits.staging_area is not None
        for name, text in externalized_content(self.edits.context_of(scene), edits).items():
            self.edits.staging_area.artifact_keeper(scene.thread)(name, text.encode("utf-8", "replace"))
        self.edits.stage(edits)

    def _take_back(self, row: Proposed) -> None:
        if self.edits.overlay is not None:
            self.edits.overlay.revert(row.active_ids)
            self.show_message([Span(f"edits of {row.name} taken back; u brings them back")])
            self.edits.changed()


class AdviceList(Command):
    """Show what would help here: warnings, safe proposals, others; with tokens, cost and risk.

    Enter shows the blocks that would change, then stages the edits; `L` there lists every policy with its settings.
    """

    name, keys, label, group = "advice: what would help", ("exclamation_mark",), "advice", "editing the context"
    synonyms = (
        "save", "cheaper", "smaller", "recommend", "waste", "unused", "stale", "report", "findings", "fixes", "cures",
        "what would help (advice)", "stage the cheapest cut", "duplicates",
    )  # fmt: skip
    run = Act(PoliciesController, PoliciesController.advice)
    needs = frozenset({EDITS})


class Policies(Command):
    """List every policy with its settings and its effect on this context; Enter stages one."""

    name, group = "policies", "editing the context"
    synonyms = ("stale", "old", "automatic", "rules", "all policies")
    run = Act(PoliciesController, PoliciesController.policies)
    needs = frozenset({EDITS})


class OpenLab(Command):
    """Open the lab: this session under other policies, cache strategies and models.

    No model is called. Enter opens a variant as a session, `A` stages its edits.
    """

    name, keys, shown, label, group = "lab: what if", ("percent_sign",), "%", "lab", "lists"
    synonyms = ("compare", "policies", "cheaper", "replay", "try", "model")
    run = Act(PoliciesController, PoliciesController.lab)
    needs = frozenset({CALLS})
