"""Finds secrets and loops in requests of other programs before they are sent."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from ctxtui.analysis.content.guard import SECRET, Guard
from ctxtui.analysis.content.repeated_calls import find_loops
from ctxtui.core.block import Block
from ctxtui.core.block import text as text_block
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.tree import ROOT, Tree
from ctxtui.curation.context import Context, is_call
from ctxtui.services.attach.hold_rules import HoldRules
from ctxtui.services.config.package_data import guard_rules
from ctxtui.wire.registry import DIALECTS


class RiskReason(NamedTuple):
    """The reason to hold a request ("": none), and digests of the blocks whose secrets it names."""

    text: str = ""
    blocks: frozenset[str] = frozenset()


class RequestRisks:
    """Finds the reason to hold a request in its blocks.

    A block with a secret that was held and then sent is not held again.
    """

    def __init__(self) -> None:
        self._guard = Guard(guard_rules())
        self._sent: set[str] = set()

    def sent(self, blocks: frozenset[str]) -> None:
        """Note the digests of blocks that were held and then sent."""
        self._sent |= blocks

    async def reason(self, rules: HoldRules, dialect: str, body: bytes) -> RiskReason:
        """The reason to hold this request by `rules`.

        A body that cannot be read as blocks is searched as text for secrets. Works in a thread: a megabyte takes a
        second the first time.
        """
        return await asyncio.to_thread(self._reason, rules, dialect, body) if rules.needs_blocks else RiskReason()

    def _reason(self, rules: HoldRules, dialect: str, body: bytes) -> RiskReason:
        try:
            request = DIALECTS[dialect].decode_request(body, None)
        except (KeyError, CtxtuiError):
            return self._secret([text_block(body.decode("utf-8", "replace"))]) if rules.secret else RiskReason()
        if rules.secret and (reason := self._secret([item.block for item in request.items])).text:
            return reason
        if not rules.repeats:
            return RiskReason()
        tree = Tree()
        context = Context(tree, tree.extend(ROOT, request.items), dialect, request.params)
        return RiskReason(_describe_loop(context, rules.repeats))

    def _secret(self, blocks: list[Block]) -> RiskReason:
        secrets = {
            block.digest: [risk.what for risk in self._guard.risks(block) if risk.kind == SECRET]
            for block in blocks
            if block.digest not in self._sent
        }
        names = dict.fromkeys(name for found in secrets.values() for name in found)
        text = f"a secret is in it ({', '.join(names)})" if names else ""
        return RiskReason(text, frozenset(digest for digest, found in secrets.items() if found))


def _describe_loop(context: Context, repeats: int) -> str:
    """Describe the loop that the request ends with at every multiple of `repeats`; "" for none."""
    loops = [loop for loop in find_loops(context, repeats) if _is_last(context, loop.exchanges[-1].answer)]
    loop = loops[-1] if loops else None
    if loop is None or loop.repeats % repeats or len(loop.exchanges) % loop.period:
        return ""
    names = ", ".join(context.reading(exchange.call).name for exchange in loop.exchanges[: loop.period])
    return f"the same calls got the same answers {loop.repeats} times ({names})"


def _is_last(context: Context, answer: tuple[int, ...]) -> bool:
    """Whether neither a call nor a text of the user follows the answer at these positions."""
    if not answer:
        return False
    end = max(answer) + 1
    has_later_call = any(is_call(item.block.kind) for item in context.items[end:])
    return not has_later_call and not any(position >= end for position in context.user_texts)
