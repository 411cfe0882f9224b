"""Home says whose session a row is, on every width, and where it looked when there is none."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ctxtui.services.config.clients import CLIENTS, search_places
from ctxtui.views.home import columns
from ctxtui.views.home.collection import Collection
from ctxtui.views.home.preview import growth
from ctxtui.views.home.session_list import Group, ListOrder, SessionsSought, arrange
from ctxtui.views.model.session_summary import SAMPLES, SessionSummary

SHORT = {
    "gemini cli": "gemini",
    "copilot cli": "copilot",
    "qwen code": "qwen",
    "kimi code": "kimi",
    "continue cli": "continue",
    "claude code": "claude",
    "mini-swe-agent": "mini-sw…",
}


def line(summary: SessionSummary, width: int) -> str:
    return "".join(span.text for span in columns.row(summary, width, 0.0))


@pytest.mark.parametrize("source", [client.source for client in CLIENTS])
def test_every_row_names_its_client(source: str) -> None:
    read = SessionSummary(key="k", title="a title", source=source, known=True, calls=3, peak_tokens=1000)
    broken = SessionSummary(key="k", title="a title", source=source, known=True, error="binary data at byte 0")
    for one in (read, broken, SessionSummary(key="k", title="a title", source=source)):
        assert SHORT.get(source, source) in line(one, 80) and len(line(one, 80)) <= 80
        assert {"mini-swe-agent": "mini-swe-a…", "continue cli": "continue"}.get(source, source) in line(one, 120)


def test_the_preview_says_how_a_client_writes_its_requests() -> None:
    advice = "OTEL_LOG_RAW_API_BODIES=file:DIR records requests; 2.1.280 alone does not"
    one = SessionSummary(key="k", source="claude code", known=True, advice=advice, first_user_text="hello")
    lines = ["".join(span.text for span in line) for line in growth(one, 100, 9)]
    assert any(advice in line for line in lines)
    assert not any("OTEL" in span.text for line in growth(replace(one, advice=""), 100, 9) for span in line)


def test_without_sessions_it_says_where_it_looked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.delenv("CODEX_HOME", raising=False)
    sought = tuple(SessionsSought(name, " · ".join(places)) for name, places in search_places({"pi": False}))
    sample = SessionSummary(key="s", group=SAMPLES)
    rows = arrange([sample], ListOrder(), "/d", "~", sought)
    heads = [one.name for one in rows if isinstance(one, Group)]
    assert heads == ["samples", "no recorded session on this machine"]
    told = {one.source: one.where for one in rows if isinstance(one, SessionsSought)}
    assert told.keys() == {*(client.source for client in CLIENTS), "other clients"}
    assert "ctxtui doctor" in told["other clients"]
    assert told["codex"] == "/home/me/.codex/sessions · /home/me/.codex/archived_sessions"
    assert told["pi"] == "switched off: clients.pi = false"
    mine = SessionSummary(key="m")
    for listed, words in (([sample, mine], ""), ([sample], "codex")):
        shown = arrange(listed, ListOrder(words=words), "/d", "~", sought)
        assert not [one for one in shown if isinstance(one, SessionsSought)]


def test_hidden_sessions_are_not_missing_ones() -> None:
    hidden, sample = SessionSummary(key="m", archived=True), SessionSummary(key="s", group=SAMPLES)
    sessions = Collection("/d", "~", sought=(SessionsSought("codex", "~/.codex"),))
    sessions.update([sample])
    assert any(isinstance(one, SessionsSought) for one in sessions.entries(ListOrder()))
    sessions.update([sample, hidden])
    assert [one.key for one in sessions.entries(ListOrder()) if not isinstance(one, Group)] == ["s"]  # type: ignore[union-attr]
