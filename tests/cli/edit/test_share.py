"""`ctxtui share`."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import pytest

from tests.cases.claude_code import Script, text, tool_use
from tests.cli.conftest import Run

KEY = "sk-ant-api03-" + "q1W2" * 10


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    script = Script(cwd="/home/grace/shop")
    script.user(f"the key is {KEY}, mail ada@shop.org")
    (made,) = script.assistant(tool_use("t1", "Read", path="/home/grace/shop/a.py"), id="msg_1")
    script.result("t1", "print('hello')", parent=made)
    script.assistant(text("Done."), id="msg_2", stop="end_turn")
    path = tmp_path / "one.jsonl"
    path.write_bytes(script.dump())
    return path


def test_a_page_without_secrets_and_people(ctxtui: Run, recording: Path, tmp_path: Path) -> None:
    ran = ctxtui("share", recording, "-o", tmp_path / "page.html", "--json")
    page = (tmp_path / "page.html").read_text()
    assert ran.code == 0 and ran.json["masked"] == {"api key": 1, "email address": 1, "user's folder": 1}
    assert "masked (personal): 1 x api key, 1 x email address, 1 x user's folder" in ran.err
    assert KEY not in page and "grace" not in page and "ada@" not in page
    assert "/home/⟨user&#x27;s folder 1⟩/shop/a.py" in page
    assert stat.S_IMODE((tmp_path / "page.html").stat().st_mode) == 0o600


def test_three_levels(ctxtui: Run, recording: Path) -> None:
    pages = {level: ctxtui("share", recording, "--mask", level, "--call", "2").out for level in ("secrets", "text")}
    assert "ada@shop.org" in pages["secrets"] and KEY not in pages["secrets"]
    assert "hello" not in pages["text"] and "xxxxx(&#x27;xxxxx&#x27;)" in pages["text"]


def test_a_file_is_not_replaced_unasked(ctxtui: Run, recording: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("mine")
    assert ctxtui("share", recording, "-o", page).code == 7
    assert page.read_text() == "mine"
    assert ctxtui("share", recording, "-o", page, "--force").code == 0


def test_no_name_of_a_tool_is_left_at_level_text(ctxtui: Run, tmp_path: Path) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "get_acme_salaries", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "some words"},
    ]
    chat = tmp_path / "chat.json"
    chat.write_text(json.dumps({"model": "gpt-5", "messages": messages}))
    page = ctxtui("share", chat, "--mask", "text").out
    # The call and its result have the same label.
    assert "acme" not in page and page.count("xxxxxxxxxxxxxxxx") >= 2
    assert ctxtui("share", chat, "--mask", "secrets").out.count("get_acme_salaries") >= 3


def test_the_result_of_a_masked_call_has_its_label(ctxtui: Run, recording: Path) -> None:
    page = ctxtui("share", recording, "--mask", "text", "--call", "2").out
    labels = re.findall(r'<span class="l [^>]*>([^<]*)</span>', page)
    assert len(labels) == 2 and labels[0] == labels[1], labels


def test_a_secret_only_in_the_title_is_counted(ctxtui: Run, tmp_path: Path) -> None:
    script = Script()
    script.user("hello")
    script.assistant(text("Done."), id="msg_1", stop="end_turn")
    script.loose("ai-title", aiTitle=f"use {KEY}")
    path = tmp_path / "titled.jsonl"
    path.write_bytes(script.dump())
    ran = ctxtui("share", path, "-o", tmp_path / "page.html", "--json")
    assert KEY not in (tmp_path / "page.html").read_text() and ran.json["masked"] == {"api key": 1}
