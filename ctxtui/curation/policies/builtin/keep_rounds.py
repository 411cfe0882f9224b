"""The policy ``keep_rounds``: replaces old rounds by facts, and drops more above a limit.

Facts are the user's requests, files read and written, test results, errors, what was done about them, and commits; no
model is needed.
`record_summary` collects them; this module groups them into steps and writes them.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from msgspec import Struct, field

from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import DROP, SUMMARIZE, TRUNCATE
from ctxtui.curation.context import Context, is_result
from ctxtui.curation.policies.context_spans import count_text, format_range, free_runs
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.policy_context import PolicyContext, Settings, make_edit
from ctxtui.curation.policies.risk import Risk
from ctxtui.curation.record_summary import Distinct, Facts, collect_facts, lines_about_tests, outcome_lines, short

MAX_FILES: Final = 20
"""Maximum files that are listed."""
REQUEST_CELLS, ANSWER_CELLS = 200, 400
"""Cells kept of a user message and of an answer."""
MAX_LISTED: Final = 5
"""Maximum failed tests, errors and fixes that are listed."""

_PASSED: Final = re.compile(r"\b(\d+) (?:passed|passing)\b")
_FAILED: Final = re.compile(r"\b(\d+) (?:failed|failing|failures?|errors?)\b")
"""Numbers in the summary line of a test runner (pytest, jest, cargo ...)."""
_RAN: Final = re.compile(r"^Ran (\d{1,9}) tests? in ", re.MULTILINE)
"""The summary line of Python's unittest, which names no passed tests."""
_UNITTEST_FAILURES: Final = re.compile(r"\b(?:failures|errors)=(\d{1,9})\b")
_SUITES: Final = re.compile(r"^\W*(?:Test )?(?:Suites|Files)\b", re.IGNORECASE)
"""A line that counts test files instead of tests."""
_TEST_RESULT: Final = re.compile(r"^\s*--- (PASS|FAIL): (\S+)|^test (\S+) \.\.\. (ok|FAILED)$", re.MULTILINE)
"""A line of go test or cargo about one test."""
_FAILED_NAME: Final = re.compile(r"^FAILED ([^\s(]\S*)|^FAIL: (\w+)", re.MULTILINE)
_PLAIN_ERROR: Final = re.compile(r"^.*?\bError: (?=\S)")
"""The beginning of an error line up to the bare word Error, which tells nothing."""


class SuiteRun(NamedTuple):
    """Test results: numbers `passed` and `failed`, and the names of the failed ones, if known."""

    passed: int
    failed: int
    names: tuple[str, ...] = ()

    def describe(self) -> str:
        """A short text: ``12 passed, 1 failed (TestRateLimit)``."""
        more = f", and {len(self.names) - MAX_LISTED} more" if len(self.names) > MAX_LISTED else ""
        names = f" ({', '.join(self.names[:MAX_LISTED])}{more})" if self.names else ""
        return f"{self.passed} passed, {self.failed} failed{names}"


class StepRange(Struct, kw_only=True):
    """Rounds `first` to `last`, "steps" in the text: files, test runs, errors and commits.

    `test_lines` are lines about tests from rounds without a `SuiteRun`. `fixes` are the texts of answers that change
    files after something went wrong, until a round changes files without a new error.
    """

    first: int
    last: int
    written: Distinct = field(default_factory=Distinct)
    read: Distinct = field(default_factory=Distinct)
    runs: list[SuiteRun] = field(default_factory=list)
    test_lines: Distinct = field(default_factory=Distinct)
    errors: Distinct = field(default_factory=Distinct)
    fixes: Distinct = field(default_factory=Distinct)
    commits: Distinct = field(default_factory=Distinct)


