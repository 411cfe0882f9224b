"""Calls: requests to a model, with everything that is known of them."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from msgspec import Struct, field

from ctxtui.core.block import Item
from ctxtui.core.canonical import Json
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.usage import Usage

ESTIMATED_INPUT: Final = "estimated_input"
"""Key in `Call.extra`: input tokens that a recording gives as an estimate."""
WINDOW: Final = "context_window"
"""Key in `Call.extra`: the context window in tokens, as named by the client."""
COUNTED: Final = "count_tokens"
"""Stop reason of a request that only counts tokens: it costs nothing (facts §1)."""
COMPACTED: Final = "compacted"
"""Key in `Call.extra` of the first call after a compaction: ``{"trigger": "auto", "tokens": n}``.

The trigger may also be ``manual`` or `WHILE_IDLE`; ``tokens`` is the size before. Missing if the record names no
trigger.
"""
WHILE_IDLE: Final = "idle"
"""Trigger of a compaction that the client made in a pause."""
TOOL_USE_INPUT: Final = "tool_use_input"
"""Key in `Call.extra`: input tokens reported separately for the provider's own tools (Gemini)."""
EDITS: Final = "edits"
"""Key in `Call.extra` of another program's call sent through ctxtui under edits.

It has the ids of the edits that were ``applied``, of those whose blocks were not in the request (``asleep``), those
``refused``, and the authors of the applied ones (``by``).
"""
COMPACTS: Final = "compacts"
"""Key in `Call.extra` of a request for a summary of the history: the client's name."""
KEEP_WARM: Final = "keep_warm"
"""Key in `Call.extra`, True for a request that ctxtui sent to keep a cached prefix from expiring."""
ANSWER_LEAST: Final = "answer_least"
"""Key in `Call.extra`: minimum tokens of the recorded answer, if the report was made at its start."""
IN_ALL: Final = "in_all"
"""Key in `Call.extra`, True if a recorded sum over calls includes what this one used beyond its report."""
COPIED_BY: Final = "copied_by"
"""Key in `Call.extra`: name of the program that copied the call, which was made and paid for in another session."""
MAKER: Final = "ctxtui"
"""Value of `COPIED_BY` in the files that ctxtui writes for a tool to resume."""
PAID_ID: Final = "paid_id"
"""Key in `Call.extra`: the id shared by all copies of a call, if a client gives each copy an id of its own (forks)."""
SUM: Final = "sum"
"""Key in `Call.extra` of a record that sums up several calls.

Its value is the number of those that have no record of their own; True if it is not known.
"""
BY_TRANSCRIPT: Final = "by_transcript"
"""Key in `Call.extra`, True for a call of a session recorded by ctxtui that did not pass through ctxtui."""


class Fidelity(StrEnum):
    """Completeness of what is known of a call."""

    WIRE = "wire"
    """The request itself."""
    TRANSCRIPT = "transcript"
    """A client's own record of the conversation; system prompt and tools may be missing."""
    TOTALS = "totals only"
    """Only figures."""


class EpochStart(StrEnum):
    """Why an epoch begins."""

    START = "start"
    RESUME = "resume"
    COMPACTION = "compaction"
    MICROCOMPACTION = "microcompaction"
    MODEL = "model"
    CLIENT = "client"
    REWIND = "rewind"


COMPACTIONS: Final = (EpochStart.COMPACTION, EpochStart.MICROCOMPACTION)


class Epoch(Struct, frozen=True):
    """A sequence of calls without restart, compaction or model change.

    `number` counts from 1 within its thread. `detail` is a short text for the boundary's row: ``154.8k → 22.3k``.
    """

    number: int = 1
    start: EpochStart = EpochStart.START
    detail: str = ""


CLIENT_VERSION: Final = "client_version"
"""Key in `Call.extra`: version of the client (``2.1.69``)."""
UNATTENDED: Final = "unattended"
"""Key in `Call.extra`, True if a program ran the client."""
ASKED_AT: Final = "asked_at"
"""Key in `Call.extra`: time of the user's message (Unix seconds), if the call's time is that of a copy."""
FRONT_RECORDED: Final = "front_recorded"
"""Key in `Call.extra` of a transcript's call, True if its system prompt and tools, which most lack, are recorded."""


class Skeleton(Struct, frozen=True):
    """The rest of a request's body after its blocks are taken out. With them it rebuilds the body byte for byte.

    `dialect` names the codec; `parts` is that codec's own JSON.
    """

    dialect: str
    parts: Json


