"""The root model's log of a search, and its trials as children."""

from __future__ import annotations

from typing import Any

import pytest

from ctxtui.core.session import Session
from tests.transcripts.reading import (
    as_bytes,
    as_lines,
    calls,
    form_of,
    law_2,
    lines_of,
    read,
    survives_cuts,
    survives_values,
)

NAME = "root_llm_log.jsonl"


def turn(n: int, role: str, content: str, code: str | None = None, result: str | None = None) -> dict[str, Any]:
    when = f"2026-01-01T00:00:{n:02}"
    return {"turn": n, "role": role, "content": content, "code_executed": code, "execution_result": result,
            "timestamp": when}  # fmt: skip


def log() -> list[dict[str, Any]]:
    return [
        turn(0, "user", "Pack the circles."),
        turn(1, "assistant", "[CALIBRATION] trying"),
        turn(2, "assistant", "```repl\nspawn()\n```"),
        turn(3, "system", "Executed code block 1", "spawn()", "3 trials"),
        turn(4, "user", "Generation 0: ..."),
        turn(5, "assistant", "Selected two."),
    ]


def trial() -> dict[str, Any]:
    cost = {"input_tokens": 10, "output_tokens": 4, "cache_read_input_tokens": 90, "total_cost": 0.5}
    return {"trial_id": "trial_0_1", "generation": 0, "parent_id": None, "metrics": {"score": 2.5, "valid": True},
            "code": "x", "prompt": "Make one.", "response": "Here.", "timestamp": "2026-01-01T00:01:00",
            "cost_data": cost}  # fmt: skip


def test_turns_and_notes() -> None:
    session = read(as_lines(log()), NAME)
    first, second = calls(session)
    assert [h.kind for h in session.happenings] == ["code"] and first.extra == {"turn": 2}
    words = [i.block.value().get("text") for i in session.tree.items(second.raw_head) if i.block.kind == "text"]
    assert words == ["Pack the circles.", "```repl\nspawn()\n```", "Generation 0: ..."]
    assert len(calls(session, "calibration")) == 1


def test_trials_are_children() -> None:
    data = as_lines(log())
    form = form_of(data, NAME)
    session = Session()
    reader = form.open(session.tree)
    session.fold([*reader.feed(data), *reader.settle()])
    part = reader.part("trial_0_1.json")
    session.fold([*part.feed(as_bytes(trial(), indent=2)), *part.settle()])
    (child,) = calls(session, "trial_0_1")
    assert session.threads["trial_0_1"].parent == "main" and len(calls(session)) == 2
    assert child.usage and child.usage.input == 100 and child.usage.cost == 0.5
    assert ("trial_0_1: score", "2.5") in {(o.name, o.value) for o in session.outcomes}


def test_usage_stands_in_the_log_itself() -> None:
    told = [{"input_tokens": 1748, "output_tokens": 942}, {"usage": {"input_tokens": 60, "output_tokens": 7}}]
    plain = log()
    plain[2] |= told[0]
    plain[3] |= {"input_tokens": None, "output_tokens": None}
    plain[5] |= told[1]
    found = [call.usage for call in calls(read(as_lines(plain), NAME))]
    assert [(u.input, u.output, u.has_cache) for u in found if u] == [(1748, 942, False), (60, 7, False)]


def test_a_request_went_when_its_last_message_was_written_down() -> None:
    first, second = calls(read(as_lines(log()), NAME))
    assert (first.ended or 0) - (first.started or 0) == 2 and (second.ended or 0) - (second.started or 0) == 1


def config(**more: Any) -> dict[str, Any]:
    def model(name: str) -> dict[str, Any]:
        return {"model": name, "cost_per_million_input_tokens": 2.0, "cost_per_million_output_tokens": 10.0}

    return {"experiment": {"name": "x"}, "root_llm": model("roo-1"), "child_llm": model("kid-1"), **more}


@pytest.mark.parametrize("first", ["config.json", "trial_0_1.json"])
@pytest.mark.parametrize("children", [{}, {"child_llm": None, "child_llms": [{"alias": "k", "model": "kid-1"}]}])
def test_the_experiment_s_configuration_names_the_models(first: str, children: dict[str, Any]) -> None:
    plain = log()
    plain[2] |= {"input_tokens": 1000, "output_tokens": 100}
    reader = form_of(as_lines(plain), NAME).open((session := Session()).tree)
    session.fold([*reader.feed(as_lines(plain)), *reader.settle()])
    parts = {"config.json": as_bytes(config(**children), indent=2), "trial_0_1.json": as_bytes(trial(), indent=2)}
    for name in sorted(parts, key=lambda name: name != first):
        part = reader.part(name)
        session.fold([*part.feed(parts[name]), *part.settle()])
    assert {call.model for call in calls(session)} == {"roo-1"} and len(calls(session)) == 2
    assert [call.model for call in calls(session, "trial_0_1")] == ["kid-1"]
    assert (usage := calls(session)[0].usage) and usage.cost == pytest.approx(0.003)
    assert not session.skipped and all(one.kind == "code" for one in session.happenings)


@pytest.mark.parametrize("late", [False, True])
def test_the_experiment_s_account_tells_what_the_root_used(late: bool) -> None:
    def entry(kind: str, at: str, given: int, read: int) -> dict[str, Any]:
        return {"input_tokens": given, "output_tokens": 7, "cost": 0.25, "timestamp": f"2026-01-01T00:{at}",
                "llm_type": kind, "cache_creation_input_tokens": 0, "cache_read_input_tokens": read}  # fmt: skip

    account = {"total_cost": 1, "usage_log": [
        entry("child", "00:05.001000", 1, 0), entry("root", "00:02.400000", 500, 40), entry("root", "09:00", 9, 9),
        entry("root_calibration", "00:01.100000", 33, 0),
    ]}  # fmt: skip
    reader = form_of(as_lines(log()), NAME).open((session := Session()).tree)
    parts = [(reader, as_lines(log())), (reader.part("cost_tracking.json"), as_bytes(account, indent=2))]
    for part, data in parts[:: -1 if late else 1]:
        session.fold([*part.feed(data), *part.settle()])
    (aside,) = calls(session, "calibration")
    assert aside.usage and aside.usage.input == 33
    first, second = calls(session)
    assert first.usage and (first.usage.input, first.usage.cache_read, first.usage.cost) == (540, 40, 0.25)
    assert second.usage is None, "nothing was told within its second"


def test_another_program_s_configuration_says_nothing() -> None:
    reader = form_of(as_lines(log()), NAME).open((session := Session()).tree)
    part = reader.part("config.json")
    session.fold([*part.feed(b'{"model_type": "x", "root": "/srv", "child": 3}'), *part.settle()])
    assert not session.happenings and not session.skipped


def test_any_chunking_any_cut_any_value() -> None:
    law_2(as_lines(log()), NAME)
    survives_cuts(as_lines(log()), NAME)
    survives_values(log(), NAME, lines_of)
    survives_values(trial(), "trial.json")
