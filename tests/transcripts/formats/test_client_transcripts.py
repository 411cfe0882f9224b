"""Files that real clients wrote, held against a plain reading of them: every message once and in order, the same usage,
the same cost within a cent. Other people's files are in the corpus only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxtui.core.block_content import read as content
from ctxtui.core.session import Session
from tests.corpus import corpus_params
from tests.transcripts.reading import calls, corpus_session, plain_records, total

SPOKEN = ("text", "thinking", "tool_result")


def told(session: Session) -> list[str]:
    """The words along the main thread's record, in order."""
    items = session.tree.items(session.threads["main"].tip)
    texts = (content(item.block).text for item in items if item.block.kind in SPOKEN)
    return [text for text in texts if text]


def words(parts: Any) -> list[str]:
    """The words of a message's content, a string or parts."""
    if isinstance(parts, str):
        return [parts] if parts else []
    found = (part.get("text") or part.get("thinking") for part in parts if part["type"] in ("text", "thinking"))
    return [text for text in found if text]


@pytest.mark.parametrize("path", corpus_params("clients", "pi-*/*.jsonl"))
def test_pi(path: Path) -> None:
    session = corpus_session(path)
    records: Any = plain_records(path)
    messages = [record["message"] for record in records if record["type"] == "message"]
    assert told(session) == [text for message in messages for text in words(message["content"])]
    answers = [message for message in messages if message["role"] == "assistant"]
    found = calls(session)
    assert [call.stop_reason for call in found] == [one["stopReason"] for one in answers]
    for call, usage in zip(found, (one["usage"] for one in answers), strict=True):
        assert call.usage and (call.usage.fresh, call.usage.cache_read) == (usage["input"], usage["cacheRead"])
        assert (call.usage.cache_write, call.usage.output) == (usage["cacheWrite"], usage["output"])
        assert call.usage.cost == pytest.approx(usage["cost"]["total"])
    assert session.about.cwd == records[0]["cwd"] and not session.skipped


@pytest.mark.parametrize("path", corpus_params("clients", "mini-swe-agent-*/*.traj.json"))
def test_mini_swe_agent(path: Path) -> None:
    session = corpus_session(path)
    whole = json.loads(path.read_text())
    sent = [message for message in whole["messages"] if message["role"] != "exit"]
    assert told(session) == [text for message in sent for text in words(message["content"] or "")]
    made = [message for message in sent if message["role"] == "assistant"]
    usages = [message["extra"]["response"]["usage"] for message in made]
    assert len(calls(session)) == whole["info"]["model_stats"]["api_calls"] == len(made)
    used = total(session)
    details = [usage["prompt_tokens_details"] for usage in usages]
    assert used.input == sum(usage["prompt_tokens"] for usage in usages)
    assert used.cache_read == sum(detail["cached_tokens"] or 0 for detail in details)
    assert used.cache_write == sum(detail["cache_write_tokens"] or 0 for detail in details)
    assert used.output == sum(usage["completion_tokens"] for usage in usages)
    assert used.cost == pytest.approx(whole["info"]["model_stats"]["instance_cost"], abs=0.01)
    assert session.about.version == whole["info"]["mini_version"] and not session.skipped