class Call(Struct, frozen=True, gc=False):
    """One request to a model.

    - `raw_head`: last node of the agent's context, before edits; `sent_head`: of the context that was sent (the same
      without edits); `response_head`: of the context just after the answer.
    - `started`, `first_byte`, `ended`: Unix seconds; None if not recorded.
    - `stop_reason`: as the provider spells it, or `COUNTED`; `error`: the message of a failed call.
    - `skeleton`: of its body; None if that is not recorded.
    - `line`: the 1-based line of the source on which the call begins (0: unknown); `bytes_`: its byte range there.
    """

    id: str
    thread: str
    raw_head: int = ROOT
    sent_head: int = ROOT
    response_head: int = ROOT
    provider: str = ""
    model: str = ""
    started: float | None = None
    first_byte: float | None = None
    ended: float | None = None
    fidelity: Fidelity = Fidelity.TRANSCRIPT
    epoch: Epoch = Epoch()
    usage: Usage | None = None
    stop_reason: str = ""
    error: str = ""
    skeleton: Skeleton | None = None
    line: int = 0
    bytes_: tuple[int, int] = (0, 0)
    extra: dict[str, Json] = field(default_factory=dict)
    """Further facts: members of the record (request id, effort, service tier ...), and the keys above."""

    @property
    def is_edited(self) -> bool:
        return self.sent_head != self.raw_head

    @property
    def at(self) -> float | None:
        """Time of the call in Unix seconds: its start, else its end; None if not recorded."""
        return self.started if self.started is not None else self.ended

    @property
    def estimated_input(self) -> int | None:
        """Input tokens as estimated by the writer of the recording. None without such a figure, or with a report."""
        tokens = self.extra.get(ESTIMATED_INPUT)
        return tokens if isinstance(tokens, int) and tokens > 0 and self.usage is None else None

    @property
    def is_copy(self) -> bool:
        """Whether it was copied from another session, whose cost it is part of."""
        return COPIED_BY in self.extra

    @property
    def keeps_warm(self) -> bool:
        return KEEP_WARM in self.extra

    @property
    def follows_idle_compaction(self) -> bool:
        compacted = self.extra.get(COMPACTED)
        return isinstance(compacted, dict) and compacted.get("trigger") == WHILE_IDLE

    @property
    def is_sum(self) -> bool:
        """Whether it sums up several calls, so that its figures are no single context's."""
        return SUM in self.extra

    @property
    def count(self) -> int:
        """Number of calls that it counts for: 1, or for a sum those without a record (0: unknown)."""
        if not self.is_sum:
            return 1
        count = self.extra[SUM]
        return count if isinstance(count, int) and count is not True else 0

    @property
    def is_reported(self) -> bool:
        """Whether there is a usage report; a report of nothing but zeros is none."""
        usage = self.usage
        return usage is not None and (usage.input > 0 or usage.output > 0 or bool(usage.cost))

    @property
    def is_partial(self) -> bool:
        """Whether the call used more than is known of it.

        `usage` and `output` are lower bounds then. Its report was made before the answer was complete, has neither
        input nor a cost, or is missing although the request was not refused. False for calls that are not sent yet
        (without an id), only count tokens, or are known by totals, and for those whose further use is in a recorded sum
        (`IN_ALL`).
        """
        if not self.id or IN_ALL in self.extra or self.stop_reason == COUNTED or self.fidelity == Fidelity.TOTALS:
            return False
        usage = self.usage
        if usage is not None and self.is_reported:
            return not usage.output_final or not (usage.input or usage.cost)
        return not self.error or self.response_head not in (ROOT, self.sent_head, self.raw_head)

    @property
    def output(self) -> int:
        """Output tokens as reported, 0 without a report. At least `ANSWER_LEAST` if the report is partial."""
        if self.usage is None:
            return 0
        least = self.extra.get(ANSWER_LEAST)
        minimum = least if isinstance(least, int) and self.is_partial else 0
        return max(self.usage.output, minimum)


def count_calls(calls: Iterable[Call]) -> int:
    return sum(call.count for call in calls)


def provider_id(call: Call) -> str:
    """The provider's id of the call if it is recorded, else `Call.id`."""
    response_id = call.extra.get("response_id")
    return response_id if isinstance(response_id, str) and response_id else call.id


def paid_id(call: Call) -> str:
    """The id under which a call counts once, however many recordings hold a copy of it."""
    paid = call.extra.get(PAID_ID)
    return paid if isinstance(paid, str) and paid else provider_id(call)


def answer_start(tree: Tree, call: Call) -> int:
    """The node after which the answer of `call` begins.

    It is the end of the sent context or of the agent's context before edits. If the answer continues neither, or there
    is no answer, the result is `Call.response_head`.
    """
    answer = call.response_head
    # The sent context may be a prefix of the agent's own: the longer one counts, and a parent has the smaller id. A
    # root as `raw_head` means that the agent's own context is unknown.
    ends = {call.sent_head, call.raw_head or call.sent_head}
    return max((end for end in ends if tree.holds(answer, end)), default=answer)


def answer_path(tree: Tree, call: Call) -> list[int]:
    return tree.path(call.response_head, answer_start(tree, call))


def answer_nodes_in(tree: Tree, call: Call, head: int) -> list[int]:
    """The nodes of context `head` that repeat the answer of `call` after the sent context.

    Stops at the first difference.
    """
    if not tree.holds(head, call.sent_head):
        return []
    if answer_start(tree, call) == call.sent_head:
        return tree.path(tree.common(call.response_head, head), call.sent_head)
    nodes: list[int] = []
    for node, answer in zip(tree.path(head, call.sent_head), answer_path(tree, call), strict=False):
        if (tree[node].block.digest, tree[node].place) != (tree[answer].block.digest, tree[answer].place):
            break
        nodes.append(node)
    return nodes


def answer_items(tree: Tree, call: Call) -> list[Item]:
    return tree.items(call.response_head, answer_start(tree, call))
