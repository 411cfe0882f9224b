"""Likely causes of a residual that grew with one call."""

from __future__ import annotations

import pytest

from ctxtui.analysis.residual import ANY_CAUSE, LIST_CAUSE, likely_addition
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


@pytest.mark.parametrize(
    "command",
    [
        "cat a.py", "ls", "pwd", "cd src && ls -la | head -5", "grep -n 'a|b' a.py 2>/dev/null", "git status\nls 2>&1",
        "rg 'a -> b' .", "(cd a; ls)", "cat < a.py | wc -l",
    ],
)  # fmt: skip
def test_a_command_that_only_prints_changes_no_file(command: str) -> None:
    assert cause(after(command)) == ANY_CAUSE


@pytest.mark.parametrize(
    "command",
    [
        "ls > a.py", "ls >& a.py", "echo $(make)", "echo `make`", "ls && make", "ls\nmake", "cat <<X\na\nX", "ls 'a",
        "git commit -m x", "cat a.py >> b.py", 'echo "$(make)"', "cat <(make)",
    ],
)  # fmt: skip
def test_a_command_that_does_more_than_print_may_have_changed_files(command: str) -> None:
    assert "may have changed" in cause(after(command))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("str_replace_editor", {"command": "str_replace", "path": "a.py", "old_str": "1", "new_str": "2"}),
        ("Task", {"description": "look", "prompt": "find it", "subagent_type": "Explore"}),
        ("TaskOutput", {"task_id": "1", "block": True}),
    ],
)
def test_the_command_of_an_editor_is_none_of_a_shell_and_a_sub_agent_is_no_list(
    name: str, arguments: dict[str, object]
) -> None:
    story = Story().user("go").call(use("r", "Read", file_path="a.py")).results(("r", "x = 1"))
    session = story.call(use("c", name, **arguments)).results(("c", "done")).call("done").session
    assert cause(session) == ANY_CAUSE


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("TodoWrite", {"todos": [{"content": "a", "status": "pending"}]}),
        ("TodoWrite", {"todos": []}),
        ("update_plan", {"plan": [{"step": "a", "status": "completed"}]}),
        ("TaskCreate", {"subject": "a", "blockedBy": []}),
        ("TaskUpdate", {"taskId": "1", "status": "completed"}),
    ],
)
def test_a_call_that_changes_a_list_is_a_cause(name: str, arguments: dict[str, object]) -> None:
    session = Story().user("go").call(use("c", name, **arguments)).results(("c", "ok")).call("done").session
    assert cause(session) == LIST_CAUSE


def test_only_files_read_before_the_command_count() -> None:
    assert cause(run(Story().user("go"), "make", "cat a.py")) == ANY_CAUSE
