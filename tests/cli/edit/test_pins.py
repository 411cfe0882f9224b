"""`ctxtui edits pins`: pinned blocks outlive a client's compaction."""

from __future__ import annotations

import io
import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from ctxtui.core.edit import make
from ctxtui.core.edit_kinds import PIN
from ctxtui.curation.context import Context
from ctxtui.services.config.config import load
from ctxtui.services.editing.overlay import SessionEdits
from ctxtui.services.editing.pins import (
    AHEAD_HOOK,
    COLD_HOOK,
    PINS_HOOK,
    Hook,
    PinnedBlock,
    add_hook,
    as_text,
    pins_command,
)
from ctxtui.services.recordings.open import load as open_file
from tests.cases.claude_code import Script, text
from tests.cli.conftest import Run
from tests.services.lookalike import claude_code


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
    assert run == [sys.executable, "-P", "-m", "ctxtui", "edits", "pins", "--hook-input"]
    hostile = recording.parent / "shop" / "ctxtui"
    hostile.mkdir()
    (hostile / "__main__.py").write_text("print('PWNED')")
    (hostile.parent / "json.py").write_text("print('PWNED')")
    printed = run_hook(run, recording)
    assert "PWNED" not in printed.stdout
    assert "never touch the ledger" in printed.stdout
    again = ctxtui("edits", "pins", recording, "--hook", "--yes")
    assert "already installed" in again.err and json.loads(settings.read_text()) == made


def run_hook(run: list[str], transcript: Path) -> subprocess.CompletedProcess[str]:
    """Run a hook as Claude Code does after a compaction of `transcript`."""
    about = json.dumps({"hook_event_name": "SessionStart", "source": "compact", "transcript_path": str(transcript)})
    return subprocess.run(run, input=about, capture_output=True, text=True, timeout=60, cwd=transcript.parent / "shop")


def test_after_a_compaction_of_another_session_of_the_project_its_own_pins_return(ctxtui: Run, recording: Path) -> None:
    pin(recording)
    script = Script(cwd=str(recording.parent / "shop"), session="2f1c8a52-0d8e-4f51-9c0e-000000000002")
    script.user("the second session")
    script.assistant(text("Understood."), id="msg_2", stop="end_turn")
    second = recording.with_name("two.jsonl")
    second.write_bytes(script.dump())
    printed = run_hook(shlex.split(pins_command()), second)
    assert printed.returncode == 0 and printed.stdout == ""


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
    words = as_text([PinnedBlock("Ba\x1b]0;x\x07sh", "red\x1b[31m\r\nnext\tcell\u202e\U000e0041", "d")])
    assert "␛" in words and "next\tcell" in words
    assert not any(c in words for c in "\x1b\x07\r\u202e\U000e0041")


