from __future__ import annotations

import pytest

from ctxtui.core.model_names import short_model


@pytest.mark.parametrize(
    ("model", "short"),
    [
        ("claude-opus-4-20250514", "opus-4"),
        ("claude-3-5-sonnet-20241022", "sonnet-3-5"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "sonnet-4-5"),
        ("jp.anthropic.claude-sonnet-4-5-20250929-v1:0", "sonnet-4-5"),
        ("us-gov.anthropic.claude-3-haiku-20240307-v1:0", "haiku-3"),
        ("anthropic.claude-3-5-sonnet-20241022-v2:0:200k", "sonnet-3-5"),
        ("anthropic.claude-3-5-sonnet-v2@20241022", "sonnet-3-5"),
        ("publishers/anthropic/models/claude-3-5-sonnet-v2@20241022", "sonnet-3-5"),
        ("claude-3-5-sonnet-v2", "sonnet-3-5"),
        ("anthropic.claude-opus-4-6-v1", "opus-4-6"),
        ("claude-opus-4-6@default", "opus-4-6"),
        ("anthropic/claude-opus-5-5", "opus-5-5"),
        ("gpt-5.6-sol", "gpt-5.6-sol"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("qwen2.5-coder:7b", "qwen2.5-coder:7b"),
    ],
)
def test_short_models(model: str, short: str) -> None:
    assert short_model(model) == short
