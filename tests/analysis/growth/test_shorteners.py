"""Who made the contexts of a session smaller: its client, its provider, policies, the user; as the record says."""

from __future__ import annotations

from ctxtui.analysis.growth.shorteners import BY_HAND, find_compressors, find_policies
from ctxtui.core.call import COMPACTED, EDITS, Call, Epoch, EpochStart
from ctxtui.core.edit import APPLY, REVERT, Edit
from ctxtui.core.session import CallSeen, Described, Session, ThreadSeen


def session(*calls: Call, source: str = "claude code") -> Session:
    made = Session()
    made.apply(Described(source=source))
    made.apply(ThreadSeen("main"))
    for call in calls:
        made.apply(CallSeen(call))
    return made


def test_a_client_compacts_in_ways_of_its_own() -> None:
    auto, by_user = ({COMPACTED: {"trigger": trigger}} for trigger in ("auto", "manual"))
    found = session(
        Call("a", "main"),
        Call("b", "main", epoch=Epoch(2, EpochStart.COMPACTION), extra=auto),
        Call("c", "main", epoch=Epoch(2, EpochStart.COMPACTION)),
        Call("d", "main", epoch=Epoch(3, EpochStart.COMPACTION), extra=by_user),
        Call("e", "main", epoch=Epoch(4, EpochStart.MICROCOMPACTION)),
    )
    assert find_compressors(found) == ("claude code auto", "claude code manual", "claude code microcompaction")
    assert find_compressors(session(Call("a", "main", epoch=Epoch(1, EpochStart.RESUME)))) == ()
    codex = session(Call("a", "main"), Call("b", "main", epoch=Epoch(2, EpochStart.COMPACTION)), source="codex")
    assert find_compressors(codex) == ("codex",)


def test_a_provider_says_which_edits_it_applied() -> None:
    told = {"context_management": {"applied_edits": [{"type": "clear_tool_uses_20250919"}, {"type": 3}, "x"]}}
    none = {"context_management": {"applied_edits": []}}
    assert find_compressors(session(Call("a", "main", extra=told), Call("b", "main", extra=none))) == (
        "clear_tool_uses",
    )


def test_a_recording_names_who_made_the_edits_that_it_applied() -> None:
    told = {"applied": ["1", "2"], "asleep": [], "refused": {}, "by": ["budget", "user"]}
    asleep = {"applied": [], "asleep": ["9"], "refused": {}}
    found = session(Call("a", "main", extra={EDITS: told}), Call("b", "main", extra={EDITS: asleep}))
    assert find_policies(found, {}) == ("budget", BY_HAND)


def test_a_chats_log_says_which_edits_stood_when_a_call_left() -> None:
    log = [
        Edit("1", "drop", author="dedupe_reads", at=1.0),
        Edit("2", "drop", author="budget", at=1.0),
        Edit("3", APPLY, at=5.0, payload='{"ids":["1"]}'),
        Edit("4", REVERT, at=8.0, reverts="1"),
        Edit("5", APPLY, at=9.0, payload='{"ids":["2"]}'),
    ]

    def left(at: float, sent: int = 7) -> Call:
        return Call(f"c{at}", "main", 6, sent, started=at)

    assert find_policies(session(left(2.0), left(6.0)), {"main": log}) == ("dedupe_reads",)
    assert find_policies(session(left(8.5), left(9.5)), {"main": log}) == ("budget",)
    assert find_policies(session(left(6.0, sent=6)), {"main": log}) == (), "it left as it was"
    assert find_policies(session(left(6.0)), {}) == ()
