"""No composition exceeds its report: blocks, not recorded and attached again come to at most 2 % more than was read.

Nothing is scaled to hold this: what is gone is known or inferred (`analysis.read_context`), what a model's tokenizer
makes of a text is learnt from reports.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ctxtui.analysis.book import Book
from ctxtui.analysis.figures import block_figures, figures
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import Session
from ctxtui.services.config.package_data import model_table
from ctxtui.services.counting.counting import Counter, count_all
from ctxtui.services.recordings.open import load
from tests.cases import claude_code, codex, growing, sessions
from tests.cases.unsaid import cleared, failed_answer, old_messages_left_out, thinking_left_out
from tests.corpus import every_recording, need_corpus

SAMPLES = sorted((Path(__file__).parents[2] / "sessions").glob("*.jsonl"))
MOST = 0.02
MADE_UP = ("off-gpt",)
"""Models of ctxtui's own offline provider: llm's database does not say how tools were written into its requests."""

LOOK_ALIKES: dict[str, Callable[[], Session]] = {
    "cleared": lambda: cleared(7)[0].script.session,
    "failed answer": lambda: failed_answer(7)[0].script.session,
    "thinking left out": lambda: thinking_left_out(7)[0].script.session,
    "old messages left out": lambda: old_messages_left_out(7)[0].script.session,
    "every category": sessions.every_category,
    "compacted": sessions.compacted,
    "with subagents": sessions.with_subagents,
    "troubled": sessions.troubled,
    "evolution": growing.evolution,
}


def counted(session: Session) -> Book:
    counter = Counter()
    book = Book(session, model_table(), counter)
    count_all(book, counter)
    return book


def exceeding(book: Book) -> Iterator[str]:
    """The calls whose composition exceeds the report, as text; figures that do not add up are an error."""
    for thread in book.session.order:
        for number, call in enumerate(book.session.thread_calls(thread), 1):
            if call.usage is None or not call.usage.input:
                continue
            got = figures(book, call)
            if call.is_sum:
                assert got.context_tokens == 0, "what several calls used is the size of no context"
                continue
            rows = sum(row.tokens for row in block_figures(book, call) if row.read)
            assert rows + got.residual == got.context_tokens == call.usage.input
            # Figures are sums of whole tokens by category: they cannot be nearer than one or two.
            if got.residual < min(-2, -MOST * call.usage.input):
                yield f"{thread} {number}: {got.residual} of {call.usage.input} ({call.model})"


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_no_composition_of_a_sample_exceeds_its_report(sample: Path) -> None:
    assert list(exceeding(counted(load(sample).session))) == []


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_no_composition_of_a_look_alike_exceeds_its_report(name: str) -> None:
    assert list(exceeding(counted(LOOK_ALIKES[name]()))) == []


def test_no_composition_of_a_generated_session_exceeds_its_report(tmp_path: Path) -> None:
    for name, made in (("claude.jsonl", claude_code.generate(120, compactions=1)), ("codex.jsonl", codex.generate(60))):
        path = tmp_path / name
        path.write_bytes(made)
        assert list(exceeding(counted(load(path).session))) == []


@pytest.mark.slow
@pytest.mark.parametrize("path", every_recording())
def test_no_composition_of_a_recording_exceeds_its_report(path: Path) -> None:
    try:
        session = load(path).session
    except CtxtuiError:
        pytest.skip("holds no context")
    assert [one for one in exceeding(counted(session)) if not any(model in one for model in MADE_UP)] == []


def _unsaid(path: Path) -> tuple[bytes, set[str]]:
    """A Claude Code recording without the lines that say which results were cleared, and the ids that they name."""
    kept, named, parents, before = [], set[str](), dict[object, object](), None
    for line in path.read_bytes().splitlines():
        record = json.loads(line)
        if record.get("subtype") == "microcompact_boundary":
            named |= set(record["microcompactMetadata"]["compactedToolIds"])
            parents[record["uuid"]] = record.get("parentUuid") or record.get("logicalParentUuid") or before
            continue
        if record.get("parentUuid") in parents:
            record["parentUuid"] = parents[record["parentUuid"]]
        before = record.get("uuid") or before
        kept.append(json.dumps(record))
    return "\n".join(kept).encode(), named


@pytest.mark.slow
def test_results_that_a_real_client_cleared_are_found_without_the_line_that_says_so(tmp_path: Path) -> None:
    tried = 0
    for path in need_corpus("claude_code"):
        if b"microcompact_boundary" not in path.read_bytes():
            continue
        data, named = _unsaid(path)
        bare = tmp_path / path.name
        bare.write_bytes(data)
        book = counted(load(bare).session)
        calls, tree = book.session.thread_calls(), book.session.tree
        gone = book.contexts.absences_at(calls[-1].sent_head).by_node
        found = {tree[n].block.member("tool_use_id"): book.block_tokens(calls[-1].model, n) for n in gone}
        right = sum(tokens for id_, tokens in found.items() if id_ in named)
        assert named <= set(found) and right >= 0.95 * sum(found.values())
        tried += 1
    assert tried, "the corpus has a recording with such a line"
