from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.tokens.models import ModelDataError, ModelTable, matches_pattern, parse_models, plain_id


@pytest.mark.parametrize(
    ("spelled", "plain"),
    [
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("apac.anthropic.claude-3-5-haiku-20241022-v1:0", "claude-3-5-haiku"),
        ("vertex_ai/claude-sonnet-4@20250514", "claude-sonnet-4"),
        ("anthropic.claude-3-5-sonnet-20241022-v2:0:200k", "claude-3-5-sonnet"),
        ("anthropic.claude-3-5-sonnet-v2@20241022", "claude-3-5-sonnet"),
        ("publishers/anthropic/models/claude-3-5-sonnet-v2@20241022", "claude-3-5-sonnet"),
        ("claude-opus-4-6[1m]", "claude-opus-4-6"),
        ("Claude-3-Opus-Latest", "claude-3-opus"),
        ("openrouter/anthropic/claude-haiku-4.5:free", "claude-haiku-4-5"),
        ("gpt-5.6-sol", "gpt-5.6-sol"),
        ("openai/gpt-5.4", "gpt-5.4"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("ft:gpt-4o:acme", "gpt-4o"),
        ("models/gemini-2.5-flash", "gemini-2.5-flash"),
        ("qwen2.5-coder:7b", "qwen2.5-coder:7b"),
        ("", ""),
    ],
)
def test_plain_id(spelled: str, plain: str) -> None:
    assert plain_id(spelled) == plain


@pytest.mark.parametrize(
    ("model", "encoding", "exact"),
    [
        ("gpt-5.6-sol", "o200k_base", True),
        ("openai/gpt-5.4", "o200k_base", True),
        ("o4-mini", "o200k_base", True),
        ("gpt-4.1-nano", "o200k_base", True),
        ("gpt-4", "cl100k_base", True),
        ("gpt-4-turbo", "cl100k_base", True),
        ("gpt-3.5-turbo-0125", "cl100k_base", True),
        ("gpt-oss-20b", "o200k_harmony", True),
        ("gpt-6.1-terra", "o200k_base", False),
        ("claude-opus-4-5", "o200k_base", False),
        ("something-new", "o200k_base", False),
        ("", "o200k_base", False),
    ],
)
def test_encoding(table: ModelTable, model: str, encoding: str, exact: bool) -> None:
    card = table.card(model)
    assert (card.encoding, card.exact) == (encoding, exact)


def test_exact_models_are_tiktokens_own(table: ModelTable) -> None:
    from tiktoken.model import encoding_name_for_model

    for model in (
        "gpt-4",
        "gpt-4-turbo",
        "gpt-4o-mini",
        "gpt-4.1",
        "gpt-5",
        "gpt-5.6-sol",
        "o1",
        "o3-mini",
        "gpt-oss-120b",
    ):
        assert table.card(model).encoding == encoding_name_for_model(model)


@pytest.mark.parametrize(
    ("model", "window", "output"),
    [
        ("claude-opus-4-5-20251101", 200_000, 64_000),
        ("claude-haiku-4-5", 200_000, 64_000),
        ("claude-opus-4-6", 1_000_000, 128_000),
        ("claude-sonnet-5-5", 1_000_000, 128_000),
        ("claude-mythos-5-2", 1_000_000, 128_000),
        ("claude-sonnet-4-5-20250929[1m]", 1_000_000, 64_000),
        ("gpt-5.4", 1_050_000, 128_000),
        ("gpt-5.4-mini", 400_000, 128_000),
        ("gpt-5.5", 1_000_000, 128_000),
        ("gpt-5.3-codex", 400_000, 128_000),
        ("gpt-4o", 128_000, 16_384),
        ("o3", 200_000, 100_000),
        ("gpt-oss-20b", 131_072, 131_072),
        ("qwen2.5-coder:7b", 32_768, None),
        ("qwen2.5-coder:32b-instruct", 32_768, None),
        ("qwen2.5-coder:72b", 131_072, None),
        ("deepseek-coder:33b", 16_384, None),
        ("codellama:34b", 16_384, None),
        ("llama3.1:70b", 131_072, None),
        ("something-new", None, None),
    ],
)
def test_windows(table: ModelTable, model: str, window: int | None, output: int | None) -> None:
    card = table.card(model)
    assert (card.window, card.max_output) == (window, output)


@pytest.mark.parametrize(
    ("model", "strips"),
    [
        ("claude-opus-4-1-20250805", True),
        ("claude-opus-4-20250514", True),
        ("claude-sonnet-4-5", True),
        ("claude-haiku-4-5", True),
        ("claude-3-7-sonnet-latest", True),
        ("claude-opus-4-5", False),
        ("claude-sonnet-4-6", False),
        ("claude-haiku-5-5", False),
        ("claude-fable-5", False),
        ("gpt-5.5", True),
        ("gpt-5.6-sol", False),
    ],
)
def test_who_strips_thinking_of_earlier_turns(table: ModelTable, model: str, strips: bool) -> None:
    assert table.card(model).strips_thinking is strips


@pytest.mark.parametrize(
    ("model", "minimum"),
    [
        *[
            (m, 512)
            for m in ("claude-haiku-5-5", "claude-sonnet-5-5", "claude-opus-5-5", "claude-opus-5", "claude-fable-5")
        ],
        *[(m, 512) for m in ("claude-fable-5-1", "claude-mythos-5-1", "claude-fable-5-2")],
        *[(m, 1024) for m in ("claude-opus-4-8", "claude-sonnet-5", "claude-sonnet-4-6", "claude-sonnet-4-5")],
        *[(m, 1024) for m in ("claude-opus-4-1", "claude-opus-4-20250514", "claude-sonnet-4-20250514", "gpt-5.6-sol")],
        *[(m, 2048) for m in ("claude-mythos-preview", "claude-opus-4-7", "claude-3-5-haiku-20241022")],
        *[(m, 4096) for m in ("claude-opus-4-6", "claude-opus-4-5", "claude-haiku-4-5")],
        ("llama3.1:8b", None),
    ],
)
def test_cache_minimum(table: ModelTable, model: str, minimum: int | None) -> None:
    assert table.card(model).cache_minimum == minimum


@pytest.mark.parametrize(
    ("model", "hidden"),
    [
        ("claude-opus-5-5", (286, 406)),
        ("claude-haiku-5-5", (286, 406)),
        ("claude-sonnet-5", (354, 474)),
        ("claude-opus-4-8", (290, 410)),
        ("claude-opus-4-7", (675, 804)),
        ("claude-sonnet-4-5", (497, 589)),
        ("gpt-5.5", (0, 0)),
    ],
)
def test_hidden_tool_prompt(table: ModelTable, model: str, hidden: tuple[int, int]) -> None:
    card = table.card(model)
    assert (card.tool_prompt, card.tool_prompt_forced) == hidden


def test_the_newer_claude_tokenizer_makes_more_tokens(table: ModelTable) -> None:
    old, new = table.card("claude-opus-4-6"), table.card("claude-opus-4-7")
    assert 1.2 < new.factors.text / old.factors.text < 1.35
    assert old.image_rule == "resize 1568 1568"
    assert new.image_rule == "resize 2576 4784"


def test_every_figure_has_its_source(table: ModelTable) -> None:
    card = table.card("claude-opus-4-5")
    sources = dict(card.sources)
    assert "2026" in sources["cache_minimum"]
    assert set(sources) >= {"window", "max_output", "factors", "image_rule", "strips_thinking", "encoding"}


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ('models = ["a"]\nsource = "s"\nwindows = 3', r"rule 1 \(a\): windows = 3"),
        ('models = ["a"]\nsource = "s"\nwindow = "3"', "window = '3'"),
        ('models = ["a"]\nsource = "t"', "source 't' is not in"),
        ('models = ["a"]\nsource = "s"\nencoding = "p50k"', "unknown encoding 'p50k'"),
        ('models = ["a"]\nsource = "s"\nfactors = {word = 2}', "no such feature: word"),
    ],
)
def test_a_wrong_rule_is_named(rule: str, message: str) -> None:
    with pytest.raises(ModelDataError, match=message):
        parse_models(f'[sources]\ns = "x"\n[[rule]]\n{rule}\n')


def test_a_later_rule_overrides_figure_by_figure() -> None:
    table = parse_models(
        '[sources]\ns = "x"\n[[rule]]\nmodels = ["*"]\nsource = "s"\nwindow = 1\nmax_output = 2\n'
        "factors = {text = 1, json = 2}\n"
        '[[rule]]\nmodels = ["a*"]\nsource = "s"\nwindow = 3\nfactors = {text = 4}\n'
    )
    card = table.card("abc")
    assert (card.window, card.max_output, card.factors.text, card.factors.json) == (3, 2, 4, 2)
    assert table.card("b").window == 1


@given(st.text("ab-.", max_size=8), st.text("ab-.*?[]", max_size=6))
def test_patterns_fit_as_those_of_file_names_do(name: str, pattern: str) -> None:
    assert matches_pattern(name, pattern) == fnmatchcase(name, pattern)


@given(st.lists(st.text("ab", max_size=3), min_size=1, max_size=4), st.data())
def test_names_made_of_a_pattern_fit_it(parts: list[str], data: st.DataObject) -> None:
    name = parts[0] + "".join(data.draw(st.text("abc", max_size=2)) + part for part in parts[1:])
    assert matches_pattern(name, "*".join(parts)) and fnmatchcase(name, "*".join(parts))
