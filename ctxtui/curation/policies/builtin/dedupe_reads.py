"""The policy ``dedupe_reads``: replaces repeated and outdated tool results by a line."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Container, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import DEDUPLICATE
from ctxtui.core.file_accesses import READ, Touch, find_touches
from ctxtui.curation.policies.context_spans import count_text
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.policy_context import PolicyContext, Settings, make_edit
from ctxtui.curation.policies.tool_results import path_of, tool_of

NAME = "dedupe_reads"


class Repeat(NamedTuple):
    """A result that may be replaced by the line `text`, because another result has its content."""

    position: int
    text: str


class _Read(NamedTuple):
    """A result; `path` is "" if it read no file, `touch` has the lines if they are known.

    `source` is equal for results that may outdate each other: tool, path, and the call's input if there are no lines.
    """

    position: int
    text: str
    tool: str
    path: str
    touch: Touch | None
    source: tuple[str, str, str]

    @property
    def subject(self) -> str:
        return f"{self.tool} {self.path}".strip()


def propose(policy_context: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Replace repeats of `minimum` tokens or more by a line, once that frees `at_least` in all."""
    repeated = [
        repeat
        for repeat in repeats(policy_context, settings["minimum"])
        if policy_context.may_change(repeat.position, NAME)
    ]
    freed = sum(policy_context.size(repeat.position) - count_text(policy_context, repeat.text) for repeat in repeated)
    if freed >= settings["at_least"]:
        for repeat in repeated:
            yield make_edit(policy_context, NAME, DEDUPLICATE, [repeat.position], {"text": repeat.text})


def repeats(policy_context: PolicyContext, minimum: int, chosen: Container[int] | None = None) -> Iterator[Repeat]:
    """The results of `minimum` tokens or more that are outdated or identical to another one.

    Outdated: a later read of at least these lines of the file (of a tool without lines: with the same input) differs
    and is at least half as large. Of identical ones the first stays, or if only `chosen` ones may go, the first that is
    not among them.
    """
    every = policy_context.outline("reads", partial(_collect_reads, policy_context))
    changes, tokens = policy_context.applied.changes, policy_context.tokens
    reads = [read for read in every.related if read.position not in changes and tokens(read.position) >= minimum]
    outdated = _find_outdated(policy_context, reads)
    alike: dict[str, list[_Read]] = {}
    for read in reads:
        if read.position not in outdated:
            alike.setdefault(read.text, []).append(read)
    for read in reads:
        if chosen is not None and read.position not in chosen:
            continue
        if read.position in outdated:
            yield Repeat(read.position, f"[Outdated: {read.subject} was read again later.]")
            continue
        group = alike[read.text]
        stays = next((each for each in group if chosen is not None and each.position not in chosen), group[0])
        if stays is not read:
            when = "earlier" if stays.position < read.position else "later"
            yield Repeat(read.position, f"[The same as the {when} result of {stays.subject}, unchanged.]")


class _Reads:
    """The results of a context, grouped so that only candidates are compared.

    `related` are the results, in order, for which there is an identical one, or a different one of the same source.
    """

    def __init__(self) -> None:
        self.related: list[_Read] = []
        self._known: set[int] = set()
        self._alike: dict[str, list[_Read]] = {}
        self._of_source: dict[tuple[str, str, str], list[_Read]] = {}

    def add(self, result: _Read) -> None:
        alike = self._alike.setdefault(result.text, [])
        alike.append(result)
        related = alike[-2:] if len(alike) > 1 else []
        if result.path:
            same = self._of_source.setdefault(result.source, [])
            same.append(result)
            # From the third one on, the earlier ones are related already if anything differs.
            if same[0].text != result.text or same[0].position in self._known:
                related = [*related, same[0], result]
        for each in related:
            if each.position not in self._known:
                self._known.add(each.position)
                insort(self.related, each, key=lambda read: read.position)


def _collect_reads(policy_context: PolicyContext, length: int, reads: _Reads | None) -> _Reads:
    result_positions = policy_context.results
    reads = reads or _Reads()
    for position in result_positions[bisect_left(result_positions, length) :]:
        reads.add(_read_result(policy_context, position))
    return reads


def _read_result(policy_context: PolicyContext, position: int) -> _Read:
    context, call = policy_context.context, policy_context.context.answered_call(position)
    touch = next(find_touches(context.reading(call)), None) if call is not None else None
    is_read = touch is None or touch.kind == READ
    tool, path = tool_of(policy_context, position), path_of(policy_context, position) if is_read else ""
    arguments = context.reading(call).arguments if call is not None and touch is None else ""
    return _Read(position, context.reading(position).text, tool, path, touch, (tool, path, arguments))


def _find_outdated(policy_context: PolicyContext, reads: Sequence[_Read]) -> set[int]:
    outdated: set[int] = set()
    valid: dict[tuple[str, str, str], dict[str, list[_Read]]] = {}
    for read in reads:
        if read.path:
            reads_by_text = valid.setdefault(read.source, {})
            for text, earlier in list(reads_by_text.items()):
                if text != read.text and _replaces(policy_context, read, earlier[0]):
                    outdated.update(each.position for each in earlier)
                    del reads_by_text[text]
            reads_by_text.setdefault(read.text, []).append(read)
    return outdated


def _replaces(policy_context: PolicyContext, later: _Read, earlier: _Read) -> bool:
    # A much smaller one may be only a part of the file, even if its lines are unknown.
    is_large = policy_context.tokens(later.position) * 2 >= policy_context.tokens(earlier.position)
    return is_large and (later.touch is None or earlier.touch is None or later.touch.covers(earlier.touch))


POLICY = Policy(
    NAME,
    "replace repeated and outdated results by a line",
    propose,
    {"minimum": 100, "at_least": 1_000},
    {"minimum": "tokens from which a result counts", "at_least": "tokens that it must free together"},
)
