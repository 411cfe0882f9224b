"""One line for a block."""

from __future__ import annotations

import pytest

from ctxtui.core import block
from ctxtui.core import block as blocks
from ctxtui.core.block import Place
from ctxtui.core.block_content import read
from ctxtui.core.category import INDEX, category_of
from ctxtui.views.blocks.one_line import preview_spans
from ctxtui.views.model.preview import Preview, byte_size, preview, short_tool
from tests.cases.sessions import CODE, HOSTILE, MOCHA, PNG, thinking, use


def line(
    value: dict[str, object], category: str, *, call: dict[str, object] | None = None, cwd: str = "/home/me"
) -> Preview:
    block = blocks.from_part(value)
    return preview(
        block.kind, INDEX[category], block.value(), read(block), read(blocks.from_part(call)) if call else None, cwd
    )


def result(content: object, **more: object) -> dict[str, object]:
    return {"type": "tool_result", "tool_use_id": "t", "content": content, **more}


def test_a_message_without_content_names_its_role_safely() -> None:
    header = block.header("user\x1b[2J")
    text = preview(header.kind, INDEX["user"], header.value(), read(header)).text
    assert text == "(empty user␛[2J message)"


PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n*** Add File: b.py\n"
CALLS = [
    (use("t", "Bash", command="npm test\n  --all", description="runs"), ("Bash", "npm test --all")),
    (use("t", "Read", file_path="/home/me/src/a.ts"), ("Read", "src/a.ts")),
    (use("t", "Read", file_path="/etc/hosts"), ("Read", "/etc/hosts")),
    (use("t", "mcp__puppeteer__navigate", url="https://x.org"), ("puppeteer/navigate", "https://x.org")),
    (use("t", "shell", command=["bash", "-lc", "ls -l"]), ("$", "ls -l")),
    (use("t", "apply_patch", input=PATCH), ("apply_patch", "a.py, b.py")),
    (use("t", "TodoWrite", todos=[{"content": "Plan"}, {"content": "Do"}]), ("TodoWrite", "Plan (+1)")),
    (use("t", "Odd", n=3), ("Odd", '{"n":3}')),
    (use("t", "Nothing"), ("Nothing", "(no input)")),
    ({"type": "function_call", "name": "f", "arguments": "not json", "call_id": "c"}, ("f", "not json")),
]  # fmt: skip


@pytest.mark.parametrize(("value", "expected"), CALLS)
def test_a_call_shows_its_tool_and_the_argument_that_says_most(
    value: dict[str, object], expected: tuple[str, str]
) -> None:
    got = line(value, "tool_call")
    assert (got.label, got.text) == expected
    assert got.loud


def test_a_result_shows_its_outcome_and_not_its_first_warning() -> None:
    test = use("t", "Bash", command="npm test")
    assert line(result(MOCHA), "tool_result", call=test) == Preview(
        "Bash", "12 passing (18s) \u00b7 1 failing", "dim", detail="npm test"
    )
    assert line(result(CODE), "tool_result").text == "import {Command} from '@oclif/core'"
    assert line(result("\n\n  first\nsecond"), "tool_result").text == "first"
    assert line(result(""), "tool_result").text == "(empty)"
    failed = line(result("boom", is_error=True), "tool_result")
    assert failed.failed and failed.text == "boom"


def test_a_result_says_what_its_call_asked_for() -> None:
    long = "src/" + "deep/" * 20 + "shop.py"
    for call, label, asked in (
        (use("t", "Read", file_path="/home/me/README.md"), "Read", "README.md"),
        (use("t", "exec_command", cmd="npm test"), "$", "npm test"),
        (use("t", "Read", file_path=long), "Read", "…" + long[-43:]),
        (use("t", "Bash", command="echo " + "x " * 60), "Bash", ("echo " + "x " * 60)[:43] + "…"),
    ):
        got = line(result("out"), "tool_result", call=call)
        assert (got.label, got.detail, got.text) == (label, asked, "out")
        assert "".join(span.text for span in preview_spans(got, "ink")) == f"{label} {asked} · out"


