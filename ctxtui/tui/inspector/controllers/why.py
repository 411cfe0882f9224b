"""Why the context is so big: what its parts are made of, the best safe cut, and the way there."""

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

_REST: Final = 1.0
"""Seconds for which a call must be looked at before a cut is looked for."""
_REST_LIVE: Final = 4.0
"""The same in a session that grows: an agent at work makes many calls that nobody looks at."""
_SOON: Final = 0.02
"""Seconds too early by which a timer may end."""
_UNASKED: Final = 4_000
"""Blocks up to which a cut is looked for unasked: at 20,000 that takes longer than all figures do."""


class WhyController(EditController):
    """Finds out, in the background, what the line above the panes says, and goes there."""

    def __init__(self, state: InspectorState, prompt: SessionPrompt, access: ScreenAccess, edits: ContextEdits) -> None:
        super().__init__(state, prompt, access, edits)
        self._timer: Timer | None = None
        self._rings = self._due = 0.0
        """When the timer ends, and when the view has rested long enough (monotonic seconds)."""
        self._looking: Subject | None = None
        self._closed = False
        state.on.reopened.subscribe(self._reopened)
        state.on.shown.subscribe(self._shown)

    def close(self) -> None:
        """Nobody waits any more."""
        self._closed = True

    def _reopened(self) -> None:
        self.panels.reasons.forget()

    def _shown(self) -> None:
        """Another call, or more is known of it: look into it when the view rests."""
        scene, reasons = self.panels.scene, self.panels.reasons
        if reasons.shown != self._subject:
            reasons.shown = self._subject
            self.panels.say_why()
        if self._looking is not None and self._looking != self._subject:
            # What is looked for is of no use any more.
            self._looking = None
        if scene is not None and scene.counted and self.state.complete and not self._closed:
            self._rest(_REST_LIVE if self.state.live else _REST)
        else:
            self._rest_no_more()

    def _rest(self, seconds: float) -> None:
        """Look into it in so many seconds, unless more is shown until then. A timer that ends before stays, and rests
        on then: a session that grows shows more many times a second, and each timer is a task of its own."""
        self._due = time.monotonic() + seconds
        if self._timer is None or self._rings > self._due:
            self._rest_no_more()
            self._rings = self._due
            self._timer = self.access.timer(seconds, self._rang)

    def _rest_no_more(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _rang(self) -> None:
        self._timer = None
        left = self._due - time.monotonic()
        if left > _SOON:
            self._rest(left)
        else:
            self._rested()

    @property
    def _subject(self) -> Subject | None:
        scene, overlay = self.panels.scene, self.edits.overlay
        return (scene.thread, scene.head, len(overlay.log)) if scene is not None and overlay is not None else None

    def _rested(self) -> None:
        study, rows, scene = self.state.study, self.panels.transcript.data, self.panels.scene
        if study is None or rows is None or scene is None:
            return
        if self.panels.reasons.grouped(scene, rows.path) is None:
            self.access.work(lambda: self._learn(study), "why", exclusive=True)
        if len(rows.path) <= _UNASKED:
            self._look(scene)

    def _learn(self, study: Study) -> None:
        """In a worker: the groups of every context there is, so that they are there when one goes to another call."""
        groups = study.heavy_groups()
        self.access.deliver(lambda: self._learnt(groups, study))

    def _learnt(self, groups: HeavyGroups, study: Study) -> None:
        if study is not self.state.study:
            return
        self.panels.reasons.groups = groups
        self.panels.say_why()

    def _look(self, scene: Scene) -> None:
        """Look for the best safe cut, unless it is known or looked for already."""
        desk, subject = self.edits.desk, self._subject
        if desk is None or subject is None or subject in (self._looking, self.panels.reasons.subject):
            return
        if not self.edits.editable() or not desk.ready(scene, self.state.feed.want):
            self._rest(_REST)
            return
        self._looking = subject

        def load() -> None:
            # In the worker: what searches is 50 modules, and an answer that streams in would stand still meanwhile.
            import ctxtui.services.editing.policy_proposals  # noqa: F401

            self.access.deliver(lambda: self._search_on(scene, desk, subject))

        self.access.work(load, "safe cut", exclusive=True)

    def _search_on(self, scene: Scene, desk: StagingArea, subject: Subject) -> None:
        """What searches is loaded: search, unless the view has gone on."""
        if self._closed or self._looking != subject:
            return
        if not desk.ready(scene, self.state.feed.want):
            self._looking = None
            self._rest(_REST)
            return
        from ctxtui.services.editing.policy_proposals import Proposals

        proposals = Proposals(desk, scene, lambda: desk.next_call(scene, self.state.feed.want, live=self.state.live))

        def stopped() -> bool:
            self.state.feed.wait_for_keys()
            return self._closed or self._looking != subject

        def look() -> None:
            every = proposals.advice(self.state.source.settings.horizon, stopped)
            self.access.deliver(lambda: self._found(subject, scene, every))

        self.access.work(look, "safe cut", exclusive=True)

    def _found(self, subject: Subject, scene: Scene, every: list[Advice]) -> None:
        if self._closed or self._looking != subject:
            return
        from ctxtui.curation.policies.risk import loses_text

        self._looking = None
        context = self.edits.context_of(scene)
        safe = (one for one in every if not loses_text(context, one.edits))
        self.panels.reasons.found(subject, next(safe, None))
        self.panels.say_why()

    # What the keys do

    def go_there(self) -> None:
        """To the first block that the cut takes, else to the heaviest block of what is named first."""
        scene, rows, reasons = self.panels.scene, self.panels.transcript.data, self.panels.reasons
        if scene is None or rows is None:
            return
        if reasons.cut is not None and reasons.subject == self._subject and self.edits.ready():
            context = self.edits.context_of(scene)
            places = (context.find(target) for edit in reasons.cut.edits for target in edit.targets)
            at = min((place for place in places if place is not None), default=None)
            if at is not None:
                self.state.to_block(self.edits.shown(scene, [context.nodes[at]])[0])
                self.panels.transcript.focus()
                said = f"the first of {numbers.many(len(reasons.cut.edits), 'block')} that could go; "
                self.say([Span(said), Span(KEY, "accent bold"), Span(" lists what would help", "dim")])
                return
        groups = reasons.grouped(scene, rows.path)
        if groups:
            self.state.to_block(groups[0].node)
            self.panels.transcript.focus()
