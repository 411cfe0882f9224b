"""Calls: one request to a model, as far as it is known."""

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
"""What `Call.extra` holds tokens of input under that a recording gives as an estimate, not as a report."""


WINDOW: Final = "context_window"
"""In `Call.extra`: tokens that the client itself named as its window when the call was made."""
COUNTED: Final = "count_tokens"
"""Stop reason of a request that only counts: it costs nothing (facts §1)."""
COMPACTED: Final = "compacted"
"""In `Call.extra` of the first call after a compaction: ``{"trigger": "auto" | "manual", "tokens": n}``, who began it
and at how many tokens, where the record says who."""


TOOL_USE_INPUT: Final = "tool_use_input"
"""In `Call.extra`: tokens of input that a report gives apart as brought by the provider's own tools (Gemini)."""


EDITS: Final = "edits"
"""In `Call.extra` of a call that left another program through ctxtui: which edits were ``applied``, ``asleep`` and
``refused`` in it, by their ids, and the authors of those that were (``by``)."""
ANSWER_LEAST: Final = "answer_least"
"""In `Call.extra`: tokens that the recorded answer comes to at least, where the report is one of its beginning."""


IN_ALL: Final = "in_all"
"""In `Call.extra`, True where a sum that the recording tells of several calls has what this one used beyond its own
report."""
COPIED_BY: Final = "copied_by"
"""In `Call.extra` of a call that a program copied into a session that it wrote: the program's name. The call was made,
and paid, in the session that it comes from."""
MAKER: Final = "ctxtui"
"""Who copies: ctxtui, in the files that it writes for a tool to resume."""


PAID_ID: Final = "paid_id"
"""In `Call.extra`: the id that all copies of a call have, where a client gives each copy another one (a fork's)."""


SUM: Final = "sum"
"""In `Call.extra` of what several calls used in all (no context ever had that size): how many of them have no record
of their own, or True where that is not told."""


BY_TRANSCRIPT: Final = "by_transcript"
"""In `Call.extra`, True in a session that ctxtui recorded where a call went by without it: the client's own transcript
tells of it."""


class Fidelity(StrEnum):
    """How completely a call is known."""

    WIRE = "wire"
    """The request itself: nothing is missing."""
    TRANSCRIPT = "transcript"
    """A client's own record of the conversation: what the client adds (system, tools) may be missing."""
    TOTALS = "totals only"
    """Only figures."""


class EpochStart(StrEnum):
    """Why a stretch of calls begins."""

    START = "start"
    RESUME = "resume"
    COMPACTION = "compaction"
    MICROCOMPACTION = "microcompaction"
    MODEL = "model"
    CLIENT = "client"
    REWIND = "rewind"


class Epoch(Struct, frozen=True):
    """A stretch without restart, compaction or model change; `number` counts from 1 within its thread.

    `detail` is a short text for the boundary's row: ``154.8k -> 22.3k``, ``opus-4 -> sonnet-4``.
    """

    number: int = 1
    start: EpochStart = EpochStart.START
    detail: str = ""


CLIENT_VERSION: Final = "client_version"
"""What `Call.extra` holds the version of the client under that made the request (``2.1.69``), where its record says."""
UNATTENDED: Final = "unattended"
"""In `Call.extra`, True where the client ran for a program, with no person at its screen."""
FRONT_RECORDED: Final = "front_recorded"
"""In `Call.extra` of a transcript's call, True where its system prompt and tools are on record nevertheless."""


class Skeleton(Struct, frozen=True):
    """What is left of a wire body when its blocks are taken out; `dialect` names the codec that reads it back.

    `parts` is that codec's own JSON. With the path it rebuilds the request byte for byte (law 1).
    """

    dialect: str
    parts: Json


