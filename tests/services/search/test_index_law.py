"""The law of the index: what is found with it is found without it, and the other way round."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.services.library.library import SessionLibrary
from ctxtui.services.search import index
from ctxtui.services.search.library_search import BlockFilter, Searcher
from ctxtui.services.search.pattern import Pattern
from ctxtui.store.store import Store
from ctxtui.views.model.session_summary import SessionSummary

ALL = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
WORDS = st.text(st.sampled_from("abcABC ßẞıİſK数据é'\"\n\t.\\😀\u2028"), max_size=12)
Place = tuple[str, str, int, str]


def write(folder: Path, name: str, texts: list[str]) -> None:
    """A session of Claude Code: messages with `texts`, of which every other one is a call's input."""
    lines, up = [], None
    for number, text in enumerate(texts):
        call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": text}}
        usage = {"input_tokens": 10, "output_tokens": 2}
        answer = {"id": f"m{name}{number}", "type": "message", "model": "claude-opus-4-6", "usage": usage}
        for role, content, more in (("user", text, {}), ("assistant", [call], answer)):
            message = {"role": role, "content": content or ".", **more}
            lines.append({
                "parentUuid": up, "isSidechain": False, "sessionId": name, "version": "2.1.62", "type": role,
                "uuid": f"u{len(lines)}", "timestamp": "2026-02-07T09:00:00.000Z", "cwd": "/work", "message": message,
            })  # fmt: skip
            up = lines[-1]["uuid"]
    (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path / "own"))
    projects = tmp_path / "claude" / "projects" / "-work"
    projects.mkdir(parents=True)
    return projects


def sessions(folder: Path) -> list[SessionSummary]:
    shelf = SessionLibrary(Settings(), folder)
    return [one for one in shelf.join_stored(shelf.list_fast()) if one.group != "samples"]


def found(among: list[SessionSummary], query: str, *, regex: bool) -> tuple[list[Place], Searcher]:
    searcher = Searcher(Settings(), Pattern(query, regex=regex), BlockFilter())
    hits = [(one.summary.path, one.hits.block.digest, one.hits.hits, one.label) for one in searcher.hits(among)]
    return sorted(hits), searcher


@settings(max_examples=60 if ALL else 5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(WORDS, min_size=1, max_size=3), min_size=1, max_size=3), st.data())
@example([["Straße ẞ", "STRASSE"], ["ıİi ſs"], ["a b\ta\nb"]], None)
def test_hits_are_the_same_with_the_index_and_without(
    folder: Path, texts: list[list[str]], data: st.DataObject
) -> None:
    for old in folder.iterdir():
        old.unlink()
    database("").unlink(missing_ok=True)
    for number, one in enumerate(texts):
        write(folder, f"s{number}", one)
    among = sessions(folder)
    queries = ["stra", "iss", "i̇i", "ſs", "a b", "a\tb", "数据"]
    every = [text for one in texts for text in one if text]
    if data is not None and every:
        for _ in range(6):
            text = data.draw(st.sampled_from(every))
            start = data.draw(st.integers(0, len(text) - 1))
            part = text[start : start + data.draw(st.integers(1, 8))]
            queries += [part, part.upper(), part.lower(), data.draw(WORDS) or "b"]
    wanted = [found(among, query, regex=False)[0] for query in queries]
    words = found(among, r"a.b", regex=True)[0]
    Store.open(database("")).close()
    assert len(
        list(index.fill_index(Settings(), index.list_unindexed(Settings(), among, live=True), lambda: False))
    ) == len(texts)
    for query, hits in zip(queries, wanted, strict=True):
        shown, searcher = found(among, query, regex=False)
        assert shown == hits, query
        assert searcher.tally.direct == 0 or len(query.casefold().replace("i\u0307", "i")) < 3
    assert found(among, r"a.b", regex=True)[0] == words
