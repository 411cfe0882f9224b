"""Contexts that another tool goes on with than the one that recorded them, read by a reader that is none of ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ctxtui.analysis.call_choice import choose_call
from ctxtui.core.session import Session
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.context import Context
from ctxtui.services.editing.edited_context import EditedContext, unfit_reason
from ctxtui.services.editing.exporting import copy_session, default_path, save
from ctxtui.services.recordings.open import load
from ctxtui.tokens.models import RequestLimits
from tests.cases.sessions import Story, use
from tests.transcripts.resumable import claude_code_context, claude_code_faults, codex_context, records


def story() -> Session:
    told = Story(hidden_tokens=0)
    told.user("what is in cart.py?")
    told.call({"type": "thinking", "thinking": "hm", "signature": "c2ln"}, use("t1", "Read", path="cart.py"))
    told.results(("t1", "line of code"))
    told.call("The cart is fine.")
    told.user("and what of the harbour?").tip()
    return told.session


def rollout(path: Path) -> Path:
    said: list[dict[str, Any]] = [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Rules."}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "list it"}]},
        {"type": "reasoning", "summary": [], "encrypted_content": "c2VjcmV0"},
        {"type": "custom_tool_call", "call_id": "call_1", "name": "exec", "input": "ls -la"},
        {"type": "custom_tool_call_output", "call_id": "call_1", "output": [{"type": "input_text", "text": "a.txt"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "One file."}]},
    ]
    meta = {"id": "01a20291-3cde-77b1-b3ad-4448b8190390", "cwd": "/home/dev/shop", "cli_version": "0.169.0"}
    lines = [{"timestamp": "2026-11-22T09:23:22.503Z", "type": "session_meta", "payload": meta}]
    lines += [{"timestamp": "2026-11-22T09:23:23.503Z", "type": "response_item", "payload": one} for one in said]
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    return path


def ready_of(session: Session) -> EditedContext:
    chosen = choose_call(session, "main", 0)
    context = Context.of_call(session.tree, chosen.call)
    applied = Applied(context, length=len(context))
    return EditedContext(
        session=session,
        chosen=chosen,
        context=context,
        applied=applied,
        limits=RequestLimits(prefill=False),
        after=True,
    )


def test_codex_goes_on_with_what_claude_read() -> None:
    session = story()
    made = copy_session(session, choose_call(session, "main", 0), "codex", None)
    lines = records(made.data)
    assert (
        lines[0]["type"] == "session_meta"
        and lines[0]["payload"]["id"] == made.id
        and made.name.endswith(f"{made.id}.jsonl")
    )
    items = codex_context(made.data)
    assert [(one["type"], one.get("role") or one.get("call_id")) for one in items] == [
        ("message", "user"), ("function_call", "t1"), ("function_call_output", "t1"), ("message", "assistant"),
    ]  # fmt: skip
    assert json.loads(items[1]["arguments"]) == {"path": "cart.py"} and items[2]["output"] == "line of code"
    shown = [one["payload"] for one in lines if one["type"] == "event_msg"]
    assert shown == [
        {"type": "user_message", "message": "what is in cart.py?"},
        {"type": "agent_message", "message": "The cart is fine."},
    ]
    assert not made.violations and any("thinking" in line for line in made.lost)
    assert b"harbour" not in made.data, "it ends behind an answer"


def test_claude_code_goes_on_with_what_codex_read(tmp_path: Path) -> None:
    session = load(rollout(tmp_path / "rollout.jsonl")).session
    made = copy_session(session, choose_call(session, "main", 0), "claude-code", None)
    assert claude_code_faults(made.data, b"", made.id) == [] and made.name == f"{made.id}.jsonl"
    said = claude_code_context(made.data)
    assert [(role, part["type"]) for role, part in said] == [
        ("user", "text"), ("assistant", "tool_use"), ("user", "tool_result"), ("assistant", "text"),
    ]  # fmt: skip
    assert said[1][1]["input"] == {"input": "ls -la"} and said[2][1]["tool_use_id"] == said[1][1]["id"]
    assert {one["cwd"] for one in records(made.data)} == {"/home/dev/shop"}
    told = "; ".join(made.lost)
    assert "wrapped as" in told and "thinking" in told and "system prompt and tools" in told


def test_what_only_its_own_session_can_send_stays_out_of_a_copy_too() -> None:
    session = story()
    made = copy_session(session, choose_call(session, "main", 0), "claude-code", None)
    assert [part["type"] for _, part in claude_code_context(made.data)] == ["text", "tool_use", "tool_result", "text"]
    assert any(line.startswith("thinking, which is valid only") for line in made.lost)


def test_a_context_without_an_answer_cannot_go_on_and_says_why() -> None:
    told = Story(hidden_tokens=0)
    told.user("hello")
    told.tip()
    ready = ready_of(told.session)
    for form in ("claude-code", "codex"):
        assert unfit_reason(ready, form, None) == "no answer is in it yet"
    assert unfit_reason(ready_of(story()), "codex", None) == ""


def test_it_is_written_where_the_tool_looks(tmp_path: Path) -> None:
    env, ready = {"HOME": str(tmp_path)}, ready_of(load(rollout(tmp_path / "rollout.jsonl")).session)
    place = default_path(ready, "claude-code", tmp_path / "rollout.jsonl", env)
    assert place == f"{tmp_path}/.claude/projects/-home-dev-shop/"
    made = save(ready, "claude-code", tmp_path / "rollout.jsonl", (), place)
    assert made.command == f"claude --resume {made.path.stem}" and made.path.parent == Path(place)
    assert default_path(ready_of(story()), "codex", None, env) == f"{tmp_path}/.codex/sessions/"
