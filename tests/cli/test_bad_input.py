"""Input in any state: what can be read is shown, what was skipped is listed, and nothing ends in a traceback."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.services.lookalike import ClaudeCode, claude_code, codex, lines

GOOD = claude_code(3)
ROWS = GOOD.splitlines(keepends=True)
MIDDLE = len(ROWS) // 2


def between(odd: bytes) -> bytes:
    return b"".join([*ROWS[:MIDDLE], odd, *ROWS[MIDDLE:]])


def with_text(text: str) -> bytes:
    session = ClaudeCode()
    return lines([session.user(text), *session.answer("yes")])


def spelled(text: str) -> bytes:
    """As `with_text`, everything beyond ASCII escaped."""
    session = ClaudeCode()
    records = [session.user(text), *session.answer("yes")]
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


READ = {
    "whole": (GOOD, 0),
    "a cut last line": (GOOD[:-40], 1),
    "no final newline": (GOOD[:-1], 0),
    "a byte order mark": (b"\xef\xbb\xbf" + GOOD, 0),
    "CRLF": (GOOD.replace(b"\n", b"\r\n"), 0),
    "empty lines": (GOOD.replace(b"\n", b"\n\n"), 0),
    "a line that is no JSON": (between(b"Error: something else wrote here\n"), 1),
    "a line of NUL": (between(b"\0" * 500 + b"\n"), None),
    "NUL before a record": (between(b"\0" * 64), None),
    "an escaped NUL in a text": (spelled("a\0b"), 0),
    "invalid UTF-8 in a line": (between(b'{"type":"user","x":"\xff\xfe"}\n'), None),
    "invalid UTF-8 in a text": (with_text("caf\xe9 here").replace("é".encode(), b"\xe9"), None),
    "lone surrogates": (spelled("half \ud83d of one"), 0),
    "a raw surrogate": (with_text("half X of one").replace(b"X", b"\xed\xa0\xbd"), None),
    "a 10 MB line": (with_text("wide " * 2_000_000), 0),
    "a long run without a break": (with_text("a" * 1_000_000), 0),
    "a long run of blanks": (with_text(" " * 2_000_000), 0),
    "unknown records": (between(b'{"type":"hologram","payload":{"a":[1,2]}}\n{"other":true}\n'), None),
    "records that are no objects": (between(b'"a string"\n[1,2,3]\n17\nnull\n'), None),
    "glued objects": (GOOD.replace(b"\n", b"", 1), 0),
    "terminal escapes": (spelled("\x1b[2J\x1b]0;title\x07\u202e[bold red]markup[/]"), 0),
    "deep nesting": (between(b"[" * 50_000 + b"]" * 50_000 + b"\n"), None),
    "a huge number": (between(b'{"type":"user","n":' + b"9" * 5_000 + b"}\n"), None),
}
"""Name -> (bytes, lines that must be listed as skipped; None: some or none)."""

NO_CONTEXT = {
    "an empty file": b"",
    "white space": b"\n \n\t\n",
    "a binary": bytes(range(256)) * 40,
    "a picture": b"\x89PNG\r\n\x1a\n" + bytes(100),
    "prose": b"Dear diary,\nnothing happened.\n",
    "3 MB of JSON in one line": json.dumps({"rows": [{"n": i, "name": f"row {i}"} for i in range(90_000)]}).encode(),
    "a HAR file": b'{"log":{"version":"1.2","creator":{"name":"x"},"entries":[]}}',
    "one bare word": b"null",
    "UTF-16": "{}".encode("utf-16"),
}


@pytest.mark.parametrize("name", READ)
def test_what_can_be_read_is_shown(ctxtui: Run, tmp_path: Path, name: str) -> None:
    data, skipped = READ[name]
    path = tmp_path / "recording.jsonl"
    path.write_bytes(data)
    ran = ctxtui("show", path, "--json")
    assert "Traceback" not in ran.err
    assert ran.code == 0, ran.err
    found = ran.json
    assert found["session"]["calls"] >= 1
    assert sum(b["tokens"] for b in found["blocks"]) + found["residual"] == found["context_tokens"]
    if skipped is not None:
        assert len(found["skipped"]) == skipped, found["skipped"]
    assert all(one["line"] >= 1 and one["reason"] for one in found["skipped"])
    assert path.read_bytes() == data


@pytest.mark.parametrize("name", NO_CONTEXT)
def test_what_holds_no_context_says_what_it_is(ctxtui: Run, tmp_path: Path, name: str) -> None:
    path = tmp_path / "thing"
    path.write_bytes(NO_CONTEXT[name])
    ran = ctxtui("show", path, "--json")
    assert ran.code == 3, (ran.out, ran.err)
    assert "Traceback" not in ran.err
    assert ran.json["error"]["kind"] == "no context"
    assert "this is" in ran.err
    assert str(path) in ran.err


def test_a_database_of_something_else_says_so_and_a_damaged_one_is_unreadable(ctxtui: Run, tmp_path: Path) -> None:
    other, damaged = tmp_path / "other.db", tmp_path / "damaged.db"
    with closing(sqlite3.connect(other)) as db:
        db.execute("CREATE TABLE birds (name TEXT)")
        db.commit()
    damaged.write_bytes(b"SQLite format 3\0" + bytes(100))
    ran = ctxtui("show", other, "--json")
    assert (ran.code, ran.json["error"]["kind"]) == (3, "no context") and "database" in ran.err
    ran = ctxtui("show", damaged, "--json")
    assert ran.code == 4 and str(damaged) in ran.err and "Traceback" not in ran.err


@pytest.mark.parametrize("cut", range(0, len(GOOD), 997))
def test_a_recording_cut_anywhere_is_read_as_far_as_it_goes(ctxtui: Run, tmp_path: Path, cut: int) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_bytes(GOOD[:cut])
    ran = ctxtui("show", path, "--json")
    assert ran.code in (0, 3), ran.err
    if ran.code == 0:
        whole = GOOD[:cut].endswith(b"\n") or GOOD[:cut].endswith(b"}")
        assert len(ran.json["skipped"]) == (0 if whole else 1)


def test_a_cut_rollout_lists_its_last_line(ctxtui: Run, tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(codex(3)[:-25])
    ran = ctxtui("show", path, "--json")
    assert ran.code == 0, ran.err
    assert len(ran.json["skipped"]) == 1


@pytest.mark.parametrize("name", ["terminal escapes", "a raw surrogate", "an escaped NUL in a text"])
def test_plain_output_obeys_nothing(ctxtui: Run, tmp_path: Path, name: str) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_bytes(READ[name][0])
    ran = ctxtui("show", path, "--blocks")
    assert ran.code == 0, ran.err
    assert not set(ran.out) & {"\x1b", "\x07", "\x00", "\u202e"}


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="a file that no user can read from its start")
@pytest.mark.parametrize(
    "command",
    ["curate one.jsonl --edits", "curate one.jsonl --policy", "lab one.jsonl --policy", "run hi --policy",
     "offline --script", "count", "check one.jsonl --baseline", "mcp size"],
)  # fmt: skip
def test_a_file_that_cannot_be_read(ctxtui: Run, command: str, tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_bytes(claude_code(1))
    ran = ctxtui(*command.split(), "/proc/self/mem")
    assert ran.code == 4 and "cannot be read: Input/output error" in ran.err


@pytest.mark.parametrize(
    "command", ["show", "cost", "audit", "export", "session rename", "session delete", "chat --json --continue"]
)
def test_an_empty_name_is_not_this_folder(ctxtui: Run, command: str, tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_bytes(claude_code(1))
    ran = ctxtui(*command.split(), "", *(["new"] if "rename" in command else []))
    assert ran.code == 2 and "the name is empty" in ran.err
