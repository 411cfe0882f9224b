"""Claude Code's and Codex's files, written in any portions: followed, they end as opened afresh."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ctxtui.core.call import Call
from ctxtui.core.errors import NoContext
from ctxtui.core.session import Session
from ctxtui.services.recordings.open import load
from ctxtui.services.recordings.recording import Loaded
from tests.services.lookalike import ClaudeCode, claude_code, codex, lines, subagent


def told(session: Session, head: int) -> list[tuple[str, Any]]:
    return [(item.block.digest, item.place) for item in session.tree.items(head)]


def call_of(session: Session, call: Call) -> tuple[Any, ...]:
    heads = [told(session, head) for head in (call.raw_head, call.sent_head, call.response_head)]
    return replace(call, raw_head=0, sent_head=0, response_head=0), heads


def state(loaded: Loaded) -> dict[str, Any]:
    session = loaded.session
    return {
        "about": session.about,
        "threads": {n: (t.label, t.parent, told(session, t.tip)) for n, t in sorted(session.threads.items())},
        "calls": {n: [call_of(session, session.calls[i]) for i in ids] for n, ids in sorted(session.order.items())},
        "happenings": sorted(map(repr, session.happenings)),
        "skipped": sorted((s.line, s.reason) for s in loaded.skipped),
    }


def compacted() -> tuple[bytes, bytes]:
    """A session with a compaction in it, and its subagent's file."""
    session = ClaudeCode()
    before = list(session.turns(2))
    folded = session.compaction("what was said before, in short")
    return lines([*before, *folded, *session.turns(2, "after")]), subagent(session)


MAIN, AGENT = compacted()
RECORDINGS = {
    "a compaction": MAIN,
    "glued objects": claude_code(3).replace(b"}\n{", b"}{", 2),
    "a line that is no JSON": claude_code(2).replace(b"\n", b"\nnot json\n", 1),
    "Windows lines": claude_code(2).replace(b"\n", b"\r\n"),
    "Codex": codex(4),
}


@given(st.sampled_from(sorted(RECORDINGS)), st.lists(st.floats(0, 1), max_size=6), st.floats(0, 1))
def test_any_portions_end_the_same(name: str, cuts: list[float], agent_at: float) -> None:
    data = RECORDINGS[name]
    ends = sorted({int(cut * len(data)) for cut in cuts} | {len(data)})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rollout-s.jsonl"
        agents = Path(folder) / "rollout-s" / "subagents"
        loaded, start = None, 0
        for end in ends:
            with path.open("ab") as file:
                file.write(data[start:end])
            if name == "a compaction" and end >= agent_at * len(data) and not agents.exists():
                agents.mkdir(parents=True)
                (agents / "agent-abc123.jsonl").write_bytes(AGENT)
            start = end
            try:
                loaded = loaded or load(path)
            except NoContext:
                continue
            loaded.more()
        assert loaded is not None
        loaded.more()
        assert loaded.bytes_read >= len(data)
        assert state(loaded) == state(load(path))


@given(st.sampled_from(sorted(RECORDINGS)), st.sampled_from(sorted(RECORDINGS)), st.floats(0, 1))
def test_one_recording_over_another(first: str, second: str, cut: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rollout-s.jsonl"
        path.write_bytes(RECORDINGS[first])
        loaded = load(path)
        data = RECORDINGS[second]
        at = int(cut * len(data))
        path.write_bytes(data[:at])
        loaded.more()
        with path.open("ab") as file:
            file.write(data[at:])
        loaded.more()
        loaded.more()
        assert state(loaded) == state(load(path))
