"""The last n rounds stay whole; older ones become facts: files, tests, errors, commits."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from msgspec import Struct, field

from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import DROP, SUMMARIZE, TRUNCATE
from ctxtui.curation.context import Context, is_result
from ctxtui.curation.policies.context_spans import free_runs, numbered, tokens_of
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.risk import Risk
from ctxtui.curation.policies.situation import PolicyContext, Settings, edit
from ctxtui.curation.policies.tool_results import results
from ctxtui.curation.record_summary import Distinct, Facts, facts, outcomes, short, told_of_tests

MOST: Final = 20
"""Files that one range names at most."""
ASKED, SAID = 200, 400
"""Cells that are kept of what a person asked, and of an answer."""
NAMED: Final = 5
"""Failed tests that are named at most."""

_PASSED: Final = re.compile(r"\b(\d+) (?:passed|passing)\b")
_FAILED: Final = re.compile(r"\b(\d+) (?:failed|failing|failures?|errors?)\b")
_RAN: Final = re.compile(r"^Ran (\d+) tests? in ", re.MULTILINE)
_UNITTEST: Final = re.compile(r"\b(?:failures|errors)=(\d+)")
_SUITES: Final = re.compile(r"^\W*(?:Test )?(?:Suites|Files)\b", re.IGNORECASE)
_ONE: Final = re.compile(r"^\s*--- (PASS|FAIL): (\S+)|^test (\S+) \.\.\. (ok|FAILED)$", re.MULTILINE)
_NAME: Final = re.compile(r"^FAILED ([^\s(]\S*)|^FAIL: (\w+)", re.MULTILINE)
_PLAIN_ERROR: Final = re.compile(r"^.*?\bError: (?=\S)")


class RanTests(NamedTuple):
    """How tests went: how many `passed`, how many `failed`, and the names of those that failed, as far as they are
    told."""

    passed: int
    failed: int
    names: tuple[str, ...] = ()

    def told(self) -> str:
        """``12 passed, 1 failed (TestRateLimit)``."""
        more = f", and {len(self.names) - NAMED} more" if len(self.names) > NAMED else ""
        names = f" ({', '.join(self.names[:NAMED])}{more})" if self.names else ""
        return f"{self.passed} passed, {self.failed} failed{names}"


class StepRange(Struct, kw_only=True):
    """The steps `first` to `last`, and what they came to."""

    first: int
    last: int
    written: Distinct = field(default_factory=Distinct)
    read: Distinct = field(default_factory=Distinct)
    runs: list[RanTests] = field(default_factory=list)
    told_tests: Distinct = field(default_factory=Distinct)
    errors: Distinct = field(default_factory=Distinct)
    fixes: Distinct = field(default_factory=Distinct)
    commits: Distinct = field(default_factory=Distinct)


def ran_tests(text: str) -> RanTests | None:
    """How the tests went whose output is `text`; None where it is no such output."""
    lines = [line for line in told_of_tests(text) if not _SUITES.match(line)]
    passed = sum(int(found) for line in lines for found in _PASSED.findall(line))
    failed = sum(int(found) for line in lines for found in _FAILED.findall(line))
    names = tuple(dict.fromkeys(one or other for one, other in _NAME.findall(text)))
    if passed or failed:
        return RanTests(passed, failed, names)
    ran = _RAN.search(text)
    if ran is not None:
        failed = sum(map(int, _UNITTEST.findall(text)))
        return RanTests(max(0, int(ran[1]) - failed), failed, names)
    each = [(found[2] or found[3], (found[1] or found[4]) in ("PASS", "ok")) for found in _ONE.finditer(text)]
    if not each:
        return None
    bad = tuple(dict.fromkeys(name for name, good in each if not good))
    return RanTests(sum(good for _, good in each), len(bad), bad)


def step_ranges(context: Context, rounds: Iterable[tuple[int, Sequence[int]]]) -> list[StepRange]:
    """The ranges of `rounds` (number, positions)."""
    found: list[StepRange] = []
    broken = False
    for number, positions in rounds:
        if not found or found[-1].commits:
            found.append(StepRange(first=number, last=number))
        one, here = facts(context, positions), found[-1]
        here.last = number
        if broken and one.changed and one.answer:
            _add(here.fixes, [short(one.answer, SAID)])
        broken = _take(here, one, context, positions) or (broken and not one.changed)
    return found


def _take(here: StepRange, one: Facts, context: Context, positions: Sequence[int]) -> bool:
    """Add what a round did; whether something went wrong in it."""
    items = context.items
    results = [p for p in positions if is_result(items[p].block.kind) or items[p].place.role == "tool"]
    runs = [run for run in (_ran(context, position) for position in results) if run is not None]
    here.runs += runs
    _add(here.written, one.changed)
    _add(here.read, one.read)
    _add(here.commits, one.commits)
    told = [outcomes(context, position) for position in results]
    errors = [error for _, lines in told for error in lines]
    _add(here.errors, [_PLAIN_ERROR.sub("", error) for error in errors])
    if not runs:
        _add(here.told_tests, [line for lines, _ in told for line in lines])
    return bool(errors) or any(run.failed for run in runs)


def _ran(context: Context, position: int) -> RanTests | None:
    """How the tests went that the result at a position tells of; looked for once."""
    known, digest = context.said.runs, context.items[position].block.digest
    if digest not in known:
        known[digest] = ran_tests(context.reading(position).text)
    told = known[digest]
    return None if told is None else RanTests(*told)


def _add(items: Distinct, more: Iterable[str]) -> None:
    for one in more:
        items.tell(one)


def told_in_steps(ranges: Sequence[StepRange], what: str, asked: Sequence[str] = ()) -> str:
    """`ranges` as text under the headings of a work log; `what` says which stretch it is (``rounds 3-7``)."""
    lines = [f"[Summary of {what}, drawn from the record]", *(f"- Asked: {short(one, ASKED)}" for one in asked)]
    for one in ranges:
        lines.append(f"Steps {one.first}-{one.last}:" if one.last > one.first else f"Step {one.first}:")
        lines += [f"- {name}: {words}" for name, words in _headed(one) if words]
    return "\n".join(lines)


def _headed(one: StepRange) -> list[tuple[str, str]]:
    written = {*one.written}
    read = [path for path in one.read if path not in written]
    failed = next((run for run in reversed(one.runs[:-1]) if run.failed), None)
    tests = one.runs[-1].told() if one.runs else "; ".join(one.told_tests[-5:])
    if failed is not None and not one.runs[-1].failed:
        tests += f"; before that {failed.told()}"
    return [
        ("Read", _listed(read)),
        ("Modified", _listed(one.written)),
        ("Tests", tests),
        ("Error", "; ".join(one.errors[:NAMED])),
        ("Fixed", "; ".join(one.fixes[:NAMED])),
        ("Committed", "; ".join(f'"{message}"' for message in one.commits)),
    ]


def _listed(items: Sequence[str]) -> str:
    more = f", and {len(items) - MOST} more" if len(items) > MOST else ""
    return ", ".join(items[:MOST]) + more


NAME = "keep_rounds"


def propose(situation: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Once there are `slack` rounds more than `n`, put facts in the place of the older ones. Where that is not enough
    for `limit` tokens (0: the usable window), the facts go, then the results that are left are cut, then all but the
    last round goes."""
    made = []
    # One by one: who sees from the first what is risked need not hear all.
    for one in _facts(situation, settings["n"], settings["slack"]):
        made.append(one)
        yield one
    limit = settings["limit"] or situation.usable
    after = situation.under(made)
    further: tuple[Callable[[PolicyContext], Iterator[Edit]], ...] = (
        lambda now: _without(now, max(1, settings["n"])),
        lambda now: _cuts(now, settings["cut"]),
        lambda now: _without(now, 1),
    )
    for step in further:
        if not limit or after.total <= limit:
            return
        edits = list(step(after))
        yield from edits
        after = after.under(edits)


