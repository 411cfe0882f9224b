"""Values of types and in places that nobody expects: each once ended a command with "please report it"."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ctxtui.services.editing.edited_context import TRANSLATED
from tests.cases import agents
from tests.cases.claude_code import generate
from tests.cases.claude_code_script import Script, text
from tests.cli.conftest import Run
from tests.transcripts.reading import as_lines


def claude(path: Path, change: Any) -> Path:
    """A Claude Code session of a few messages, after `change` was made to its records."""
    records = [json.loads(line) for line in generate(n_messages=8, seed=2).splitlines()]
    for record in records:
        change(record)
    path.write_bytes(b"".join(json.dumps(record).encode() + b"\n" for record in records))
    return path


def usage_of(record: dict[str, Any]) -> dict[str, Any]:
    found = record.get("message", {}).get("usage")
    return found if isinstance(found, dict) else {}


def odd_tier(record: dict[str, Any]) -> None:
    if usage_of(record):
        usage_of(record)["service_tier"] = {"a": [1]}


def far_away(record: dict[str, Any]) -> None:
    record["timestamp"] = 9e15


def no_answer(record: dict[str, Any]) -> None:
    if record["type"] == "assistant":
        record["type"] = "progress"


def odd_model(record: dict[str, Any]) -> None:
    if record["type"] == "assistant":
        record["message"]["model"] = "\ud800x"


@pytest.mark.parametrize("change", [odd_tier, far_away, no_answer, odd_model], ids=lambda change: change.__name__)
def test_odd_members_of_records_stop_no_command(ctxtui: Run, tmp_path: Path, change: Any) -> None:
    path = claude(tmp_path / "a.jsonl", change)
    for command in ("show", "cost", "why", "cache", "audit", "preflight"):
        ran = ctxtui(command, path, "--json")
        assert ran.code in (0, 3), (command, ran.err)
        assert "please report" not in ran.err and json.loads(ran.out)


@pytest.mark.parametrize("odd", [["user"], {"a": 1}, 7, None])
@pytest.mark.parametrize("member", ["role", "type"])
def test_odd_roles_and_types_are_violations_and_no_faults(ctxtui: Run, tmp_path: Path, member: str, odd: Any) -> None:
    bodies: dict[str, Any] = {
        "chat": {"model": "m", "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]},
        "responses": {"model": "m", "input": [{"type": "message", "role": "user", "content": "a"}, {"id": [1]}]},
        "anthropic": {"model": "claude-opus-5", "max_tokens": 1, "messages": [
            {"role": "user", "content": [{"type": "text", "text": "a"}]}, {"role": "assistant", "content": "b"}]},
    }  # fmt: skip
    for name, body in bodies.items():
        listed = body.get("messages") or body["input"]
        (listed[0]["content"][0] if member == "type" and name == "anthropic" else listed[0])[member] = odd
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(body))
        for command in (["repair"], ["curate", "--policy", "budget"], ["share", "-o", str(tmp_path / f"{name}.html")]):
            ran = ctxtui(command[0], path, *command[1:])
            assert "please report" not in ran.err, (name, command, ran.err)


@pytest.mark.parametrize(
    "odd", [3, None, ["a"], {}, {"type": [None], "text": "x"}, {"type": {}}, {"type": "text", "text": [1]}]
)
@pytest.mark.parametrize("role", ["user", "assistant", "toolResult"])
@pytest.mark.parametrize("form", TRANSLATED)
def test_odd_parts_stop_no_session_for_another_tool(
    ctxtui: Run, tmp_path: Path, form: str, role: str, odd: Any
) -> None:
    records = agents.pi()
    said = [one["message"] for one in records if one["type"] == "message" and one["message"]["role"] == role]
    said[0]["content"] = [{"type": "text", "text": "what stands beside it"}, odd]
    path, out = tmp_path / "pi.jsonl", tmp_path / "out"
    path.write_bytes(as_lines(records))
    ran = ctxtui("curate", path, "--to", form, "-o", out)
    assert ran.code == 0, ran.err
    written = out.read_text("utf-8")
    if form == "claude-code" and odd != {"type": "text", "text": [1]}:
        # It is said as text, or named among what is not carried over.
        said_as = json.dumps({"type": "text", "text": json.dumps(odd)}, separators=(",", ":"))
        assert said_as in written or "parts that could not be read" in ran.err
    assert "what stands beside it" in written


def own(ctxtui: Run, tmp_path: Path) -> list[str]:
    script = Script()
    script.user("hello there")
    script.assistant(text("Hello."), id="msg_1", stop="end_turn")
    path, out = tmp_path / "a.jsonl", tmp_path / "own.jsonl"
    path.write_bytes(script.dump())
    assert ctxtui("export", path, "--to", "ctxtui", "-o", out).code == 0
    return out.read_text().splitlines()


def skeleton(dialect: str, frame: list[Any]) -> dict[str, Any]:
    return {"skeleton": {"dialect": dialect, "parts": {"frame": frame}}}


def gaps(*around: str) -> dict[str, Any]:
    made = skeleton("anthropic", [["{", '"messages"', ":", None], "}"])
    made["skeleton"]["parts"]["sections"] = {"messages": {"gaps": list(around)}}
    return made


@pytest.mark.parametrize(
    ("start", "change"),
    [
        ('{"block":', lambda line: line | {"body": [1]}),
        ('{"call":', lambda line: line | {"usage": {"fresh": [1]}}),
        ('{"call":', lambda line: line | {"started": 1e300}),
        ('{"call":', lambda line: line | {"started": 10**400}),
        ('{"call":', lambda line: line | skeleton("anthropic", [["a", "b"], "c"])),
        ('{"call":', lambda line: line | skeleton("anthropic", [[{}, {}, {}, "x"], ""])),
        ('{"call":', lambda line: line | skeleton("x", [""])),
        ('{"call":', lambda line: line | skeleton("anthropic", [["{", '"messages"', ":", None], ""])),
        ('{"call":', lambda line: line | gaps("]", "[")),
    ],
    ids=["header", "usage", "time", "endless time", "short entry", "entry of objects", "dialect", "open end", "gaps"],
)  # fmt: skip
def test_a_damaged_line_of_our_own_format_is_passed_over_and_named(
    ctxtui: Run, tmp_path: Path, start: str, change: Any
) -> None:
    lines = own(ctxtui, tmp_path)
    at = next(n for n, line in enumerate(lines) if line.startswith(start))
    lines[at] = json.dumps(change(json.loads(lines[at])))
    path = tmp_path / "damaged.jsonl"
    path.write_text("\n".join(lines) + "\n")
    out = str(tmp_path / "page.html")
    writing = (["share", "-o", out], ["export", "--to", "anthropic"], ["curate", "--to", "anthropic"])
    for command in (["show", "--json"], ["cache", "--json"], ["preflight", "--json"], ["repair"], *writing):
        ran = ctxtui(command[0], path, *command[1:])
        assert ran.code in (0, 3, 4) and "please report" not in ran.err, (command, ran.err)


def test_a_flipped_bit_in_our_own_format_costs_one_line(ctxtui: Run, tmp_path: Path) -> None:
    lines = own(ctxtui, tmp_path)
    at = next(n for n, line in enumerate(lines) if line.startswith('{"block":'))
    data = "\n".join(lines).encode().replace(b'"digest":"', b'"digest":"\xe1', at + 1)
    path = tmp_path / "flipped.jsonl"
    path.write_bytes(data + b"\n")
    ran = ctxtui("show", path)
    assert ran.code in (0, 3) and "please report" not in ran.err


def test_an_option_for_a_collector_needs_its_address(ctxtui: Run, tmp_path: Path) -> None:
    ran = ctxtui("export", claude(tmp_path / "a.jsonl", lambda record: None), "--otlp-content")
    assert ran.code == 2 and "--otlp-content needs --otlp" in ran.err and not ran.out


@pytest.mark.parametrize(
    "command",
    [
        *("show", "show --blocks", "show --threads", "show --tools", "cost", "cost --by model", "cost --why"),
        *("findings", "growth", "compactions", "cache", "cache --markers", "report", "preflight", "audit", "edits"),
        *("lab --policy budget", "check --max-context 1M", "notes"),
    ],
)
def test_no_command_prints_a_control_character_of_a_recording(ctxtui: Run, tmp_path: Path, command: str) -> None:
    bad = "x\x00\x1b[2J\x9b1my"

    def hostile(record: dict[str, Any]) -> None:
        message = record.get("message")
        if isinstance(message, dict) and "model" in message:
            message["model"] = bad
        if isinstance(message, dict) and message.get("role") == "user" and isinstance(message.get("content"), str):
            message["content"] = bad + message["content"]

    name, *options = command.split()
    ran = ctxtui(name, claude(tmp_path / "s.jsonl", hostile), *options)
    assert ran.out + ran.err and not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", ran.out + ran.err)


def test_a_title_is_printed_without_control_characters(ctxtui: Run, tmp_path: Path) -> None:
    path = tmp_path / ".aider.chat.history.md"
    path.write_text(
        "# aider chat started at 2026-11-30 09:38:43\n\n#### user asks\x00\x1b[2J\n\nyes\n", encoding="utf-8"
    )
    ran = ctxtui("report", path)
    assert "user asks" in ran.out and not re.search(r"[\x00\x1b]", ran.out)
