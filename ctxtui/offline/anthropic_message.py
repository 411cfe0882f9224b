"""The content and the usage of a message (facts §1)."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.cache.outcome import Outcome
from ctxtui.core.block import make, of
from ctxtui.core.canonical import Json
from ctxtui.offline.answer import Answer, Thought, Words
from ctxtui.offline.counting import output_tokens
from ctxtui.offline.exchange import Asked
from ctxtui.offline.issuing import signature
from ctxtui.offline.provider import Provider
from ctxtui.offline.shape import members


def content_of(provider: Provider, asked: Asked, said: Answer, last: str) -> Iterator[dict[str, Json]]:
    """The blocks of an answer; `last` is the signature of the thinking before it."""
    shown = members(asked.body.get("thinking")).get("display") != "omitted"
    for part in said.parts:
        if isinstance(part, Thought):
            signed = signature(asked.body, part.text, last)
            yield {"type": "thinking", "thinking": part.text if shown else "", "signature": signed}
        elif isinstance(part, Words):
            yield {"type": "text", "text": part.text, "citations": None}
        else:
            id_ = provider.names.new("toolu_01")
            yield {"type": "tool_use", "id": id_, "name": part.name, "input": part.arguments}


def usage_of(asked: Asked, outcome: Outcome, content: list[dict[str, Json]]) -> dict[str, Json]:
    """The usage of an answer with this `content`, whose input the cache took apart as `outcome`."""
    writes = dict(outcome.writes)
    # Thinking counts as it was thought, however much of it is shown: its signature says how much that was.
    thoughts = [of(block) for block in content if block["type"] == "thinking"]
    thought = output_tokens(asked.model, thoughts) if thoughts else 0
    spoken = [make(b["type"], b) if b["type"] == "tool_use" else of(b) for b in content if b["type"] != "thinking"]
    output = 0 if asked.body["max_tokens"] == 0 else thought + (output_tokens(asked.model, spoken) if spoken else 0)
    return {
        "input_tokens": outcome.fresh,
        "cache_creation_input_tokens": outcome.written,
        "cache_read_input_tokens": outcome.read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": writes.get(300.0, 0),
            "ephemeral_1h_input_tokens": writes.get(3600.0, 0),
        },
        "output_tokens": output,
        "output_tokens_details": {"thinking_tokens": thought},
        "server_tool_use": None,
        "service_tier": "standard",
        "inference_geo": "not_available",
    }
