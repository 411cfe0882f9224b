"""What a provider takes out of a whole request is not read: it says so, or its report does."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ctxtui.analysis.figures import block_figures, figures
from ctxtui.analysis.read import absence
from ctxtui.core import block
from ctxtui.core.block import Block
from ctxtui.core.call import Call, Fidelity
from ctxtui.core.session import CallSeen
from ctxtui.core.usage import Usage
from tests.analysis.audits import OPUS45, counted
from tests.analysis.sessions import Script

LOCAL = "a-model-that-anyone-serves"
WORDS = "the quick brown fox jumps over the lazy dog " * 40


def asked(model: str, answer: Block, tokens: int, provider: str = "", **extra: object) -> tuple[Script, Call]:
    """A request of ten rounds, reported as `tokens`."""
    script = Script(model, Fidelity.WIRE, provider)
    for n in range(10):
        use = block.from_part({"type": "tool_use", "id": f"t{n}", "name": "Read", "input": {"path": f"{n}"}})
        script.hear(block.text(f"{n} ")).call(use)
        script.hear(block.from_part({"type": "tool_result", "tool_use_id": f"t{n}", "content": f"{n} {WORDS}"}))
    made = replace(script.call(answer), usage=Usage(fresh=tokens, output=9), extra=dict(extra))  # type: ignore[arg-type]
    script.session.apply(CallSeen(made))
    return script, made


def gone(script: Script, call: Call) -> list[tuple[str, str]]:
    rows = block_figures(counted(script), call)
    return [(row.block.kind, row.gone.why) for row in rows if row.gone]


def test_what_a_server_cut_is_not_shown_as_read() -> None:
    script, call = asked(LOCAL, block.text("ok"), 1_000)
    book = counted(script)
    got = figures(book, call)
    ours = sum(got.categories.values())
    assert 0.5 * 1_000 < ours <= 1_000, "819.8 % would be shown without it"
    assert {why for _, why in gone(script, call)} == {absence.CUT}


@pytest.mark.parametrize(
    ("model", "provider"), [("gpt-oss:20b", "ollama"), ("deepseek-r1:8b", "lm studio"), (LOCAL, "openai")]
)
def test_an_open_model_may_be_cut_by_whoever_serves_it(model: str, provider: str) -> None:
    script, call = asked(model, block.text("ok"), 1_000, provider)
    assert {why for _, why in gone(script, call)} == {absence.CUT}


def test_the_makers_own_service_does_not_cut() -> None:
    assert gone(*asked("gpt-oss:20b", block.text("ok"), 1_000, "openai")) == []


@pytest.mark.parametrize("tokens", [200, 3_300, 5_000])
def test_neither_a_small_request_nor_another_tokenizer_is_taken_for_a_cut(tokens: int) -> None:
    assert gone(*asked(LOCAL, block.text("ok"), tokens)) == []


def test_a_provider_that_never_cuts_did_not_cut() -> None:
    assert absence.CUT not in {why for _, why in gone(*asked(OPUS45, block.text("ok"), 1_000))}


@pytest.mark.parametrize("count", [-3, 0, True, None, "2"])
def test_an_answer_that_clears_no_number_of_results_clears_none(count: object) -> None:
    edits = {"applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": count}]}
    assert gone(*asked(OPUS45, block.text("ok"), 1_000, "anthropic", context_management=edits)) == []


def test_what_the_provider_compacted_before_it_answered_is_not_read() -> None:
    answer = block.from_part({"type": "compaction", "content": "they read ten files"})
    script, call = asked(OPUS45, answer, 229)
    assert {why for _, why in gone(script, call)} == {absence.COMPACTED}
    assert figures(counted(script), call).residual >= 0


def test_results_that_the_provider_cleared_are_those_that_it_says() -> None:
    edits = {"applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 7}]}
    script, call = asked(OPUS45, block.text("ok"), 2_000, context_management=edits)
    assert gone(script, call) == [("tool_result", absence.EDITED)] * 7


@pytest.mark.parametrize(
    "said", [7, "x", [], {"applied_edits": 3}, {"applied_edits": [None, {"cleared_tool_uses": "7"}]}]
)
def test_a_report_of_edits_of_any_other_shape_says_nothing(said: object) -> None:
    script, call = asked(OPUS45, block.text("ok"), 2_000, context_management=said)
    assert absence.EDITED not in {why for _, why in gone(script, call)}
