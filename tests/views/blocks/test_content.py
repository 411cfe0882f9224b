"""What opened blocks show: nothing added to what the model read, nothing lost, no escape obeyed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.core import block as blocks
from ctxtui.core.block_content import read, read_value
from ctxtui.core.canonical import loads
from ctxtui.core.category import INDEX
from ctxtui.tui.highlight import highlight
from ctxtui.views.blocks import content, json_text, markdown
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span, plain
from tests.cases.sessions import CODE, HOSTILE, PNG, use

values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(st.sampled_from('ab"\\ \n\u767b'), max_size=70),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab ", max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(values)
def test_json_laid_out_is_the_same_json(value: object) -> None:
    text = "\n".join(plain(line) for line in json_text.lines(value))
    assert loads(text) == value


def test_number_literals_stay_as_they_were_spelled() -> None:
    text = " ".join(plain(line) for line in json_text.lines(loads('{"a":1e3,"b":1.10,"c":-0}')))
    assert "1e3" in text and "1.10" in text and "-0" in text


WRITTEN = [*"# head;a **b** `c` *d*;- item;```py;x = 1;```;> q;[l](u);<tag>;| a | b |;".split(";")]


@given(st.lists(st.sampled_from(WRITTEN), max_size=12))
def test_markdown_keeps_every_letter(lines: list[str]) -> None:
    styled = markdown.lines(lines, "ink", highlight)
    assert [plain(line) for line in styled] == lines


def test_markdown_tells_parts_apart() -> None:
    def styles(text: str) -> set[str]:
        return {style for line in markdown.lines([text]) for _, style in line}

    assert "accent bold" in styles("# head")
    assert {"cat-call", "ink bold"} <= styles("run `x` **now**")
    assert "accent" in styles("- item")


@pytest.mark.parametrize("hint", ["python", "a.ts", "Makefile", "no-such-language", "x.json", "bash", ""])
@given(text=st.text(st.sampled_from("def x(1)'\n\t \u767b#/*{}"), max_size=80))
def test_highlighting_keeps_every_letter(hint: str, text: str) -> None:
    safe = "\n".join(safe_text.lines(text))
    assert "\n".join(plain(line) for line in highlight(safe, hint)) == safe


def test_highlighting_is_only_done_as_far_as_it_is_looked_at() -> None:
    lines = highlight("x = 1\n" * 30_000, "python")
    assert plain(next(lines)) == "x = 1"
    assert {style for _, style in next(lines)} > {"ink"}


def shown(value: dict[str, object], category: str, **more: object) -> list[str]:
    block = blocks.from_part(value)
    got = content.content(INDEX[category], read(block), block.value(), highlight=highlight, **more)  # type: ignore[arg-type]
    return [plain(line) for line in got.lines]


def test_a_numbered_file_is_code_with_its_numbers() -> None:
    call = read(blocks.from_part(use("t", "Read", file_path="a.ts")))
    block = blocks.from_part({"type": "tool_result", "content": CODE})
    got = content.content(INDEX["tool_result"], read(block), block.value(), call=call, highlight=highlight)
    first, _, third, *_ = got.lines
    assert plain(first) == "  1 import {Command} from '@oclif/core'"
    assert Span("class ", "cat-document") in third or any("class" in s.text and s.style != "ink" for s in third)
    assert got.total == CODE.count("\n") + 1


def test_a_call_shows_its_arguments_by_name() -> None:
    lines = shown(use("t", "Edit", file_path="a.py", old_string="x\ny", new_string="z\nw", n=3), "tool_call")
    assert lines == ["file_path  a.py", "old_string  ", "  - x", "  - y", "new_string  ", "  + z", "  + w", "n  3"]
    assert shown({"type": "custom_tool_call", "name": "p", "input": "free\ntext"}, "tool_call") == ["free", "text"]
    assert shown(use("t", "N"), "tool_call") == ["(no input)"]


def test_json_results_are_laid_out_and_broken_ones_are_text() -> None:
    data = json.dumps({"items": [{"name": "a" * 50, "n": number} for number in range(3)]})
    assert len(shown({"type": "tool_result", "content": data}, "tool_result")) > 3
    assert shown({"type": "tool_result", "content": "{broken"}, "tool_result") == ["{broken"]


def test_images_are_told_and_not_drawn() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    assert shown(image, "image") == ["\u25a1 image/png, 70 B"]
    assert shown(image, "image", facts=("image/png, 1 \u00d7 1 pixels",)) == ["\u25a1 image/png, 1 \u00d7 1 pixels"]


def test_the_raw_form_is_the_body_letter_for_letter() -> None:
    block = blocks.from_part({"type": "text", "text": "a \u767b", "n": 1})
    assert "".join(plain(line) for line in content.raw(block).lines) == block.body.decode()


@pytest.mark.parametrize("category", ["user", "tool_result", "tool_call", "thinking"])
def test_hostile_text_stays_text(category: str) -> None:
    value = {
        "user": {"type": "text", "text": HOSTILE},
        "tool_result": {"type": "tool_result", "content": HOSTILE},
        "tool_call": use("t", "x", command=HOSTILE, script=HOSTILE + "\n" + HOSTILE),
        "thinking": {"type": "thinking", "thinking": HOSTILE},
    }[category]
    for line in shown(value, category):
        assert line.isprintable() and "\u202e" not in line


@pytest.mark.parametrize("key", ["file_path", "filePath", "absolute_path", "target_file"])
def test_a_result_has_the_colours_of_the_file_that_its_call_names(key: str) -> None:
    call = read_value("tool_use", {"type": "tool_use", "id": "a", "name": "read", "input": {key: "a.py"}})
    result = read_value("tool_result", {"type": "tool_result", "tool_use_id": "a", "content": "def x(): pass"})
    drawn = content.content(INDEX["tool_result"], result, {}, call=call, highlight=highlight)
    assert len({style for line in drawn.lines for _, style in line}) > 1
