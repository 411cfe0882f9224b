"""Where a call's cached prefix ends: at the breakpoint of a request that is on record, whatever the residual."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxtui.services.recordings.open import load
from ctxtui.views.model.call_charge import Charge, charge
from tests.cases.scenes import scene_of

SYSTEM = "You are a careful helper of the shop. " * 180
READ = 2_500
"""More than the blocks up to the breakpoint are counted: the provider puts instructions for tools in front."""


def recorded(folder: Path, breakpoints: bool) -> Path:
    """Exchanges whose client marks its system prompt, of which READ tokens are read."""
    mark = {"cache_control": {"type": "ephemeral"}} if breakpoints else {}
    messages: list[dict[str, Any]] = [{"role": "user", "content": "look at a.txt and b.txt please"}]
    entries = []
    for n in range(3):
        body = {
            "model": "claude-sonnet-4-5-20250929",
            "max_tokens": 900,
            "system": [{"type": "text", "text": SYSTEM, **mark}],
            "messages": list(messages),
        }
        call = {"type": "tool_use", "id": f"t{n}", "name": "read_file", "input": {"path": f"{n}.txt"}}
        usage = {"input_tokens": 30 + 900 * n, "output_tokens": 40}
        usage["cache_read_input_tokens" if n else "cache_creation_input_tokens"] = READ
        answer = {
            "id": f"msg_{n}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [call],
            "stop_reason": "tool_use",
            "usage": usage,
        }
        sent = {"mimeType": "application/json", "text": json.dumps(body)}
        got = {"mimeType": "application/json", "text": json.dumps(answer)}
        entries.append(
            {
                "startedDateTime": f"2026-01-02T03:04:{n:02}Z",
                "time": 900,
                "request": {
                    "method": "POST",
                    "url": "https://api.anthropic.com/v1/messages",
                    "headers": [],
                    "postData": sent,
                },
                "response": {"status": 200, "headers": [], "content": got},
            }
        )
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"line {n} of the file\n" * 150}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    path = folder / "wire.har"
    path.write_text(json.dumps({"log": {"version": "1.2", "creator": {"name": "x"}, "entries": entries}}))
    return path


def shown(path: Path, number: int) -> tuple[Charge, list[str]]:
    """The charge of a call, and the sections of the blocks that it says were read."""
    scene = scene_of(load(path).session, number)
    tree = scene.session.tree
    nodes = tree.path(scene.head)
    found = charge(scene, nodes)
    assert found is not None
    return found, [tree[node].place.section for node in nodes if found.state(tree[node].depth) == "read"]


@pytest.mark.parametrize("number", [1, 2])
def test_what_is_read_ends_at_the_recorded_breakpoint(number: int, tmp_path: Path) -> None:
    found, read = shown(recorded(tmp_path, breakpoints=True), number)
    assert found.recorded and set(read) == {"system"}
    assert found.segments()[0][1] == found.ends[0] < READ


def test_without_a_recorded_breakpoint_it_ends_where_the_report_lets_it(tmp_path: Path) -> None:
    found, read = shown(recorded(tmp_path, breakpoints=False), 2)
    assert not found.recorded and "messages" in read
