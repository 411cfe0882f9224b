"""Items that OpenAI stores: calls by the response that made them, in either order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.corpus import corpus_params
from tests.transcripts.reading import (
    as_bytes,
    calls,
    corpus_session,
    law_2,
    read,
    shown,
    survives_cuts,
    survives_values,
)

NAME = "items.json"


def stored() -> dict[str, Any]:
    def item(by: str, **rest: Any) -> dict[str, Any]:
        return {"id": f"i{len(rest)}", "status": "completed", "created_by": f"resp_{by}", **rest}

    said = [{"type": "output_text", "text": "Hello", "annotations": [], "logprobs": []}]
    return {
        "object": "list",
        "data": [
            item("1", type="message", role="user", content=[{"type": "input_text", "text": "Hi"}]),
            item("1", type="reasoning", summary=[]),
            item("1", type="message", role="assistant", content=said),
            item("2", type="function_call", call_id="c1", name="f", arguments="{}"),
            item("3", type="function_call_output", call_id="c1", output="1"),
        ],
        "has_more": False,
    }


def test_each_response_is_a_call() -> None:
    session = read(as_bytes(stored()), NAME)
    first, second = calls(session)
    assert (first.id, second.id, first.provider) == ("resp_1", "resp_2", "openai")
    assert [kind for _, _, kind in shown(session, first.response_head, first.raw_head)] == [
        "reasoning", "header", "output_text",
    ]  # fmt: skip
    tip = session.threads["main"].tip
    assert shown(session, tip, second.response_head) == [("messages", "tool", "function_call_output")]
    assert b"created_by" not in b"".join(b.body for b in session.tree.blocks.values())


def test_the_newest_first_gives_the_same() -> None:
    value = stored()
    turned = {**value, "data": value["data"][::-1]}
    tips = [(s := read(as_bytes(v), NAME)).tree.items(s.threads["main"].tip) for v in (value, turned)]
    assert tips[0] == tips[1]


def test_any_chunking_any_cut_any_value() -> None:
    data = as_bytes(stored(), indent=1)
    law_2(data, NAME)
    survives_cuts(data, NAME)
    survives_values(stored(), NAME)


@pytest.mark.parametrize("path", corpus_params("openai_logs"))
def test_corpus(path: Path) -> None:
    session = corpus_session(path)
    items = json.loads(path.read_bytes())["data"]
    outputs = [i for i in items if i["type"] in ("reasoning", "function_call") or i.get("role") == "assistant"]
    made = {i["created_by"] for i in outputs}
    assert set(session.calls) == made
