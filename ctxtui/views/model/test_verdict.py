"""What a test run says of itself in the end, so that a row shows its outcome and not its first warning."""

from __future__ import annotations

import re
from typing import Final

TAIL: Final = 1 << 16
"""Characters at the end of an output that are searched: of a run, the summary stands last."""

_LAST_LINES: Final = 1 << 12
"""Characters in which pytest says its last word; the word to look for is too common for more."""

_SGR = re.compile(r"\x1b\[[0-9;]*m")
_N = r"\d+(?:,\d{3})*"
_PYTEST = "failed|passed|skipped|errors?|warnings?|xfailed|xpassed|deselected|rerun"
# Each with a word that must occur: looking for it is a hundred times as fast as the pattern.
_PATTERNS: Final = (
    # cargo: test result: ok. 12 passed; 0 failed; 0 ignored ...
    ("test result: ", rf"^test result: (\w+\. {_N} passed; {_N} failed(?:; {_N} ignored)?)"),
    # jest, vitest: Tests:  1 failed, 12 passed, 13 total
    (
        "Tests",
        rf"^\s*Tests:?\s+((?:{_N} \w+[,|\s]+)*{_N} (?:total|passed|failed|skipped)(?: \({_N}\))?)\s*$",
    ),
    # unittest: Ran 12 tests in 0.1s, then OK or FAILED (failures=1)
    ("Ran ", rf"^(Ran {_N} tests? in [\d.]+s\s+(?:OK|FAILED)(?: \([^)\n]*\))?)"),
    # dotnet: Failed: 0, Passed: 12, Skipped: 0
    (
        "Passed:",
        rf"^.*?((?:Failed|Passed):\s+{_N}, (?:Failed|Passed):\s+{_N}(?:, Skipped:\s+{_N})?)",
    ),
    # maven, gradle: Tests run: 12, Failures: 1, Errors: 0
    ("Tests run: ", rf"^.*?(Tests run: {_N}, Failures: {_N}(?:, Errors: {_N})?)"),
    # rspec: 12 examples, 1 failure
    (" failure", rf"^({_N} examples?, {_N} failures?(?:, {_N} pending)?)"),
    # node --test and tap: # pass 12 ... # fail 1
    ("# pass ", rf"^# (pass {_N})\s*\n# (fail {_N})"),
)
# pytest, with or without its rule: 12 passed, 1 failed in 3.41s
_PYTEST_LINE: Final = rf"^=*\s*((?:{_N} (?:{_PYTEST})(?:, )?)+ in [\d.:hms ()]+?)\s*=*$"
# mocha says it in lines of their own: 12 passing (18s) / 2 pending / 1 failing
_MOCHA: Final = rf"^\s*({_N} (?:passing(?: \([\d.]+\w+\))?|pending|failing))\s*$"


def verdict(text: str) -> str:
    """The outcome of a test run in one line (``12 passing (18s) · 1 failing``); "" where `text` is no test output."""
    tail = text[-TAIL:]
    if "\x1b[" in tail:
        tail = _SGR.sub("", tail)
    ends = tail[-_LAST_LINES:]
    pytests = list(re.finditer(_PYTEST_LINE, ends, re.MULTILINE)) if " in " in ends else []
    found = [match for word, pattern in _PATTERNS if word in tail for match in re.finditer(pattern, tail, re.MULTILINE)]
    if pytests or found:
        last = pytests[-1] if pytests else max(found, key=lambda match: match.end())
        return " · ".join(" ".join(group.split()) for group in last.groups() if group)
    return " · ".join(_of_mocha(tail)) if "passing" in tail else ""


def _of_mocha(tail: str) -> list[str]:
    lines = [match[1] for match in re.finditer(_MOCHA, tail, re.MULTILINE)]
    # Of several runs the last one counts: it begins at the last "passing".
    starts = [at for at, line in enumerate(lines) if "passing" in line]
    return lines[starts[-1] :] if starts else []
