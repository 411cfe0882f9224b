"""What Home does to sessions: the database changes, a recording never does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.config.settings import Settings
from ctxtui.services.library.library import SessionLibrary
from ctxtui.services.library.session_actions import SessionActions
from ctxtui.tui.home.screen import ShowArchived
from ctxtui.views.model.session_summary import SessionSummary
from tests.services.lookalike import ClaudeCode, lines


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionLibrary:
    """A user with one session of Claude Code."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path / "ctxtui"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "CTXTUI_DB"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / ".claude/projects/-p/a.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(lines(ClaudeCode().turns(2)))
    return SessionLibrary(Settings(), tmp_path)


def own(shelf: SessionLibrary) -> list[SessionSummary]:
    """The user's sessions, with what the database knows."""
    return [one for one in shelf.join_stored(shelf.list_fast()) if one.group != "samples"]


def test_each_change_imports_first_and_shows_on_the_shelf(shelf: SessionLibrary) -> None:
    keeper = SessionActions(Settings())
    (one,) = own(shelf)
    before = Path(one.path).read_bytes()
    assert one.stored == ""
    keeper.rename(one, "the flaky test")
    (one,) = own(shelf)
    assert one.title == "the flaky test" and one.stored
    keeper.tag(one, ["demo", "good"])
    (one,) = own(shelf)
    assert one.tags == ("demo", "good")
    keeper.tag(one, ["good"])
    (one,) = own(shelf)
    assert one.tags == ("good",)
    assert ShowArchived.name in keeper.archive(one, True), "that command has no key"
    (one,) = own(shelf)
    assert one.archived
    keeper.archive(one, False)
    (one,) = own(shelf)
    assert not one.archived
    assert keeper.subscription(one, True) == "paid by a subscription: tokens come first"
    (one,) = own(shelf)
    assert one.subscription
    keeper.subscription(one, False)
    (one,) = own(shelf)
    assert not one.subscription
    assert "the recording is untouched" in keeper.delete(one)
    (one,) = own(shelf)
    assert one.stored == "" and one.title != "the flaky test"
    assert Path(one.path).read_bytes() == before


def test_what_is_imported_stays_when_its_file_goes(shelf: SessionLibrary) -> None:
    keeper = SessionActions(Settings())
    (one,) = own(shelf)
    assert keeper.import_(one).startswith("imported as ")
    Path(one.path).unlink()
    (kept,) = own(shelf)
    assert kept.path == "" and kept.stored
    name = keeper.export_name(kept, "anthropic")
    file = Path(one.path).parent.parent / name
    assert "bytes written" in keeper.export(kept, "anthropic", str(file))
    assert json.loads(file.read_bytes())["messages"]
    keeper.delete(kept)
    assert own(shelf) == []


@pytest.mark.parametrize(
    ("path", "id_"),
    [("/p/.aider.chat.history.md", "p"), ("/d/opencode.db#ses_7", "ses_7"), ("/k/s1/agents/main/wire.jsonl", "s1")],
)
def test_an_export_is_named_for_the_session_where_all_files_are_called_alike(path: str, id_: str) -> None:
    one = SessionSummary(key=path, path=path, id=id_)
    assert SessionActions(Settings()).export_name(one, "ctxtui") == f"{id_}.ctxtui.jsonl"


def test_an_export_replaces_no_file(shelf: SessionLibrary) -> None:
    keeper = SessionActions(Settings())
    (one,) = own(shelf)
    before = Path(one.path).read_bytes()
    with pytest.raises(CtxtuiError, match="the file exists"):
        keeper.export(one, "anthropic", one.path)
    assert Path(one.path).read_bytes() == before


def test_a_file_without_context_is_refused_with_words(shelf: SessionLibrary) -> None:
    (one,) = own(shelf)
    Path(one.path).write_bytes(b"")
    with pytest.raises(CtxtuiError):
        SessionActions(Settings()).import_(one)
