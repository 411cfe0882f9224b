"""Signs the thinking of invented conversations, so that the offline provider takes it for its own."""

from __future__ import annotations

from collections.abc import Mapping

from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_dict, as_list
from ctxtui.offline.anthropic.thinking import Prefix, blocks, issue


def sign_all(body: Mapping[str, Json]) -> dict[str, Json]:
    """Sign the assistant's thinking in `body` as if the offline provider had issued it."""
    prefix, last_signature = Prefix(body), ""
    messages: list[Json] = []
    for message in as_list(body.get("messages")):
        role, content = str(as_dict(message).get("role")), as_dict(message).get("content")
        signed_blocks: list[Json] = []
        for block in blocks(content):
            if role == "assistant" and as_dict(block).get("type") == "thinking":
                last_signature = issue(str(body.get("model")), str(block.get("thinking")), last_signature, prefix)
                block = {**block, "signature": last_signature}
            prefix.add(role, block)
            signed_blocks.append(block)
        messages.append({**message, "content": content if isinstance(content, str) else signed_blocks})
    return {**body, "messages": messages}
