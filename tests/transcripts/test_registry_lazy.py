"""The registry imports a format only when a file is held against it."""

import json
import subprocess
import sys

from tests.cases.claude_code import generate

ASK = """
import sys, json
from ctxtui.transcripts.registry import detect
before = [m for m in sys.modules if m.startswith("ctxtui.wire")]
found = detect(sys.stdin.buffer.read(), "x.jsonl")
print(json.dumps([before, found.name, [m for m in sys.modules if m.startswith("ctxtui.transcripts.formats.codex")]]))
"""


def test_a_claude_code_session_imports_no_other_reader() -> None:
    done = subprocess.run([sys.executable, "-c", ASK], input=generate(n_messages=10), capture_output=True, check=True)
    before, name, others = json.loads(done.stdout)
    assert (before, name, others) == ([], "claude code", [])
