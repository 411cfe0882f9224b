"""Settings of policies as a user writes them."""

from __future__ import annotations

import pytest

from ctxtui.core.errors import BadConfig
from ctxtui.curation.policies.registry import POLICIES
from ctxtui.curation.policies.settings_text import parse_settings


@pytest.mark.parametrize(
    ("name", "text", "given"),
    [
        ("sliding_window", "", {}),
        ("sliding_window", "n=3  keep_first=0", {"n": 3, "keep_first": 0}),
        ("clear_tool_results", "exclude=Read,Bash", {"exclude": ["Read", "Bash"]}),
        (
            "compact_json",
            "drop=a,b rename=x:y,z:w flatten=m",
            {
                "drop": ["a", "b"],
                "rename": {"x": "y", "z": "w"},
                "flatten": ["m"],
            },
        ),
        ("clear_tool_results", """'exclude=["a b"]'""", {"exclude": ["a b"]}),
        ("clear_tool_results", "exclude=true", {"exclude": ["true"]}),
        ("compact_json", "drop=5 flatten=[1,2]", {"drop": ["5"], "flatten": [1, 2]}),
        ("clear_tool_results", "exclude=" + "[" * 100_000, {"exclude": ["[" * 100_000]}),
    ],
)
def test_words_become_settings(name: str, text: str, given: dict[str, object]) -> None:
    assert parse_settings(POLICIES[name], text) == given


@pytest.mark.parametrize("text", ["n", "n=x", "n=-1", "q=1", "'n=1", "n=1.5", "n=true"])
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(BadConfig):
        parse_settings(POLICIES["sliding_window"], text)


@pytest.mark.parametrize("text", ["rename=x", "rename=x:", "rename=:y", "rename=a:b,c"])
def test_a_pair_has_both_sides(text: str) -> None:
    with pytest.raises(BadConfig):
        parse_settings(POLICIES["compact_json"], text)
