"""Answers of the prompt's line to keys that edit: said as soon as what was done is counted; what gains nothing goes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

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


class SizesBefore(Struct, frozen=True):
    """What a context came to before a key, under `staging` (None: without edits): the tokens of its blocks by node, and
    how many `repairs` there were."""

    of: Callable[[int], int]
    staging: Staging | None = None

    def gone(self, now: Staging | None) -> int | None:
        """The tokens that edits took from it, as they are counted `now`; None while they are being counted."""
        found = self.staging
        if found is not None and not found.counted and now is not None:
            found = replace(now, applied=found.applied)
        return 0 if found is None else found.gone if found.counted else None

    @property
    def repairs(self) -> int:
        """How many blocks went along with edits."""
        return self.staging.repairs if self.staging is not None else 0


class EditAnswers:
    """Tells what keys did. One answer at a time may wait for its figures."""

    def __init__(self, state: InspectorState, prompt: SessionPrompt) -> None:
        self._state = state
        self._prompt = prompt
        self._waits: Callable[[Staging], Spans | None] | None = None
        self._said: Spans = ()
        self._nodes: tuple[Sequence[int], dict[str, int]] | None = None
        """The first node of each block by digest, and of which path."""
        state.on.shown.subscribe(self._catch_up)

    # What blocks are called

    def blocks(self) -> edit_answers.Blocks:
        """The names of the blocks that edits are about."""
        return edit_answers.Blocks(self.named, self._is_block)

    def named(self, target: Target) -> str:
        """What a target of an edit is, in a few words."""
        study, rows = self._state.study, self._state.panels.transcript.data
        block = study.session.tree.blocks.get(target.digest) if study is not None else None
        if study is None or block is None:
            return "a block that is not in this recording"
        node = self._node_of(rows.path, target.digest) if rows is not None else None
        if node is not None and rows is not None:
            return one_line.block_name(rows.readings.preview(node), edit_answers.NAME_CELLS)

        got = read(block)
        words = got.name or first_words(got.text) or block.kind
        return cells.fit(safe_text.one_line(words, 2 * edit_answers.NAME_CELLS), edit_answers.NAME_CELLS).rstrip()

    def _node_of(self, path: Sequence[int], digest: str) -> int | None:
        """The first node on `path` whose block has this digest."""
        if self._nodes is None or self._nodes[0] is not path:
            assert self._state.study is not None
            tree = self._state.study.session.tree
            self._nodes = path, {tree[each].block.digest: each for each in reversed(path)}
        return self._nodes[1].get(digest)

    def _is_block(self, target: Target) -> bool:
        block = self._state.study.session.tree.blocks.get(target.digest) if self._state.study is not None else None
        return block is None or block.kind != HEADER

    # What it came to

    def sizes(self, staging: Staging | None) -> SizesBefore:
        """What the context comes to under `staging` (None: no edits)."""
        scene = self._state.scene
        if scene is None:
            return SizesBefore(lambda node: 0)

        def size(node: int) -> int:
            fate = staging.fate(node) if staging is not None else None
            if fate is not None:
                return (fate.after or 0) + fate.stays
            shown = self._state.edits.shown(scene, [node]) if self._state.edits is not None else [node]
            return transcript_notes.read_tokens(scene, shown[0])

        return SizesBefore(size, staging)

    def staged(
        self,
        made: Sequence[Edit],
        before: SizesBefore,
        overlay: ThreadEdits,
        changed: Callable[[], object],
        left: int = 0,
        why: str = "",
    ) -> None:
        """Answer for what was staged, over what was there `before`; what frees nothing is withdrawn, and then `changed`
        is called. `left` blocks stay as they are, with the reason `why`."""
        ids = {edit.id for edit in made}

        def told(staging: Staging) -> Spans | None:
            mine = [change for change in staging.applied.changes.values() if change.edit.id in ids]
            had = before.gone(staging)
            gained = staging.gone - had if staging.counted and had is not None else None
            what = edit_answers.StagedEdits(
                made=made,
                before=sum(before.of(change.node) for change in mine if change.before.kind != HEADER),
                gained=gained,
                repairs=max(0, staging.repairs - before.repairs),
                left=left,
                why=why,
                keyed=has_key(os.environ),
            )
            if what.is_needless:
                self._waits = None
                overlay.remove_staged(made)
                changed()
                return edit_answers.needless_answer(what, self.blocks())
            return edit_answers.staged_answer(what, self.blocks())

        self._tell(told)

    def _tell(self, told: Callable[[Staging], Spans | None]) -> None:
        staging = self._state.panels.staging
        self._waits = told if staging is None or not staging.counted else None
        words = told(staging) if staging is not None else None
        self.say(words or ())

    def _catch_up(self) -> None:
        """An answer's figures may be there now."""
        told, staging = self._waits, self._state.panels.staging
        if told is None or self._prompt.edit.hint is not self._said:
            self._waits = None
        elif staging is not None and staging.counted:
            self._waits = None
            self.say(told(staging) or ())

    def say(self, words: Spans) -> None:
        """Say it, and know it again."""
        self._said = words
        self._prompt.say(words)

    def quiet(self, words: str) -> None:
        """Say why a key does nothing here."""
        self._prompt.say([Span(words, "dim")])
