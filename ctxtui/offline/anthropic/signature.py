"""Signatures of thinking: what an answer's thinking is bound to (facts §1, preserved thinking).

A signature of ours says which model thought, what it thought, which thinking came directly before, and everything
else that stood before it. It carries no state: whoever has the request can check it. One that we did not issue (from a
recording of the real provider) cannot be checked and is taken at its word.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from hashlib import blake2b
from typing import Final

from msgspec import Struct

from ctxtui.core.canonical import Json
from ctxtui.offline.anthropic.thinking_chain import Prefix, blocks, whole
from ctxtui.offline.counting import text_counter
from ctxtui.offline.data import card
from ctxtui.offline.json_shape import members, rows

_MARK: Final = b"ctxtui offline\0"
_KEY: Final = b"no secret: this only keeps a test honest"
_DIGEST: Final = 12
_LEAST: Final = 24


class Signed(Struct, frozen=True):
    """What a signature of ours holds: the `model`, and digests of its own `text`, of the thinking directly `before`
    (zeros where there was none), of what stood before it in its own turn (`local`) and of the whole `prefix`."""

    model: str
    text: bytes
    before: bytes
    local: bytes
    prefix: bytes


def brief(data: bytes) -> bytes:
    """A short digest of `data`."""
    return blake2b(data, digest_size=_DIGEST).digest()


def issue(model: str, text: str, before: str, local: bytes, prefix: bytes, length: int = 0) -> str:
    """The signature of thinking `text` by `model`, after the thinking signed `before` ("": none) and what the
    digests `local` and `prefix` name (see `Signed`); at least `length` characters long, for a provider's wraps the
    thinking itself."""
    chain = brief(before.encode()) if before else bytes(_DIGEST)
    body = brief(text.encode("utf-8", "surrogatepass")) + chain + local + prefix + model.encode()
    body = body.ljust(length * 3 // 4 - len(_MARK) - _DIGEST, b"\0")
    return base64.b64encode(_MARK + _seal(body) + body).decode()


def open_(signature: Json) -> Signed | None:
    """What `signature` holds; None where we did not issue it. Raises `ValueError` for one of ours that was changed."""
    if not isinstance(signature, str):
        return None
    try:
        raw = base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError):
        return None
    if not raw.startswith(_MARK):
        return None
    seal, body = raw[len(_MARK) : len(_MARK) + _DIGEST], raw[len(_MARK) + _DIGEST :]
    if seal != _seal(body):
        raise ValueError("the signature was changed")
    text, before, local, prefix = (body[n * _DIGEST : (n + 1) * _DIGEST] for n in range(4))
    return Signed(body[4 * _DIGEST :].rstrip(b"\0").decode("utf-8", "replace"), text, before, local, prefix)


def follows(signed: Signed, before: str) -> bool:
    """Whether the thinking directly before the signed one has the signature `before`. Nothing before is always right:
    thinking may be taken away from the front."""
    return not before or signed.before == brief(before.encode())


def says(signed: Signed, block: Mapping[str, Json]) -> bool:
    """Whether a thinking `block` still has the words that were signed; without any (display omitted) it has."""
    words = block.get("thinking")
    return not words or signed.text == brief(str(words).encode("utf-8", "surrogatepass"))


def plausible(signature: Json) -> bool:
    """Whether a signature that is not ours could be a provider's: base64 of some length."""
    try:
        return isinstance(signature, str) and len(base64.b64decode(signature, validate=True)) >= _LEAST
    except (binascii.Error, ValueError):
        return False


def _seal(body: bytes) -> bytes:
    return blake2b(body, digest_size=_DIGEST, key=_KEY).digest()


def signature(body: Mapping[str, Json], text: str, last: str) -> str:
    """The signature of `text` as the first thinking of the answer to `body`, whose last thinking that the model read
    is signed `last` ("" for none)."""
    prefix = whole(body)
    model = str(body.get("model"))
    return issue(model, text, last, prefix.local("assistant"), prefix.digest(), _length(model, text))


def _length(model: str, text: str) -> int:
    """The length at which a signature counts as many tokens as the thinking in it: when it comes back without its
    words, it still fills the context."""
    facts = card(model)
    if not facts.factors.hidden:
        return 0
    thought = text_counter(model)(text) * facts.factors.thinking
    return round(facts.hidden_envelope + thought / facts.factors.hidden)


def signed(body: Mapping[str, Json]) -> dict[str, Json]:
    """`body` with every thinking block of the assistant signed as if this provider had issued it where it stands; for
    tests that begin with a conversation that was never held."""
    prefix, last = Prefix(body), ""
    messages: list[Json] = []
    for message in rows(body.get("messages")):
        role, content = str(members(message).get("role")), members(message).get("content")
        made: list[Json] = []
        for block in blocks(content):
            if role == "assistant" and members(block).get("type") == "thinking":
                words = str(block.get("thinking"))
                last = issue(str(body.get("model")), words, last, prefix.local(role), prefix.digest())
                made.append({**block, "signature": last})
            else:
                prefix.take(role, block)
                made.append(block)
        messages.append({**message, "content": content if isinstance(content, str) else made})
    return {**body, "messages": messages}
