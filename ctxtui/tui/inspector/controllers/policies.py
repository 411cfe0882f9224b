"""Policies in the Inspector: what each would do here, and staging what one proposes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxtui.tui.inspector.controllers.rewriting import Rewriting
from ctxtui.views.text.span import Span

if TYPE_CHECKING:
    from ctxtui.views.lists.policies import Proposed


class Proposing(Rewriting):
    """The part of the Inspector that lists policies."""

    def action_policies(self) -> None:
        """The list; what is chosen there is staged under the policy's name, and only staged."""
        scene, desk = self.panels.scene, self.desk
        if scene is None or desk is None or not self._ready():
            return
        from ctxtui.services.editing.policy_proposals import Proposals
        from ctxtui.tui.lists.policies import PoliciesScreen

        proposals = Proposals(desk, scene, lambda: desk.next_call(scene, self.feed.want, live=self.live))

        def take(row: Proposed | None) -> None:
            if row is not None and row.edits:
                for name, text in proposals.artifacts(row.edits).items():
                    desk.keep(scene.thread)(name, text.encode("utf-8", "replace"))
                self.stage_now(row.edits, row.name)
            elif row is not None:
                self.taken_back(row)

        self.app.push_screen(PoliciesScreen(proposals), take)

    def taken_back(self, row: Proposed) -> None:
        """Its edits no longer stand, and it does not make them again: the user's word counts."""
        if self.overlay is not None:
            self.overlay.revert(row.stands)
            self.say([Span(f"the edits of {row.name} are taken back; u brings them back", "ink")])
            self.edited()
