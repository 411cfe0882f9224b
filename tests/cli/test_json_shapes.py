"""The JSON of commands keeps its members and their types, as docs/versions.md promises."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from scripts import json_shapes
from tests.cli.conftest import Run

RECORDED: dict[str, dict[str, str]] = json.loads(json_shapes.FILE.read_text(encoding="utf-8"))
LONG = ("lab ", "report ", "sessions ", "preflight ", "cost --why ")


def broken_members(recorded: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """What a program that reads the recorded members would no longer find."""
    gone = [f"{place} is gone" for place in recorded if place not in now]
    other = [
        f"{place} is {now[place]}, was {types}"
        for place, types in recorded.items()
        if place in now and not {*now[place].split(" or ")} <= {*types.split(" or "), "null"}
    ]
    return gone + other


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(command, marks=[pytest.mark.slow] if command.startswith(LONG) else [])
        for command in json_shapes.COMMANDS
    ],
)
def test_an_answer_has_the_members_of_before(ctxtui: Run, command: str) -> None:
    ran = ctxtui(*json_shapes.arguments_of(command))
    assert ran.json["schema_version"] == 1, "a new version: record all shapes, and tell it in docs/json.md"
    now, recorded = json_shapes.shape_of(ran.json), RECORDED[command]
    broken = broken_members(recorded, now)
    assert not broken, f"this needs a new schema_version (docs/versions.md): {broken}"
    new = sorted(now.keys() - recorded.keys())
    assert not new, f"new members: describe them in docs/json.md, and run scripts/json_shapes.py: {new}"


def test_every_command_with_json_is_compared() -> None:
    assert list(RECORDED) == list(json_shapes.COMMANDS)


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        ({"blocks": [{"size": 3}]}, ["blocks[].tokens is gone"]),
        ({"blocks": [{"tokens": "3"}]}, ["blocks[].tokens is text, was number"]),
        ({"blocks": [{"tokens": 3.5}]}, []),
        ({"blocks": [{"tokens": None}]}, []),
        ({"blocks": [{"tokens": 3, "more": 1}]}, []),
    ],
)
def test_renamed_and_retyped_members_are_found(change: Any, broken: list[str]) -> None:
    recorded = json_shapes.shape_of({"blocks": [{"tokens": 3}]})
    assert broken_members(recorded, json_shapes.shape_of(change)) == broken
