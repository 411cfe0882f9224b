from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.core import block as blocks
from ctxtui.tokens.block_features import count_features
from ctxtui.tokens.features import NOTHING, Features, minus, plus, sum_features
from ctxtui.tokens.image import UNKNOWN_SIZE, image_tokens, pdf_pages
from ctxtui.tokens.models import ModelTable
from ctxtui.tokens.weights import half_interval, is_exact, prior_weights, weigh
from tests.tokens.test_image import png

Count = Callable[[str], int]
CLAUDE = "claude-opus-4-5"


def base(data: bytes) -> str:
    return base64.b64encode(data).decode()


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": base(png(1000, 1000))}}


def of(value: Any, count: Count, table: ModelTable, model: str = CLAUDE) -> Features:
    return count_features(blocks.from_part(value), count, table.card(model))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"type": "text", "text": "hello world"}, Features(text=2)),
        ({"type": "tool_result", "tool_use_id": "t", "content": "hello world"}, Features(result=2, returns=1)),
        (
            {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "hello world"}, IMAGE]},
            Features(result=2, image=1296, returns=1),
        ),
        ({"type": "function_call_output", "call_id": "c", "output": "hello world"}, Features(result=2, returns=1)),
        (IMAGE, Features(image=1296)),
        ({"type": "thinking", "thinking": "hello world", "signature": ""}, Features(thinking=2)),
        ({"type": "thinking", "thinking": "", "signature": "x" * 740}, Features(hidden=500)),
        ({"type": "thinking", "thinking": "hello", "signature": "x" * 740}, Features(hidden=500)),
        ({"type": "redacted_thinking", "data": "x" * 340}, Features(hidden=100)),
        (
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "hello world"}},
            Features(text=2),
        ),
    ],
)
def test_features(value: Any, expected: Features, count: Count, table: ModelTable) -> None:
    assert of(value, count, table)._replace(letters=0) == expected


def test_prose_and_results_also_count_their_characters_in_quarters(count: Count, table: ModelTable) -> None:
    assert of({"type": "text", "text": "hello world"}, count, table).letters == 11 / 4
    assert of({"type": "tool_result", "tool_use_id": "t", "content": "déjà"}, count, table).letters == 1
    assert of({"type": "thinking", "thinking": "hello world"}, count, table).letters == 0


def test_a_call_counts_its_name_and_input(count: Count, table: ModelTable) -> None:
    got = of({"type": "tool_use", "id": "t", "name": "Read", "input": {"path": "a.py"}}, count, table)
    assert got == Features(json=count("Read") + count('{"path":"a.py"}'), calls=1)
    spelled = {"type": "function_call", "call_id": "c", "name": "Read", "arguments": '{"path": "a.py"}'}
    assert of(spelled, count, table).json == count("Read") + count('{"path": "a.py"}')


def test_a_call_without_input_counts_its_name(count: Count, table: ModelTable) -> None:
    for value in (
        {"type": "function", "id": "c", "function": {"name": "Read", "arguments": ""}},
        {"type": "function_call", "call_id": "c", "name": "Read", "arguments": ""},
    ):
        assert of(value, count, table) == Features(json=count("Read"), calls=1)


def test_googles_function_response_is_a_result(count: Count, table: ModelTable) -> None:
    value = {"functionResponse": {"name": "Read", "response": {"output": "hello world"}}}
    got = count_features(blocks.make("function_response", value), count, table.card("gemini-2.5-flash"))
    assert got._replace(letters=0) == Features(result=2, returns=1)


def test_a_header_counts_one_message(count: Count, table: ModelTable) -> None:
    got = count_features(blocks.header("user"), count, table.card(CLAUDE))
    assert got == Features(messages=1)


def test_what_is_not_there_counts_nothing(count: Count, table: ModelTable) -> None:
    card = table.card(CLAUDE)
    missing = blocks.make(blocks.NOT_RECORDED, {"type": "not_recorded", "what": "system prompt"})
    assert count_features(missing, count, card) == NOTHING
    assert count_features(blocks.unreadable("line 3", "cut"), count, card) == NOTHING


def test_definitions_by_each_providers_rule(count: Count, table: ModelTable) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "description": "what"}}}
    tool = blocks.make(blocks.TOOL, {"name": "f", "description": "does", "parameters": schema})
    claude = count_features(tool, count, table.card(CLAUDE))
    assert claude == Features(tools=count(tool.body.decode()), definitions=1)
    openai = count_features(tool, count, table.card("gpt-5.4"))
    assert openai == Features(tools=7 + count("f:does") + 3 + 3 + count("a:string:what"), definitions=1)


def test_an_image_that_is_only_pointed_at_is_guessed(count: Count, table: ModelTable) -> None:
    card = table.card(CLAUDE)
    for source in (
        {"type": "url", "url": "https://x.test/a.png"},
        {"type": "base64", "media_type": "image/png", "data": "?"},
    ):
        got = of({"type": "image", "source": source}, count, table)
        assert got.image == image_tokens(card.image, *UNKNOWN_SIZE)
    data_url = {"type": "input_image", "image_url": "data:image/png;base64," + base(png(1024, 1024))}
    assert of(data_url, count, table, "gpt-5.5").image == 1229


