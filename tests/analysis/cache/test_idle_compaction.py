"""Claude Code compacts in a pause, before its cache expires: what is lost then is lost to the compaction."""

from __future__ import annotations

import pytest

from ctxtui.analysis.cache.miss import COMPACTION, TTL
from ctxtui.analysis.cache.miss_finder import find_misses
from ctxtui.analysis.window_signs import compaction_size, is_early_compaction
from ctxtui.core.session import Session
from ctxtui.services.config.package_data import model_table
from ctxtui.services.counting.books import cache_rules_by_call
from tests.analysis.cache.test_misses import found
from tests.analysis.sessions import book
from tests.cases.claude_code_script import Script, text, usage
from tests.transcripts.reading import read

NOTES = (
    'Compacted while idle, before the prompt cache expired · turn off with "idleCompaction": false in settings.json',
    'Compacted using a summary written while you were away · turn off with "idleCompaction": false in settings.json',
)
LONG = "what the person says at length, " * 6_000


def session(note: str, *, compacts: bool = True) -> Session:
    """An hour's cache, a pause of two, and in it a compaction that `note` tells of ("": nothing does)."""
    script = Script(version="2.1.332", entrypoint="cli")
    script.user(LONG)
    script.assistant(text("hi"), id="msg_1", use=usage(hour=60_000, output=5), stop="end_turn")
    if compacts:
        script.tip = None
        metadata = {"trigger": "auto", "preTokens": 60_005}
        script.put("system", subtype="compact_boundary", compactMetadata=metadata, seconds=3_240)
        script.user("Summary: " + LONG[: len(LONG) // 2], isCompactSummary=True)
    if note:
        script.put("system", subtype="informational", content=note, level="notice")
    script.user("I am back", seconds=4_000)
    script.assistant(text("good"), id="msg_2", use=usage(hour=42_000, output=5), stop="end_turn")
    return read(script.dump(), "s.jsonl")


@pytest.mark.parametrize("note", NOTES)
def test_the_cause_is_the_compaction_and_not_the_pause(note: str) -> None:
    made = session(note)
    last = made.thread_calls()[-1]
    assert last.follows_idle_compaction and last.epoch.detail == "60.0k → 42.0k · by claude code while idle"
    counted = book(made, model_table())
    (row,) = find_misses(counted, cache_rules_by_call(counted)).rows
    assert row.cause == "compaction" and row.predicted * 2 <= row.previous
    (miss,) = found(made).misses
    assert miss.cause == COMPACTION and miss.what.endswith("while idle") and miss.tokens > 10_000
    # It says nothing of the size at which the client compacts, and nobody asked for it.
    assert compaction_size(last) == 0


def test_without_the_note_it_is_the_clients_limit() -> None:
    last = session("").thread_calls()[-1]
    assert not last.follows_idle_compaction and compaction_size(last) == 60_005 and not is_early_compaction(last)


def test_a_note_without_a_compaction_is_a_pause() -> None:
    (miss,) = found(session(NOTES[0], compacts=False)).misses
    assert miss.cause == TTL
