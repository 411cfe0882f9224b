"""Parts of clients' own spellings: a member may have any name."""

from __future__ import annotations

import pytest

from ctxtui.core.canonical import Json
from ctxtui.transcripts.formats.pi.session import convert_part
from ctxtui.transcripts.kit.http_exchange import google

NAMES = ("words", "signature", "id_", "name", "arguments", "content", "error", "media_type", "data", "rest")


@pytest.mark.parametrize("name", NAMES)
def test_a_further_member_of_any_name_stays(name: str) -> None:
    parts: list[dict[str, Json]] = [
        {"type": "thinking", "thinking": "So."},
        {"type": "toolCall", "id": "t1", "name": "ls", "arguments": {}},
        {"type": "image", "mimeType": "image/png", "data": "aGk="},
    ]
    for part in parts:
        assert name in part or convert_part({**part, name: "own"})[name] == "own"
    contents: list[dict[str, Json]] = [
        {"text": "Hi."},
        {"text": "So.", "thought": True},
        {"functionCall": {"id": "t1", "name": "ls", "args": {}}},
        {"functionResponse": {"id": "t1", "name": "ls", "response": {"output": "a.py"}}},
        {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
    ]
    for part in google.convert_parts([{**content, name: "own"} for content in contents]):
        assert part[name] == "own"
