"""Every recording of the corpus through its reader. The figures are printed (pytest -s)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxtui.core.usage import Usage
from ctxtui.transcripts.registry import describe_file, detect
from tests.corpus import corpus_params, need_corpus, some_of_corpus
from tests.transcripts.driving import Read, chunked, read, state
from tests.transcripts.soundness import soundness

UNRECORDED_START = "begins with assistant"
MEGABYTE = 1_000_000


def opened(path: Path) -> Read:
    data = path.read_bytes()
    return read(data, chunked(data, MEGABYTE), name=path.name)


def values(data: bytes) -> Iterator[dict[str, Any]]:
    """The JSON objects in `data`, by an own simple way: broken lines are left out."""
    decoder = json.JSONDecoder(strict=False)
    for line in data.decode("utf-8", "replace").split("\n"):
        at = 0
        while at < len(line.rstrip()):
            try:
                value, at = decoder.raw_decode(line, at)
            except ValueError:
                break
            if isinstance(value, dict):
                yield value


def reported(path: Path) -> dict[str, tuple[int, int, int, int]]:
    """The last usage of each message id, as the file spells it: fresh, read, written, output."""
    found = {}
    for record in values(path.read_bytes()):
        for one in (record, (record.get("data") or {}).get("message") or {}):
            message = one.get("message") if isinstance(one, dict) else None
            usage = message.get("usage") if isinstance(message, dict) else None
            if usage and message["model"] != "<synthetic>":
                keys = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
                found[message["id"]] = tuple(usage.get(key, 0) for key in keys)
    return found


@pytest.mark.parametrize("path", corpus_params("claude_code"))
def test_claude_code(path: Path) -> None:
    found = opened(path)
    figures = soundness(found.session)
    print(f"{path.name}: {figures}, {len(found.session.threads)} threads, {len(found.session.skipped)} skipped")
    by_id = {
        id_: (u.fresh, u.cache_read, u.cache_write, u.output)
        for id_, call in found.session.calls.items()
        if (u := call.usage)
    }
    assert by_id == reported(path)
    broken = [fault for fault in figures.exceptions if UNRECORDED_START not in fault]
    assert len(broken) <= figures.calls // 100 and figures.append_only >= figures.steps * 0.99
    if not figures.calls:
        assert describe_file(path.read_bytes()[:65536]) == "Claude Code history without any message"


@pytest.mark.parametrize("path", corpus_params("codex"))
def test_codex(path: Path) -> None:
    found = opened(path)
    figures = soundness(found.session)
    print(f"{path.name}: {figures}, {len(found.session.skipped)} skipped")
    totals = [
        record["payload"]["info"]["total_token_usage"]
        for record in values(path.read_bytes())
        if record["type"] == "event_msg" and record["payload"]["type"] == "token_count" and record["payload"]["info"]
    ]
    usage = sum((c.usage for c in found.calls if c.usage), Usage.nothing())
    sums = (usage.input, usage.cache_read, usage.output, usage.reasoning)
    keys = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens")
    assert sums == tuple(totals[-1][key] for key in keys)
    assert figures.exceptions == [] and found.session.skipped == []
    assert all(c.usage.cache_read % 128 == 0 for c in found.calls if c.usage)


@pytest.mark.parametrize("folder", ["claude_code", "codex"])
def test_any_chunking_of_the_corpus_gives_the_same(folder: str) -> None:
    for path in some_of_corpus(folder):
        data = path.read_bytes()
        if len(data) < 600_000:
            whole, cut = read(data), read(data, chunked(data, 0, seed=len(data)))
            assert cut.events == whole.events, path.name
            assert state(cut.session) == state(whole.session), path.name


@pytest.mark.parametrize("folder", ["claude_code", "codex"])
def test_the_corpus_is_known_by_any_head(folder: str) -> None:
    for path in some_of_corpus(folder):
        data = path.read_bytes()
        for cut in (4000, 20_000, 65_536):
            form = detect(data[:cut], path.name)
            assert form is not None and form.name == folder.replace("_", " "), (path.name, cut)


@pytest.mark.slow
def test_forks_repeat_calls_under_the_same_ids() -> None:
    ids = {path.name[8:10]: set(opened(path).session.calls) for path in need_corpus("codex")}
    assert len(ids["a5"] & ids["8d"]) == 40 and len(ids["a5"] & ids["a8"]) == 25


@pytest.mark.slow
def test_the_cache_confirms_the_order_of_calls() -> None:
    figures = [soundness(opened(path).session) for path in need_corpus("claude_code")]
    hits, pairs = sum(f.cache_hits for f in figures), sum(f.pairs for f in figures)
    print(f"next read = this read + write: {hits} of {pairs}")
    assert hits / pairs > 0.9
