"""Anthropic: the signatures of an answer's thinking, and of a body whose thinking is taken as issued here."""

from __future__ import annotations

from collections.abc import Mapping

from ctxtui.core.canonical import Json
from ctxtui.offline.counting import text_counter
from ctxtui.offline.data import card
from ctxtui.offline.prefix import Prefix, blocks, whole
from ctxtui.offline.shape import members, rows
from ctxtui.offline.signature import issue


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
