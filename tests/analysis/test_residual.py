"""Likely causes of a residual that grew with one call."""

from __future__ import annotations

import pytest

from ctxtui.analysis.residual import ANY_CAUSE, likely_addition
from ctxtui.core.session import Session
from tests.cases.sessions import Story, book_of, use


def after(*commands: str) -> Session:
    """A session in which a file is read, and a later call's context has new results of `commands`."""
    story = Story().user("go").call(use("r", "Read", file_path="a.py")).results(("r", "x = 1"))
    return run(story, *commands)


def run(story: Story, *commands: str) -> Session:
    named = {f"c{n}": command for n, command in enumerate(commands)}
    story.call(*(use(id_, "Bash", command=command) for id_, command in named.items()))
    return story.results(*((id_, "done") for id_ in named)).call("done").session


def cause(session: Session) -> str:
    calls = session.thread_calls()
    return likely_addition(book_of(session), len(calls), calls[-1])


@pytest.mark.parametrize("commands", [("ruff format .",), ("ruff format .", "cat a.py")])
def test_a_command_may_have_changed_files_that_were_read(commands: tuple[str, ...]) -> None:
    assert cause(after(*commands)) == (
        "files read before that `ruff format .` may have changed, which the client repeats without recording it"
    )


def test_a_command_that_only_prints_a_file_changes_none() -> None:
    assert cause(after("cat a.py")) == ANY_CAUSE


def test_only_files_read_before_the_command_count() -> None:
    assert cause(run(Story().user("go"), "make", "cat a.py")) == ANY_CAUSE
