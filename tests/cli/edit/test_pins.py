"""`ctxtui edits pins`: pinned blocks outlive a client's compaction."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from ctxtui.core.edit import make
from ctxtui.core.edit_kinds import PIN
from ctxtui.core.errors import Malformed
from ctxtui.curation.context import Context
from ctxtui.services.config.config import load
from ctxtui.services.editing.overlay import SessionEdits
from ctxtui.services.editing.pins import PinnedBlock, add_hook, as_text, hook_command
from ctxtui.services.recordings.open import load as open_file
from tests.cases.claude_code import Script, text
from tests.cli.conftest import Run


@pytest.fixture
def recording(home: Path, tmp_path: Path) -> Path:
    project = tmp_path / "shop"
    project.mkdir()
    script = Script(cwd=str(project))
    script.user("never touch the ledger")
    script.assistant(text("Understood."), id="msg_1", stop="end_turn")
    path = tmp_path / "one.jsonl"
    path.write_bytes(script.dump())
    return path


def pin(recording: Path) -> None:
    """Pin the first thing that was said, as the inspector does."""
    settings = load(cwd=recording.parent).settings
    loaded = open_file(recording)
    overlays = SessionEdits(loaded, settings)
    context = Context(loaded.session.tree, loaded.session.threads["main"].tip)
    at = next(n for n, item in enumerate(context.items) if b"ledger" in item.block.body and item.block.kind == "text")
    overlay = overlays.of_thread("main")
    overlay.stage_all([make(PIN, [context.target(at)])])
    overlays.save()


def test_pinned_blocks_are_printed(ctxtui: Run, recording: Path) -> None:
    assert "nothing is pinned" in ctxtui("edits", "pins", recording).err
    pin(recording)
    assert "never touch the ledger" in ctxtui("edits", "pins", recording).out
    assert [one["text"] for one in ctxtui("edits", "pins", recording, "--json").json["pins"]] == [
        "never touch the ledger"
    ]


def test_the_hook_is_shown_asked_for_and_prints_the_pins(ctxtui: Run, recording: Path) -> None:
    pin(recording)
    settings = recording.parent / "shop" / ".claude" / "settings.local.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"model": "opus", "hooks": {"Stop": [{"hooks": []}]}}))
    ran = ctxtui("edits", "pins", recording, "--hook", "--yes")
    assert ran.code == 0 and '"matcher": "compact"' in ran.out
    made = json.loads(settings.read_text())
    assert made["model"] == "opus" and made["hooks"]["Stop"] == [{"hooks": []}]
    (hook,) = made["hooks"]["SessionStart"]
    assert hook["matcher"] == "compact"
    run = shlex.split(hook["hooks"][0]["command"])
    assert run[:6] == [sys.executable, "-P", "-m", "ctxtui", "edits", "pins"]
    hostile = recording.parent / "shop" / "ctxtui"
    hostile.mkdir()
    (hostile / "__main__.py").write_text("print('PWNED')")
    (hostile.parent / "json.py").write_text("print('PWNED')")
    printed = subprocess.run(
        [*run[:-1], str(recording)], capture_output=True, text=True, timeout=60, cwd=recording.parent / "shop"
    )
    assert "PWNED" not in printed.stdout
    assert "never touch the ledger" in printed.stdout
    again = ctxtui("edits", "pins", recording, "--hook", "--yes")
    assert "already installed" in again.err and json.loads(settings.read_text()) == made


def test_the_folders_settings_are_shown_without_what_a_terminal_obeys(ctxtui: Run, recording: Path) -> None:
    pin(recording)
    settings = recording.parent / "shop" / ".claude" / "settings.local.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"model": "a\u202e\x9b2Jb"}, ensure_ascii=False), encoding="utf-8")
    ran = ctxtui("edits", "pins", recording, "--hook", "--yes")
    assert ran.code == 0 and "U+202E" in ran.out
    assert not any(char in ran.out for char in "\u202e\x9b\x1b")


def test_without_a_yes_nothing_is_written(ctxtui: Run, recording: Path) -> None:
    pin(recording)
    ctxtui("edits", "pins", recording, "--hook")
    assert not (recording.parent / "shop" / ".claude").exists()


def test_what_is_pinned_holds_nothing_that_nobody_sees() -> None:
    words = as_text([PinnedBlock("", "Ba\x1b]0;x\x07sh", "red\x1b[31m\r\nnext\tcell\u202e\U000e0041", "d")])
    assert "␛" in words and "next\tcell" in words
    assert not any(c in words for c in "\x1b\x07\r\u202e\U000e0041")


def test_an_older_hook_is_replaced() -> None:
    old = {"hooks": [{"type": "command", "command": "/usr/bin/python -m ctxtui pins a"}], "matcher": "compact"}
    after = add_hook({"hooks": {"SessionStart": [old]}}, hook_command("a"))
    assert [one["hooks"][0]["command"] for one in after["hooks"]["SessionStart"]] == [hook_command("a")]


def test_hooks_of_another_shape_are_left_alone() -> None:
    with pytest.raises(Malformed):
        add_hook({"hooks": {"SessionStart": "x"}}, hook_command("a"))


def test_the_hook_before_a_compaction_names_what_the_summary_must_keep(ctxtui: Run, recording: Path) -> None:
    """Installed for the project, it learns the session from what Claude Code gives a hook."""
    script = Script(cwd=str(recording.parent / "shop"))
    script.user("never touch the ledger of generated invoices please")
    script.assistant(text("Understood."), id="msg_1", stop="end_turn")
    recording.write_bytes(script.dump())
    settings = recording.parent / "shop" / ".claude" / "settings.local.json"
    assert "PreCompact" in ctxtui("compactions", recording, "--ahead", "--hook").out and not settings.exists()
    assert ctxtui("compactions", recording, "--ahead", "--hook", "--yes").code == 0
    (entry,) = json.loads(settings.read_text())["hooks"]["PreCompact"]
    run = shlex.split(entry["hooks"][0]["command"])
    given = json.dumps({"hook_event_name": "PreCompact", "transcript_path": str(recording), "trigger": "auto"})
    printed = subprocess.run(run, input=given, cwd=recording.parent / "shop", capture_output=True, text=True)
    assert printed.returncode == 0
    assert printed.stdout.splitlines() == [
        "Name each of these in the summary, word for word:",
        "- said: never touch the ledger of generated invoices please",
    ]
    assert ctxtui("compactions", recording, "--ahead").out == printed.stdout
    assert "already installed" in ctxtui("compactions", recording, "--ahead", "--hook", "--yes").err
    assert ctxtui("compactions", recording, "--hook").code == 2
    bad = subprocess.run(run, input="{}", capture_output=True, text=True)
    # Claude Code would not compact after 2.
    assert bad.returncode not in (0, 2) and "no JSON of a hook" in bad.stderr
