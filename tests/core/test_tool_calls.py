"""What came back from a tool, whatever client wrote it down."""

from __future__ import annotations

import json

import pytest

from ctxtui.core import block as blocks
from ctxtui.core.block_content import read
from ctxtui.core.tool_calls import is_envelope, main_argument, split_output


@pytest.mark.parametrize(
    ("text", "said", "failed"),
    [
        ('{"output":"no such file","metadata":{"exit_code":2,"duration_seconds":0.1}}', "no such file", True),
        ("Chunk ID: 1a\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nfine", "fine", False),
        ("Exit code: 2\nWall time: 1 seconds\nOutput:\nbad", "bad", True),
        ("<returncode>1</returncode>\n<output>\nbad\n</output>", None, True),
        ("bad\n[Command finished with exit code 127]", None, True),
        ("bad\n<exited with exit code 1>", None, True),
        ("bad\n\nCommand exited with code 1", None, True),
        ("fine\n[Command finished with exit code 0]", None, False),
        ("The server said status 404 and the man left with code 5 of them", None, False),
        ("a line\nreturn exit_code 3 if bad", None, False),
        (f"Process exited with code {'1' * 5000}\nbad", "bad", True),
    ],
)
def test_how_a_command_ended(text: str, said: str | None, failed: bool) -> None:
    assert split_output(text) == (text if said is None else said, failed)


def test_what_a_client_writes_around_an_output_is_no_line_of_it() -> None:
    lines = ("<output>", "</output>", "<returncode>1</returncode>", "[Command finished with exit code 1]")
    assert all(map(is_envelope, lines)) and not any(map(is_envelope, ("<p>text</p>", "exit", "KeyError: 1")))


PATCH = "*** Begin Patch\n*** Update File: /w/app/a.py\n@@\n-x\n+y\n*** Add File: /tmp/b.py\n+z\n*** End Patch"


@pytest.mark.parametrize(
    "call",
    [
        {"type": "function_call", "call_id": "c", "name": "apply_patch", "arguments": {"input": PATCH}},
        {"type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": PATCH},
    ],
    ids=["named", "bare"],
)
def test_files_of_a_patch_are_relative_to_the_directory(call: dict[str, object]) -> None:
    if isinstance(call.get("arguments"), dict):
        call = call | {"arguments": json.dumps(call["arguments"])}
    content = read(blocks.from_part(call))
    assert main_argument(content, "/w/app") == "a.py, /tmp/b.py"
    assert main_argument(content) == "/w/app/a.py, /tmp/b.py"
