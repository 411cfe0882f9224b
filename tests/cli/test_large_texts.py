"""Large texts where others are small: whole requests, single lines, and the folder in which crashes are kept."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ctxtui.services.config.crash_log import write_crash
from tests.cli.conftest import Run

LONG = "one more sentence of it. " * 3_600
"""90 KB: more than what is looked at to tell what a file is."""
SYSTEM = {"role": "system", "content": LONG}
USER = {"role": "user", "content": "go"}
TOOL = {"name": "x", "description": LONG, "input_schema": {"type": "object", "properties": {}}}
BODIES = {
    "system first": {"system": LONG, "model": "claude-sonnet-4-5", "messages": [USER], "max_tokens": 9},
    "system message": {"messages": [SYSTEM, USER], "model": "gpt-5.5"},
    "tools first": {"tools": [TOOL], "model": "claude-sonnet-4-5", "messages": [USER], "max_tokens": 9},
    "messages first": {"messages": [{"role": "user", "content": LONG}], "model": "claude-sonnet-4-5", "max_tokens": 9},
    "input": {"input": LONG, "model": "gpt-5.5"},
    "pair": {
        "request": {"messages": [SYSTEM, USER], "model": "gpt-5.5"},
        "response": {
            "object": "chat.completion",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}}],
        },
    },
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("indent", [None, 2])
def test_a_request_whose_first_text_is_long_is_a_request(
    ctxtui: Run, tmp_path: Path, name: str, indent: int | None
) -> None:
    path = tmp_path / "request.json"
    path.write_text(json.dumps(BODIES[name], indent=indent))
    ran = ctxtui("show", str(path), "--json")
    assert ran.code == 0, ran.err
    assert ran.json["context_tokens"] > 10_000


def test_one_line_of_many_megabytes_is_shown(ctxtui: Run, tmp_path: Path) -> None:
    path = tmp_path / "long.json"
    path.write_text(json.dumps({"model": "gpt-5.5", "messages": [{"role": "user", "content": "word " * 2_000_000}]}))
    ran = ctxtui("show", str(path), "--json")
    assert ran.code == 0 and ran.json["context_tokens"] > 1_000_000


def test_the_folder_of_crashes_is_the_users_alone(home: Path) -> None:
    path = write_crash(ValueError("x"))
    assert (
        path.is_relative_to(home.parent)
        and os.stat(path.parent).st_mode & 0o077 == 0
        and os.stat(path).st_mode & 0o077 == 0
    )
