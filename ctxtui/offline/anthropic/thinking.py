"""Anthropic: thinking bound to its context (facts §1, preserved thinking).

Included: the top-level system prompt, the tools, every earlier message. Excluded: cache breakpoints, the spelling of
texts (string or list), boundaries between adjacent messages of one role, thinking (it has a chain of its own), deferred
tools without earlier reference, the query of an address (a rotating link to the same bytes).

Our signatures hold the model, its thinking, the directly preceding thinking, and everything else before it. They carry
no state: they can be checked with the request alone. A foreign one (from a recording of the real provider) cannot be
checked and is trusted.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

from msgspec import Struct, field

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.offline.anthropic.models import Claude, claude
from ctxtui.offline.exchange import Refusal
from ctxtui.offline.json_shape import members, rows
from ctxtui.offline.usage_ledger import card, text_counter

_THINKING: Final = frozenset({"thinking", "redacted_thinking"})
_DIGEST_SIZE: Final = 12
Body = Mapping[str, Json]


class Prefix:
    """Digest of everything before, added block by block."""

    def __init__(self, body: Body) -> None:
        tools = [tool for tool in rows(body.get("tools")) if isinstance(tool, dict)]
        self._deferred = {str(tool.get("name")): tool for tool in tools if tool.get("defer_loading")}
        self._hash = _hash()
        self._role = ""
        self._turn = _hash()
        self._add("tools", [strip_non_content(tool) for tool in tools if not tool.get("defer_loading")])
        for text in blocks(body.get("system")):
            self._add("system", strip_non_content(text))

    def digest(self) -> bytes:
        """The digest of everything added."""
        return bytes(self._hash.digest())

    def turn_digest(self, role: str) -> bytes:
        """The digest of everything added since the current run of `role` began."""
        return bytes((self._turn if role == self._role else _hash()).digest())

    def add(self, role: str, block: Json) -> None:
        """Add a block of a message of `role`; thinking is ignored."""
        if members(block).get("type") in _THINKING:
            return
        if role != self._role:
            self._role, self._turn = role, _hash()
            self._add("role", role)
        self._turn.update(self._add("block", strip_non_content(block)))
        for name in _referenced_tools(block):
            if name in self._deferred:
                self._add("tool", strip_non_content(self._deferred.pop(name)))

    def _add(self, kind: str, value: Json) -> bytes:
        hasher = _hash(kind.encode())
        _hash_value(hasher, value)
        digest = bytes(hasher.digest())
        self._hash.update(digest)
        return digest


def _hash(data: bytes = b"") -> Any:
    return blake2b(data, digest_size=_DIGEST_SIZE)


def _hash_value(hasher: Any, value: Json) -> None:
    """Hash `value`, unambiguously by type; long texts without encoding them as JSON first."""
    if isinstance(value, str):
        data = value.encode("utf-8", "surrogatepass")
        hasher.update(b'"%d:' % len(data))
        hasher.update(data)
    elif isinstance(value, dict | list):
        hasher.update(b"{" if isinstance(value, dict) else b"[")
        for item in (one for pair in value.items() for one in pair) if isinstance(value, dict) else value:
            _hash_value(hasher, item)
        hasher.update(b"}" if isinstance(value, dict) else b"]")
    else:
        hasher.update(canonical.dumps(value) + b",")


def blocks(content: Json) -> list[Json]:
    """The blocks of a message's content; a string is one text block."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return rows(content)


def strip_non_content(value: Json) -> Json:
    """A block without non-content: breakpoints, nulls, the query of an address, the spelling of a result."""
    if not isinstance(value, dict):
        return value
    stripped = {key: item for key, item in value.items() if key != "cache_control" and item is not None}
    content = stripped.get("content")
    if stripped.get("type") == "tool_result" and content is not None:
        stripped["content"] = [strip_non_content(item) for item in blocks(content)]
    source = members(stripped.get("source"))
    if source.get("type") == "url" and isinstance(source.get("url"), str):
        stripped["source"] = {"type": "url", "url": source["url"].partition("?")[0]}
    return stripped


def _referenced_tools(block: Json) -> Iterator[str]:
    value = members(block)
    if value.get("type") == "tool_reference":
        yield str(value.get("tool_name"))
    content = value.get("content")
    for item in content if isinstance(content, list) else rows(members(content).get("tool_references")):
        yield from _referenced_tools(item)


_MARK: Final = b"ctxtui offline\0"
_KEY: Final = b"no secret: this only keeps a test honest"
_MIN_FOREIGN_BYTES: Final = 24