class Call(Struct, frozen=True, gc=False):
    """One request to a model.

    `id` is the provider's message id, or one derived from (time, model, usage): the same call in two files has one id.
    `raw_head` is the context that the agent had, `sent_head` the one that left (the same without edits),
    `response_head` the context just after the answer. Times are Unix seconds, None where not recorded. `line` is the
    1-based line of the source on which the call begins, `bytes_` its byte range there.
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
    """What the record says beyond: request id, effort, service tier ... verbatim."""

    @property
    def edited(self) -> bool:
        """Whether it left under edits: then there is a context that the agent had, and another one that left."""
        return self.sent_head != self.raw_head

    @property
    def at(self) -> float | None:
        """When it was made, in Unix seconds: when it began, else when its answer had come; None: not recorded."""
        return self.started if self.started is not None else self.ended

    @property
    def estimated_input(self) -> int | None:
        """Tokens of input as whoever wrote the recording worked them out; None where it gives no such figure."""
        found = self.extra.get(ESTIMATED_INPUT)
        return found if isinstance(found, int) and found > 0 and self.usage is None else None

    @property
    def is_copy(self) -> bool:
        """Whether ctxtui copied the call from another session: no total over sessions counts it."""
        return COPIED_BY in self.extra

    @property
    def is_sum(self) -> bool:
        """Whether it stands for several calls: its figures are no context's."""
        return SUM in self.extra

    @property
    def count(self) -> int:
        """Number of calls that it counts for: 1; of a sum, the calls that its record counts and that have no record of
        their own (0: it does not say)."""
        if not self.is_sum:
            return 1
        told = self.extra[SUM]
        return told if isinstance(told, int) and told is not True else 0

    @property
    def is_reported(self) -> bool:
        """Whether there is a report; one of nothing but zeros is none."""
        usage = self.usage
        return usage is not None and (usage.input > 0 or usage.output > 0 or bool(usage.cost))

    @property
    def answered_in_part(self) -> bool:
        """Whether the call used more than is known of it: `usage` and `output` are then the least that it can be.

        The report was made before the answer was whole, or there is none for a request that was not refused, or none of
        its input: no request is empty. One without an id is still to be sent.
        """
        if not self.id or IN_ALL in self.extra or self.stop_reason == COUNTED or self.fidelity == Fidelity.TOTALS:
            return False
        usage = self.usage
        if usage is not None and self.is_reported:
            return not usage.output_final or not (usage.input or usage.cost)
        return not self.error or self.response_head not in (ROOT, self.sent_head, self.raw_head)

    @property
    def output(self) -> int:
        """Tokens of the answer: those reported, 0 without a report; where the report is one of its beginning, what is
        on record of the answer counts, if that is more."""
        if self.usage is None:
            return 0
        least = self.extra.get(ANSWER_LEAST)
        known = least if isinstance(least, int) and self.answered_in_part else 0
        return max(self.usage.output, known)


def count_calls(calls: Iterable[Call]) -> int:
    """Count calls as every command and screen does, each by its `Call.count`."""
    return sum(call.count for call in calls)


def provider_id(call: Call) -> str:
    """The id by which another recording has the call: a record with ids of its own may tell the provider's beside
    them."""
    told = call.extra.get("response_id")
    return told if isinstance(told, str) and told else call.id


def paid_id(call: Call) -> str:
    """The id by which a call counts once, however many recordings hold a copy of it."""
    paid = call.extra.get(PAID_ID)
    return paid if isinstance(paid, str) and paid else provider_id(call)


def answered_from(tree: Tree, call: Call) -> int:
    """The node behind which the answer of `call` begins: the end of the context that left, or of the agent's own; where
    it goes on from neither, or there is none, its own end.

    Edits change no history, so the answer to a context that left under edits goes on from the agent's own: between the
    end of what left and the end of the answer there is no stretch then.
    """
    answer = call.response_head
    # What left may be the beginning of the agent's own: the longer one counts, and a parent has the smaller id. A root
    # says that the agent's own is not known.
    ends = {call.sent_head, call.raw_head or call.sent_head}
    return max((end for end in ends if tree.holds(answer, end)), default=answer)


def answer_path(tree: Tree, call: Call) -> list[int]:
    """The nodes of the answer of `call`, in prompt order."""
    return tree.path(call.response_head, answered_from(tree, call))


def answer_in(tree: Tree, call: Call, head: int) -> list[int]:
    """The nodes of the context `head` that say the answer of `call` behind what left at it, in prompt order, as far as
    they do: under edits it is there too, though the agent's own context with the answer is another path."""
    if not tree.holds(head, call.sent_head):
        return []
    if answered_from(tree, call) == call.sent_head:
        return tree.path(tree.common(call.response_head, head), call.sent_head)
    found: list[int] = []
    for node, said in zip(tree.path(head, call.sent_head), answer_path(tree, call), strict=False):
        if (tree[node].block.digest, tree[node].place) != (tree[said].block.digest, tree[said].place):
            break
        found.append(node)
    return found


def answer_items(tree: Tree, call: Call) -> list[Item]:
    """The blocks of the answer of `call` at their places, in prompt order."""
    return tree.items(call.response_head, answered_from(tree, call))
