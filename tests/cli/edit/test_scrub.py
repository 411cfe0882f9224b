"""A masked copy holds nothing of what was masked, anywhere in the file, and is otherwise the session."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from ctxtui.core import block
from ctxtui.core.block import Item, Place
from ctxtui.core.session import CallSeen, Described, Happened, TipMoved
from ctxtui.curation.mask_rules import Level
from ctxtui.curation.masking import Masker
from ctxtui.services.config.package_data import mask_rules
from ctxtui.services.library.scrubbing import scrubbed
from ctxtui.store.rows import SourceInfo
from ctxtui.store.store import Store
from tests.cases.claude_code import generate
from tests.cases.sessions import every_category
from tests.cli.conftest import Run

KEY = "sk-ant-api03-" + "A1b2C3d4" * 10
MAIL = "ada.lovelace@analytical.engine.org"


@pytest.mark.parametrize("level, gone", [("secrets", [KEY]), ("personal", [KEY, MAIL])])
def test_nothing_of_it_is_in_the_copy(tmp_path: Path, level: str, gone: list[str]) -> None:
    session = every_category()
    tip = session.threads["main"].tip
    head = session.tree.extend(tip, [Item(block.text(f"my key is {KEY}, write to {MAIL}"), Place("messages", "user"))])
    last = list(session.calls.values())[-1]
    session.fold(
        [
            Described(title=f"about {KEY} {MAIL}"),
            CallSeen(replace(last, id="further", raw_head=head, sent_head=head, error=f"no: {KEY} {MAIL}")),
            TipMoved("main", head),
            Happened("error", f"{KEY} {MAIL}"),
        ]
    )
    masker = Masker(mask_rules(), Level(level))
    copy = scrubbed(session, "copy", masker)
    path = tmp_path / "s.db"
    with Store.open(path) as store:
        store.import_session(copy, SourceInfo())
        back = store.load("copy")
    everything = repr(back.about) + repr(back.happenings) + repr(back.calls)
    everything += "".join(one.body.decode() for one in back.tree.blocks.values())
    for secret in gone:
        assert secret not in everything
        assert secret.encode() not in path.read_bytes()
    assert sum(masker.report.values()) >= 4
    assert list(back.calls) == list(session.calls)
    assert [len(back.tree.path(c.sent_head)) for c in back.calls.values()] == [
        len(session.tree.path(c.sent_head)) for c in session.calls.values()
    ]
    untouched = set(session.tree.blocks) & set(back.tree.blocks)
    assert len(untouched) > 3, "what holds nothing keeps its digest"


def test_the_command_writes_a_session_of_its_own(ctxtui: Run, tmp_path: Path) -> None:
    recording = tmp_path / "session.jsonl"
    recording.write_bytes(generate(n_messages=20, bytes_per_message=300, seed=3))
    done = ctxtui("scrub", str(recording), "--json")
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert told["id"].endswith("-scrubbed") and told["level"] == "personal"
    assert told["id"] in ctxtui("sessions", "--json").out
