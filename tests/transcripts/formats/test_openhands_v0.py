"""OpenHands V0: actions and observations as a list, one to a line, one to a file."""

from __future__ import annotations

import pytest

from ctxtui.core.call import EpochStart
from tests.cases.agents import openhands_v0_events
from tests.transcripts.reading import as_bytes, as_lines, calls, law_2, read, shown, survives_cuts, survives_values

NAME = "trajectory.json"


@pytest.mark.parametrize("spelled", [as_bytes, as_lines])
def test_events_become_calls_with_their_own_usage(spelled) -> None:  # type: ignore[no-untyped-def]
    data = spelled(openhands_v0_events())
    session = read(data, NAME)
    first, second, last = calls(session)
    assert (session.about.source, session.about.title) == ("openhands", "Fix the sum.")
    assert first.usage and (first.usage.fresh, first.usage.cache_read, first.usage.output) == (90, 10, 7)
    assert first.usage.cost == 0.25 and second.usage and second.usage.cost == 0.5
    kinds = [kind for _, _, kind in shown(session, first.raw_head)]
    assert kinds == ["tool", "header", "text", "header", "text", "image_url", "header", "text"]
    assert [kind for _, _, kind in shown(session, first.response_head, first.raw_head)] == [
        "header",
        "text",
        "tool_call",
        "tool_call",
    ]
    results = shown(session, second.raw_head, first.response_head)
    assert [role for _, role, kind in results if kind == "text"] == ["tool", "tool"]
    assert last.usage is None and last.response_head != last.raw_head
    assert [(o.name, o.value) for o in session.outcomes] == [("task_completed", "true")]
    law_2(data, NAME)
    survives_cuts(data, NAME)


def test_a_delegate_is_a_thread_of_its_own() -> None:
    session = read(as_lines(openhands_v0_events()), NAME)
    assert session.threads["delegate 1"].label == "BrowsingAgent"
    assert session.threads["delegate 1"].parent == "main"
    (inner,) = calls(session, "delegate 1")
    texts = [i.block.value().get("text") for i in session.tree.items(inner.raw_head) if i.block.kind == "text"]
    assert texts == ["Browse."]


@pytest.mark.parametrize(
    "gone", [{"forgotten_event_ids": [5, 6, 7, 8]}, {"forgotten_events_start_id": 5, "forgotten_events_end_id": 8}]
)
def test_a_condensation_leaves_a_summary(gone: dict[str, object]) -> None:
    events = openhands_v0_events()
    args = {**gone, "summary": "it went on", "summary_offset": 3}
    condensed = {"id": 20, "timestamp": "2025-03-01T00:00:20", "source": "agent", "action": "condensation"}
    session = read(as_lines([*events[:9], {**condensed, "args": args}, *events[9:]]), NAME)
    second = calls(session)[1]
    assert second.epoch.start is EpochStart.COMPACTION
    texts = [i.block.value().get("text") for i in session.tree.items(second.raw_head) if i.block.kind == "text"]
    assert texts == ["You act.", "Fix the sum.", "Use git well.", "it went on"]


def test_any_value_anywhere_is_survived() -> None:
    survives_values(openhands_v0_events(), NAME)


def test_answers_without_an_id_are_calls_of_their_own() -> None:
    events = openhands_v0_events()
    for event in events:
        event.get("tool_call_metadata", {}).get("model_response", {}).pop("id", None)
    session, named = read(as_lines(events), NAME), read(as_lines(openhands_v0_events()), NAME)
    assert [call.usage for call in session.calls.values()] == [call.usage for call in named.calls.values()]
