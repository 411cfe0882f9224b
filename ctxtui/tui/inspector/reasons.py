"""Known reasons for the size of contexts, kept while the user moves between calls."""

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
"""The key that lists advice."""

Subject = tuple[str, int, int]
"""Subject of a cut: thread, context, and length of its edit log."""


class Reasons:
    """Reasons for the size of contexts.

    `groups` are the open session's (None: not computed), `cut` is the best safe cut for `subject`; `shown` is the
    subject on the screen.
    """

    def __init__(self) -> None:
        self.groups: HeavyGroups | None = None
        self.cut: Advice | None = None
        self.subject: Subject | None = None
        self.shown: Subject | None = None
        self._groups_cache: tuple[tuple[int, float, int], Sequence[HeavyGroup] | None] | None = None

    def forget(self) -> None:
        self.groups = self.cut = self.subject = self._groups_cache = None

    def set_cut(self, subject: Subject, cut: Advice | None) -> None:
        self.subject, self.cut = subject, cut

    def describe(self, scene: Scene, path: Sequence[int], composition: Composition, staged: int = 0) -> WhySoBig:
        """Return what is known of the context shown.

        `staged` is the number of tokens that edits free already.
        """
        here = self.subject is not None and self.subject[:2] == (scene.thread, scene.head)
        # A cut for other edits does not apply to the present ones.
        anew = here and self.subject != self.shown
        cut = self.cut if here and not anew else None
        groups = self.grouped(scene, path)
        return why_so_big.WhySoBig(
            composition=composition, groups=groups, cut=cut, key=KEY, staged=staged, is_searching=anew
        )

    def grouped(self, scene: Scene, path: Sequence[int]) -> Sequence[HeavyGroup] | None:
        """Return the groups of the context shown; None while unknown."""
        running, head = scene.running, scene.head
        if self.groups is None or not scene.counted:
            return None
        # Groups that are not learnt yet are requested again once more is learnt.
        key = head, running.version, self.groups.learnt_count
        if self._groups_cache is None or self._groups_cache[0] != key:
            gone = scene.book.contexts.absences_at(head)

            def size(node: int) -> int:
                # A block that the model no longer reads takes no tokens.
                return running.block_tokens(node) if gone.get(node) is None else 0

            self._groups_cache = key, self.groups.groups_on(path, size)
        return self._groups_cache[1]
