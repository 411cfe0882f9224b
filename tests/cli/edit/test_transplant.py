"""`ctxtui curate --from`: blocks of another session in a request, and why they cannot be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxtui.offline.anthropic import validate
from tests.cli.conftest import Run
from tests.offline.signing import sign_all


def recording(path: Path, question: str, *, dialect: str = "anthropic") -> Path:
    """A recorded request with one call of a tool."""
    if dialect == "anthropic":
        use = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a"}}
        thinking = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
        result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": f"lines about {question}"}
        request: dict[str, Any] = {
            "model": "claude-sonnet-4-5", "max_tokens": 100,
            "tools": [{"name": "read", "input_schema": {"type": "object"}}],
            "messages": [
                {"role": "user", "content": question},
                {"role": "assistant", "content": [thinking, use]},
                {"role": "user", "content": [result]},
            ],
        }  # fmt: skip
    else:
        call = {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": '{"path":"a"}'}}
        request = {
            "model": "gpt-5.4",
            "messages": [
                {"role": "user", "content": question},
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "call_1", "content": f"lines about {question}"},
            ],
        }
    path.write_text(json.dumps(sign_all(request) if dialect == "anthropic" else request))
    return path


def name_of(ctxtui: Run, path: Path, category: str) -> str:
    blocks = ctxtui("edits", "stage", path, "--blocks", "--json").json["blocks"]
    return next(str(block["name"]) for block in blocks if block["category"] == category)


@pytest.mark.parametrize("dialect", ["anthropic", "openai_chat"])
def test_a_call_of_another_session_comes_with_its_result_and_a_new_id(
    ctxtui: Run, home: Path, tmp_path: Path, dialect: str
) -> None:
    source = recording(tmp_path / "source.json", "rivers", dialect=dialect)
    target = recording(tmp_path / "target.json", "mountains")
    result, asked = name_of(ctxtui, source, "tool_result"), name_of(ctxtui, target, "user")
    ran = ctxtui("curate", target, "--from", f"{source}@1", "--blocks", result, "--behind", asked)
    assert ran.code == 0 and validate.refusals(ran.json) == []
    uses = [part["id"] for message in ran.json["messages"] for part in message["content"] if "id" in part]
    assert len(set(uses)) == 2 and "toolu_1" in uses
    assert ran.out.index("lines about rivers") < ran.out.index("lines about mountains")
    assert "transplant 1" in ran.err and "refused" not in ran.err

    edits = tmp_path / "edits.json"
    edits.write_text(json.dumps(ctxtui("curate", target, "--from", source, "--blocks", result, "--json").json["edits"]))
    again = ctxtui("curate", target, "--edits", edits)
    assert again.code == 0 and validate.refusals(again.json) == [] and "lines about rivers" in again.out
    assert ctxtui("curate", target).json == json.loads(target.read_text()), "the recording is as it was"


def test_a_range_leaves_thinking_out_and_says_so(ctxtui: Run, home: Path, tmp_path: Path) -> None:
    source, target = recording(tmp_path / "source.json", "rivers"), recording(tmp_path / "target.json", "mountains")
    ends = f"{name_of(ctxtui, source, 'user')}..{name_of(ctxtui, source, 'tool_result')}"
    ran = ctxtui("curate", target, "--from", source, "--blocks", ends)
    assert ran.code == 0 and validate.refusals(ran.json) == []
    assert "left out: thinking" in ran.err and ran.out.count("Hm.") == 1


def test_what_cannot_be_put_in_says_why(ctxtui: Run, home: Path, tmp_path: Path) -> None:
    source, target = recording(tmp_path / "source.json", "rivers"), recording(tmp_path / "target.json", "mountains")
    ran = ctxtui("curate", target, "--from", source, "--blocks", name_of(ctxtui, source, "thinking"))
    assert (ran.code, ran.out) == (7, "") and "nothing of it can be copied into another session; thinking" in ran.err
    assert ctxtui("curate", target, "--from", source, "--blocks", "ffffffff").code == 5
    assert ctxtui("curate", target, "--from", f"{source}@9", "--blocks", "ffffffff").code == 5
    assert ctxtui("curate", target, "--from", source).code == 2
    assert ctxtui("curate", target, "--behind", "ffffffff").code == 2


def test_blocks_of_another_session_are_staged_behind_one(ctxtui: Run, home: Path, tmp_path: Path) -> None:
    source, target = recording(tmp_path / "source.json", "rivers"), recording(tmp_path / "target.json", "mountains")
    result, question = name_of(ctxtui, source, "tool_result"), name_of(ctxtui, target, "user")
    staged = "edits", "stage", target, "--from", f"{source}@1", result, "--behind", question, "--author", "agent"
    ran = ctxtui(*staged, "--json")
    (edit,) = ran.json["edits"]
    assert (ran.code, edit["kind"], edit["state"], edit["author"]) == (0, "transplant", "staged", "agent")
    assert edit["blocks"] == [question] and ran.json["left"] == [] and ran.json["tokens"]["freed"] < 0
    # Again: the same blocks once more, under other ids.
    assert len(ctxtui(*staged, "--json").json["edits"]) == 2
    assert ctxtui("edits", "stage", target, "--take-back", "--author", "agent", "--json").json["edits"] == []


def test_what_cannot_be_staged_from_another_session_says_why(ctxtui: Run, home: Path, tmp_path: Path) -> None:
    source, target = recording(tmp_path / "source.json", "rivers"), recording(tmp_path / "target.json", "mountains")
    ran = ctxtui("edits", "stage", target, "--from", source, name_of(ctxtui, source, "thinking"))
    assert ran.code == 7 and "nothing of it can be copied into another session; thinking" in ran.err
    assert ctxtui("edits", "stage", target, "--from", source, "ffffffff").code == 5
    assert ctxtui("edits", "stage", target, "--behind", "ffffffff").code == 2
