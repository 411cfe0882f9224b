"""What was read twice stands once: a later identical result points back, an outdated one points forward."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Container, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import DEDUPLICATE
from ctxtui.curation.policies.context_spans import tokens_of
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.situation import PolicyContext, Settings, edit
from ctxtui.curation.policies.tool_results import path_of, results, tool_of

NAME = "dedupe_reads"


class Twice(NamedTuple):
    """A result whose words stand elsewhere: `text` is what says so in its place."""

    position: int
    text: str


class _Read(NamedTuple):
    position: int
    text: str
    tool: str
    path: str

    @property
    def what(self) -> str:
        return f"{self.tool} {self.path}".strip()


def propose(situation: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Replace repeats of `minimum` tokens or more by a line, once that frees `at_least` tokens together."""
    found = [one for one in repeats(situation, settings["minimum"]) if situation.free(one.position, NAME)]
    freed = sum(situation.size(one.position) - tokens_of(situation, one.text) for one in found)
    if freed >= settings["at_least"]:
        for one in found:
            yield edit(situation, NAME, DEDUPLICATE, [one.position], {"text": one.text})


def repeats(situation: PolicyContext, minimum: int, chosen: Container[int] | None = None) -> Iterator[Twice]:
    """The results of `minimum` tokens or more that need not stand: a later whole read of the same thing says something
    else by now, or another one says the same. Of equal ones the first stays; where only `chosen` ones may go, the first
    that is not among them."""
    every = situation.outline("reads", partial(_reads, situation))
    changes, tokens = situation.applied.changes, situation.tokens
    reads = [one for one in every.related if one.position not in changes and tokens(one.position) >= minimum]
    outdated = _outdated(situation, reads)
    alike: dict[str, list[_Read]] = {}
    for one in reads:
        if one.position not in outdated:
            alike.setdefault(one.text, []).append(one)
    for one in reads:
        if chosen is not None and one.position not in chosen:
            continue
        if one.position in outdated:
            yield Twice(one.position, f"[Outdated: {one.what} was read again later.]")
            continue
        group = alike[one.text]
        stays = next((each for each in group if chosen is not None and each.position not in chosen), group[0])
        if stays is not one:
            when = "earlier" if stays.position < one.position else "later"
            yield Twice(one.position, f"[The same as the {when} result of {stays.what}, unchanged.]")


class _Reads:
    """The results of a context; `related` are those, in order, of which another says the same, or another of the same
    file says something else: no other can be a repeat or outdated."""

    def __init__(self) -> None:
        self.related: list[_Read] = []
        self._known: set[int] = set()
        self._alike: dict[str, list[_Read]] = {}
        self._of_file: dict[tuple[str, str], list[_Read]] = {}

    def add(self, one: _Read) -> None:
        """A result behind all others."""
        alike = self._alike.setdefault(one.text, [])
        alike.append(one)
        found = alike[-2:] if len(alike) > 1 else []
        if one.path:
            same = self._of_file.setdefault((one.tool, one.path), [])
            same.append(one)
            # Where a third one came, those before are related already if anything differs.
            if same[0].text != one.text or same[0].position in self._known:
                found = [*found, same[0], one]
        for each in found:
            if each.position not in self._known:
                self._known.add(each.position)
                insort(self.related, each, key=lambda read: read.position)


def _reads(situation: PolicyContext, length: int, found: _Reads | None) -> _Reads:
    here = results(situation)
    found = found or _Reads()
    for position in here[bisect_left(here, length) :]:
        found.add(_read(situation, position))
    return found


def _read(situation: PolicyContext, position: int) -> _Read:
    text = situation.context.reading(position).text
    return _Read(position, text, tool_of(situation, position), path_of(situation, position))


def _outdated(situation: PolicyContext, reads: Sequence[_Read]) -> set[int]:
    """The reads of a file behind which a whole read of it says something else."""
    found: set[int] = set()
    latest: dict[tuple[str, str], list[_Read]] = {}
    for one in reads:
        if not one.path:
            continue
        before = latest.setdefault((one.tool, one.path), [])
        if before and before[0].text != one.text:
            if _is_whole(situation, before[0].position, one.position):
                found.update(each.position for each in before)
            before.clear()
        before.append(one)
    return found


def _is_whole(situation: PolicyContext, before: int, later: int) -> bool:
    """Whether the later read is no smaller part of the file than the earlier one."""
    return situation.tokens(later) * 2 >= situation.tokens(before)


POLICY = Policy(
    NAME,
    "replace repeated reads of a file by a line",
    propose,
    {"minimum": 100, "at_least": 1_000},
    {"minimum": "tokens from which a result counts", "at_least": "tokens that it must free together"},
)
