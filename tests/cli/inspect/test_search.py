"""`ctxtui search` and `ctxtui db index`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.services.search.test_search import write


@pytest.fixture
def recorded(home: Path) -> Path:
    folder = home / ".claude" / "projects" / "-work"
    folder.mkdir(parents=True)
    write(folder, "one", "Where is the NEEDLE?")
    write(folder, "two", "Something \x1b[31m else")
    return folder


def test_found_is_0_and_nothing_is_1(ctxtui: Run, recorded: Path) -> None:
    assert ctxtui("search", "needle").code == 0
    none = ctxtui("search", "nowhere at all")
    assert (none.code, none.out, none.err) == (1, "", "")
    assert ctxtui("search", "needle", "--json").json["hits"][0]["call"] == 1
    assert ctxtui("search", "a[", "--regex").code == 2
    assert ctxtui("search", "").code == 2


def test_a_named_session_that_cannot_be_searched_is_an_error(ctxtui: Run, recorded: Path, tmp_path: Path) -> None:
    for name, data, code in (("a.txt", b"plain", 3), ("b.bin", b"\0\1\2", 3), ("c.jsonl", b"", 3), ("gone", None, 5)):
        if data is not None:
            (tmp_path / name).write_bytes(data)
        result = ctxtui("search", "needle", "--session", tmp_path / name)
        shown = ctxtui("show", tmp_path / name)
        assert (result.code, result.out, result.err) == (code, "", shown.err) and name in result.err
    assert ctxtui("search", "nowhere", "--session", recorded).code == 1, "some can be read"


@pytest.mark.parametrize("option", [("--source", "codex"), ("--since", "1d"), ("--here",)])
def test_a_named_session_is_not_chosen_from_all(ctxtui: Run, recorded: Path, option: tuple[str, ...]) -> None:
    result = ctxtui("search", "needle", "--session", recorded / "one.jsonl", *option)
    assert result.code == 2 and option[0] in result.err


def test_hits_as_lines(ctxtui: Run, recorded: Path) -> None:
    lines = ctxtui("search", "something").out.splitlines()
    assert lines[0].startswith("~/.claude/projects/-work/two.jsonl")
    assert "call 1" in lines[1]
    assert lines[1].endswith("Something ␛[31m else")


def test_hits_as_json(ctxtui: Run, recorded: Path) -> None:
    answer = ctxtui(
        "search", "COMPUTE_context".lower(), "--kind", "tool-result", "--session", recorded / "one.jsonl", "--json"
    )
    (hit,) = answer.json["hits"]
    start, end = hit["span"]
    assert hit["snippet"][start:end] == "compute_context"
    assert (hit["session"], hit["path"], hit["stored"]) == ("one", str(recorded / "one.jsonl"), None)
    assert (hit["thread"], hit["call"], hit["turn"], hit["category"]) == ("main", 2, 1, "tool_result")
    assert (hit["label"], hit["hits"], len(hit["digest"])) == ("Bash", 1, 32)
    assert answer.json["sessions"] == {"indexed": 0, "direct": 1}
    assert (answer.json["query"], answer.json["regex"], answer.json["case_sensitive"]) == (
        "compute_context",
        False,
        False,
    )


def test_filters_and_limit(ctxtui: Run, recorded: Path) -> None:
    def count(*options: str) -> int:
        return len(ctxtui("search", "compute_context", "--json", *options).json["hits"])

    assert count() == 4
    assert count("--kind", "tool-call", "--kind", "user") == 2
    assert count("--tool", "bash") == 4
    assert count("--tool", "read") == 0
    assert count("--source", "codex") == 0
    assert count("--since", "1d") == 4
    limited = ctxtui("search", "compute_context", "--limit", "3")
    assert len([line for line in limited.out.splitlines() if line.startswith("  call")]) == 3
    assert "more than 3" in limited.err


def test_the_note_names_no_indexed_session_as_unindexed(
    ctxtui: Run, recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(sys.stderr), "isatty", lambda self: True)
    assert "not in the full-text index" in ctxtui("search", "needle").err
    assert "full-text index" not in ctxtui("search", "needle", "--session", recorded).err, "perhaps never indexed"
    ctxtui("db", "index")
    assert "full-text index" not in ctxtui("search", "needle").err
    for query in (("-e", "N[EX]{2}DLE"), ("ne",), ("-e", "n.e")):
        error = ctxtui("search", *query).err
        assert "cannot use the full-text index" in error and "db index" not in error


def test_the_index_is_filled_once(ctxtui: Run, recorded: Path) -> None:
    first = ctxtui("db", "index", "--json").json
    assert (first["indexed"] >= 2, first["failed"], first["size"] > 0) == (True, {}, True)
    again = ctxtui("db", "index", "--json").json
    assert (again["indexed"], again["known"]) == (0, first["indexed"])
    assert ctxtui("search", "needle", "--json").json["sessions"]["direct"] == 0
    assert ctxtui("db", "index", "--anew", "--json").json["indexed"] == first["indexed"]
    assert "0 sessions indexed" in ctxtui("db", "index").out
