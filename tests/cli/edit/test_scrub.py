"""A masked copy holds nothing of what was masked, anywhere in the file, and is otherwise the session."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from ctxtui.core import block
from ctxtui.core.block import Item, Place
from ctxtui.core.call import Call, Skeleton
from ctxtui.core.session import ASIDE, CallSeen, Described, Happened, Outcome, Session, Skipped, Thread, TipMoved
from ctxtui.core.tree import ROOT
from ctxtui.core.usage import QuotaReport
from ctxtui.curation.mask_rules import Level
from ctxtui.curation.masking import Masker
from ctxtui.services.config.package_data import mask_rules
from ctxtui.services.library.scrubbing import mask_session
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
    copy = mask_session(session, "copy", masker)
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


def filled(value: Any, secrets: dict[str, str], path: str) -> Any:
    """`value` with a secret of its own in place of each text in it; `secrets` says where each is."""
    if type(value) is str:
        secret = "ghp_" + hashlib.sha256(path.encode()).hexdigest()[:33] + "aB4"
        secrets[secret] = path
        return secret
    if isinstance(value, dict):
        return {filled(key, secrets, f"{path}.{key}!"): filled(v, secrets, f"{path}.{key}") for key, v in value.items()}
    if isinstance(value, list):
        return [filled(item, secrets, f"{path}.{n}") for n, item in enumerate(value)]
    if hasattr(value, "_fields"):
        return value._replace(
            **{name: filled(getattr(value, name), secrets, f"{path}.{name}") for name in value._fields}
        )
    if isinstance(value, Struct):
        names = value.__struct_fields__
        return replace(value, **{name: filled(getattr(value, name), secrets, f"{path}.{name}") for name in names})
    return value


@pytest.mark.parametrize("level", Level)
def test_no_text_of_a_record_is_forgotten(level: Level) -> None:
    secrets: dict[str, str] = {}
    inner = {"text": "a"}
    session = Session()
    kind = filled("", secrets, "kind")
    said = block.make(kind, filled({"type": "", "text": "", "a": inner}, secrets, "block"))
    head = session.tree.child(ROOT, said, filled(Place("messages"), secrets, "place"))
    call = Call("c", "t", head, head, head, skeleton=Skeleton("d", inner), extra={"a": inner})
    call = filled(call, secrets, "call")
    thread = filled(Thread("id", tip=head), secrets, "thread")
    session.about = filled(Described(), secrets, "about")
    session.calls = {call.id: call}
    session.threads = {one.id: one for one in (thread, Thread(call.thread, tip=head))}
    session.order = {call.thread: [call.id]}
    session.skipped = [filled(Skipped(1, ""), secrets, "skipped")]
    session.happenings = [filled(Happened("", ""), secrets, "happening")]
    session.outcomes = [filled(Outcome("", ""), secrets, "outcome")]
    session.quotas = [filled(QuotaReport("", 1, 0.5), secrets, "quota")]
    assert {name for name in Session.__struct_fields__ if not getattr(session, name)} == set(), "a field is not tried"
    copy = mask_session(session, "copy", Masker(mask_rules(), level))
    nodes = [(node.block, node.place) for node in copy.tree.nodes(1)]
    everything = repr([getattr(copy, name) for name in Session.__struct_fields__] + nodes)
    assert [path for secret, path in secrets.items() if secret[4:] in everything] == []


@pytest.mark.parametrize("level", Level)
def test_words_of_the_protocol_stay(level: Level) -> None:
    session = every_category()
    session.fold([Described(source="claude code", client="LM Studio", version="2.1.0"), Happened(ASIDE, "")])
    copy = mask_session(session, "copy", Masker(mask_rules(), level))
    assert (copy.about.source, copy.about.client, copy.about.version) == ("claude code", "LM Studio", "2.1.0")
    assert [one.kind for one in copy.happenings] == [one.kind for one in session.happenings]
    assert [node.place for node in copy.tree.nodes(1)] == [node.place for node in session.tree.nodes(1)]
    assert [(one.model, one.provider) for one in copy.calls.values()] == [
        (one.model, one.provider) for one in session.calls.values()
    ]


def test_the_command_writes_a_session_of_its_own(ctxtui: Run, tmp_path: Path) -> None:
    recording = tmp_path / "session.jsonl"
    recording.write_bytes(generate(n_messages=20, bytes_per_message=300, seed=3))
    done = ctxtui("session", "scrub", str(recording), "--json")
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert told["id"].endswith("-scrubbed") and told["level"] == "personal"
    assert told["id"] in ctxtui("sessions", "--json").out
