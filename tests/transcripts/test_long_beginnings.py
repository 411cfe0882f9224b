"""A request whose first text is longer than what is looked at of a file is recognised all the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.transcripts.reading import as_bytes, calls, read

LONG = "Be kind. " * 12_000
USER = {"role": "user", "content": "hello"}
TOOLS = [{"name": f"t{n}", "description": "does " * 40, "input_schema": {"type": "object"}} for n in range(500)]
FUNCTIONS = [{"type": "function", "function": {"name": f"t{n}", "description": "does " * 40}} for n in range(500)]
BODIES: dict[str, Any] = {
    "system first": {"model": "claude-x", "system": LONG, "max_tokens": 1, "messages": [USER]},
    "system before the model's name": {"max_tokens": 1, "model": "claude-x", "system": [{"type": "text", "text": LONG}],
                                       "messages": [USER]},
    "a long system message": {"model": "m", "messages": [{"role": "system", "content": LONG}, USER]},
    "messages first": {"messages": [{"role": "system", "content": LONG}, USER], "model": "m"},
    "tools first": {"tools": TOOLS, "model": "claude-x", "max_tokens": 1, "messages": [USER]},
    "functions first": {"model": "m", "tools": FUNCTIONS, "messages": [USER]},
    "a long input": {"model": "m", "input": [{"role": "user", "content": [{"type": "input_text", "text": LONG}]}]},
    "input as one text": {"model": "m", "input": LONG},
    "instructions first": {"model": "m", "instructions": LONG, "input": "hello"},
    "a pair": {"request": {"model": "m", "messages": [{"role": "system", "content": LONG}, USER]}, "response": None},
    "an escape at the cut": {"model": "m", "messages": [{"role": "system", "content": "\\\"\u2028" * 30_000}, USER]},
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("indent", [None, 2])
def test_it_is_a_call(name: str, indent: int | None) -> None:
    session = read(as_bytes(BODIES[name], indent), "body.json")
    assert len(calls(session)) == 1, name


@pytest.mark.parametrize("at", range(65_530, 65_542))
def test_a_cut_at_any_character_of_an_escape(at: int) -> None:
    words = "x" * (at - 60) + '\u00e9\u2028\\"\n' * 20
    data = json.dumps({"model": "m", "messages": [{"role": "user", "content": words}, USER]}).encode()
    assert len(calls(read(data, "body.json"))) == 1


def test_a_long_file_of_something_else_is_none_of_it() -> None:
    from ctxtui.transcripts.registry import detect

    other = as_bytes({"name": "shop", "tools": [{"name": "hammer", "weight": n} for n in range(9000)], "messages": []})
    form = detect(other[:65_536], "inventory.json")
    assert form is None or form.name not in ("anthropic", "openai chat", "openai responses")
