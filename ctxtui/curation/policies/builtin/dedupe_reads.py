"""Replaces repeated reads.

A later identical result points back, an outdated one points forward.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Container, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import DEDUPLICATE
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
    """A result of a tool that read something; `path` is "" if it was no file."""

    position: int
    text: str
    tool: str
    path: str

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

    Outdated: a later read of the same file differs and is at least half as large. Of identical ones the first stays, or
    if only `chosen` ones may go, the first that is not among them.
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

    `related` are the results, in order, for which there is an identical one, or a different one of the same file.
    """

    def __init__(self) -> None:
        self.related: list[_Read] = []
        self._known: set[int] = set()
        self._alike: dict[str, list[_Read]] = {}
        self._of_file: dict[tuple[str, str], list[_Read]] = {}

    def add(self, result: _Read) -> None:
        """Append a result."""
        alike = self._alike.setdefault(result.text, [])
        alike.append(result)
        related = alike[-2:] if len(alike) > 1 else []
        if result.path:
            same = self._of_file.setdefault((result.tool, result.path), [])
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
    text = policy_context.context.reading(position).text
    return _Read(position, text, tool_of(policy_context, position), path_of(policy_context, position))


def _find_outdated(policy_context: PolicyContext, reads: Sequence[_Read]) -> set[int]:
    """Positions of the reads of a file that a later whole read contradicts."""
    outdated: set[int] = set()
    latest: dict[tuple[str, str], list[_Read]] = {}
    for read in reads:
        if not read.path:
            continue
        before = latest.setdefault((read.tool, read.path), [])
        if before and before[0].text != read.text:
            if _is_whole(policy_context, before[0].position, read.position):
                outdated.update(each.position for each in before)
            before.clear()
        before.append(read)
    return outdated


def _is_whole(policy_context: PolicyContext, before: int, later: int) -> bool:
    """Whether the later read is at least half as large as the earlier one.

    A smaller one may be only a part of the file.
    """
    return policy_context.tokens(later) * 2 >= policy_context.tokens(before)


POLICY = Policy(
    NAME,
    "replace repeated reads of a file by a line",
    propose,
    {"minimum": 100, "at_least": 1_000},
    {"minimum": "tokens from which a result counts", "at_least": "tokens that it must free together"},
)
