"""Claude Code 2.1.280: system prompt and tools out of snapshots, attachments as they were rendered."""

from __future__ import annotations

import json
from typing import Any

from ctxtui.core.call import FRONT_RECORDED, Call, Fidelity
from ctxtui.core.session import MAIN, Session
from tests.cases.claude_code_requests import tool
from tests.cases.claude_code_script import Record, Script, text, tool_use
from tests.corpus import need_corpus
from tests.transcripts.formats.claude_code.test_requests import exchanges, opened
from tests.transcripts.reading import as_lines, law_2, read, survives_cuts, survives_values

NAME = "5e551011-0000-4000-8000-000000000001.jsonl"
PROMPT = ["You are an agent.", "Be brief."]
WRAPPED = "<system-reminder>\n{}\n</system-reminder>"


def attach(script: Script, kind: str, words: str = "", **more: Any) -> None:
    rendered = {"rendered": [{"content": WRAPPED.format(words)}]} if words else {}
    role = {"renderedRole": more.pop("role")} if "role" in more else {}
    script.put("attachment", attachment={"type": kind, "text": words, **more}, **rendered, **role)


def snapshot(script: Script, tools: list[Record] | None = None, texts: list[str] | None = None) -> None:
    listed = [{"name": one["name"], "description": one["description"], "schema": one} for one in tools or ()]
    known = {} if tools is None else {"tools": listed, "cliPrefix": "You are Claude."}
    script.put("attachment", attachment={"type": "prompt_snapshot", "systemPrompt": texts or PROMPT, **known})


def recorded() -> Script:
    script = Script(version="2.1.280")
    script.user("Check the shop.")
    attach(script, "environment", "# Environment\nLinux")
    attach(script, "instructions", "Contents of /home/ada/shop/CLAUDE.md:\n\nCents.")
    attach(script, "date", "Today is Sunday.")
    snapshot(script)
    script.assistant(tool_use("t1"), id="m1")
    script.result("t1", "ok")
    snapshot(script, [tool("Read"), tool("Bash")])
    attach(script, "total_tokens_reminder", "<total_tokens>9 left</total_tokens>")
    script.assistant(text("Done."), id="m2")
    script.user("And now?")
    attach(script, "total_tokens_reminder", "<total_tokens>8 left</total_tokens>")
    attach(script, "new_kind", "Anything.")
    attach(script, "newer_kind", "Something.", role="system")
    script.assistant(text("Nothing."), id="m3")
    return script


def front(session: Session, call: Call) -> list[Record]:
    items = session.tree.items(call.sent_head)
    return [item.block.value() for item in items if item.place.section in ("tools", "system")]


def messages(session: Session, head: int) -> list[tuple[str, list[Record]]]:
    found: list[tuple[str, list[Record]]] = []
    for item in session.tree.items(head):
        if item.place.section != "messages":
            continue
        if item.block.kind == "header":
            found.append((item.place.role, []))
        else:
            found[-1][1].append(item.block.value())
    return found


def test_a_snapshot_tells_system_prompt_and_tools_of_the_calls_before_it_too() -> None:
    session = read(recorded().dump(), NAME)
    expected = [tool("Read"), tool("Bash"), text("You are Claude."), text("You are an agent.\n\nBe brief.")]
    for call in session.thread_calls(MAIN):
        assert front(session, call) == expected
        assert call.fidelity is Fidelity.TRANSCRIPT and call.extra[FRONT_RECORDED] is True and call.skeleton is None
    first, second, third = session.thread_calls(MAIN)
    assert session.tree.holds(second.sent_head, first.response_head)
    assert session.tree.holds(third.sent_head, second.response_head)
    assert session.threads[MAIN].tip == third.response_head


def test_without_the_second_snapshot_the_tools_are_not_on_record() -> None:
    script = recorded()
    cut = script.records[:6]
    script.records = cut
    session = read(script.dump(), NAME)
    (call,) = session.thread_calls(MAIN)
    assert front(session, call) == [text("You are an agent.\n\nBe brief.")] and FRONT_RECORDED not in call.extra


def test_another_system_prompt_is_not_that_of_the_calls_before() -> None:
    script = recorded()
    script.user("Again.")
    snapshot(script, [tool("Write")], ["You are another."])
    script.assistant(text("Yes."), id="m4")
    session = read(script.dump(), NAME)
    before, after = session.thread_calls(MAIN)[-2:]
    assert front(session, before)[0] == tool("Read") and front(session, after)[0] == tool("Write")
    assert messages(session, after.sent_head)[: len(messages(session, before.sent_head))] == messages(
        session, before.sent_head
    )


def test_attachments_stand_where_and_as_the_client_sent_them() -> None:
    session = read(recorded().dump(), NAME)
    last = session.thread_calls(MAIN)[-1]
    assert messages(session, last.sent_head) == [
        (
            "user",
            [
                text(WRAPPED.format("Contents of /home/ada/shop/CLAUDE.md:\n\nCents.") + "\n"),
                text("Check the shop."),
            ],
        ),
        ("system", [text("# Environment\nLinux\n\nToday is Sunday.")]),
        ("assistant", [tool_use("t1")]),
        ("user", [{"tool_use_id": "t1", "type": "tool_result", "content": "ok"}]),
        ("system", [text("<total_tokens>9 left</total_tokens>")]),
        ("assistant", [text("Done.")]),
        ("user", [text(WRAPPED.format("Anything.") + "\n"), text("And now?")]),
        ("system", [text("<total_tokens>8 left</total_tokens>\n\nSomething.")]),
    ]


def test_any_chunking_any_cut_and_any_value() -> None:
    data = recorded().dump()
    law_2(data, NAME)
    survives_cuts(data, NAME)
    survives_values([json.loads(line) for line in data.splitlines()], NAME, as_lines)


def test_the_recordings_without_requests_give_what_went_over_the_wire() -> None:
    number = 0
    for file in need_corpus("clients", "claude-code-2.1.280/*/*.jsonl"):
        if file.name == "wire.jsonl":
            continue
        session = opened(file)
        sent = list(exchanges(file.parent / "wire.jsonl"))
        for call, body in zip(session.thread_calls(MAIN), sent, strict=True):
            listed = [(one["role"], _listed(one["content"])) for one in body["messages"]]
            assert messages(session, call.sent_head) == listed
            system = [text(one["text"]) for one in body["system"][1:]]
            assert front(session, call) == [*body["tools"], *system]
            number += 1
    assert number >= 10


def _listed(content: Any) -> list[Record]:
    parts = [text(content)] if isinstance(content, str) else content
    return [{key: item for key, item in part.items() if key != "cache_control"} for part in parts]
