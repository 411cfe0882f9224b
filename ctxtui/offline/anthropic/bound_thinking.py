"""Anthropic: whether thinking that comes back is what was issued, where it was issued (facts §1)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from ctxtui.core.canonical import Json
from ctxtui.offline.anthropic.models import Claude, claude
from ctxtui.offline.anthropic.signature import Signed, follows, open_, plausible, says
from ctxtui.offline.anthropic.thinking_chain import Prefix, blocks
from ctxtui.offline.exchange import Refusal
from ctxtui.offline.json_shape import members, rows

CONTROLS: Final = "thinking-binding-controls-2026-08-01"
"""The beta that lets a request choose what happens to thinking that does not fit, and that reports it."""

_MODIFIED: Final = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
    "These blocks must remain as they were in the original response."
)
_INVALID: Final = "Invalid `signature` in `thinking` block"
_ELSEWHERE: Final = (
    f"{_INVALID}. The block is bound to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)


class CheckedThinking(Struct):
    """What came of checking: refusals, what is reported as ``input_transformations``, which blocks (message, place)
    the model does not read, and the signature of the last one that it does."""

    refusals: list[Refusal] = field(default_factory=list)
    transformations: list[dict[str, Json]] = field(default_factory=list)
    dropped: set[tuple[int, int]] = field(default_factory=set)
    last: str = ""


def check_thinking(body: Mapping[str, Json], model: Claude, betas: Collection[str]) -> CheckedThinking:
    """Every thinking block of `body` against its signature.

    A signature of ours must fit the words, and on models that bind thinking also everything before it and the chain of
    thinking; what does not fit is refused, or dropped where the request says so. Thinking of a newer model is dropped.
    A signature of another issuer passes if it is plausible. Models that strip thinking of earlier turns look only at
    the current one.
    """
    wanted = members(members(body.get("thinking")).get("block_binding")).get("prefix_mismatch_behavior")
    walk = _Walk(model, wanted == "drop_block" and CONTROLS in betas, rows(body.get("messages")))
    if not any(members(block).get("type") == "thinking" for one in walk.messages for block in _blocks(one)):
        return walk.checked
    prefix = Prefix(body)
    for n, message in enumerate(rows(body.get("messages"))):
        role = str(members(message).get("role"))
        for m, block in enumerate(_blocks(message)):
            value = members(block)
            if value.get("type") == "thinking" and role == "assistant":
                walk.meet(n, m, value, prefix)
            else:
                walk.pass_by(value)
                prefix.take(role, block)
    return walk.checked


def _blocks(message: Json) -> list[Json]:
    return blocks(members(message).get("content"))


class _Walk:
    def __init__(self, model: Claude, drops: bool, messages: Sequence[Json]) -> None:
        self.checked = CheckedThinking()
        self.messages = messages
        self._model = model
        self._drops = drops
        self._latest = _latest_assistant(messages)
        self._turn = _turn_start(messages) if model.strips else 0
        self._falling = False
        self._free = False

    def pass_by(self, block: Mapping[str, Json]) -> None:
        """A block that is no thinking. What follows a compaction is bound to a context that is gone."""
        self._falling = False
        self._free = self._free or block.get("type") == "compaction"

    def meet(self, n: int, m: int, block: Mapping[str, Json], prefix: Prefix) -> None:
        """Thinking at place `m` of message `n`, behind `prefix`."""
        if n < self._turn:
            self.checked.dropped.add((n, m))
            return
        try:
            signed = open_(block.get("signature"))
        except ValueError:
            self._refuse(f"messages.{n}.content.{m}: {_INVALID}", "signature")
            return
        if signed is None:
            if not plausible(block.get("signature")):
                self._refuse(f"messages.{n}.content.{m}: {_INVALID}", "signature")
        elif self._unreadable(signed):
            self._drop(n, m, "model_binding_mismatch")
            return
        elif not self._fits(n, m, signed, block, prefix):
            return
        self.checked.last = str(block.get("signature"))

    def _fits(self, n: int, m: int, signed: Signed, block: Mapping[str, Json], prefix: Prefix) -> bool:
        where, latest = f"messages.{n}.content.{m}", n >= self._latest
        moved = signed.local != prefix.local("assistant")
        if not says(signed, block):
            self._refuse(f"{where}: {_MODIFIED if latest else _INVALID}", "thinking modified")
        elif self._model.bound and not self._free:
            same = signed.prefix == prefix.digest() and follows(signed, self.checked.last)
            if same and not self._falling:
                return True
            if self._drops:
                self._falling = True
                self._drop(n, m, "prefix_binding_mismatch")
            else:
                self._refuse(f"{where}: {_ELSEWHERE}", "thinking bound elsewhere")
        elif latest and moved:
            self._refuse(f"{where}: {_MODIFIED}", "thinking modified")
        else:
            return True
        return False

    def _unreadable(self, signed: Signed) -> bool:
        author = claude(signed.model)
        return author is not None and author.version > self._model.version

    def _drop(self, n: int, m: int, reason: str) -> None:
        self.checked.dropped.add((n, m))
        path = f"messages.{n}.content.{m}"
        self.checked.transformations.append({"type": "thinking_dropped", "path": path, "reason": reason})

    def _refuse(self, message: str, rule: str) -> None:
        self.checked.refusals.append(Refusal(message, rule=rule))


def _latest_assistant(messages: Sequence[Json]) -> int:
    """The first message of the last run of assistant messages."""
    at = len(messages)
    while at and members(messages[at - 1]).get("role") != "assistant":
        at -= 1
    while at > 1 and members(messages[at - 2]).get("role") == "assistant":
        at -= 1
    return max(0, at - 1)


def _turn_start(messages: Sequence[Json]) -> int:
    """The last message of a person: one with something other than tool results."""
    for n in range(len(messages) - 1, -1, -1):
        message = members(messages[n])
        if message.get("role") == "user":
            kinds = {str(members(block).get("type")) for block in _blocks(message)}
            if kinds - {"tool_result"}:
                return n
    return 0
