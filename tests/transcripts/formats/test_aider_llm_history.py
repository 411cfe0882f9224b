"""aider's record of the messages that it sent: exact requests, odd ones, and the chat history joined to it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from ctxtui.core.block_content import read as content
from ctxtui.core.session import Session
from ctxtui.services.recordings.folder_scan import find_in_folder
from ctxtui.services.recordings.open import load
from ctxtui.transcripts.registry import detect
from tests.corpus import corpus_params
from tests.transcripts.reading import calls, corpus_session, law_2, read, shown, survives_cuts

NAME = ".aider.llm.history"
SENT = """TO LLM 2026-11-22T09:38:51
-------
SYSTEM Be brief.
SYSTEM{}
SYSTEM -------
SYSTEM TO LLM 2026-11-22T09:38:51
-------
USER Fix the sum
-------
ASSISTANT Ok.
-------
USER in a.py
USER{}
LLM RESPONSE 2026-11-22T09:38:53
ASSISTANT Here is
ASSISTANT the change.
TO LLM 2026-11-22T09:39:00
-------
SYSTEM Be brief.
-------
USER And the tests?
LLM RESPONSE 2026-11-22T09:39:02
ASSISTANT They pass.
TO LLM 2026-11-22T09:39:02
-------
USER Again?
LLM RESPONSE 2026-11-22T09:39:04

""".format(" ", " ")
CHAT = """
# aider chat started at 2026-11-22 09:38:43

> Aider v0.86.2
> Model: openai/gpt-9 with whole edit format

#### Fix the sum

Here is
the change.

> Tokens: 1.6k sent, 40 received. Cost: $0.02 message, $0.02 session.

#### And the tests?

They pass.

> Tokens: 1.7k sent, 10 received. Cost: $0.03 message, $0.05 session.
"""


def words(session: Session, head: int) -> list[tuple[str, str]]:
    items = [item for item in session.tree.items(head) if item.block.kind != "header"]
    return [(item.place.role, content(item.block).text) for item in items]


def both(folder: Path) -> Path:
    (folder / ".aider.chat.history.md").write_text(CHAT)
    (folder / NAME).write_text(SENT)
    return folder


def test_each_request_is_a_call_with_the_messages_that_were_sent() -> None:
    assert detect(SENT.encode(), "x").name == "aider llm history"  # type: ignore[union-attr]
    session = read(SENT.encode(), NAME)
    first, second, third = calls(session)
    assert words(session, first.raw_head) == [
        ("system", "Be brief.\n\n-------\nTO LLM 2026-11-22T09:38:51"),
        ("user", "Fix the sum"), ("assistant", "Ok."), ("user", "in a.py\n"),
    ]  # fmt: skip
    assert words(session, first.response_head)[-1] == ("assistant", "Here is\nthe change.")
    assert first.started and first.ended == first.started + 2 and first.line == 1
    assert words(session, second.raw_head) == [("system", "Be brief."), ("user", "And the tests?")]
    assert third.raw_head == third.response_head, "an answer that broke off before its first word"
    assert session.about.source == "aider" and session.about.title == "in a.py"
    assert session.threads["main"].tip == third.response_head


def test_a_request_under_way_is_a_call_without_an_answer() -> None:
    session = read(SENT[: SENT.index("LLM RESPONSE")].encode(), NAME)
    (call,) = calls(session)
    assert call.ended is None and call.raw_head == call.response_head
    assert words(session, call.raw_head)[-1] == ("user", "in a.py\n")


def test_pictures_and_texts_over_several_lines() -> None:
    sent = """TO LLM 2026-11-22T09:38:51
-------
USER type: text
USER text: See
-------
this
USER type: image_url
USER Image_url URL: data:image/png;base64,aGk=
-------

