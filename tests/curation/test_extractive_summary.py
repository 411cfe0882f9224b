"""Facts of results: what is found quickly is what the expressions find."""

from __future__ import annotations

from random import Random

from ctxtui.curation import extractive_summary
from ctxtui.curation.extractive_summary import told_of_errors, told_of_tests

LINES = (
    "12 passed in 3.1s",
    "== 3 failed, 2 passed ==",
    "test result: ok. 4 passed",
    "ok   shop/cart 0.3s",
    "FAIL shop/vat",
    "TypeError: no",
    "error[E0308]: mismatched",
    "panic: nil",
    "Traceback (most recent call last):",
    "fatal: not a repo",
    "a token of the books",
    "nothing here",
    "  ok then",
    "an error of mine",
    "FAILURE",
    "1 failure",
    "",
)


def test_looking_for_words_first_leaves_nothing_out() -> None:
    found = 0
    for number in range(400):
        rng = Random(f"lines {number}")
        text = "\n".join(rng.choices(LINES, k=rng.randint(1, 4)))
        tests = [extractive_summary._BORDER.sub("", one[0])[:120] for one in extractive_summary._TESTS.finditer(text)]
        errors = [one[0].strip()[:160] for one in extractive_summary._ERROR.finditer(text)]
        assert told_of_tests(text) == tests and told_of_errors(text) == errors[: extractive_summary.MOST_ERRORS]
        found += bool(tests) + bool(errors)
    assert found > 200
