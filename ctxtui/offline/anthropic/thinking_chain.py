"""What stands before each thinking block of a request, as a chain of digests (facts §1, preserved thinking).

Counted in: the top-level system prompt, the tools, every earlier message. Not counted in: cache markers, how a text is
spelled (string or list), where neighbouring messages of one role part, thinking (it has a chain of its own), tools that
are deferred and that nothing before refers to, the query of an address (a rotating link to the same bytes).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any, Final

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.offline.json_shape import members, rows

_THINKING: Final = frozenset({"thinking", "redacted_thinking"})
_DIGEST: Final = 12


class Prefix:
    """Everything that came before, taken in block by block."""

    def __init__(self, body: Mapping[str, Json]) -> None:
        self._tools = [tool for tool in rows(body.get("tools")) if isinstance(tool, dict)]
        self._deferred = {str(tool.get("name")): tool for tool in self._tools if tool.get("defer_loading")}
        self._hash: Any = blake2b(digest_size=_DIGEST)
        self._role = ""
        self._turn: Any = blake2b(digest_size=_DIGEST)
        self._add("tools", [bare(tool) for tool in self._tools if not tool.get("defer_loading")])
        for text in _texts(body.get("system")):
            self._add("system", text)

    def digest(self) -> bytes:
        """The name of all that was taken in."""
        name: bytes = self._hash.digest()
        return name

    def local(self, role: str) -> bytes:
        """The name of what was taken in since `role` began to speak."""
        fresh: Any = blake2b(digest_size=_DIGEST)
        name: bytes = (self._turn if role == self._role else fresh).digest()
        return name

    def take(self, role: str, block: Json) -> None:
        """One more block of a message of `role`; thinking leaves no trace."""
        value = members(block)
        if value.get("type") in _THINKING:
            return
        if role != self._role:
            self._role = role
            self._turn = blake2b(digest_size=_DIGEST)
            self._add("role", role)
        self._turn.update(self._add("block", bare(block)))
        for name in _referred(block):
            if name in self._deferred:
                self._add("tool", bare(self._deferred.pop(name)))

    def _add(self, kind: str, value: Json) -> bytes:
        one: Any = blake2b(kind.encode(), digest_size=_DIGEST)
        _feed(one, value)
        name: bytes = one.digest()
        self._hash.update(name)
        return name


def blocks(content: Json) -> list[Json]:
    """The blocks of a message's content; a string is one text block."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return rows(content)


def whole(body: Mapping[str, Json]) -> Prefix:
    """All that stands in `body`: what the thinking of its answer is bound to."""
    prefix = Prefix(body)
    for message in rows(body.get("messages")):
        for block in blocks(members(message).get("content")):
            prefix.take(str(message.get("role")), block)
    return prefix


def _feed(into: Any, value: Json) -> None:
    """`value` into a hash, every value in a way of its own; long texts without being written as JSON first."""
    if isinstance(value, str):
        data = value.encode("utf-8", "surrogatepass")
        into.update(b'"%d:' % len(data))
        into.update(data)
    elif isinstance(value, dict):
        into.update(b"{")
        for key, item in value.items():
            _feed(into, key)
            _feed(into, item)
        into.update(b"}")
    elif isinstance(value, list):
        into.update(b"[")
        for item in value:
            _feed(into, item)
        into.update(b"]")
    else:
        into.update(canonical.dumps(value) + b",")


def _texts(system: Json) -> Iterator[Json]:
    for block in blocks(system):
        yield bare(block)


def bare(value: Json) -> Json:
    """A block without what is no content: markers, nulls, the query of an address, the spelling of a result."""
    if not isinstance(value, dict):
        return value
    kept = {key: item for key, item in value.items() if key != "cache_control" and item is not None}
    content = kept.get("content")
    if kept.get("type") == "tool_result" and content is not None:
        kept["content"] = [bare(item) for item in blocks(content)]
    source = members(kept.get("source"))
    if source.get("type") == "url" and isinstance(source.get("url"), str):
        kept["source"] = {"type": "url", "url": source["url"].partition("?")[0]}
    return kept


def _referred(block: Json) -> Iterator[str]:
    value = members(block)
    if value.get("type") == "tool_reference":
        yield str(value.get("tool_name"))
    content = value.get("content")
    inner = content if isinstance(content, list) else rows(members(content).get("tool_references"))
    for item in inner:
        yield from _referred(item)
