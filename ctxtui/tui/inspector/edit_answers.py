"""Messages of editing keys, completed once their figures are counted."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from ctxtui.analysis.short_names import first_words
from ctxtui.core.block import HEADER
from ctxtui.core.block_content import read
from ctxtui.core.edit import Edit, Target
from ctxtui.providers.endpoint import has_key
from ctxtui.tui.inspector.prompt import SessionPrompt
from ctxtui.tui.inspector.state import InspectorState
from ctxtui.views.blocks import one_line
from ctxtui.views.text import cells, safe_text
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.transcript import edit_answers, transcript_notes

if TYPE_CHECKING:
    from ctxtui.services.editing.overlay import ThreadEdits
    from ctxtui.views.model.staging import Staging

_NAME_CELLS: Final = 40


class SizesBefore(Struct, frozen=True):
    """Size of a context before a key, under `staging` (None: without edits).

    `tokens_of` returns the tokens of a block by node.
    """

    tokens_of: Callable[[int], int]
    staging: Staging | None = None

    def removed(self, now: Staging | None) -> int | None:
        """Return the tokens that edits removed, as counted `now`; None while counting."""
        staging = self.staging
        if staging is not None and not staging.counted and now is not None:
            staging = replace(now, applied=staging.applied)
        return 0 if staging is None else staging.removed if staging.counted else None

    @property
    def repairs(self) -> int:
        return self.staging.repairs if self.staging is not None else 0


class EditAnswers:
    """Reports what keys did. One message at a time may wait for its figures."""

    def __init__(self, state: InspectorState, prompt: SessionPrompt) -> None:
        self._state = state
        self._prompt = prompt
        self._pending: Callable[[Staging], Spans | None] | None = None
        self._last_message: Spans = ()
        self._nodes: tuple[Sequence[int], dict[str, int]] | None = None
        """A path, and the first node of each of its blocks by digest."""
        state.on.shown.subscribe(self._catch_up)

    # Names of blocks

    def blocks(self) -> edit_answers.Blocks:
        return edit_answers.Blocks(self.describe, self._is_block)

    def describe(self, target: Target) -> str:
        """Describe a target of an edit in a few words."""
        study, rows = self._state.study, self._state.panels.transcript.data
        block = study.session.tree.blocks.get(target.digest) if study is not None else None
        if study is None or block is None:
            return "a block that is not in this recording"
        node = self._node_of(rows.path, target.digest) if rows is not None else None
        if node is not None and rows is not None:
            return one_line.block_name(rows.readings.preview(node), _NAME_CELLS)

        reading = read(block)
        words = reading.name or first_words(reading.text) or block.kind
        return cells.fit(safe_text.one_line(words, 2 * _NAME_CELLS), _NAME_CELLS).rstrip()

    def _node_of(self, path: Sequence[int], digest: str) -> int | None:
        if self._nodes is None or self._nodes[0] is not path:
            assert self._state.study is not None
            tree = self._state.study.session.tree
            self._nodes = path, {tree[each].block.digest: each for each in reversed(path)}
        return self._nodes[1].get(digest)

    def _is_block(self, target: Target) -> bool:
        block = self._state.study.session.tree.blocks.get(target.digest) if self._state.study is not None else None
        return block is None or block.kind != HEADER

    # Effects of edits

    def sizes(self, staging: Staging | None) -> SizesBefore:
        """Return the size of the context under `staging` (None: no edits)."""
        scene = self._state.scene
        if scene is None:
            return SizesBefore(lambda node: 0)

        def size(node: int) -> int:
            fate = staging.fate(node) if staging is not None else None
            if fate is not None:
                return (fate.after or 0) + fate.stays
            shown = self._state.edits.nodes_in(scene, [node]) if self._state.edits is not None else [node]
            return transcript_notes.read_tokens(scene, shown[0])

        return SizesBefore(size, staging)

    def staged(
        self,
        edits: Sequence[Edit],
        before: SizesBefore,
        overlay: ThreadEdits,
        changed: Callable[[], object],
        left: int = 0,
        why: str = "",
    ) -> None:
        """Report what was staged, compared to `before`.

        Needless edits (`edit_answers.StagedEdits.is_needless`) are withdrawn, unless another message came before they
        were counted; `changed` is called then. `left` blocks stay unchanged because of `why`.
        """
        ids = {edit.id for edit in edits}

        def describe(staging: Staging) -> Spans | None:
            changes = [change for change in staging.applied.changes.values() if change.edit.id in ids]
            removed_before = before.removed(staging)
            gained = staging.removed - removed_before if staging.counted and removed_before is not None else None
            report = edit_answers.StagedEdits(
                edits=edits,
                before=sum(before.tokens_of(change.node) for change in changes if change.before.kind != HEADER),
                gained=gained,
                repairs=max(0, staging.repairs - before.repairs),
                unchanged=left,
                reason=why,
                has_summary_model=has_key(os.environ),
            )
            if report.is_needless:
                self._pending = None
                overlay.remove_staged(edits)
                changed()
                return edit_answers.needless_answer(report, self.blocks())
            return edit_answers.staged_answer(report, self.blocks())

        self._show_or_wait(describe)

    def _show_or_wait(self, describe: Callable[[Staging], Spans | None]) -> None:
        staging = self._state.panels.staging
        self._pending = describe if staging is None or not staging.counted else None
        words = describe(staging) if staging is not None else None
        self.show_message(words or ())

    def _catch_up(self) -> None:
        """Show a waiting message once its figures are counted; drop it if another one was shown."""
        describe, staging = self._pending, self._state.panels.staging
        if describe is None or self._prompt.edit.hint is not self._last_message:
            self._pending = None
        elif staging is not None and staging.counted:
            self._pending = None
            self.show_message(describe(staging) or ())

    def show_message(self, message: Spans) -> None:
        self._last_message = message
        self._prompt.show_message(message)

    def say_quietly(self, reason: str) -> None:
        """Show why a key does nothing here."""
        self._prompt.show_message([Span(reason, "dim")])
