"""What Anthropic's prompt cache would have reported for a request: the rules a sample's usage figures are made by.

One entry per marker, holding the prefix up to it; a marker finds entries at its own and the 19 block positions
before it, else the next earlier marker looks; entries live 5 minutes from the start of the request that wrote or
last read them and can be read once that request's response has begun; a prefix under 1,024 tokens is not cached.
"""

from __future__ import annotations

import json
from hashlib import blake2b

from sessions.recording import Json, tokens

LOOKBACK = 20
TTL = 300.0
FLOOR = 1024


def characters(block: Json) -> int:
    """Characters of a block that a tokenizer would see."""
    match block.get("type"):
        case "text":
            return len(block["text"])
        case "thinking":
            return len(block["thinking"])
        case "tool_use":
            return len(block["name"]) + len(json.dumps(block["input"], separators=(",", ":"), ensure_ascii=False))
        case "tool_result":
            content = block["content"]
            return len(content) if isinstance(content, str) else sum(map(characters, content))
        case "image":
            return 0
    return len(json.dumps(block, separators=(",", ":"), ensure_ascii=False))


IMAGE_TOKENS = 1512
"""Of a 784 x 1512 picture: 28 x 54 patches of 28 pixels."""


def _blocks(request: Json) -> list[tuple[str, Json]]:
    system = request.get("system", [])
    system = [{"type": "text", "text": system}] if isinstance(system, str) else system
    found = [("tools", tool) for tool in request.get("tools", [])] + [("system", block) for block in system]
    for message in request["messages"]:
        content = message["content"]
        content = [{"type": "text", "text": content}] if isinstance(content, str) else content
        found += [(message["role"], block) for block in content]
    return found


class PromptCache:
    """The entries of one workspace, by model and prefix."""

    def __init__(self) -> None:
        self._entries: dict[bytes, tuple[float, float]] = {}

    def _find(self, keys: list[bytes], marker: int, at: float) -> int:
        for position in range(marker, max(-1, marker - LOOKBACK), -1):
            entry = self._entries.get(keys[position])
            if entry and entry[0] <= at <= entry[1]:
                return position
        return -1

    def usage(self, request: Json, started: float, first_byte: float, output: int) -> Json:
        """The `usage` of the response to `request`; the cache is as it is afterwards."""
        keys: list[bytes] = []
        ends: list[int] = []
        chain, letters, pictures, markers = blake2b(request["model"].encode(), digest_size=16).digest(), 0, 0, []
        for i, (role, block) in enumerate(_blocks(request)):
            bare = {key: value for key, value in block.items() if key != "cache_control"}
            body = json.dumps([role, bare], separators=(",", ":"), ensure_ascii=False).encode()
            chain = blake2b(chain + body, digest_size=16).digest()
            letters += characters(bare)
            pictures += bare.get("type") == "image"
            keys.append(chain)
            ends.append(tokens(letters) + pictures * IMAGE_TOKENS)
            if "cache_control" in block and ends[-1] >= FLOOR:
                markers.append(i)
        hit = next((h for m in reversed(markers) if (h := self._find(keys, m, started)) >= 0), -1)
        read = ends[hit] if hit >= 0 else 0
        write = max(0, ends[markers[-1]] - read) if markers else 0
        for position in {*markers, hit} - {-1}:
            readable, expires = self._entries.get(keys[position], (first_byte, 0.0))
            fresh = not readable <= started <= expires
            self._entries[keys[position]] = (first_byte if fresh else readable, started + TTL)
        return {
            "input_tokens": ends[-1] - read - write,
            "cache_creation_input_tokens": write,
            "cache_read_input_tokens": read,
            "cache_creation": {"ephemeral_5m_input_tokens": write, "ephemeral_1h_input_tokens": 0},
            "output_tokens": output,
        }