@pytest.mark.parametrize(
    ("data", "pages"),
    [
        (b"%PDF-1.4 <</Type /Page /Parent 1 0 R>> <</Type/Page>> <</Type /Pages /Count 2>>", 2),
        (b"%PDF-1.5 <</Type /Pages /Kids [3 0 R] /Count 12>>", 12),
        (b"%PDF-1.7" + bytes(250_000), 5),
        (b"", 1),
    ],
)
def test_pages_of_a_pdf(data: bytes, pages: int) -> None:
    assert pdf_pages(data) == pages


def test_a_document_costs_its_pages(count: Count, table: ModelTable) -> None:
    data = base(b"%PDF-1.4 <</Type /Page >> <</Type/Page>>")
    source = {"type": "base64", "media_type": "application/pdf", "data": data}
    assert of({"type": "document", "source": source}, count, table).pages == 2 * table.card(CLAUDE).page_tokens
    # As OpenAI's two APIs spell it.
    spelled = {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{data}"}
    for value in ({"type": "file", "file": spelled}, {"type": "input_file", **spelled}):
        assert of(value, count, table, "gpt-5.4").pages == 2 * table.card("gpt-5.4").page_tokens
    # Where only an address is recorded, its size says nothing about other PDFs.
    linked = of({"type": "document", "source": {"type": "url", "url": "https://x.test/a.pdf"}}, count, table)
    assert linked.pages == 0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KINDS = st.sampled_from(
    "text thinking redacted_thinking tool_use tool_result image document reasoning function_call new x_call".split()
)


@given(KINDS, st.dictionaries(st.sampled_from("text content input source data signature output name".split()), JSON))
def test_no_block_is_too_strange(count: Count, table: ModelTable, kind: str, value: dict[str, Any]) -> None:
    for model in (CLAUDE, "gpt-5.5", "else"):
        got = of({"type": kind, **value}, count, table, model)
        assert all(number >= 0 for number in got)
        assert weigh(got, prior_weights(table.card(model))) >= 0


VECTORS = st.builds(Features, *[st.integers(0, 1000).map(float)] * len(Features._fields))


@given(VECTORS, VECTORS)
def test_features_are_linear(a: Features, b: Features) -> None:
    assert minus(plus(a, b), b) == a
    assert plus(a, NOTHING) == a


@given(VECTORS, VECTORS)
def test_tokens_of_a_sum_are_the_sum_of_tokens(table: ModelTable, a: Features, b: Features) -> None:
    for model in (CLAUDE, "gpt-5.5", "claude-opus-4-7"):
        weights = prior_weights(table.card(model))
        assert weigh(plus(a, b), weights) == pytest.approx(weigh(a, weights) + weigh(b, weights))
        assert half_interval(plus(a, b), weights) <= half_interval(a, weights) + half_interval(b, weights) + 1e-6


def test_method(table: ModelTable) -> None:
    exact, estimate = prior_weights(table.card("gpt-5.5")), prior_weights(table.card(CLAUDE))
    assert is_exact(Features(text=10, messages=1), exact)
    assert half_interval(Features(text=10), exact) == 0
    assert not is_exact(Features(text=10), estimate)
    assert half_interval(Features(text=100), estimate) == pytest.approx(100 * estimate.factors.text * 0.15)
    for guess in (Features(json=1), Features(tools=1), Features(hidden=1), Features(image=1), Features(thinking=1)):
        assert not is_exact(guess, exact)


def test_measured_framing_of_codex_calls(count: Count, table: ModelTable) -> None:
    # Recorded: a call and its result cost 20 tokens more than the words in them, on gpt-5.3 to 5.5.
    weights = prior_weights(table.card("gpt-5.5"))
    call = {"type": "function_call", "call_id": "c", "name": "shell", "arguments": json.dumps({"cmd": "ls"})}
    done = {"type": "function_call_output", "call_id": "c", "output": "a.py b.py"}
    total = plus(of(call, count, table, "gpt-5.5"), of(done, count, table, "gpt-5.5"))
    words = count("shell") + count('{"cmd": "ls"}') + count("a.py b.py")
    assert weigh(total, weights) == words + 20


@given(st.text(st.sampled_from("ab é→⿯⯿\u2000\u1fff\u2c00\ud800数"), max_size=30))
def test_symbols_are_runs_of_characters_from_2000_to_2bff(text: str) -> None:
    made = blocks.from_part({"type": "tool_result", "tool_use_id": "t", "content": text})
    assert count_features(made, len, ModelTable(()).card("")).symbols == len(re.findall("[\u2000-\u2bff]+", text))


@pytest.mark.parametrize("count", [0, 1, 2])
def test_features_of_several_blocks_are_their_sum(count: int) -> None:
    one = Features(text=2.0, calls=1.0)
    assert sum_features([one] * count) == Features(text=2.0 * count, calls=1.0 * count)
