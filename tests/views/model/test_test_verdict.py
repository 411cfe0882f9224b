"""The last word of a test run."""

from __future__ import annotations

import pytest

from ctxtui.views.model.preview import describe_test_run

CASES = {
    "pytest": (
        "tests/a.py ..F\n\n=== 1 failed, 12 passed, 2 warnings in 3.41s ===\n",
        "1 failed, 12 passed, 2 warnings in 3.41s",
    ),
    "pytest -q": ("..\n12 passed in 0.10s\n", "12 passed in 0.10s"),
    "mocha": (
        "  12 passing (18s)\n  2 pending\n  1 failing\n\n  1) world\n",
        "12 passing (18s) · 2 pending · 1 failing",
    ),
    "mocha twice": ("  3 passing (1s)\n  2 failing\n\n\n  5 passing (2s)\n", "5 passing (2s)"),
    "jest": ("Tests:       1 failed, 12 passed, 13 total\nTime: 2 s\n", "1 failed, 12 passed, 13 total"),
    "vitest": ("      Tests  1 failed | 12 passed (13)\n", "1 failed | 12 passed (13)"),
    "cargo": ("test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured\n", "ok. 12 passed; 0 failed; 1 ignored"),
    "unittest": ("Ran 12 tests in 0.1s\n\nFAILED (failures=1)\n", "Ran 12 tests in 0.1s FAILED (failures=1)"),
    "rspec": ("12 examples, 1 failure\n", "12 examples, 1 failure"),
    "maven": ("[ERROR] Tests run: 12, Failures: 1, Errors: 0, Skipped: 0\n", "Tests run: 12, Failures: 1, Errors: 0"),
    "dotnet": ("Passed!  - Failed:     0, Passed:    12, Skipped:     0\n", "Failed: 0, Passed: 12, Skipped: 0"),
    "tap": ("# tests 13\n# pass 12\n# fail 1\n", "pass 12 · fail 1"),
    "coloured": ("\x1b[32m  12 passing\x1b[0m (3s)\n\x1b[31m  1 failing\x1b[0m\n", "12 passing (3s) · 1 failing"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_run_says_of_itself(name: str) -> None:
    text, expected = CASES[name]
    assert describe_test_run("warning: something is deprecated\n" + text) == expected


@pytest.mark.parametrize("text", ["", "we are passing by", "all 3 tests were fine", "x" * 100_000, "pass " * 50_000])
def test_other_text_has_none(text: str) -> None:
    assert describe_test_run(text) == ""
