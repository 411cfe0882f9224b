"""The table of kinds of edits: every row is documented, drawn, done and undone; another row is another kind."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ctxtui.core import block, edit_json
from ctxtui.core.block import HEADER, Block
from ctxtui.core.canonical import Json
from ctxtui.core.edit import Edit, active_edits, make
from ctxtui.core.edit_kinds import KINDS, EditKind
from ctxtui.core.edit_log import Stamp, edits_in_force, undo_last
from ctxtui.core.errors import Malformed
from ctxtui.curation.apply.applied import Insertion
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.apply.block_text import block_text, with_text
from ctxtui.curation.apply.insertion import INSERTIONS
from ctxtui.curation.apply.rewrite import REWRITERS
from ctxtui.curation.context import Context
from ctxtui.curation.edits_from_selection import make_edits
from ctxtui.views.text.signs import MARK
from ctxtui.views.transcript import edit_log
from tests.curation import shaped
from tests.curation.conversations import PAYLOADS, context_of

DOCS = Path(__file__).parents[2] / "docs" / "json.md"
BREAKPOINTS: list[dict[str, Any]] = [{"on": True, "ttl": "5m"}, {"on": False}, {}]


def contexts(count: int) -> list[tuple[Random, Context]]:
    found = []
    for dialect, shape in sorted(shaped.SHAPES.items()):
        for seed in range(count):
            rng = Random(f"{dialect} {seed}")
            found.append((rng, context_of(shape(rng), dialect)[0]))
    return found


def logged(log: list[Edit]) -> str:
    rows = edit_log.rows(log, lambda target: target.digest[:6])
    table = edit_log.table(lambda at: datetime.fromtimestamp(at, UTC))
    lines = [table.draw(row, 100) for row in rows]
    return "\n".join("".join(span.text for span in line) for line in lines)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_kind_is_documented_with_what_its_payload_holds(kind: EditKind) -> None:
    text = DOCS.read_text(encoding="utf-8")
    told = text[text.index("Payloads by kind:") :].split("A target may be")[0]
    here = next(part for part in told.split(";") if f"`{kind.name}`" in part)
    assert all(f"`{name}`" in here or f"`{name}[]`" in here for name in kind.payload)
    used = {name for payload in PAYLOADS.get(kind.name, BREAKPOINTS) for name in payload}
    assert used <= set(kind.payload)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_kind_is_drawn_and_its_work_is_where_its_row_says(kind: EditKind) -> None:
    assert kind.mark in MARK and kind.label
    assert kind.rewrites == (kind.name in REWRITERS)
    assert kind.adds == (kind.name in INSERTIONS or kind.moves)
    assert not (kind.rewrites and kind.takes_away)
    assert not kind.lead or kind.adds


@pytest.mark.parametrize("name", KINDS)
def test_any_edit_of_a_kind_does_what_its_row_says_and_undone_it_is_nothing(name: str) -> None:
    kind, done = KINDS[name], 0
    for rng, context in contexts(12):
        blocks = [p for p, item in enumerate(context.items) if item.block.kind != HEADER]
        targets = context.targets(sorted(rng.sample(blocks, min(len(blocks), rng.randint(1, 3)))))
        log = [make(name, targets, rng.choice(PAYLOADS.get(name, BREAKPOINTS)), id="e", batch="b")]
        plain, applied = apply(context, []), apply(context, log)
        own = [change for change in applied.changes.values() if change.edit.id == "e"]
        done += applied != plain
        assert not own or kind.rewrites or kind.takes_away
        assert kind.rewrites or all(change.after is None for change in own)
        assert kind.adds or all(one.edit.id != "e" for one in applied.inserts)
        assert not applied.marks or kind.marks_cache
        assert not applied.pinned or kind.pins
        assert edit_json.loads(edit_json.dumps(log)) == log
        assert kind.label in logged(log) and MARK[kind.mark].glyph in logged(log)
        undone = [*log, *undo_last(log, Stamp("u", 1.0))]
        assert active_edits(undone) == [] and apply(context, undone) == plain
    does = kind.rewrites or kind.takes_away or kind.adds or kind.marks_cache or kind.pins
    assert bool(done) == does


def _shouted(block_: Block, given: Any) -> Block:
    return with_text(block_, block_text(block_).upper())


def _signed(context: Context, edit: Edit, here: Any) -> list[Insertion]:
    return [Insertion(here[-1] + 1, edit, "shouted by hand", "meta")]


def test_another_kind_is_a_row_and_what_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    context, _ = context_of({"messages": [{"role": "user", "content": "be loud"}]}, "anthropic")
    value: Json = {"kind": "shout", "targets": [edit_json.to_json(make("drop", context.targets([1])))["targets"][0]]}
    with pytest.raises(Malformed, match="no edit of kind 'shout'"):
        edit_json.from_json(value)

    monkeypatch.setitem(KINDS, "shout", EditKind(name="shout", mark="replaced", lead="shout", rewrites=True, adds=True))
    monkeypatch.setitem(REWRITERS, "shout", _shouted)
    monkeypatch.setitem(INSERTIONS, "shout", _signed)

    [edit] = make_edits(context, "shout", [1], lambda name, data: None)
    assert edit_json.from_json(value).kind == edit.kind == "shout"
    applied = apply(context, [edit])
    said = [item.block for item in applied.sent if item.block.kind != HEADER]
    assert said == [block.text("BE LOUD"), block.text("shouted by hand")]
    assert not applied.rejected and not applied.without_target
    assert f"{MARK['replaced'].glyph} shout" in logged([edit]) and edits_in_force([edit]).staged == (edit,)
    assert apply(context, [edit, *undo_last([edit], Stamp("u", 1.0))]) == apply(context, [])
