"""The glossary against the screens, both ways: every label has an entry, every entry a place where it is written."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest

from ctxtui.services.config.package_data import glossary
from ctxtui.views.glossary.entries import parse_glossary
from ctxtui.views.inspector import composition
from ctxtui.views.text import signs
from ctxtui.views.text.span import plain
from scripts.glossary import render_page
from tests.pty_app import REPO

SHOWN = ("views", "tui", "analysis", "curation", "cache", "core")
"""Packages whose texts stand on screens."""
PLAIN = {"", "help", "models"}
"""Titles that need no explanation."""


@cache
def trees() -> dict[str, ast.Module]:
    paths = [path for room in SHOWN for path in (REPO / "ctxtui" / room).rglob("*.py")]
    return {str(path): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def _name(call: ast.Call) -> str:
    function = call.func.value if isinstance(call.func, ast.Subscript) else call.func
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def _text(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def labels() -> Iterator[tuple[str, str]]:
    """Titles of panes and lists, heads of columns, with the file that has them."""
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                if _name(node) in ("Column", "HomeColumn", "ViewBoard") and node.args:
                    yield _text(node.args[0]).strip(), path
                yield from ((_text(each.value), path) for each in node.keywords if each.arg == "title")
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    pairs = (
                        zip(target.elts, node.value.elts, strict=False)
                        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                        else [(target, node.value)]
                    )
                    yield from ((_text(value), path) for one, value in pairs if getattr(one, "id", "") == "heading")


def test_every_title_and_head_of_the_screens_has_an_entry() -> None:
    found = list(labels())
    assert {"misses", "policies", "written again", "peak", "heaviest", "this call"} <= {label for label, _ in found}
    assert {label: path for label, path in found if label not in PLAIN and glossary().label(label) is None} == {}, (
        "each needs an entry in ctxtui/data/glossary.toml, then `make glossary`"
    )


def test_the_heads_of_the_context_pane_have_entries() -> None:
    heads = re.split(r"\s{2,}", plain(composition.heads(89)).strip())
    assert heads == ["tokens", "Δ call", "this call", "so far", "share"]
    assert all(glossary().label(head, "context") for head in heads)


@pytest.mark.parametrize("table", ["CATEGORY", "MARK", "GUTTER", "TRACK", "REPEAT"])
def test_every_sign_has_an_entry(table: str) -> None:
    known = getattr(signs, table)
    explained = {sign for entry in glossary().entries for sign in entry.signs}
    assert {
        sign.name for sign in (known.values() if isinstance(known, dict) else known) if sign not in explained
    } == set()


def test_every_word_of_the_glossary_is_on_a_screen() -> None:
    texts = "\n".join(
        node.value
        for tree in trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    unused = [label for label in glossary().labels if not re.search(rf"(?<!\w){re.escape(label)}(?!\w)", texts)]
    assert unused == []


def test_each_entry_is_at_most_three_plain_sentences() -> None:
    for entry in glossary().entries:
        assert entry.says.endswith((".", "*.")) and len(entry.says) <= 260, entry.word
        assert 1 <= len(re.findall(r"[.?](?:\s|$)", entry.says)) <= 3, entry.word


def test_the_page_of_the_documents_is_written_from_it() -> None:
    assert (REPO / "docs" / "signs.md").read_text(encoding="utf-8") == render_page(glossary()), "make glossary"


def test_one_sign_means_what_its_pane_says() -> None:
    words = glossary()
    assert [words.glyph("Σ", pane).word for pane in ("calls", "context") if words.glyph("Σ", pane)] == [
        "compaction",
        "summary",
    ]  # type: ignore[union-attr]
    assert words.glyph("━", "heaviest") is None, "there it is a bar"
    assert words.glyph("━", "map") is words.label("read")


@pytest.mark.parametrize(
    "raw", ['word = "a"\ngroup = "nowhere"\nsays = "A."', 'word = "a"\ngroup = "signs"\nsays = " "']
)
def test_an_entry_without_group_or_text_is_refused(raw: str) -> None:
    with pytest.raises(ValueError, match="a"):
        parse_glossary(f"[[entry]]\n{raw}")


def test_applied_over_the_edits_says_what_is_in_force_and_on_the_strip_where_it_was() -> None:
    here, there = glossary().label("applied", "staged"), glossary().label("applied", "calls")
    assert here is not None and there is not None and "in force" in here.says and "At this call" in there.says
