"""Travel: events in both directions, and what a typed text asks for."""

from __future__ import annotations

import pytest

from ctxtui.analysis.session_events import CallEvent
from ctxtui.core.category import INDEX
from ctxtui.views.inspector.prompt_commands import Go, ParseError, Seek, Show, apply_filter, next_event, parse_command

EVENTS = [
    CallEvent(1, "turn", "turn 1"),
    CallEvent(4, "jump", "+6k"),
    CallEvent(7, "turn", "turn 2"),
    CallEvent(7, "miss", "rewritten"),
    CallEvent(9, "microcompaction"),
]


@pytest.mark.parametrize(
    ("number", "kind", "step", "expected"),
    [
        (1, "event", 1, (4, "jump")),
        (4, "event", 1, (7, "miss")),
        (9, "event", -1, (7, "miss")),
        (7, "event", -1, (4, "jump")),
        (1, "turn", 1, (7, "turn")),
        (7, "turn", 1, None),
        (1, "compaction", 1, (9, "microcompaction")),
        (9, "error", -1, None),
    ],
)
def test_the_next_event(number: int, kind: str, step: int, expected: tuple[int, str] | None) -> None:
    found = next_event(EVENTS, number, kind, step)
    assert (found and (found.number, found.kind)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("139", Go(139)),
        (" #7 ", Go(7)),
        ("1,234", Go(1234)),
        ("miss", Seek("miss")),
        ("-misses", Seek("miss", -1)),
        ("-turn", Seek("turn", -1)),
        ("errors", Seek("error")),
        ("", Show()),
        ("all", Show()),
        ("user", Show(frozenset({INDEX["user"]}))),
        ("tool call, result", Show(frozenset({INDEX["tool_call"], INDEX["tool_result"]}))),
        ("-thinking", Show(frozenset({INDEX["thinking"]}), hide=True)),
        ("sum", Show(frozenset({INDEX["summary"]}))),
    ],
)
def test_what_a_text_asks_for(text: str, expected: object) -> None:
    assert parse_command(text, 2000) == expected


@pytest.mark.parametrize("text", ["0", "201", "999999999999", "foo", "user foo", "-"])
def test_what_cannot_be_understood_is_said(text: str) -> None:
    wish = parse_command(text, 200)
    assert isinstance(wish, ParseError) and wish.message


def test_filters() -> None:
    only = apply_filter(Show(frozenset({3})), "line", "hidden")
    assert only[3] == "line" and set(only[:3] + only[4:]) == {"hidden"}
    less = apply_filter(Show(frozenset({3}), hide=True), "line", "hidden")
    assert less[3] == "hidden" and set(less[:3] + less[4:]) == {"line"}
    assert set(apply_filter(Show(), "line", "hidden")) == {"line"}
