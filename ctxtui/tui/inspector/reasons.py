"""What is known of why the contexts of a session are so big: kept while one goes from call to call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ctxtui.analysis.content.heavy_groups import HeavyGroup, HeavyGroups
from ctxtui.tui.lazy import later
from ctxtui.views.model.scene import Scene

if TYPE_CHECKING:
    from ctxtui.curation.price.advice import Advice
    from ctxtui.views.inspector import why_so_big
    from ctxtui.views.inspector.composition import Composition
    from ctxtui.views.inspector.why_so_big import WhySoBig
else:
    why_so_big = later("ctxtui.views.inspector.why_so_big")

KEY: Final = "!"
"""The key that lists what would help."""

Subject = tuple[str, int, int]
"""What a cut was found for: the thread, the context, and how many entries its log of edits had."""


class Reasons:
    """`groups` are those of the session that is open (None: not begun), `cut` the best safe one for its
    `subject`; `shown` is the one on the screen."""

    def __init__(self) -> None:
        self.groups: HeavyGroups | None = None
        self.cut: Advice | None = None
        self.subject: Subject | None = None
        self.shown: Subject | None = None
        self._asked: tuple[tuple[int, float, int], Sequence[HeavyGroup] | None] | None = None

    def forget(self) -> None:
        """Another session is open."""
        self.groups = self.cut = self.subject = self._asked = None

    def found(self, subject: Subject, cut: Advice | None) -> None:
        """The best safe cut for a subject."""
        self.subject, self.cut = subject, cut

    def of(self, scene: Scene, path: Sequence[int], what: Composition, staged: int = 0) -> WhySoBig:
        """What is known of the context shown, whose nodes are `path` and whose parts are in `what`; staged edits free
        so many tokens of it already."""
        here = self.subject is not None and self.subject[:2] == (scene.thread, scene.head)
        # What was found for other edits than those that stand now is no figure of these.
        anew = here and self.subject != self.shown
        cut = self.cut if here and not anew else None
        groups = self.grouped(scene, path)
        return why_so_big.WhySoBig(what=what, groups=groups, cut=cut, key=KEY, staged=staged, anew=anew)

    def grouped(self, scene: Scene, path: Sequence[int]) -> Sequence[HeavyGroup] | None:
        """The groups of the context shown; None while they are not known."""
        running, head = scene.running, scene.head
        if self.groups is None or not scene.counted:
            return None
        # What is not learnt yet is asked for again when more is.
        key = head, running.version, self.groups.learnt_count
        if self._asked is None or self._asked[0] != key:
            gone = scene.book.contexts.absences_at(head)

            def size(node: int) -> int:
                # Calls and results: only thinking is taken out in other ways.
                return running.block_tokens(node) if gone.get(node) is None else 0

            self._asked = key, self.groups.groups_on(path, size)
        return self._asked[1]
