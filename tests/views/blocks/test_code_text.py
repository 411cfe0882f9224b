"""A file that a tool printed with line numbers keeps each number beside its own text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ctxtui.views.blocks.code_text import numbered_lines
from ctxtui.views.text.span import Span, plain


def coloured(text: str, hint: str) -> Iterator[list[Span]]:
    return ([Span(line, hint)] for line in text.split("\n"))


@pytest.mark.parametrize("separator", ["→", "\t"])
@pytest.mark.parametrize("highlight", [None, coloured])
def test_each_number_stands_beside_its_line(separator: str, highlight: object) -> None:
    written = f"     1{separator}one\n     2{separator}{'x' * 5_000}\n     3{separator}\tthree\nno number\n"
    lines = list(numbered_lines(written, "a.py", coloured if highlight else None))
    assert [plain(line)[:13].rstrip() for line in lines] == [
        "  1 one", "  2 xxxxxxxxx", "    xxxxxxxxx", "  3     three", "no number"
    ]  # fmt: skip
    assert [line[-1].style for line in lines] == ["a.py" if highlight else "ink"] * 4 + ["dim"]
