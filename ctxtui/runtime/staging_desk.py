"""Where edits of an open session are staged: the overlay of each thread, and what it makes of a context."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Protocol

from ctxtui.core.tree import ROOT
from ctxtui.curation.applied import Applied
from ctxtui.curation.apply import apply
from ctxtui.curation.context import Context
from ctxtui.curation.rules import rules_for
from ctxtui.views.staged_pane import StagedPane
from ctxtui.views.staging import Staging

if TYPE_CHECKING:
    from ctxtui.runtime.overlay import Overlay
    from ctxtui.runtime.study import Study
    from ctxtui.views.scene import Scene


class Kept(Protocol):
    """Where overlays come from and are saved (`runtime.overlays.Overlays`)."""

    def of(self, thread: str) -> Overlay:
        """The overlay of `thread`."""

    @property
    def unsaved(self) -> bool:
        """Whether `save` has anything to write."""

    def save(self) -> None:
        """Write what is new."""


class StagingDesk:
    """What is staged in the session of `study`. Contexts and results are kept from one showing to the next."""

    def __init__(self, study: Study, overlays: Kept) -> None:
        self.study = study
        self._overlays = overlays
        self._context: Context | None = None
        self._applied: tuple[object, Applied] | None = None

    def overlay(self, thread: str) -> Overlay:
        """The edits of `thread`. Raises `CtxtuiError` where the database cannot be read."""
        return self._overlays.of(thread)

    def has_edits(self, thread: str, marks: Collection[int] = ()) -> bool:
        """Whether there is anything to show of `thread`."""
        return bool(marks) or bool(self._overlays.of(thread).in_force)

    def context(self, scene: Scene) -> Context:
        """The context that the request after the call shown would have, read for curation."""
        head, tree = scene.tip or scene.head, scene.session.tree
        skeleton = scene.call.skeleton
        params = skeleton.parts.get("params") if skeleton and isinstance(skeleton.parts, dict) else None
        if self._context is None or self._context.tree is not tree:
            self._context = Context(
                tree, head, skeleton.dialect if skeleton else "", params if isinstance(params, dict) else None
            )
        self._context = self._context.grown(head)
        return self._context

    def staging(self, scene: Scene, marks: frozenset[int] = frozenset()) -> Staging:
        """What the edits make of it."""
        overlay = self._overlays.of(scene.thread or "main")
        context = self.context(scene)
        model = scene.call.model
        key = (id(context), context.head, len(context), overlay, overlay.version, model)
        if self._applied is None or self._applied[0] != key:
            rules = rules_for(context.dialect, self.study.book.card(model))
            self._applied = key, apply(context, overlay.in_force, rules)
        return Staging(
            scene, self._applied[1], partial(self.study.tokens_of, model), overlay.staged, marks, context.head or ROOT
        )

    def pane(self, staging: Staging, moment: int) -> StagedPane:
        """What the pane of staged edits shows; `moment` is the price that is chosen (0-based)."""
        return StagedPane(
            staging,
            staging.scene.limits.usable,
            staging.applied.context.dialect,
            chosen=moment,
            asleep=len(staging.applied.asleep),
        )

    def keep(self, thread: str) -> Callable[[str, bytes], None]:
        """What keeps an artifact with the edits of `thread`."""
        return self._overlays.of(thread).keep

    @property
    def unsaved(self) -> bool:
        """Whether `save` has anything to write."""
        return self._overlays.unsaved

    def save(self) -> None:
        """Write what is new to the database, for a worker thread. Raises `CtxtuiError`."""
        self._overlays.save()
