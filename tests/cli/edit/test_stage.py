"""`ctxtui edits stage`: edits wait for a person, with their price; what the user took back stays so."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxtui.services.config.config import load
from ctxtui.services.editing.overlay import SessionEdits
from ctxtui.services.recordings.open import load as open_file
from tests.cases.claude_code import Script, text, tool_result, tool_use, usage
from tests.cli.conftest import Run


@pytest.fixture
def recording(home: Path, tmp_path: Path) -> Path:
    script = Script(cwd=str(tmp_path))
    script.user("read the ledger")
    script.assistant(text("I read it."), tool_use("t1", "Read", file_path="ledger"), id="msg_1", stop="tool_use")
    script.user(tool_result("t1", "a line of the ledger\n" * 200))
    script.assistant(text("It adds up."), id="msg_2", use=usage(write=3000, output=8), stop="end_turn")
    path = tmp_path / "one.jsonl"
    path.write_bytes(script.dump())
    return path


def names(ctxtui: Run, recording: Path) -> dict[str, str]:
    """The blocks by the first word of their label."""
    told = ctxtui("edits", "stage", recording, "--blocks", "--json").json["blocks"]
    return {f"{one['category']} {one['label'].split()[0]}": one["name"] for one in told}


def overlay(recording: Path) -> SessionEdits:
    return SessionEdits(open_file(recording), load(cwd=recording.parent).settings)


def test_a_drop_waits_with_its_price_and_who_asked_for_it(ctxtui: Run, recording: Path) -> None:
    blocks = names(ctxtui, recording)
    result = blocks["tool_result Read"]
    assert overlay(recording).of_thread("main").log == (), "looking stages nothing"
    ran = ctxtui("edits", "stage", recording, "--drop", result, "--author", "agent", "--json")
    assert ran.code == 0 and ran.json["left"] == [] and "1 edit staged: in the inspector" in ran.err
    (edit,) = ran.json["edits"]
    assert (edit["kind"], edit["state"], edit["author"], edit["blocks"]) == ("drop", "staged", "agent", [result])
    assert ran.json["tokens"]["freed"] > 500 and ran.json["moments"][0]["per_call_usd"] < 0
    standing = overlay(recording).of_thread("main")
    assert [one.author for one in standing.staged] == ["agent"] and not standing.applied
    assert f"staged   drop         {result}  by agent" in ctxtui("edits", "stage", recording).out


def test_what_cannot_be_staged_says_why(ctxtui: Run, recording: Path) -> None:
    blocks = names(ctxtui, recording)
    asked, result = blocks["user read"], blocks["tool_result Read"]
    assert ctxtui("edits", "stage", recording, "--pin", result).code == 0, "the user pins it"
    ran = ctxtui("edits", "stage", recording, "--drop", result, "--truncate", asked, "--author", "agent")
    assert ran.code == 8 and f"{result} is not changed: pinned" in ran.err
    assert f"{asked} is not changed: already short" in ran.err
    assert [(one.kind, one.author) for one in overlay(recording).of_thread("main").staged] == [("pin", "user")]
    unknown = ctxtui("edits", "stage", recording, "--drop", "ffffffff")
    assert unknown.code == 5 and "no block 'ffffffff' in this context" in unknown.err
    for wrong in ("#x", "#-1", "#"):
        ran = ctxtui("edits", "stage", recording, "--drop", asked + wrong)
        assert ran.code == 5 and f"no block '{asked}{wrong}'" in ran.err
    short = ctxtui("edits", "stage", recording, "--drop", asked[:3])
    assert short.code == 5 and f"'{asked[:3]}' is too short for a block" in short.err and "4 or more" in short.err
    assert ctxtui("edits", "stage", recording, "--drop", "f").code == 5
    assert ctxtui("edits", "stage", recording, "--drop", f"{result}#4").code == 5


def test_the_listing_has_the_blocks_before_the_edits(ctxtui: Run, recording: Path) -> None:
    before = ctxtui("edits", "stage", recording, "--blocks", "--json").json["blocks"]
    result = names(ctxtui, recording)["tool_result Read"]
    after = ctxtui("edits", "stage", recording, "--drop", result, "--blocks", "--json").json["blocks"]
    assert [(one["name"], one["tokens"]) for one in after] == [(one["name"], one["tokens"]) for one in before]
    assert {one["name"] for one in after if one["changed"]} > {result}, "with its call"


def test_what_the_user_took_back_stays_so_and_what_its_author_took_back_does_not(ctxtui: Run, recording: Path) -> None:
    result = names(ctxtui, recording)["tool_result Read"]
    drop = ("stage", recording, "--drop", result, "--author", "agent")
    assert ctxtui(*drop).code == 0
    assert "1 edit reverted" in ctxtui("edits", "stage", recording, "--take-back", "--author", "agent").err
    assert ctxtui("edits", "stage", recording, "--take-back", "--author", "agent").err.count("taken back") == 0
    assert ctxtui(*drop).code == 0 and ctxtui(*drop).code == 8, "once is enough"
    edits = overlay(recording)
    edits.of_thread("main").discard()
    edits.save()
    ran = ctxtui(*drop)
    assert ran.code == 8 and "reverted by the user" in ran.err and not overlay(recording).of_thread("main").in_force


def test_one_block_under_two_edits(ctxtui: Run, recording: Path) -> None:
    result = names(ctxtui, recording)["tool_result Read"]
    ran = ctxtui("edits", "stage", recording, "--truncate", result, "--pin", result, "--json")
    assert ran.code == 0 and ran.json["left"] == [] and "2 edits staged" in ran.err
    assert sorted(edit["kind"] for edit in ran.json["edits"]) == ["pin", "truncate"]
