"""What was read twice stands once: a later identical result points back, an outdated one points forward."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ctxtui.core.edit import DEDUPLICATE, Edit
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.situation import Settings, Situation, edit
from ctxtui.curation.policies.spans import tokens_of
from ctxtui.curation.policies.tools import path_of, results, tool_of

NAME = "dedupe_reads"


class _Twice(NamedTuple):
    position: int
    text: str


def propose(situation: Situation, settings: Settings) -> Iterator[Edit]:
    """Replace repeats of `minimum` tokens or more by a line, once that frees `at_least` tokens together."""
    found = [one for one in _repeats(situation, settings) if situation.free(one.position, NAME)]
    freed = sum(situation.size(one.position) - tokens_of(situation, one.text) for one in found)
    if freed >= settings["at_least"]:
        for one in found:
            yield edit(situation, NAME, DEDUPLICATE, [one.position], {"text": one.text})


def _repeats(situation: Situation, settings: Settings) -> Iterator[_Twice]:
    identical: dict[str, int] = {}
    latest: dict[tuple[str, str], int] = {}
    for position in results(situation):
        if not situation.stands(position) or situation.size(position) < settings["minimum"]:
            continue
        name, path = tool_of(situation, position), path_of(situation, position)
        text = situation.context.reading(position).text
        what = f"{name} {path}".strip()
        if text in identical:
            yield _Twice(position, f"[The same as the earlier result of {what}, unchanged.]")
            continue
        identical[text] = position
        if path:
            before = latest.get((name, path))
            latest[name, path] = position
            if before is not None and _is_whole(situation, before, position):
                yield _Twice(before, f"[Outdated: {what} was read again later.]")


def _is_whole(situation: Situation, before: int, later: int) -> bool:
    """Whether the later read is no smaller part of the file than the earlier one."""
    return situation.tokens(later) * 2 >= situation.tokens(before)


POLICY = Policy(
    NAME,
    "replace repeated reads of a file by a line",
    propose,
    {"minimum": 100, "at_least": 1_000},
    {"minimum": "tokens from which a result counts", "at_least": "tokens that it must free together"},
)
