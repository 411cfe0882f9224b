"""Labels as `ctxtui show` prints them: counts and tokens that add up."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.cases import systems
from tests.cli.conftest import Run


@pytest.fixture
def request_file(tmp_path: Path) -> Path:
    parts = [systems.reminder(2, lines=30), "What now?", systems.screen(28), systems.memory_text()]
    message = {"role": "user", "content": [{"type": "text", "text": text} for text in parts]}
    schema = systems.schema("press")["function"]["parameters"]
    tool = {"name": "press", "description": "Press it.", "input_schema": schema}
    path = tmp_path / "request.json"
    path.write_text(json.dumps({"model": "claude-opus-5", "max_tokens": 9, "tools": [tool], "messages": [message]}))
    return path


def counts(labels: list[dict[str, Any]]) -> dict[str, int]:
    return {one["label"]: one["count"] for one in labels}


def test_labels_stand_by_block_by_call_and_by_session(ctxtui: Run, request_file: Path) -> None:
    found = ctxtui("show", request_file, "--json").json
    expected = {"description": 1, "parameters": 1, "property description": 3, "reminder": 1, "memory file": 2}
    expected |= {"button": 28, "scrollbar": 1, "menu": 1, "memory text": 1}
    assert counts(found["labels"]) == counts(found["session"]["labels"]) == expected
    for one in found["labels"]:
        assert list(one) == ["label", "category", "count", "tokens"]
    by_block = [one for block in found["blocks"] for one in block["labels"]]
    for label in expected:
        assert sum(one["count"] for one in by_block if one["label"] == label) == expected[label]
        assert sum(one["tokens"] for one in by_block if one["label"] == label) == next(
            one["tokens"] for one in found["labels"] if one["label"] == label
        )


def test_a_block_that_counts_in_two_categories_is_two_rows_with_spans(ctxtui: Run, request_file: Path) -> None:
    found = ctxtui("show", request_file, "--json").json
    sums: dict[str, int] = {}
    for block in found["blocks"]:
        sums[block["category"]] = sums.get(block["category"], 0) + block["tokens"]
        assert block["interval"][0] <= block["tokens"] <= block["interval"][1]
    assert sums == found["categories"]
    first = [block for block in found["blocks"] if block["digest"] == found["blocks"][1]["digest"]]
    assert [block["category"] for block in first] == ["user", "memory", "user"]
    text = systems.reminder(2, lines=30)
    assert [first[0]["span"][0], first[-1]["span"][1]] == [0, len(text)]
    assert all(a["span"][1] == b["span"][0] for a, b in pairwise(first))
    assert text[slice(*first[1]["span"])].startswith(first[1]["label"])
    assert found["categories"]["memory"] > 700


def test_text_by_label_adds_up_to_the_context(ctxtui: Run, request_file: Path) -> None:
    out = ctxtui("show", request_file, "--by", "label").out
    assert "─ labels " in out and "39 found" in out
    assert [line.split()[1:3] for line in out.splitlines() if " button " in line] == [["button", "28"]]
    assert "no label" in out
    plain = ctxtui("show", request_file).out
    assert "28 × button" in plain and "─ labels " not in plain


def test_rules_of_the_configuration_count(
    ctxtui: Run, request_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.toml").write_text("[labels.question]\nregex = 'What \\w+\\?'\ncategory = 'assistant'\n")
    monkeypatch.setenv("CTXTUI_CONFIG", str(tmp_path / "config.toml"))
    found = ctxtui("show", request_file, "--json").json
    assert counts(found["labels"])["question"] == 1
    assert 0 < found["categories"]["assistant"] < 10


def test_nothing_is_labelled_where_no_rule_finds_anything(ctxtui: Run, tmp_path: Path) -> None:
    path = tmp_path / "request.json"
    path.write_text(json.dumps({"model": "gpt-5", "messages": [{"role": "user", "content": "hello there"}]}))
    found = ctxtui("show", path, "--json").json
    assert found["labels"] == found["session"]["labels"] == []
    assert "labels:" not in ctxtui("show", path).out
