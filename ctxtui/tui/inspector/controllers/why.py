"""Reasons for the size of the context, found in the background."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from textual.timer import Timer

from ctxtui.analysis.content.heavy_groups import HeavyGroups
from ctxtui.tui.inspector.context_edits import ContextEdits, EditController
from ctxtui.tui.inspector.controller import ScreenAccess
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.inspector.reasons import KEY, Subject
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.views.model.scene import Scene
from ctxtui.views.text import numbers
from ctxtui.views.text.span import Span

if TYPE_CHECKING:
    from ctxtui.curation.price.advice import Advice
    from ctxtui.services.editing.staging import StagingArea
    from ctxtui.services.study.study import Study

_REST_SECONDS: Final = 1.0
"""Seconds that a call must be shown before a cut is searched for."""
_LIVE_REST_SECONDS: Final = 4.0
"""The same in a growing session, since most calls of a running agent are shown briefly."""
_TIMER_TOLERANCE_SECONDS: Final = 0.02
"""Seconds by which a timer may end too early."""
_MAX_AUTOMATIC_BLOCKS: Final = 4_000
"""Most blocks for an automatic search: at 20,000 it takes longer than all figures."""


class WhyController(EditController):
    """Computes the line above the panes in the background, and goes to the blocks it names."""

    def __init__(self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess, edits: ContextEdits) -> None:
        super().__init__(state, prompt, access, edits)
        self._timer: Timer | None = None
        self._timer_end = self._due = 0.0
        """End of the timer, and time at which the view has rested long enough (monotonic seconds)."""
        self._search_subject: Subject | None = None
        self._closed = False
        state.on.reopened.subscribe(self._on_reopened)
        state.on.shown.subscribe(self._on_shown)

    def close(self) -> None:
        self._closed = True

    def _on_reopened(self) -> None:
        self.panels.reasons.forget()

    def _on_shown(self) -> None:
        scene, reasons = self.panels.scene, self.panels.reasons
        if reasons.shown != self._subject:
            reasons.shown = self._subject
            self.panels.show_reasons()
        if self._search_subject is not None and self._search_subject != self._subject:
            # The running search is obsolete.
            self._search_subject = None
        if scene is not None and scene.counted and self.state.complete and not self._closed:
            self._schedule(_LIVE_REST_SECONDS if self.state.live else _REST_SECONDS)
        else:
            self._cancel_timer()

    def _schedule(self, seconds: float) -> None:
        """Search after `seconds`, unless the view changes before.

        A timer that ends earlier is extended then: a growing session changes many times a second.
        """
        self._due = time.monotonic() + seconds
        if self._timer is None or self._timer_end > self._due:
            self._cancel_timer()
            self._timer_end = self._due
            self._timer = self.access.timer(seconds, self._on_timer)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _on_timer(self) -> None:
        self._timer = None
        left = self._due - time.monotonic()
        if left > _TIMER_TOLERANCE_SECONDS:
            self._schedule(left)
        else:
            self._search()

    @property
    def _subject(self) -> Subject | None:
        scene, overlay = self.panels.scene, self.edits.overlay
        return (scene.thread, scene.head, len(overlay.log)) if scene is not None and overlay is not None else None

    def _search(self) -> None:
        study, rows, scene = self.state.study, self.panels.transcript.data, self.panels.scene
        if study is None or rows is None or scene is None:
            return
        if self.panels.reasons.grouped(scene, rows.path) is None:
            self.access.work(lambda: self._compute_groups(study), "why", exclusive=True)
        if len(rows.path) <= _MAX_AUTOMATIC_BLOCKS:
            self._search_cut(scene)

    def _compute_groups(self, study: Study) -> None:
        """Compute the groups of all contexts, so that they are ready for other calls; for a worker."""
        groups = study.heavy_groups()
        self.access.deliver(lambda: self._set_groups(groups, study))

    def _set_groups(self, groups: HeavyGroups, study: Study) -> None:
        if study is not self.state.study:
            return
        self.panels.reasons.groups = groups
        self.panels.show_reasons()

    def _search_cut(self, scene: Scene) -> None:
        """Search for the best safe cut, unless it is known or being searched for."""
        area, subject = self.edits.staging_area, self._subject
        if area is None or subject is None or subject in (self._search_subject, self.panels.reasons.subject):
            return
        if not self.edits.is_editable() or not area.is_ready(scene, self.state.loader.request_load):
            self._schedule(_REST_SECONDS)
            return
        self._search_subject = subject

        def load() -> None:
            # Import in the worker: it is many modules, and a streamed answer would freeze meanwhile.
            import ctxtui.services.editing.policy_proposals  # noqa: F401

            self.access.deliver(lambda: self._run_search(scene, area, subject))

        self.access.work(load, "safe cut", exclusive=True)

    def _run_search(self, scene: Scene, area: StagingArea, subject: Subject) -> None:
        if self._closed or self._search_subject != subject:
            return
        if not area.is_ready(scene, self.state.loader.request_load):
            self._search_subject = None
            self._schedule(_REST_SECONDS)
            return
        from ctxtui.services.editing.policy_proposals import Proposals

        proposals = Proposals(
            area, scene, lambda: area.next_call(scene, self.state.loader.request_load, live=self.state.live)
        )

        def stopped() -> bool:
            self.state.loader.wait_for_keys()
            return self._closed or self._search_subject != subject

        def look() -> None:
            advice = proposals.advice(self.state.source.settings.horizon, stopped)
            self.access.deliver(lambda: self._set_cut(subject, scene, advice))

        self.access.work(look, "safe cut", exclusive=True)

    def _set_cut(self, subject: Subject, scene: Scene, advice: list[Advice]) -> None:
        if self._closed or self._search_subject != subject:
            return
        from ctxtui.curation.policies.risk import loses_text

        self._search_subject = None
        context = self.edits.context_of(scene)
        safe = (remedy for remedy in advice if not loses_text(context, remedy.edits))
        self.panels.reasons.set_cut(subject, next(safe, None))
        self.panels.show_reasons()

    # What the keys do

    def go_to_blocks(self) -> None:
        """Go to the first block of the cut, else to the largest block of the first group."""
        scene, rows, reasons = self.panels.scene, self.panels.transcript.data, self.panels.reasons
        if scene is None or rows is None:
            return
        if reasons.cut is not None and reasons.subject == self._subject and self.edits.check_ready():
            context = self.edits.context_of(scene)
            places = (context.find(target) for edit in reasons.cut.edits for target in edit.targets)
            at = min((place for place in places if place is not None), default=None)
            if at is not None:
                self.state.to_block(self.edits.nodes_in(scene, [context.nodes[at]])[0])
                self.panels.transcript.focus()
                count = sum(len(edit.targets) for edit in reasons.cut.edits)
                message = f"first of {numbers.many(count, 'block')} that could go; "
                self.show_message([Span(message), Span(KEY, "accent bold"), Span(" lists the advice", "dim")])
                return
        groups = reasons.grouped(scene, rows.path)
        if groups:
            self.state.to_block(groups[0].node)
            self.panels.transcript.focus()
