"""Signs thinking, and checks signatures in requests.

On newer models the signature of a thinking block is *bound*: it is valid only after the same system prompt, tools and
messages. Ignored are cache breakpoints, the order of a block's members, the spelling of texts (string or list),
boundaries between adjacent messages of one role, deferred tools without earlier reference, and the query of a URL.
Other thinking is not part of what is compared; each block is bound to the thinking block before it instead. Source:
facts §1, preserved thinking.

The offline provider's own signatures contain what they sign (`Signed`), so that a check needs only the request. Foreign
signatures (in recordings of the real provider) cannot be checked and are trusted.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

from msgspec import Struct, field

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_dict, as_list
from ctxtui.offline.anthropic.models import Claude, claude
from ctxtui.offline.exchange import Refusal
from ctxtui.offline.usage_ledger import card, text_counter

_THINKING: Final = frozenset({"thinking", "redacted_thinking"})
_DIGEST_SIZE: Final = 12
Body = Mapping[str, Json]


class Prefix:
    """Digest of everything before a thinking block; blocks are added in prompt order."""

    def __init__(self, body: Body) -> None:
        tools = [tool for tool in as_list(body.get("tools")) if isinstance(tool, dict)]
        self._deferred = {str(tool.get("name")): tool for tool in tools if tool.get("defer_loading")}
        self._hasher = _new_hash()
        self._role = ""
        self._run = _new_hash()
        self._add("tools", [strip_non_content(tool) for tool in tools if not tool.get("defer_loading")])
        for text in blocks(body.get("system")):
            self._add("system", strip_non_content(text))

    def digest(self) -> bytes:
        """The digest of everything so far."""
        return bytes(self._hasher.digest())

    def run_digest(self) -> bytes:
        """The digest of the current run of assistant messages; of nothing outside of one."""
        return bytes((self._run if self._role == "assistant" else _new_hash()).digest())

    def add(self, role: str, block: Json) -> None:
        """Add the next block of a message of `role`; thinking is left out."""
        if as_dict(block).get("type") in _THINKING:
            return
        if role != self._role:
            self._role, self._run = role, _new_hash()
            self._add("role", role)
        self._run.update(self._add("block", strip_non_content(block)))
        for name in _referenced_tools(block):
            if name in self._deferred:
                self._add("tool", strip_non_content(self._deferred.pop(name)))

    def _add(self, kind: str, value: Json) -> bytes:
        hasher = _new_hash(kind.encode())
        _hash_value(hasher, value)
        digest = bytes(hasher.digest())
        self._hasher.update(digest)
        return digest


def _new_hash(data: bytes = b"") -> Any:
    return blake2b(data, digest_size=_DIGEST_SIZE)


def _hash_value(hasher: Any, value: Json) -> None:
    if isinstance(value, str):
        data = value.encode("utf-8", "surrogatepass")
        hasher.update(b'"%d:' % len(data))
        hasher.update(data)
    elif isinstance(value, dict | list):
        hasher.update(b"{" if isinstance(value, dict) else b"[")
        for item in (member for pair in value.items() for member in pair) if isinstance(value, dict) else value:
            _hash_value(hasher, item)
        hasher.update(b"}" if isinstance(value, dict) else b"]")
    else:
        hasher.update(canonical.dumps(value) + b",")


def blocks(content: Json) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return as_list(content)


def strip_non_content(value: Json) -> Json:
    """Normalize a block: members that are not content are removed, the others sorted. Other values are unchanged."""
    if not isinstance(value, dict):
        return value
    stripped = {key: value[key] for key in sorted(value) if key != "cache_control" and value[key] is not None}
    content = stripped.get("content")
    if stripped.get("type") == "tool_result" and content is not None:
        stripped["content"] = [strip_non_content(item) for item in blocks(content)]
    source = as_dict(stripped.get("source"))
    if source.get("type") == "url" and isinstance(source.get("url"), str):
        stripped["source"] = {"type": "url", "url": source["url"].partition("?")[0]}
    return stripped


def _referenced_tools(block: Json) -> Iterator[str]:
    value = as_dict(block)
    if value.get("type") == "tool_reference":
        yield str(value.get("tool_name"))
    content = value.get("content")
    for item in content if isinstance(content, list) else as_list(as_dict(content).get("tool_references")):
        yield from _referenced_tools(item)


_MARK: Final = b"ctxtui offline 2\0"
"""First bytes of our signatures. Version 1 depended on the order of members; its signatures count as foreign."""
_KEY: Final = b"no secret: this only keeps a test honest"
"""Key of the checksum in our signatures; it need not be secret, as it only has to detect changes in tests."""
_MIN_FOREIGN_BYTES: Final = 24


class Signed(Struct, frozen=True):
    """The content of one of our signatures: the model, and four digests.

    - `text`: digest of the thinking.
    - `before`: of the signature of the thinking before it; zeros without one.
    - `local`: of what precedes the thinking in its run of adjacent assistant messages.
    - `prefix`: of everything that precedes it.
    """

    model: str
    text: bytes
    before: bytes
    local: bytes
    prefix: bytes


def issue(model: str, text: str, before: str, prefix: Prefix, length: int = 0) -> str:
    """Sign the thinking `text` of `model` after `prefix`.

    `before` is the signature of the thinking before it ("": none). A signature shorter than `length` characters is
    padded to about that length: the real provider's signatures contain the thinking itself.
    """
    chain = _text_digest(before) if before else bytes(_DIGEST_SIZE)
    body = _text_digest(text) + chain + prefix.run_digest() + prefix.digest() + model.encode()
    body = body.ljust(length * 3 // 4 - len(_MARK) - _DIGEST_SIZE, b"\0")
    return base64.b64encode(_MARK + _compute_seal(body) + body).decode()


def _decode_signature(signature: Json) -> Signed | None:
    """Decode `signature`; None if it is not ours. Raises `ValueError` if it was changed or cannot be a signature."""
    raw = base64.b64decode(signature, validate=True) if isinstance(signature, str) else b""
    if not raw.startswith(_MARK):
        if len(raw) < _MIN_FOREIGN_BYTES:
            raise ValueError("no signature")
        return None
    seal, body = raw[len(_MARK) : len(_MARK) + _DIGEST_SIZE], raw[len(_MARK) + _DIGEST_SIZE :]
    if seal != _compute_seal(body):
        raise ValueError("the signature was changed")
    digests = [body[n * _DIGEST_SIZE : (n + 1) * _DIGEST_SIZE] for n in range(4)]
    return Signed(body[4 * _DIGEST_SIZE :].rstrip(b"\0").decode("utf-8", "replace"), *digests)


def _text_digest(text: str) -> bytes:
    return bytes(_new_hash(text.encode("utf-8", "surrogatepass")).digest())


def _compute_seal(body: bytes) -> bytes:
    return blake2b(body, digest_size=_DIGEST_SIZE, key=_KEY).digest()


class AnswerSigner:
    """Signs the thinking in the answer to `body`.

    `last_signature`: the signature of the last thinking that the model read ("": none).
    """

    def __init__(self, body: Body, last_signature: str) -> None:
        self._model = str(body.get("model"))
        self._last_signature = last_signature
        self._prefix = Prefix(body)
        for message in as_list(body.get("messages")):
            for block in blocks(as_dict(message).get("content")):
                self._prefix.add(str(message.get("role")), block)

    def sign(self, text: str) -> str:
        length = _signature_length(self._model, text)
        self._last_signature = issue(self._model, text, self._last_signature, self._prefix, length)
        return self._last_signature

    def add(self, block: Json) -> None:
        self._prefix.add("assistant", block)


def _signature_length(model: str, text: str) -> int:
    """Characters at which a signature has as many tokens as its thinking.

    0 for models that do not hide thinking.
    """
    facts = card(model)
    if not facts.factors.hidden:
        return 0
    thinking_tokens = text_counter(model)(text) * facts.factors.thinking
    return round(facts.hidden_envelope + thinking_tokens / facts.factors.hidden)


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
    """The result of checking the thinking of a request.

    - `transformations`: the report ``input_transformations``.
    - `dropped`: indexes (message, block) of thinking that the model does not read.
    - `last_signature`: the signature of the last thinking that the model reads ("": none).
    """

    refusals: list[Refusal] = field(default_factory=list)
    transformations: list[dict[str, Json]] = field(default_factory=list)
    dropped: set[tuple[int, int]] = field(default_factory=set)
    last_signature: str = ""


def check_thinking(body: Body, model: Claude, betas: Collection[str]) -> CheckedThinking:
    """Check the thinking in `body` against its signatures.

    - A signature of ours must match the text, unless that is omitted; else the request is refused.
    - On models that bind thinking it must also match the context and the thinking before it. A mismatch is refused, or
      the block dropped if the request says so (`CONTROLS`).
    - On other models, and after a compaction, a signature in the latest run of adjacent assistant messages must match
      what precedes it in this run.
    - Thinking of a newer model is dropped. A foreign signature passes if it is plausible.
    - On models that strip thinking of earlier turns, that thinking is dropped unchecked.
    """
    behaviour = as_dict(as_dict(body.get("thinking")).get("block_binding")).get("prefix_mismatch_behavior")
    messages = [as_dict(message) for message in as_list(body.get("messages"))]
    contents = [[as_dict(block) for block in blocks(message.get("content"))] for message in messages]
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
        self._latest = _latest_assistant_index(messages)
        # The last user message begins the turn.
        user_messages = [n for n, message in enumerate(messages) if is_user_text(message)]
        self._turn = user_messages[-1] if model.strips and user_messages else 0
        self._is_dropping = False
        self._is_unbound = False

    def skip_block(self, block: Body) -> None:
        # After a compaction, thinking is bound to a context that is gone.
        self._is_dropping = False
        self._is_unbound = self._is_unbound or block.get("type") == "compaction"

    def check_block(self, n: int, m: int, block: Body, prefix: Prefix) -> None:
        path = f"messages.{n}.content.{m}"
        if n < self._turn:
            self.checked.dropped.add((n, m))
            return
        try:
            signed = _decode_signature(block.get("signature"))
        except ValueError:
            self._refuse(f"{path}: {_INVALID}", "signature")
            return
        if signed is not None:
            author = claude(signed.model)
            if author is not None and author.version > self._model.version:
                self._drop(n, m, "model_binding_mismatch")
                return
            if not self._matches(n, m, signed, block, prefix):
                return
        self.checked.last_signature = str(block.get("signature"))

    def _matches(self, n: int, m: int, signed: Signed, block: Body, prefix: Prefix) -> bool:
        path, latest, text = f"messages.{n}.content.{m}", n >= self._latest, block.get("thinking")
        if text and signed.text != _text_digest(str(text)):
            # Without text (display omitted) nothing was changed.
            self._refuse(f"{path}: {_MODIFIED if latest else _INVALID}", "thinking modified")
        elif self._model.bound and not self._is_unbound:
            # No preceding thinking is always valid: thinking may be removed from the front.
            follows = not self.checked.last_signature or signed.before == _text_digest(self.checked.last_signature)
            if signed.prefix == prefix.digest() and follows and not self._is_dropping:
                return True
            if self._drops:
                self._is_dropping = True
                self._drop(n, m, "prefix_binding_mismatch")
            else:
                self._refuse(f"{path}: {_BOUND_ELSEWHERE}", "thinking bound elsewhere")
        elif latest and signed.local != prefix.run_digest():
            self._refuse(f"{path}: {_MODIFIED}", "thinking modified")
        else:
            return True
        return False

    def _drop(self, n: int, m: int, reason: str) -> None:
        self.checked.dropped.add((n, m))
        path = f"messages.{n}.content.{m}"
        self.checked.transformations.append({"type": "thinking_dropped", "path": path, "reason": reason})

    def _refuse(self, message: str, rule: str) -> None:
        self.checked.refusals.append(Refusal(message, rule=rule))


def _latest_assistant_index(messages: Sequence[Body]) -> int:
    index = len(messages)
    while index and messages[index - 1].get("role") != "assistant":
        index -= 1
    while index > 1 and messages[index - 2].get("role") == "assistant":
        index -= 1
    return max(0, index - 1)


def is_user_text(message: Body) -> bool:
    """Whether `message` is a user's message with content other than tool results."""
    kinds = {str(as_dict(block).get("type")) for block in blocks(message.get("content"))}
    return message.get("role") == "user" and bool(kinds - {"tool_result"})
