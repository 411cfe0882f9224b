"""A call as a shell command."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from ctxtui.services.editing.exporting import curl_command
from tests.cli.conftest import Run

BODY = json.dumps(
    {"model": "claude-opus-4-5", "messages": [{"role": "user", "content": "it's $HOME `ls` \\ CTXTUI_BODY"}]}
)


@pytest.mark.skipif(not shutil.which("sh"), reason="needs a shell")
@pytest.mark.parametrize(
    ("form", "key"),
    [
        ("anthropic", "x-api-key: k1"),
        ("openai-chat", "Authorization: Bearer k2"),
        ("openai-responses", "Authorization: Bearer k2"),
        ("google", "x-goog-api-key: k3"),
    ],
)
def test_a_shell_sends_the_body_byte_for_byte(tmp_path: Path, form: str, key: str) -> None:
    curl = tmp_path / "curl"
    curl.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "$OUT/arguments"\ncat > "$OUT/body"\n')
    curl.chmod(curl.stat().st_mode | stat.S_IXUSR)
    script = curl_command(form, BODY.encode(), model="m-1 $(x)")
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "OUT": str(tmp_path), "ANTHROPIC_API_KEY": "k1", "OPENAI_API_KEY": "k2"}
    env["GEMINI_API_KEY"] = "k3"
    subprocess.run(["sh"], input=script, env=env, check=True)
    assert (tmp_path / "body").read_bytes() == BODY.encode() + b"\n"
    arguments = (tmp_path / "arguments").read_text()
    assert key in arguments and ("models/m-1%20%24%28x%29:generateContent" in arguments) == (form == "google")


def test_a_model_that_is_not_recorded_is_a_variable() -> None:
    assert b"models/${MODEL}:generateContent " in curl_command("google", b"{}")


def test_export_to_curl(ctxtui: Run, tmp_path: Path) -> None:
    path = tmp_path / "body.json"
    path.write_text(BODY)
    ran = ctxtui("export", path, "--to", "curl")
    assert ran.code == 0 and ran.out.startswith("curl -sS https://api.anthropic.com/v1/messages")
    assert BODY in ran.out and "$ANTHROPIC_API_KEY" in ran.out