LLM RESPONSE 2026-11-22T09:38:53
ASSISTANT Seen.
"""
    session = read(sent.encode(), NAME)
    (call,) = calls(session)
    assert [kind for *_, kind in shown(session, call.raw_head)] == ["header", "text", "image"]
    assert words(session, call.raw_head)[0] == ("user", "See\n-------\nthis")
    assert [one.reason for one in session.skipped] == ["message 2 of the request has no role"]


def test_the_chat_history_beside_it_tells_model_and_figures(tmp_path: Path) -> None:
    session = load(both(tmp_path) / NAME).session
    first, second, third = calls(session)
    assert (first.model, second.model, third.model) == ("openai/gpt-9", "openai/gpt-9", "")
    assert first.usage and (first.usage.input, first.usage.output, first.usage.cost) == (1600, 40, 0.02)
    assert words(session, first.raw_head)[0][1].startswith("Be brief.")
    assert first.extra["rounded"] is True


def test_a_chat_history_gets_the_contexts_that_were_sent(tmp_path: Path) -> None:
    session = load(both(tmp_path) / ".aider.chat.history.md").session
    first, second = calls(session)
    assert words(session, first.raw_head)[0] == ("system", "Be brief.\n\n-------\nTO LLM 2026-11-22T09:38:51")
    assert second.usage and second.usage.cost == 0.03
    assert session.threads["main"].tip == second.response_head
    assert session.about.title == "Fix the sum" and session.about.version == "0.86.2"


def test_a_folder_with_both_is_one_recording(tmp_path: Path) -> None:
    for path in list(both(tmp_path).iterdir()):
        path.rename(tmp_path / path.name.lstrip("."))
    assert [path.name for path in find_in_folder(tmp_path)] == ["aider.chat.history.md"]
    (tmp_path / "aider.chat.history.md").unlink()
    assert [path.name for path in find_in_folder(tmp_path)] == ["aider.llm.history"]


def test_a_record_that_grows_is_joined_again(tmp_path: Path) -> None:
    folder = both(tmp_path)
    chat, sent = folder / ".aider.chat.history.md", folder / NAME
    chat.write_text(CHAT[: CHAT.index("#### And")])
    sent.write_text(SENT[: SENT.index("TO LLM 2026-11-22T09:39:00")])
    loaded = load(chat)
    assert len(calls(loaded.session)) == 1
    with sent.open("a") as more:
        more.write(SENT[SENT.index("TO LLM 2026-11-22T09:39:00") :])
    with chat.open("a") as more:
        more.write(CHAT[CHAT.index("#### And") :])
    loaded.more()
    loaded.more()
    _, second = calls(loaded.session)
    assert words(loaded.session, second.raw_head) == [("system", "Be brief."), ("user", "And the tests?")]


def test_laws() -> None:
    law_2(SENT.encode(), NAME)
    law_2(SENT[:-60].encode(), NAME)
    survives_cuts(SENT.encode(), NAME)


@pytest.mark.parametrize("path", corpus_params("clients", "aider-*/*llm.history*"))
def test_records_of_a_real_client(path: Path, tmp_path: Path) -> None:
    """Held against a plain reading: the text put together again from the session is the file."""
    session = corpus_session(path)
    pieces = re.split(r"^(?=TO LLM \d|LLM RESPONSE \d)", path.read_text(), flags=re.MULTILINE)
    made = []
    for call in calls(session):
        said = []
        for item in session.tree.items(call.raw_head):
            if item.block.kind != "header":
                role = item.place.role.upper()
                lines = (f"{role} {line}" for line in content(item.block).text.split("\n"))
                said.append("-------\n" + "\n".join(lines))
        made.append("\n".join(said))
        answer = "".join(text for _, text in words(session, call.response_head)[len(said) :])
        made.append("\n".join(f"ASSISTANT {line}" for line in answer.split("\n")))
    assert made == [piece.split("\n", 1)[1].removesuffix("\n") for piece in pieces if piece]
    for beside in path.parent.iterdir():
        shutil.copy(beside, tmp_path)
    chat = next(one for one in tmp_path.iterdir() if "chat.history" in one.name)
    noted = re.findall(r"> Tokens: ([\d.]+)(k?) sent, ([\d.]+)(k?) received", chat.read_text())
    joined = load(tmp_path / path.name).session
    figures = [(c.usage.input, c.usage.output) for c in calls(joined) if c.usage]
    assert figures == [(round(float(a) * (1000 if k else 1)), round(float(b) * (1000 if m else 1)))
                       for a, k, b, m in noted]  # fmt: skip
    assert [words(load(chat).session, c.raw_head) for c in calls(load(chat).session)] == [
        words(joined, c.raw_head) for c in calls(joined)
    ]


def test_a_message_that_is_not_written_yet_is_not_reported(tmp_path: Path) -> None:
    path = tmp_path / NAME
    for cut in range(SENT.index("USER"), len(SENT)):
        path.write_text(SENT[:cut])
        loaded = load(path)
        with path.open("a") as file:
            file.write(SENT[cut:])
        loaded.more()
        assert not loaded.skipped and len(loaded.session.calls) == 3
