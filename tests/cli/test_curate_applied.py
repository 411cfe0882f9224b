"""What was applied on the screen leaves from the command line too: as a request, and as a session to resume."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxtui.core.edit import make
from ctxtui.core.edit_kinds import DROP, REPLACE
from ctxtui.curation.context import Context
from ctxtui.offline.anthropic import validate
from ctxtui.services.config.config import load
from ctxtui.services.editing.overlay import SessionEdits
from ctxtui.services.recordings.open import load as open_file
from tests.cases.claude_code import Script, text, tool_result, tool_use, usage
from tests.cli.conftest import Run
from tests.transcripts.resumable import claude_code_context, claude_code_faults


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


def edit(recording: Path, *, applied: bool) -> None:
    """Drop the result and say another question, as the inspector does."""
    loaded = open_file(recording)
    overlays = SessionEdits(loaded, load(cwd=recording.parent).settings)
    context = Context(loaded.session.tree, loaded.session.threads["main"].tip)
    kinds = [item.block.kind for item in context.items]
    asked = next(n for n, item in enumerate(context.items) if b"read the ledger" in item.block.body)
    overlay = overlays.of_thread("main")
    dropped = make(DROP, [context.target(kinds.index("tool_result"))])
    overlay.stage_all([dropped, make(REPLACE, [context.target(asked)], {"text": "does it add up?"})])
    if applied:
        overlay.apply()
    overlays.save()


def test_only_what_is_applied_leaves(ctxtui: Run, recording: Path) -> None:
    edit(recording, applied=False)
    ran = ctxtui("curate", recording, "--applied")
    assert "no edits are applied" in ran.err and "a line of the ledger" in ran.out
    overlays = SessionEdits(open_file(recording), load(cwd=recording.parent).settings)
    overlays.of_thread("main").apply()
    overlays.save()
    ran = ctxtui("curate", recording, "--applied")
    assert "after its answer: drop 1, replace 1" in ran.err
    body = ran.json
    assert validate.refusals({**body, "model": "claude-opus-4-5", "max_tokens": 9}) == []
    assert "a line of the ledger" not in ran.out and "does it add up?" in ran.out and "It adds up." in ran.out
    assert "read the ledger" in ctxtui("curate", recording).out, "the record stays"


def test_a_session_to_resume_holds_the_applied_edits(ctxtui: Run, recording: Path, tmp_path: Path) -> None:
    edit(recording, applied=True)
    folder = tmp_path / "resumed"
    folder.mkdir()
    before = recording.read_bytes()
    ran = ctxtui("curate", recording, "--applied", "--to", "claude-code", "-o", folder)
    (made,) = folder.iterdir()
    assert ran.code == 0 and made.name in ran.err and recording.read_bytes() == before
    assert claude_code_faults(made.read_bytes(), before, made.stem) == []
    said = str(claude_code_context(made.read_bytes()))
    assert "does it add up?" in said and "a line of the ledger" not in said


def test_the_next_call_is_foretold_under_the_applied_edits(ctxtui: Run, recording: Path) -> None:
    plain = ctxtui("cache", recording, "--json").json["next_call"]
    edit(recording, applied=True)
    under = ctxtui("cache", recording, "--json").json["next_call"]
    assert under["input_tokens"] < plain["input_tokens"] - 500