CODEX = "Chunk ID: 6e43b6\nWall time: 0.05 seconds\nProcess exited with code {}\nOriginal token count: 9\nOutput:\n{}"


@pytest.mark.parametrize(
    ("text", "expected", "failed"),
    [
        (CODEX.format(0, "abc def\nmore"), "abc def", False),
        (CODEX.format(2, "grep: no"), "grep: no", True),
        (CODEX.format(0, ""), "(empty)", False),
        (CODEX.format(0, "Total output lines: 502\n\nfound"), "found", False),
        ("Exit code: 1\nWall time: 0.1 seconds\nOutput:\nboom", "boom", True),
        ('{"output":"one\\ntwo","metadata":{"exit_code":1,"duration_seconds":0.1}}', "one", True),
        ('{"output": 3}', '{"output": 3}', False),
        ("Output is what it is", "Output is what it is", False),
    ],
)
def test_what_a_client_writes_before_an_output_is_passed_over(text: str, expected: str, failed: bool) -> None:
    got = line(result(text), "tool_result")
    assert (got.text, got.failed) == (expected, failed)


def test_thinking_is_quiet_and_what_is_withheld_is_said() -> None:
    assert line(thinking("Let me\n\nthink."), "thinking") == Preview("", "Let me think.", "dim italic")
    cipher = {"type": "reasoning", "encrypted_content": "x" * 1234, "summary": []}
    assert line(cipher, "thinking").text == "(withheld: 1,234 encrypted characters)"


def test_an_image_shows_kind_and_size() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    assert line(image, "image").text == "image/png, 70 B"
    pointed = {"type": "image_url", "image_url": {"url": "https://x.org/a.png"}}
    assert line(pointed, "image").text == "image https://x.org/a.png"


def test_a_tool_definition_shows_what_it_is_for() -> None:
    tool = blocks.make("tool", {"name": "Bash", "description": "Runs a command.", "input_schema": {}})
    assert preview("tool", INDEX["tools"], tool.value(), read(tool)) == Preview("Bash", "Runs a command.", "dim", True)


def test_an_unreadable_record_says_where_and_why() -> None:
    lost = blocks.unreadable("line 812", "cut off")
    got = preview(lost.kind, INDEX["user"], lost.value(), read(lost))
    assert got == Preview("", "unreadable record, line 812: cut off", "warn")


@pytest.mark.parametrize("category", ["user", "assistant", "tool_result", "tool_call", "thinking", "summary"])
def test_hostile_text_is_shown_and_never_obeyed(category: str) -> None:
    value = {
        "tool_result": result(HOSTILE),
        "tool_call": use("t", HOSTILE, command=HOSTILE),
        "thinking": thinking(HOSTILE),
    }.get(category, {"type": "text", "text": HOSTILE})
    got = line(value, category)
    for text in (got.label, got.text):
        assert text.isprintable() and "\u202e" not in text
    assert "[bold]markup[/bold]" in got.text and "\u241b[31m" in got.text


def test_names_and_sizes() -> None:
    assert short_tool("mcp__a__b__c") == "a/b/c" and short_tool("Bash") == "Bash"
    assert [byte_size(n) for n in (0, 999, 1000, 45_200, 999_949, 1_300_000)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "45.2 kB",
        "999.9 kB",
        "1.3 MB",
    ]


def test_a_file_of_the_project_is_called_by_its_path() -> None:
    for mark, text, wanted in (
        ("file", '<file path="a/b.py">\ndef run(): ...\n</file>', ("a/b.py", "def run(): ...", "")),
        ("file", '<file path="b.py" form="signatures">\ndef run() …\n</file>', ("b.py", "def run() …", "signatures")),
        ("memory", '<memory path="todo.md">\nbuy bread\n</memory>', ("todo.md", "buy bread", "")),
        ("memory", "plain words", ("", "plain words", "")),
        ("", '<file path="a.py">\nx\n</file>', ("", '<file path="a.py"> x </file>', "")),
    ):
        made = block.text(text)
        category = INDEX[category_of(made, Place("messages", "user", mark))]
        says = preview(made.kind, category, made.value(), read(made))
        assert (says.label, says.text, says.detail) == wanted