def read_test_run(text: str) -> SuiteRun | None:
    """Read test results from an output; None if it has none."""
    lines = [line for line in lines_about_tests(text) if not _SUITES.match(line)]
    passed = sum(int(match) for line in lines for match in _PASSED.findall(line))
    failed = sum(int(match) for line in lines for match in _FAILED.findall(line))
    names = tuple(
        dict.fromkeys(pytest_name or unittest_name for pytest_name, unittest_name in _FAILED_NAME.findall(text))
    )
    if passed or failed:
        return SuiteRun(passed, failed, names)
    ran = _RAN.search(text)
    if ran is not None:
        failed = sum(map(int, _UNITTEST_FAILURES.findall(text)))
        return SuiteRun(max(0, int(ran[1]) - failed), failed, names)
    each = [(match[2] or match[3], (match[1] or match[4]) in ("PASS", "ok")) for match in _TEST_RESULT.finditer(text)]
    if not each:
        return None
    bad = tuple(dict.fromkeys(name for name, good in each if not good))
    return SuiteRun(sum(good for _, good in each), len(bad), bad)


def step_ranges(context: Context, rounds: Iterable[tuple[int, Sequence[int]]]) -> list[StepRange]:
    """Group `rounds` (number, positions) into ranges; a round with a commit ends its range."""
    ranges: list[StepRange] = []
    broken = False
    for number, positions in rounds:
        if not ranges or ranges[-1].commits:
            ranges.append(StepRange(first=number, last=number))
        round_facts, current = collect_facts(context, positions), ranges[-1]
        current.last = number
        if broken and round_facts.changed and round_facts.answer:
            _add_all(current.fixes, [short(round_facts.answer, ANSWER_CELLS)])
        broken = _add_round(current, round_facts, context, positions) or (broken and not round_facts.changed)
    return ranges


def _add_round(current: StepRange, round_facts: Facts, context: Context, positions: Sequence[int]) -> bool:
    """Add the facts of a round; returns whether something went wrong in it."""
    items = context.items
    results = [p for p in positions if is_result(items[p].block.kind) or items[p].place.role == "tool"]
    runs = [run for run in (_test_run(context, position) for position in results) if run is not None]
    current.runs += runs
    _add_all(current.written, round_facts.changed)
    _add_all(current.read, round_facts.read)
    _add_all(current.commits, round_facts.commits)
    result_lines = [outcome_lines(context, position) for position in results]
    errors = [error for _, lines in result_lines for error in lines]
    _add_all(current.errors, [_PLAIN_ERROR.sub("", error) for error in errors])
    if not runs:
        _add_all(current.test_lines, [line for lines, _ in result_lines for line in lines])
    return bool(errors) or any(run.failed for run in runs)


def _test_run(context: Context, position: int) -> SuiteRun | None:
    runs, digest = context.derived.runs, context.items[position].block.digest
    if digest not in runs:
        runs[digest] = read_test_run(context.reading(position).text)
    run = runs[digest]
    return None if run is None else SuiteRun(*run)


def _add_all(items: Distinct, texts: Iterable[str]) -> None:
    for text in texts:
        items.add(text)


def describe_steps(ranges: Sequence[StepRange], what: str, requests: Sequence[str] = ()) -> str:
    """Describe `ranges` as a work log; `what` names the stretch (``rounds 3-7``)."""
    lines = [
        f"[Summary of {what}, drawn from the record]",
        *(f"- Asked: {short(step, REQUEST_CELLS)}" for step in requests),
    ]
    for step in ranges:
        lines.append(f"Steps {step.first}-{step.last}:" if step.last > step.first else f"Step {step.first}:")
        lines += [f"- {name}: {text}" for name, text in _make_sections(step) if text]
    return "\n".join(lines)


def _make_sections(step: StepRange) -> list[tuple[str, str]]:
    written = {*step.written}
    read = [path for path in step.read if path not in written]
    last = step.runs[-1] if step.runs else None
    tests = last.describe() if last is not None else "; ".join(step.test_lines[-5:])
    failed = next((run for run in reversed(step.runs) if run.failed), last)
    if failed is not None and failed is not last:
        tests += f"; before that {failed.describe()}"
    return [
        ("Read", _format_list(read)),
        ("Modified", _format_list(step.written)),
        ("Tests", tests),
        ("Error", "; ".join(step.errors[:MAX_LISTED])),
        ("Fixed", "; ".join(step.fixes[:MAX_LISTED])),
        ("Committed", "; ".join(f'"{message}"' for message in step.commits)),
    ]


def _format_list(items: Sequence[str]) -> str:
    more = f", and {len(items) - MAX_FILES} more" if len(items) > MAX_FILES else ""
    return ", ".join(items[:MAX_FILES]) + more


