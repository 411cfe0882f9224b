"""The prompt that a local server makes of a conversation: a plain template of our own."""

from __future__ import annotations

from collections.abc import Mapping

from ctxtui.core.canonical import Json, text_of
from ctxtui.offline.json_shape import members, rows


def rendered(body: Mapping[str, Json]) -> str:
    """Every message of `body` between marks, the tools in front, the answer's mark at the end."""
    tools = f"<|tools|>\n{text_of(body['tools'])}<|end|>\n" if rows(body.get("tools")) else ""
    told = "".join(f"<|{one.get('role')}|>\n{_said(one)}<|end|>\n" for one in map(members, rows(body.get("messages"))))
    return f"{tools}{told}<|assistant|>\n"


def _said(message: Mapping[str, Json]) -> str:
    content = message.get("content")
    texts = [str(members(part).get("text", "")) for part in content] if isinstance(content, list) else [content or ""]
    calls = [f"\n<|call|>{text_of(members(call).get('function'))}" for call in rows(message.get("tool_calls"))]
    return "".join([*texts, *calls])
