"""Style words in plain output, in the terminal's own 16 colours."""

from __future__ import annotations

import re
import sys

import pytest

from ctxtui.cli.paint import Painter
from ctxtui.tui.theme.palette import ATTRIBUTES
from ctxtui.views.text.span import Span


def test_every_attribute_and_colour_is_painted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda self: True)
    painter = Painter("unicode")
    for style in (*ATTRIBUTES, "dim", "faint", "warn", "crit bold"):
        painter.line([Span(style, style)])
    codes = {text: code for code, text in re.findall(r"\x1b\[([\d;]+)m([^\x1b]*)\x1b", capsys.readouterr().out)}
    assert codes == {
        "bold": "1", "italic": "3", "strike": "9", "underline": "4", "reverse": "7",
        "dim": "90", "faint": "90", "warn": "33", "crit bold": "91;1",
    }  # fmt: skip
