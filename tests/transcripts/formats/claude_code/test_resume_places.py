"""The client's reminders, as requests hold them, are found again in the attachments that they were made of."""

from __future__ import annotations

from ctxtui.core import block
from ctxtui.core.block import Item, Place
from ctxtui.transcripts.formats.claude_code.resume import find_positions, read_records
from ctxtui.transcripts.kit.resume import ResumeOrder
from tests.cases.claude_code import Script, text


def wrapped(words: str) -> str:
    return f"<system-reminder>\n{words}\n</system-reminder>"


def session() -> bytes:
    script = Script(version="2.1.330")
    script.user("fix the shop")
    for kind, words, role in (
        ("environment", "# Environment\nlinux", "system"),
        ("date", "Today is Sunday.", "system"),
        ("instructions", "Money is integer cents.", "user"),
    ):
        rendered = [{"content": wrapped(words)}]
        script.put("attachment", attachment={"type": kind}, rendered=rendered, renderedRole=role)
    script.assistant(text("Fixed."), id="msg_1", stop="end_turn")
    return script.dump()


def item(words: str, role: str) -> Item:
    return Item(block.text(words), Place("messages", role))


def found(*path: Item) -> list[tuple[int | None, list[int]]]:
    records, _ = read_records(ResumeOrder(source=session(), path=path, sent=[], ids=iter(()), now=0.0))
    where, beside = find_positions(records, path)
    return [(where[at][0] if at in where else None, beside.get(at, [])) for at in range(len(path))]


def test_a_reminder_in_front_of_a_prompt_is_its_attachment() -> None:
    assert found(item(wrapped("Money is integer cents."), "user"), item("fix the shop\n", "user")) == [(3, []), (0, [])]


def test_reminders_joined_in_one_turn_are_all_their_attachments() -> None:
    joined = "# Environment\nlinux\n\nToday is Sunday."
    assert found(item("fix the shop", "user"), item(joined, "system"), item("Fixed.", "assistant")) == [
        (0, []),
        (1, [2]),
        (4, []),
    ]


def test_a_text_that_no_record_holds_is_nowhere() -> None:
    assert found(item("Tool loaded.", "user")) == [(None, [])]


def test_a_text_that_is_no_object_has_no_place_and_stops_nothing() -> None:
    broken = Item(block.make("text", "no object"), Place("messages", "user"))
    assert found(broken, item("fix the shop\n", "user")) == [(None, []), (0, [])]