class Signed(Struct, frozen=True):
    """The content of one of our signatures.

    The `model`, and digests of its own `text`, of the thinking directly `before` (zeros without any), of what precedes
    it in its own turn (`local`) and of the whole `prefix`.
    """

    model: str
    text: bytes
    before: bytes
    local: bytes
    prefix: bytes


def issue(model: str, text: str, before: str, prefix: Prefix, length: int = 0) -> str:
    """Sign the assistant's thinking `text` by `model` after `prefix` and after the thinking signed `before` ("": none).

    At least `length` characters long, as a provider's contains the thinking itself.
    """
    chain = _text_digest(before) if before else bytes(_DIGEST_SIZE)
    body = _text_digest(text) + chain + prefix.turn_digest("assistant") + prefix.digest() + model.encode()
    body = body.ljust(length * 3 // 4 - len(_MARK) - _DIGEST_SIZE, b"\0")
    return base64.b64encode(_MARK + _seal(body) + body).decode()


def _decode_signature(signature: Json) -> Signed | None:
    """Decode `signature`; None if it is not ours.

    Raises `ValueError` for one of ours that was changed, and for one that no provider could make: base64 of some
    length.
    """
    raw = base64.b64decode(signature, validate=True) if isinstance(signature, str) else b""
    if not raw.startswith(_MARK):
        if len(raw) < _MIN_FOREIGN_BYTES:
            raise ValueError("no signature")
        return None
    seal, body = raw[len(_MARK) : len(_MARK) + _DIGEST_SIZE], raw[len(_MARK) + _DIGEST_SIZE :]
    if seal != _seal(body):
        raise ValueError("the signature was changed")
    digests = [body[n * _DIGEST_SIZE : (n + 1) * _DIGEST_SIZE] for n in range(4)]
    return Signed(body[4 * _DIGEST_SIZE :].rstrip(b"\0").decode("utf-8", "replace"), *digests)


def _text_digest(text: str) -> bytes:
    return bytes(_hash(text.encode("utf-8", "surrogatepass")).digest())


def _seal(body: bytes) -> bytes:
    return blake2b(body, digest_size=_DIGEST_SIZE, key=_KEY).digest()


def signature(body: Body, text: str, last_signature: str) -> str:
    """Sign `text` as the first thinking of the answer to `body`.

    `last_signature` is that of the last thinking that the model read ("" for none).
    """
    prefix = Prefix(body)
    for message in rows(body.get("messages")):
        for block in blocks(members(message).get("content")):
            prefix.add(str(message.get("role")), block)
    model = str(body.get("model"))
    return issue(model, text, last_signature, prefix, _signature_length(model, text))


def _signature_length(model: str, text: str) -> int:
    """The length at which a signature has as many tokens as its thinking: returned without text, it still fills the
    context."""
    facts = card(model)
    if not facts.factors.hidden:
        return 0
    thinking_tokens = text_counter(model)(text) * facts.factors.thinking
    return round(facts.hidden_envelope + thinking_tokens / facts.factors.hidden)


def sign_all(body: Body) -> dict[str, Json]:
    """Sign every thinking block of `body` as if this provider had issued it; for tests with invented conversations."""
    prefix, last_signature = Prefix(body), ""
    messages: list[Json] = []
    for message in rows(body.get("messages")):
        role, content = str(members(message).get("role")), members(message).get("content")
        signed_blocks: list[Json] = []
        for block in blocks(content):
            if role == "assistant" and members(block).get("type") == "thinking":
                last_signature = issue(str(body.get("model")), str(block.get("thinking")), last_signature, prefix)
                block = {**block, "signature": last_signature}
            prefix.add(role, block)
            signed_blocks.append(block)
        messages.append({**message, "content": content if isinstance(content, str) else signed_blocks})
    return {**body, "messages": messages}


CONTROLS: Final = "thinking-binding-controls-2026-08-01"
"""The beta with which a request chooses the handling of thinking that does not fit, and gets a report."""
_MODIFIED: Final = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
    "These blocks must remain as they were in the original response."
)
_INVALID: Final = "Invalid `signature` in `thinking` block"
_BOUND_ELSEWHERE: Final = (
    f"{_INVALID}. The block is bound to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)


class CheckedThinking(Struct):
    """The result of checking thinking.

    Refusals, the report ``input_transformations``, the blocks (message, place) that the model does not read, and the
    signature of the last one that it does.
    """

    refusals: list[Refusal] = field(default_factory=list)
    transformations: list[dict[str, Json]] = field(default_factory=list)
    dropped: set[tuple[int, int]] = field(default_factory=set)
    last_signature: str = ""


def check_thinking(body: Body, model: Claude, betas: Collection[str]) -> CheckedThinking:
    """Check every thinking block of `body` against its signature.

    Our signatures must match the text, and on models that bind thinking also everything before it and the chain of
    thinking; mismatches are refused, or dropped if the request says so. Thinking of a newer model is dropped. A foreign
    signature passes if it is plausible. For models that strip thinking of earlier turns, only the current one is
    checked.
    """
    behaviour = members(members(body.get("thinking")).get("block_binding")).get("prefix_mismatch_behavior")
    messages = [members(message) for message in rows(body.get("messages"))]
    contents = [[members(block) for block in blocks(message.get("content"))] for message in messages]
    check = _ThinkingCheck(model, behaviour == "drop_block" and CONTROLS in betas, messages)
    if not any(block.get("type") == "thinking" for content in contents for block in content):
        return check.checked
    prefix = Prefix(body)
    for n, content in enumerate(contents):
        role = str(messages[n].get("role"))
        for m, block in enumerate(content):
            if block.get("type") == "thinking" and role == "assistant":
                check.check_block(n, m, block, prefix)
            else:
                check.skip_block(block)
                prefix.add(role, block)
    return check.checked


class _ThinkingCheck:
    def __init__(self, model: Claude, drops: bool, messages: Sequence[Body]) -> None:
        self.checked = CheckedThinking()
        self._model = model
        self._drops = drops
        self._latest = _latest_assistant(messages)
        # The last user message begins the turn.
        user_messages = [n for n, message in enumerate(messages) if is_user_text(message)]
        self._turn = user_messages[-1] if model.strips and user_messages else 0
        self._is_dropping = False
        self._is_unbound = False

    def skip_block(self, block: Body) -> None:
        """Visit a block that is no thinking. After a compaction, thinking is bound to a context that is gone."""
        self._is_dropping = False
        self._is_unbound = self._is_unbound or block.get("type") == "compaction"

    def check_block(self, n: int, m: int, block: Body, prefix: Prefix) -> None:
        """Check thinking at place `m` of message `n`, after `prefix`."""
        where = f"messages.{n}.content.{m}"
        if n < self._turn:
            self.checked.dropped.add((n, m))
            return
        try:
            signed = _decode_signature(block.get("signature"))
        except ValueError:
            self._refuse(f"{where}: {_INVALID}", "signature")
            return
        if signed is not None:
            author = claude(signed.model)
            if author is not None and author.version > self._model.version:
                self._drop(n, m, "model_binding_mismatch")
                return
            if not self._fits(n, m, signed, block, prefix):
                return
        self.checked.last_signature = str(block.get("signature"))

    def _fits(self, n: int, m: int, signed: Signed, block: Body, prefix: Prefix) -> bool:
        where, latest, text = f"messages.{n}.content.{m}", n >= self._latest, block.get("thinking")
        if text and signed.text != _text_digest(str(text)):
            # Without text (display omitted) nothing was changed.
            self._refuse(f"{where}: {_MODIFIED if latest else _INVALID}", "thinking modified")
        elif self._model.bound and not self._is_unbound:
            # No preceding thinking is always valid: thinking may be removed from the front.
            follows = not self.checked.last_signature or signed.before == _text_digest(self.checked.last_signature)
            if signed.prefix == prefix.digest() and follows and not self._is_dropping:
                return True
            if self._drops:
                self._is_dropping = True
                self._drop(n, m, "prefix_binding_mismatch")
            else:
                self._refuse(f"{where}: {_BOUND_ELSEWHERE}", "thinking bound elsewhere")
        elif latest and signed.local != prefix.turn_digest("assistant"):
            self._refuse(f"{where}: {_MODIFIED}", "thinking modified")
        else:
            return True
        return False

    def _drop(self, n: int, m: int, reason: str) -> None:
        self.checked.dropped.add((n, m))
        path = f"messages.{n}.content.{m}"
        self.checked.transformations.append({"type": "thinking_dropped", "path": path, "reason": reason})

    def _refuse(self, message: str, rule: str) -> None:
        self.checked.refusals.append(Refusal(message, rule=rule))


def _latest_assistant(messages: Sequence[Body]) -> int:
    """The first message of the last run of assistant messages."""
    at = len(messages)
    while at and messages[at - 1].get("role") != "assistant":
        at -= 1
    while at > 1 and messages[at - 2].get("role") == "assistant":
        at -= 1
    return max(0, at - 1)


def is_user_text(message: Body) -> bool:
    """Whether a user's message holds something other than results of tools."""
    kinds = {str(members(block).get("type")) for block in blocks(message.get("content"))}
    return message.get("role") == "user" and bool(kinds - {"tool_result"})
