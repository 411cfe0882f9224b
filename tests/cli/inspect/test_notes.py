"""`ctxtui session notes`, and notes in `show --json`."""

from __future__ import annotations

import json
from pathlib import Path

from ctxtui.analysis.content.notes import target_of
from ctxtui.services.config.settings import Settings
from ctxtui.services.library.notebook import Notebook
from ctxtui.services.recordings.open import load
from tests.cli.conftest import Run
from tests.services.search.test_search import write


def noted(folder: Path) -> Path:
    """A recording with a bookmark on its second block and a note on its second call."""
    path = write(folder, "one", "Where is the NEEDLE?")
    loaded = load(path)
    book, tree = Notebook(loaded, Settings()), loaded.session.tree
    calls = loaded.session.thread_calls("main")
    node = tree.path(calls[0].sent_head)[1]
    book.store(book.on_block(target_of(tree, node), "Where is").with_bookmark_toggled(5.0))
    book.store(book.on_call(calls[1].id, "claude").with_text("why \x1b[31m so dear?", 6.0))
    return path


def test_notes_of_a_session_say_where_they_stand(ctxtui: Run, tmp_path: Path) -> None:
    path = noted(tmp_path)
    first, second = ctxtui("session", "notes", path, "--json").json["notes"]
    assert (first["bookmark"], first["text"], first["call"], first["thread"], first["found"]) == (
        True,
        "",
        1,
        "main",
        True,
    )
    assert (first["occurrence"], len(first["digest"]), first["path"]) == (0, 32, str(path))
    assert (second["digest"], second["call"], second["text"]) == (None, 2, "why \x1b[31m so dear?")
    lines = ctxtui("session", "notes", path).out.splitlines()
    assert lines[0].startswith("  ★ call 1  block: Where is")
    assert lines[1].endswith("why ␛[31m so dear?")


def test_notes_of_all_sessions_need_none_of_them(ctxtui: Run, tmp_path: Path) -> None:
    assert ctxtui("session", "notes", "--json").json["notes"] == []
    path = noted(tmp_path)
    path.unlink()
    rows = ctxtui("session", "notes", "--json").json["notes"]
    assert [(row["session"], row["bookmark"]) for row in rows] == [("one", False), ("one", True)]
    assert "gone" in ctxtui("session", "notes").out.splitlines()[0]


def test_show_has_the_notes_of_its_call(ctxtui: Run, tmp_path: Path) -> None:
    path = noted(tmp_path)
    assert [one["call"] for one in ctxtui("show", path, "--json").json["notes"]] == [2, 1]
    assert [one["bookmark"] for one in ctxtui("show", path, "--call", "1", "--json").json["notes"]] == [True]
    path.write_text(path.read_text() + path.read_text().splitlines()[-1] + "\n")
    assert len(ctxtui("show", path, "--json").json["notes"]) == 2


def test_an_imported_copy_has_the_notes_of_its_recording(ctxtui: Run, tmp_path: Path) -> None:
    path = noted(tmp_path)
    id_ = ctxtui("import", path, "--json").json["imported"][0]["id"]
    path.unlink()
    assert [one["found"] for one in ctxtui("session", "notes", id_, "--json").json["notes"]] == [True, True]


def test_a_stored_session_without_an_id_of_its_own_has_the_notes_of_its_file(ctxtui: Run, tmp_path: Path) -> None:
    path = tmp_path / "body.json"
    messages = [{"role": "user", "content": "some words"}]
    path.write_text(json.dumps({"model": "claude-opus-4-5", "max_tokens": 9, "messages": messages}), encoding="utf-8")
    loaded = load(path)
    book, node = Notebook(loaded, Settings()), loaded.session.threads["main"].tip
    book.store(book.on_block(target_of(loaded.session.tree, node), "some words").with_bookmark_toggled(5.0))
    id_ = ctxtui("import", path, "--json").json["imported"][0]["id"]
    assert [one["about"] for one in ctxtui("session", "notes", id_, "--json").json["notes"]] == ["some words"]
    ctxtui("session", "delete", id_, "--yes")
    assert [one["about"] for one in ctxtui("session", "notes", "--json").json["notes"]] == [""]
