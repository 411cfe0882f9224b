"""Another format is a module and a line of the registry; nothing else of the house names one that there is."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import ctxtui
from ctxtui.services.recordings.open import load
from ctxtui.transcripts import formats, registry
from ctxtui.transcripts.registry import FORMATS, _make_format, describe_file
from tests.transcripts.reading import as_bytes, law_2, read, survives_cuts, survives_depth, survives_values

PACKAGE = Path(ctxtui.__file__).parent

PARROT = '''"""A made-up agent's runs: one object with what was said."""

from ctxtui.transcripts.kit.tasks import first_task, tasks_reader
from ctxtui.transcripts.kit.readers import json_reader


def sniff(head: bytes, name: str) -> float:
    return 0.9 if "parrot" in first_task(head) else 0.0


reader = json_reader(tasks_reader("parrot"))
'''

RUN = {
    "parrot": 1,
    "task_id": 7,
    "messages": [
        {"role": "user", "content": "say it"},
        {"role": "assistant", "content": "it", "usage": {"prompt_tokens": 9, "completion_tokens": 1}},
        {"role": "user", "content": "again"},
        {"role": "assistant", "content": "it again"},
    ],
}

NAMED = {
    # What is known of a client, whichever file tells of its session.
    "core/tool_definitions.py": {"claude code", "codex"},
    "analysis/context_window.py": {"claude code"},
    "analysis/growth/projection.py": {"claude code", "codex"},
    # Where clients keep their sessions, and what they go on with.
    "services/recordings/databases/sessions.py": {"opencode", "goose"},
    "services/config/clients.py": {
        "aider",
        "attached",
        "claude code",
        "cline",
        "codex",
        "continue cli",
        "copilot cli",
        "gemini cli",
        "goose",
        "kimi code",
        "mini-swe-agent",
        "opencode",
        "pi",
        "qwen code",
    },
    "services/editing/edited_context.py": {"ctxtui"},
    "services/editing/exporting.py": {"ctxtui"},
    "services/headless/job_log.py": {"ctxtui"},
    "services/workers/lab_worker.py": {"ctxtui"},
    "transcripts/targets.py": set(
        "aider,claude code,cline,codex,continue cli,copilot cli,goose,kimi code,opencode,pi,qwen code".split(",")
    ),
    # A folder of this program's own; what stands behind the last call there, and whose requests are held.
    "services/config/paths.py": {"attached"},
    "tui/inspector/controllers/attached_program.py": {"attached"},
    "views/model/scene.py": {"attached"},
    # What is sent to a collector is told there under the name that the format has here.
    "services/attach/otlp.py": {"opentelemetry"},
    # Who sends a request, and what is put around a program: clients by their names.
    "transcripts/kit/http_exchange/pair.py": {"claude code", "codex", "gemini cli"},
    "transcripts/kit/http_exchange/compaction.py": {"claude code", "codex"},
    "services/attach/own_answer.py": {"codex"},
    "services/attach/programs/opencode.py": {"opencode"},
    "services/attach/registry.py": {"cline", "codex", "opencode", "pi"},
    # What a program is told again that forks, and recordings that stand beside the client's own of the same session.
    "services/attach/forking/recorded_answers.py": {"attached"},
    "services/recordings/discover.py": {"attached"},
    # Whose quota a provider reports on; whose status line tells of one.
    "transcripts/kit/quota.py": {"codex"},
    "services/library/totals/client_quotas.py": {"claude code"},
    # A name of models, not of files.
    "offline/openai/models.py": {"codex"},
}
"""Modules that may name a format, each with those that it names."""
OTHERS = {"anthropic", "openai chat", "openai responses", "google", "ctxtui", "lm studio", "llm"}
"""Names of formats that are those of a dialect, a provider or this program as well: a word of them says nothing."""


def test_another_format_is_a_module_and_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "parrot.py").write_text(PARROT, encoding="utf-8")
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "ctxtui.transcripts.formats.parrot", raising=False)
    line = _make_format("parrot", "parrot", bare="a parrot that said nothing")
    monkeypatch.setattr(registry, "FORMATS", (*FORMATS, line))

    data = as_bytes(RUN)
    found = read(data, "run.json")
    assert found.about.source == "parrot" and len(found.calls) == 2
    law_2(data, "run.json")
    survives_cuts(data, "run.json")
    survives_values(RUN, "run.json")
    survives_depth(data, "run.json")
    assert describe_file(as_bytes({"parrot": 1})) == "a parrot that said nothing"

    (tmp_path / "run.json").write_bytes(data)
    loaded = load(tmp_path / "run.json")
    assert loaded.source == "parrot"
    assert [call.id for call in loaded.session.calls.values()] == list(found.calls)


def test_no_other_module_names_a_format() -> None:
    words = {form.name for form in FORMATS} - OTHERS
    modules = {path.stem for path in (PACKAGE / "transcripts" / "formats").glob("[!_]*")}
    found: dict[str, set[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        where = path.relative_to(PACKAGE)
        if where.parts[:2] == ("transcripts", "formats") or where.parts == ("transcripts", "registry.py"):
            continue
        named, text = set(), path.read_text(encoding="utf-8")
        if "ctxtui.transcripts.formats" not in text and not any(f'"{word}"' in text for word in words):
            continue  # the house quotes its words so
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                named |= {node.value} & words | imported(node.value, modules)
            elif isinstance(node, ast.ImportFrom) and node.module:
                named |= imported(node.module, modules)
                named |= {m for one in node.names for m in imported(f"{node.module}.{one.name}", modules)}
        if named:
            found[str(where)] = named
    assert found == NAMED


def imported(path: str, modules: set[str]) -> set[str]:
    """The formats of which `path` names a module (``ctxtui.transcripts.formats.har``)."""
    room, _, rest = path.partition("ctxtui.transcripts.formats.")
    return {rest.split(".")[0].split(":")[0]} & modules if rest and not room else set()
