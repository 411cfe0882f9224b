"""A text that is edited on the screen."""

from __future__ import annotations

import pytest

from ctxtui.views.blocks.editable import Editable
from ctxtui.views.text.safe_text import unsafe_pattern


@pytest.mark.parametrize(
    "text",
    [
        "plain\n\ttext\n",
        "a\x1b[31mb\u202ec\u2028d\x0ce\x85",
        "\U000e0041tag\u200d\ufe0f",
        "\U00100000\x1b",
        "lone \ud800",
    ],
)
def test_what_a_terminal_must_not_get_is_kept_and_comes_back(text: str) -> None:
    made = Editable(text)
    assert not unsafe_pattern().search(made.shown) and len(made.shown) == len(text)
    assert made.shown.splitlines() == made.shown.removesuffix("\n").split("\n")
    assert made.unescape(made.shown) == text
    assert made.unescape(made.shown + "\n!") == text + "\n!"


def test_what_is_pasted_later_comes_back_too() -> None:
    made = Editable("a\x1bb")
    both = made.shown + made.escape_paste("c\x07\x1b\U00100001")
    assert not unsafe_pattern().search(both) and made.unescape(both) == "a\x1bbc\x07\x1b\U00100001"


def test_line_ends_of_one_kind_stay_and_others_are_shown() -> None:
    assert Editable("a\r\nb\r\n").shown == "a\r\nb\r\n"
    for text in ("a\r\nb\n", "a\rb", "\r\n\r"):
        made = Editable(text)
        assert "\r" not in made.shown and made.unescape(made.shown) == text
