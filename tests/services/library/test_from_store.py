"""Figures of sessions that only the database holds are worked out once for each state of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from ctxtui.core.edit import APPLY, Edit
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import CallSeen, Described, Session
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.services.library.library import SessionLibrary
from ctxtui.services.workers import summary_worker
from ctxtui.services.workers.summary_worker import summarize_stored
from ctxtui.store.rows import SourceInfo
from ctxtui.store.store import Store
from ctxtui.views.model.session_summary import SAMPLES, SessionSummary
from tests.cases.sessions import Story, use
from tests.cli.conftest import home

__all__ = ["home"]


def kept(session: Session) -> SessionSummary:
    """The session as Home lists it, once the database holds it."""
    with Store.open(database()) as store:
        store.import_session(session, SourceInfo(format="ctxtui"))
    shelf = SessionLibrary(Settings(), Path.cwd())
    (one,) = [one for one in shelf.join_stored(shelf.list_fast()) if one.group != SAMPLES]
    return one


def test_a_chats_policies_are_those_whose_edits_its_calls_left_under(home: Path) -> None:
    story = Story().user("go").call(use("1", "mcp__git__log")).results(("1", "found"))
    story.session.fold([Described(id="chat-1", source="ctxtui", client="ctxtui chat")])
    (call,) = story.session.calls.values()
    story.session.fold([CallSeen(replace(call, sent_head=story.session.tree[call.raw_head].parent, started=9.0))])
    kept(story.session)
    with Store.open(database()) as store:
        staged = Edit("e1", "drop", author="budget", at=1.0)
        store.add_edits("chat-1", [staged, Edit("a1", APPLY, at=2.0, payload='{"ids":["e1"]}')])
    assert summarize_stored(kept(story.session), Settings()).policies == ("budget",)


def test_they_are_read_once_and_again_when_a_call_was_added(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story().user("go").call(use("1", "mcp__git__log")).results(("1", "found"))
    story.session.fold([Described(id="chat-1", source="ctxtui", client="ctxtui chat")])
    first = summarize_stored(kept(story.session), Settings())
    assert [tool.name for tool in first.tools] == ["log"] and first.calls == 1

    def unread(*of: object) -> object:
        raise CtxtuiError("it is read again")

    with monkeypatch.context() as patched:
        patched.setattr(summary_worker, "open_named", unread)
        assert summarize_stored(kept(story.session), Settings()) == first
        with Store.open(database()) as store:
            store.rename("chat-1", "my title")
        assert summarize_stored(kept(story.session), Settings()).title == "my title"
        story.call("done")
        with pytest.raises(CtxtuiError, match="it is read again"):
            summarize_stored(kept(story.session), Settings())
    assert summarize_stored(kept(story.session), Settings()).calls == 2