@pytest.mark.parametrize("told", ["", "[]", "{}", '{"transcript_path": ""}', '{"transcript_path": 5}', "[" * 100_000])
def test_a_hook_that_names_no_transcript(
    ctxtui: Run, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one.jsonl").write_bytes(claude_code(1))
    for command in ("edits pins", "cache", "compactions --ahead"):
        monkeypatch.setattr("sys.stdin", io.StringIO(told))
        assert ctxtui(*command.split(), "--hook-input").code == 4


@pytest.mark.parametrize("command", ["pins a", "edits pins a", "edits pins --hook-input"])
def test_an_older_hook_is_replaced(command: str) -> None:
    old = {"hooks": [{"type": "command", "command": f"/usr/bin/python -m ctxtui {command}"}], "matcher": "compact"}
    after = add_hook({"hooks": {"SessionStart": [old]}}, pins_command())
    assert [entry["hooks"][0]["command"] for entry in after["hooks"]["SessionStart"]] == [pins_command()]
    assert add_hook(after, pins_command()) == after


@pytest.mark.parametrize("kind", [PINS_HOOK, AHEAD_HOOK, COLD_HOOK], ids=lambda kind: kind.event)
def test_a_command_of_the_user_in_the_entry_of_an_older_hook_stays(kind: Hook) -> None:
    name = {PINS_HOOK: "pins", AHEAD_HOOK: "compactions", COLD_HOOK: "cache"}[kind]
    own = {"type": "command", "command": f"/usr/bin/python -m ctxtui {name} a"}
    users = {"type": "command", "command": "notify-send compacted", "timeout": 5}
    after = add_hook({"hooks": {kind.event: [{"matcher": "auto", "hooks": [users, own]}]}}, "new", kind)
    users_entry, new_entry = after["hooks"][kind.event]
    assert users_entry == {"matcher": "auto", "hooks": [users]}
    assert new_entry["hooks"] == [{"type": "command", "command": "new"}]


@pytest.mark.parametrize(
    "hooks", [5, "x", {"SessionStart": "x"}, {"SessionStart": [5]}, {"SessionStart": [{"hooks": 5}]}]
)
def test_hooks_of_another_shape_are_left_alone(ctxtui: Run, recording: Path, hooks: object) -> None:
    settings = settings_file(recording, json.dumps({"hooks": hooks}))
    before = settings.read_bytes()
    ran = ctxtui("edits", "pins", recording, "--hook", "--yes")
    assert ran.code == 4 and "$.hooks" in ran.err and "settings.local.json" in ran.err
    assert settings.read_bytes() == before


def settings_file(recording: Path, content: str) -> Path:
    """The project's settings with `content`."""
    settings = recording.parent / "shop" / ".claude" / "settings.local.json"
    settings.parent.mkdir()
    settings.write_text(content)
    return settings


def test_settings_nested_too_deeply_are_an_error_with_their_place(ctxtui: Run, recording: Path) -> None:
    settings = settings_file(recording, '{"a":' * 100_000)
    ran = ctxtui("edits", "pins", recording, "--hook", "--yes")
    assert ran.code == 7 and "cannot be read" in ran.err and str(settings) in ran.err


def test_half_a_character_in_the_settings_is_written_as_it_was(ctxtui: Run, recording: Path) -> None:
    settings = settings_file(recording, r'{"model": "a\ud800b"}')
    ran = ctxtui("edits", "pins", recording, "--hook", "--yes")
    assert ran.code == 0 and r'"model": "a\ud800b"' in settings.read_text()


def test_settings_of_another_place_are_written_there(ctxtui: Run, recording: Path) -> None:
    settings = settings_file(recording, "{}")
    target = settings.rename(recording.with_name("dotfiles.json"))
    settings.symlink_to(target)
    assert ctxtui("edits", "pins", recording, "--hook", "--yes").code == 0
    assert settings.is_symlink() and "SessionStart" in json.loads(target.read_text())["hooks"]


def test_settings_with_a_number_that_json_cannot_hold_are_left_as_they_are(ctxtui: Run, recording: Path) -> None:
    settings = settings_file(recording, '{"limit": 1e400}')
    ran = ctxtui("edits", "pins", recording, "--hook", "--yes")
    assert ran.code == 4 and "a number cannot be written again" in ran.err and str(settings) in ran.err
    assert settings.read_text() == '{"limit": 1e400}'


def test_a_file_in_place_of_the_settings_folder_is_an_error(ctxtui: Run, recording: Path) -> None:
    (recording.parent / "shop" / ".claude").write_text("")
    ran = ctxtui("edits", "pins", recording, "--hook", "--yes")
    assert ran.code == 7 and "cannot be created: File exists" in ran.err and ".claude" in ran.err


def test_a_hooks_input_nested_too_deeply_is_an_error(ctxtui: Run, recording: Path) -> None:
    run = shlex.split(pins_command())
    ran = subprocess.run(run, input="[" * 100_000, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 4 and "no JSON of a hook" in ran.stderr


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