NAME = "keep_rounds"


def propose(policy_context: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Once more than `n` + `slack` rounds are unedited, replace all but `n` by facts.

    If the context is then still above `limit` tokens (0: the usable window), more is removed, one step at a time: the
    rounds before the last `n` with their facts, also rounds kept by `slack`; then the middle of long results; then all
    rounds but the last.
    """
    edits_so_far = []
    # Lazily: a caller that rejects the risk of the first edit needs no more.
    for edit_ in _replace_by_facts(policy_context, settings["n"], settings["slack"]):
        edits_so_far.append(edit_)
        yield edit_
    limit = settings["limit"] or policy_context.usable
    after = policy_context.under(edits_so_far)
    further: tuple[Callable[[PolicyContext], Iterator[Edit]], ...] = (
        lambda now: _drop_rounds(now, max(1, settings["n"])),
        lambda now: _cut_results(now, settings["cut"]),
        lambda now: _drop_rounds(now, 1),
    )
    for step in further:
        if not limit or after.total <= limit:
            return
        edits = list(step(after))
        yield from edits
        after = after.under(edits)


def _replace_by_facts(policy_context: PolicyContext, n: int, slack: int) -> Iterator[Edit]:
    old = policy_context.unedited_rounds
    if len(old) <= n + slack:
        return
    replaced_rounds = old[: len(old) - n]
    for run in free_runs(policy_context, NAME, replaced_rounds[0].start, replaced_rounds[-1].stop):
        text = _describe_run(policy_context, run)
        if sum(map(policy_context.size, run)) > count_text(policy_context, text):
            yield make_edit(policy_context, NAME, SUMMARIZE, run, {"text": text})


def _describe_run(policy_context: PolicyContext, run: Sequence[int]) -> str:
    """Describe the rounds in a run of blocks; a step has the number of its round, from 1."""
    positions_in_run = set(run)
    # Rounds are in order: of thousands, only those that overlap the run are visited.
    start = bisect_right(policy_context.rounds, run[0], key=lambda stretch: stretch.stop)
    stop = bisect_left(policy_context.rounds, run[-1] + 1, key=lambda stretch: stretch.start)
    touched = enumerate(policy_context.rounds[start:stop], start + 1)
    rounds_inside = (
        (number, [p for p in policy_context.blocks(*round_) if p in positions_in_run]) for number, round_ in touched
    )
    rounds = [(number, positions) for number, positions in rounds_inside if positions]
    between = positions_in_run.difference(*(positions for _, positions in rounds))
    requests = collect_facts(policy_context.context, sorted(between)).requests
    what = format_range("round", rounds[0][0], rounds[-1][0]) if rounds else ""
    return describe_steps(step_ranges(policy_context.context, rounds), what, requests)


def _cut_results(policy_context: PolicyContext, limit: int) -> Iterator[Edit]:
    for position in policy_context.results:
        if policy_context.may_change(position, NAME) and len(policy_context.context.reading(position).text) > limit:
            yield make_edit(policy_context, NAME, TRUNCATE, [position], {"head": limit // 2, "tail": limit // 2})


def _drop_rounds(policy_context: PolicyContext, n: int) -> Iterator[Edit]:
    """Drop what is left of the rounds before the last `n`, their facts too."""
    dropped_before = policy_context.edited.positions.get((NAME, DROP), frozenset())
    protected = policy_context.pinned | policy_context.released(NAME) | dropped_before
    changes = policy_context.applied.changes
    for round_ in policy_context.rounds[:-n]:
        positions = [
            p
            for p in policy_context.blocks(*round_)
            if p not in protected and (policy_context.size(p) or (p in changes and changes[p].edit.kind == SUMMARIZE))
        ]
        if positions:
            yield make_edit(policy_context, NAME, DROP, positions)


POLICY = Policy(
    NAME,
    "replace all but the last n rounds by facts; drop more above a limit",
    propose,
    {"n": 3, "slack": 2, "limit": 0, "cut": 1000},
    {
        "n": "rounds kept",
        "slack": "further rounds before it replaces any",
        "limit": "tokens to stay below (0: the usable window)",
        "cut": "characters kept of a result if that is not enough",
    },
    least=Risk.PARTS,
)
