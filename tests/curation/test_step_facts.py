"""Old rounds as a work log: the headings of Pedroceli's document, from the outputs of several tools."""

from __future__ import annotations

from typing import Any

import pytest

from ctxtui.curation.context import Context
from ctxtui.curation.policies.builtin.keep_rounds import POLICY, SuiteRun, read_test_run
from tests.curation.conversations import context_of
from tests.curation.policies.test_policies import policy_context_of

GO = """=== RUN   TestLock
--- PASS: TestLock (0.00s)
=== RUN   TestRateLimit
    middleware_test.go:31: Error: Redis connection timeout
--- FAIL: TestRateLimit (5.01s)
FAIL
FAIL\tgithub.com/pedro/bot/pkg/api\t5.023s"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("===== 12 passed in 0.31s =====", SuiteRun(12, 0)),
        ("FAILED tests/a.py::test_x - assert 1\n=== 1 failed, 11 passed ===", SuiteRun(11, 1, ("tests/a.py::test_x",))),
        (GO, SuiteRun(1, 1, ("TestRateLimit",))),
        ("--- PASS: TestA (0.00s)\nPASS\nok  \tpkg/a\t0.01s", SuiteRun(1, 0)),
        (
            "test a::b ... ok\ntest a::c ... FAILED\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored",
            SuiteRun(1, 1),
        ),
        ("Test Suites: 1 failed, 2 passed\nTests:       3 failed, 9 passed, 12 total", SuiteRun(9, 3)),
        ("FAIL: test_y (t.T)\nRan 12 tests in 0.1s\n\nFAILED (failures=1, errors=1)", SuiteRun(10, 2, ("test_y",))),
        ("Ran 3 tests in 0.002s\n\nOK", SuiteRun(3, 0)),
        (f"Ran {'9' * 5000} tests in 1s", None),
        (f"Ran 3 tests in 1s\n\nFAILED (failures={'9' * 5000})", SuiteRun(3, 0)),
        ("nothing of the kind", None),
        ("the door passed 3 people", None),
    ],
)
def test_how_tests_went(text: str, found: SuiteRun | None) -> None:
    assert read_test_run(text) == found


def talk(*rounds: tuple[str, str, dict[str, Any], str]) -> Context:
    messages: list[Any] = [{"role": "user", "content": "Add rate limiting."}]
    for n, (words, tool, given, result) in enumerate(rounds):
        use = {"type": "tool_use", "id": f"t{n}", "name": tool, "input": given}
        messages.append({"role": "assistant", "content": [{"type": "text", "text": words}, use]})
        messages.append(
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{n}", "content": result}]}
        )
    body = {"model": "claude-sonnet-5-5", "max_tokens": 100, "messages": messages}
    return context_of(body, "anthropic")[0]


ROUNDS = (
    ("I write it.", "edit_file", {"path": "pkg/api/handler.go"}, "x" * 900),
    ("And the queries.", "edit_file", {"path": "pkg/db/queries.go"}, "x" * 900),
    ("Tests.", "go_test", {}, "12 passed, 0 failed"),
    ("Good.", "git_commit", {"message": "Add rate limiting middleware\n\nlong words"}, "ok"),
    ("More.", "edit_file", {"path": "pkg/api/middleware.go"}, "x" * 900),
    ("Tests again.", "go_test", {}, GO),
    ("Added connection retry logic.", "edit_file", {"path": "pkg/api/middleware.go"}, "x" * 900),
    ("Again.", "go_test", {}, GO.replace("FAIL:", "PASS:").replace("Error", "Note")),
    ("The end.", "read_file", {"path": "README.md"}, "x" * 900),
)
LOG = """[Summary of rounds 1-8, drawn from the record]
Steps 1-4:
- Modified: pkg/api/handler.go, pkg/db/queries.go
- Tests: 12 passed, 0 failed
- Committed: "Add rate limiting middleware"
Steps 5-8:
- Modified: pkg/api/middleware.go
- Tests: 2 passed, 0 failed; before that 1 passed, 1 failed (TestRateLimit)
- Error: Redis connection timeout
- Fixed: Added connection retry logic."""


def test_rounds_become_steps_under_the_headings_of_the_document() -> None:
    made = list(POLICY.propose(policy_context_of(talk(*ROUNDS)), {"n": 1, "slack": 0, "limit": 0, "cut": 1000}))
    assert [edit.kind for edit in made] == ["summarize"] and made[0].params["text"] == LOG


def test_facts_go_before_anything_of_the_last_rounds_is_cut() -> None:
    policy_context = policy_context_of(talk(*ROUNDS))
    kinds: dict[int, list[str]] = {}
    for limit in (10_000, 750, 300, 60):
        settings = {"n": 3, "slack": 0, "limit": limit, "cut": 100}
        kinds[limit] = [edit.kind for edit in POLICY.propose(policy_context, settings)]
    assert kinds[10_000] == ["summarize"]
    assert kinds[750] == ["summarize", *["drop"] * 6], "the facts, then nothing else"
    assert "truncate" in kinds[300] and kinds[300].index("drop") < kinds[300].index("truncate")
    assert kinds[60][-1] == "drop", "at last all but the last round"
