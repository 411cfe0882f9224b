"""Every file is read by the reader of its own format: no sniffer steals another's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxtui.core import canonical
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.registry import FORMATS, detect
from tests.cases import agents, goose, wire_traffic
from tests.corpus import CORPUS
from tests.transcripts.formats import (
    test_aider,
    test_cline,
    test_continue_cli,
    test_copilot_cli,
    test_event_stream,
    test_gemini_cli,
    test_goose,
    test_har,
    test_job_folder,
    test_kimi_code,
    test_lm_studio,
    test_lm_studio_counts,
    test_openai_items,
    test_qwen_code,
    test_root_llm_log,
    test_swe_agent,
    test_tasks,
    test_vcr,
)
from tests.transcripts.formats.inspect_ai import test_inspect
from tests.transcripts.reading import as_bytes, as_lines, survives_depth
from tests.wire.talk import WRITERS

FOLDERS = {
    "claude_code": {"claude code"},
    "codex": {"codex"},
    "pi": {"pi"},
    "copilot_cli": {"copilot cli"},
    "gemini_cli": {"gemini cli"},
    "mini_swe_agent": {"mini-swe-agent"},
    "swe_agent": {"swe-agent"},
    "tau_bench": {"tau-bench"},
    "mcp_agent_runs": {"livemcpbench"},
    "openhands": {"openhands", "llm log"},
    "inspect": {"inspect"},
    "aider": {"aider"},
    "openai_logs": {"openai items"},
    "vcr": {"vcr"},
    "sse": {"event stream"},
    "har": {"har"},
}
NONE_OF_THEM = ("test_skeleton__",)
PLAIN = frozenset({"openai chat", "anthropic", "openai responses"})
"""What a bare list of messages may be called."""


def look_alikes() -> Iterator[tuple[str, str, bytes]]:
    """(format, file name, bytes) of the hand-made file of each format."""
    yield "mini-swe-agent", "a.json", as_bytes(agents.mini_swe_agent())
    yield "pi", "a.jsonl", as_lines(agents.pi())
    yield "llm log", "a.json", as_bytes(agents.openhands_log(), indent=2)
    yield "google", "a.json", canonical.dumps(WRITERS["google"]([("user", "hi"), ("pair", "c1", "out")]))
    yield "openhands", "a.jsonl", as_lines(agents.openhands_events())
    yield "aider", "a.md", test_aider.HISTORY.encode()
    yield "copilot cli", "a.jsonl", as_lines(test_copilot_cli.story())
    yield "event stream", "a.txt", test_event_stream.everything().encode()
    yield "gemini cli", "a.json", as_bytes(test_gemini_cli.chat(), indent=2)
    yield "qwen code", "a.jsonl", as_lines(test_qwen_code.chat())
    yield "kimi code", "wire.jsonl", as_lines(test_kimi_code.session())
    yield "cline", "1_a.messages.json", as_bytes(test_cline.session(), indent=2)
    yield "continue cli", "a.json", as_bytes(test_continue_cli.session(), indent=2)
    yield "goose export", "a.json", goose.dump(goose.shop())
    yield "goose request log", "a.jsonl", test_goose.log(test_goose.BODY)
    yield "har", "a.json", as_bytes(test_har.har(wire_traffic.every()))
    yield "inspect", "a.json", as_bytes(test_inspect.log(test_inspect.sample()))
    yield "inspect", "a.zip", test_inspect.archived(test_inspect.log(test_inspect.sample()))
    yield "lm studio", "a.log", test_lm_studio.LOG.encode()
    yield "lm studio counts", "a.log", test_lm_studio_counts.LOG
    yield "openai items", "a.json", as_bytes(test_openai_items.stored())
    yield "job folder", "a.json", as_bytes(test_job_folder.job())
    yield "root llm log", "a.jsonl", as_lines(test_root_llm_log.log())
    yield "swe-agent", "a.json", as_bytes(test_swe_agent.trajectory())
    yield "tau-bench", "a.json", as_bytes(test_tasks.tau())
    yield "livemcpbench", "a.json", as_bytes(test_tasks.mcp())
    yield "vcr", "a.yaml", test_vcr.python_cassette(wire_traffic.every())
    yield "vcr", "a.yml", test_vcr.ruby_cassette(wire_traffic.every())


@pytest.mark.parametrize(("name", "file", "data"), list(look_alikes()), ids=lambda v: v if isinstance(v, str) else "")
def test_look_alikes(name: str, file: str, data: bytes) -> None:
    for known_as in (file, "", "x.jsonl", "x.json"):
        form = detect(data, known_as)
        assert form is not None and form.name == name


@pytest.mark.parametrize(("name", "file", "data"), list(look_alikes()), ids=lambda v: v if isinstance(v, str) else "")
def test_a_cut_head_speaks_for_no_other(name: str, file: str, data: bytes) -> None:
    for at in range(0, len(data), max(1, len(data) // 30)):
        form = detect(data[:at], file)
        # A head of a few bytes may not tell yet; a plain list of messages is what several formats begin as.
        assert form is None or form.name in {name, *PLAIN, "llm log"}, at


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_corpus(folder: str) -> None:
    files = sorted(path for path in (CORPUS / folder).glob("*") if path.is_file())
    if not files:
        pytest.skip(f"corpus absent: {folder}")
    for path in files:
        with path.open("rb") as file:
            form = detect(file.read(file_head.HEAD_BYTES), path.name)
        if path.name.startswith(NONE_OF_THEM):
            assert form is None, path.name
            continue
        allowed = FOLDERS[folder] | (PLAIN if path.name.startswith("llm_data__") else set())
        assert form is not None and form.name in allowed, (path.name, form and form.name)


def test_other_files_of_the_corpus_are_none_of_them() -> None:
    for folder in ("errors", "mcp_tools", "LICENSES"):
        for path in sorted((CORPUS / folder).glob("*")):
            form = detect(path.read_bytes()[: file_head.HEAD_BYTES], path.name)
            assert form is None or form.name in PLAIN, path.name


def test_hostile_heads_stop_no_sniffer() -> None:
    heads = [b"", b"\0" * 99, b"\xff\xfe\x00", b"{", b"[[[[", b"PK\x03\x04", b"data:", b'{"a":' * 3000, b"- " * 500]
    heads += [b"interactions:\n", b'{"log":null}', b'{"eval":3}', b'[{"task_id":1,"traj":2}]', b"1e999", b"null"]
    for head in heads:
        for name in ("", "a.eval", "a.traj.json", "a.har", Path("x").name):
            for form in FORMATS:
                assert 0 <= form.sniff(head, name) <= 1


@pytest.mark.parametrize(("name", "file", "data"), list(look_alikes()), ids=lambda v: v if isinstance(v, str) else "")
def test_depth_stops_no_reader(name: str, file: str, data: bytes) -> None:
    survives_depth(data, file)
