"""Exports of real recordings: legal for their provider, in any dialect, with what they lack named."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxtui.core.session import Session
from ctxtui.curation.legality.legality import check
from ctxtui.transcripts.registry import detect
from ctxtui.wire import registry
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.translate import encode
from tests.cases import claude_code, codex
from tests.corpus import corpus_params, some_of_corpus


def opened(data: bytes, name: str) -> Session:
    form = detect(data[:65536], name)
    assert form is not None
    session = Session()
    reader = form.open(session.tree)
    return session.fold([*reader.feed(data), *reader.settle()])


def heads(session: Session) -> Iterator[int]:
    """Some contexts of every thread: in the middle of a round, after an answer, at the end."""
    for id_, thread in session.threads.items():
        calls = session.thread_calls(id_)
        yield from (call.raw_head for call in calls[len(calls) // 2 :][:1])
        yield from (call.response_head for call in calls[-1:])
        yield thread.tip


def exported_everywhere(session: Session) -> None:
    for head in dict.fromkeys(heads(session)):
        items = session.tree.items(head)
        if not any(item.place.section == "messages" for item in items):
            continue
        for name, dialect in DIALECTS.items():
            body, _ = encode.build_body(name, items, model="m")
            again = dialect.decode_request(body, None)
            assert registry.encode(again) == body
            refused = [v for v in check(name, body) if not v.message.startswith("at least one")]
            assert refused == [], f"{name} at node {head}"


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["claude_code", "codex", "mini_swe_agent"])
def test_corpus(folder: str) -> None:
    for path in some_of_corpus(folder):
        data = path.read_bytes()
        if detect(data[:65536], path.name) is not None:
            exported_everywhere(opened(data, path.name))


def test_generated_look_alikes() -> None:
    exported_everywhere(opened(claude_code.generate(20, 1, bytes_per_message=300, compactions=1, subagents=1), "a"))
    exported_everywhere(opened(codex.generate(20, 1, bytes_per_message=300, compactions=1), "b"))


QUOTED = re.compile(r"^ +(?:string|body): '((?:[^']|'')*)'$", re.MULTILINE)


def plain_bodies(path: Path) -> Iterator[str]:
    """The bodies of a cassette that stand in it as quoted scalars, unfolded."""
    for match in QUOTED.finditer(path.read_text(encoding="utf-8")):
        lines = match.group(1).replace("''", "'").split("\n")
        text = lines[0]
        for line in lines[1:]:
            text += "\n" if not line.strip() else ("" if text.endswith("\n") else " ") + line.strip()
        yield text


def dialect_of(value: object) -> str:
    if not isinstance(value, dict):
        return ""
    if "input" in value and "model" in value and not isinstance(value["input"], dict):
        return "openai_responses"
    if not isinstance(value.get("messages"), list):
        return ""
    return "anthropic" if str(value.get("model")).startswith("claude") else "openai_chat"


@pytest.mark.parametrize("path", corpus_params("vcr"))
def test_recorded_traffic_comes_back_byte_for_byte(path: Path) -> None:
    for text in plain_bodies(path):
        try:
            value = json.loads(text)
        except ValueError:
            continue
        name = dialect_of(value)
        if not name:
            continue
        request = DIALECTS[name].decode_request(text.encode(), None)
        assert registry.encode(request) == text.encode()
        odd = [
            kind for section in request.skeleton.parts.get("sections", {}).values() for kind in section.get("odd", ())
        ]
        assert not odd, "a client's own spelling needs no exceptions"