def _facts(situation: PolicyContext, n: int, slack: int) -> Iterator[Edit]:
    old = situation.open_rounds
    if len(old) <= n + slack:
        return
    gone = old[: len(old) - n] if n else old
    for run in free_runs(situation, NAME, gone[0].start, gone[-1].stop):
        words = _told(situation, run)
        if sum(map(situation.size, run)) > tokens_of(situation, words):
            yield edit(situation, NAME, SUMMARIZE, run, {"text": words})


def _told(situation: PolicyContext, run: Sequence[int]) -> str:
    """What the rounds in a run of blocks did, by steps: a step is a round, counted from the first."""
    held = set(run)
    # Rounds follow each other: of a context of thousands, only those that the run touches are gone through.
    start = bisect_right(situation.rounds, run[0], key=lambda one: one.stop)
    stop = bisect_left(situation.rounds, run[-1] + 1, key=lambda one: one.start)
    touched = enumerate(situation.rounds[start:stop], start + 1)
    inside = ((number, [p for p in situation.blocks(*one) if p in held]) for number, one in touched)
    rounds = [(number, positions) for number, positions in inside if positions]
    between = held.difference(*(positions for _, positions in rounds))
    asked = facts(situation.context, sorted(between)).asked
    what = numbered("round", rounds[0][0], rounds[-1][0]) if rounds else ""
    return told_in_steps(step_ranges(situation.context, rounds), what, asked)


def _cuts(situation: PolicyContext, limit: int) -> Iterator[Edit]:
    for position in results(situation):
        if situation.free(position, NAME) and len(situation.context.reading(position).text) > limit:
            yield edit(situation, NAME, TRUNCATE, [position], {"head": limit // 2, "tail": limit // 2})


def _without(situation: PolicyContext, n: int) -> Iterator[Edit]:
    """Drop what is left of the rounds before the last `n`, their facts too."""
    asked = situation.asked.positions.get((NAME, DROP), frozenset())
    kept = situation.pinned | situation.released(NAME) | asked
    changes = situation.applied.changes
    for one in situation.rounds[:-n]:
        positions = [
            p
            for p in situation.blocks(*one)
            if p not in kept and (situation.size(p) or (p in changes and changes[p].edit.kind == SUMMARIZE))
        ]
        if positions:
            yield edit(situation, NAME, DROP, positions)


POLICY = Policy(
    NAME,
    "keep the last n rounds, older ones as facts",
    propose,
    {"n": 3, "slack": 2, "limit": 0, "cut": 1000},
    {
        "n": "rounds kept whole",
        "slack": "rounds more before it acts",
        "limit": "tokens to stay below (0: the usable window)",
        "cut": "characters kept of a result when facts alone do not do",
    },
    least=Risk.PARTS,
)
