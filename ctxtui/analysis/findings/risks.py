"""Findings about risks (`content.guard`), with edits that remove them from later requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ctxtui.analysis.content.guard import COMMAND, FILE, INSTRUCTIONS, SECRET, Guard
from ctxtui.analysis.findings.finding import Finding, FindingInputs, Place
from ctxtui.core.block import TOOL, Block
from ctxtui.core.category import INDEX
from ctxtui.core.edit import Edit, make
from ctxtui.core.edit_kinds import REPLACE
from ctxtui.curation.apply.block_text import block_text, has_editable_text, is_changeable
from ctxtui.curation.context import is_call
from ctxtui.curation.policies.policy_context import PolicyContext

REMOVED: Final = "[removed: a file that holds logins]"
"""Text that replaces the content of a sensitive file."""
_INGESTED: Final = frozenset({INDEX["tool_result"], INDEX["document"]})
_AUTHORS: Final = {"user": "your message", "assistant": "an answer", "system": "the system prompt"}


class RiskKind:
    """A kind of risk as a kind of finding; `by_hand` says why no edit undoes it ("": edits do)."""

    def __init__(self, kind: str, problem: str, fix: str, by_hand: str = "") -> None:
        self.KIND = kind
        self._problem, self._fix, self._by_hand = problem, fix, by_hand

    def find(self, inputs: FindingInputs) -> Iterator[Finding]:
        policy_context, guard = inputs.policy_context, inputs.guard
        risks = [risk for risk in _risky_blocks(policy_context, guard) if risk.kind == self.KIND]
        if not risks:
            return
        positions = [*dict.fromkeys(risk.position for risk in risks)]
        nodes = [policy_context.context.nodes[position] for position in positions]
        edits = () if self._by_hand else tuple(_make_redactions(policy_context, guard, self.KIND, positions))
        yield Finding(
            kind=self.KIND,
            problem=self._problem,
            fix=self._fix,
            tokens=sum(map(policy_context.size, positions)),
            calls=inputs.costs.lifetimes.count_calls_with_any(nodes, len(inputs.calls)),
            count=len(positions),
            names=tuple(dict.fromkeys(risk.what for risk in risks)),
            edits=edits,
            by_hand=self._by_hand or ("" if edits else "the blocks that hold it cannot be changed: drop them"),
            warning=True,
            places=tuple(_make_place(inputs, risk) for risk in risks),
        )


KINDS: Final = (
    RiskKind(
        SECRET,
        "secrets in {count:block} ({names}): each later call sends them again",
        "mask them in later requests, and replace them if they are real",
    ),
    RiskKind(
        FILE,
        "files that hold logins were read ({names}): {count:result}",
        "remove their content from later requests, and deny the paths in the agent's settings",
    ),
    RiskKind(
        COMMAND,
        "dangerous commands were run ({names}): {count:call}",
        "check what they did, and deny them in the agent's settings",
        by_hand="no edit of the context undoes a command",
    ),
    RiskKind(
        INSTRUCTIONS,
        "tool results contain instructions for the model ({names}): {count:block}",
        "remove those sentences from later requests, and check whether the model followed them",
    ),
)


class _RiskyBlock(NamedTuple):
    position: int
    kind: str
    what: str


def _risky_blocks(here: PolicyContext, guard: Guard) -> Iterator[_RiskyBlock]:
    """Every risk of the blocks that are sent as they are recorded."""
    tree = here.context.tree
    for position, item in enumerate(here.context.items):
        if not here.is_unchanged(position) or item.block.kind == TOOL:
            continue
        ingested = tree[here.context.nodes[position]].category in _INGESTED
        for risk in guard.risks(item.block, ingested=ingested):
            # The file's content is in the answer; where there is none, nothing was read.
            at = _find_answer(here, position) if risk.kind == FILE else position
            if at is not None and here.is_unchanged(at):
                yield _RiskyBlock(at, risk.kind, risk.what)


def _find_answer(here: PolicyContext, call: int) -> int | None:
    partners = here.context.partners.get(call)
    if not partners:
        return None
    message = here.context.message_at(partners[0])
    headed = message is not None and message.start == partners[0] and message.has_header
    return partners[0] + 1 if headed else partners[0]


def redact_secrets(here: PolicyContext, guard: Guard) -> list[Edit]:
    """Edits that mask the secrets in the context, except in pinned and unchangeable blocks."""
    risks = (risk for risk in _risky_blocks(here, guard) if risk.kind == SECRET)
    return list(_make_redactions(here, guard, SECRET, [*dict.fromkeys(risk.position for risk in risks)]))


def _make_redactions(here: PolicyContext, guard: Guard, kind: str, positions: Sequence[int]) -> Iterator[Edit]:
    for position in positions:
        block = here.context.items[position].block
        if position in here.pinned or not is_changeable(block):
            continue
        payload = _redaction_payload(block, guard, kind)
        if payload is not None:
            yield make(REPLACE, here.context.targets([position]), payload)


def _redaction_payload(block: Block, guard: Guard, kind: str) -> dict[str, object] | None:
    """The payload of an edit that removes the risk from `block`; None if no edit can."""
    if is_call(block.kind):
        masked = guard.mask_call(block)
        return {"value": masked.value()} if kind == SECRET and masked != block else None
    if not has_editable_text(block):
        return None
    if kind == FILE:
        return {"text": REMOVED}
    text = guard.redact(block_text(block))
    return {"text": guard.remove_instructions(text) if kind == INSTRUCTIONS else text}


def _make_place(inputs: FindingInputs, risk: _RiskyBlock) -> Place:
    origin = _describe_origin(inputs.policy_context, inputs.guard, risk.position)
    return Place(risk.what, inputs.first_call(risk.position), risk.position + 1, origin)


def _describe_origin(here: PolicyContext, guard: Guard, position: int) -> str:
    item = here.context.items[position]
    call = position if is_call(item.block.kind) else here.context.answered_call(position)
    if call is not None:
        return guard.describe_call(here.context.reading(call))
    return _AUTHORS.get(item.place.role, item.place.section)
