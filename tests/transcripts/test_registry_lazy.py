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

READ = """
import sys, json
from ctxtui.core.tree import Tree
from ctxtui.transcripts.formats.claude_code import ClaudeCodeReader
reader = ClaudeCodeReader(Tree())
events = reader.feed(sys.stdin.buffer.read()) + reader.settle()
print(json.dumps([len(events), [m for m in sys.modules if "claude_code.written.join" in m or "wire.registry" in m]]))
"""


def test_a_session_without_bodies_does_not_import_what_reads_them() -> None:
    done = subprocess.run([sys.executable, "-c", READ], input=generate(n_messages=10), capture_output=True, check=True)
    events, modules = json.loads(done.stdout)
    assert events > 5
    assert modules == []


def test_a_claude_code_session_imports_no_other_reader() -> None:
    done = subprocess.run([sys.executable, "-c", ASK], input=generate(n_messages=10), capture_output=True, check=True)
    before, name, others = json.loads(done.stdout)
    assert (before, name, others) == ([], "claude code", [])
