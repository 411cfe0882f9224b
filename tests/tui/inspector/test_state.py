"""What is shown has one writer: no controller sets a member of the state, or of the edits it shares with others."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import ctxtui

TUI = Path(ctxtui.__file__).parent / "tui"
SHARED = {"state", "_state", "edits", "_edits", "panels"}


def written(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Members of what is shared that are set: ``self.state.x = ...``, ``edits.x[...] = ...``, ``del ...``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            member = node.value if isinstance(node, ast.Subscript) else node
            owner = member.value if isinstance(member, ast.Attribute) else None
            name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
            if name in SHARED:
                yield ast.unparse(node), node.lineno


@pytest.mark.parametrize("room", ["inspector/controllers", "chat"])
def test_no_controller_sets_what_it_shares(room: str) -> None:
    found = {
        f"{path.name}:{line} {what}"
        for path in sorted((TUI / room).glob("*.py"))
        for what, line in written(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == set()


def test_the_check_can_fail() -> None:
    code = "self.state.index = 1\nself._edits.desk = None\nself.state.marks[1] = None\nself.state = 1\nstate.edits = 2"
    assert [line for _, line in written(ast.parse(code))] == [1, 2, 3, 5]
