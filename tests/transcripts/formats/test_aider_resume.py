"""aider's chat histories written so that aider restores them, held against its own rules of reading one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxtui.core import block
from ctxtui.core.block import Item, Place
from ctxtui.core.session import Session
from ctxtui.transcripts.formats.aider.resume import resume
from ctxtui.transcripts.kit.resume import ResumedFile, ResumeOrder, SentBlock
from tests.corpus import corpus_params
from tests.transcripts.driving import read

NAME = ".aider.chat.history.md"
NOW = 1_795_378_500.0
CHAT = """
# aider chat started at 2026-11-22 09:38:43

> Aider v0.86.2
> Model: openai/gpt-5.6 with whole edit format

#### What does the file do?
#### And why?

It adds up.

- twice

> Tokens: 1.6k sent, 40 received.

#### Which port?

8080.

> Tokens: 1.7k sent, 4 received.
"""


def restored(data: bytes) -> list[tuple[str, str]]:
    """What aider takes from a chat history (its ``split_chat_history_markdown``, 0.86)."""
    found: list[tuple[str, str]] = []
    held: dict[str, list[str]] = {"user": [], "assistant": []}

    def close(role: str) -> None:
        words = "".join(held[role])
        if words.strip():
            found.append((role, "\n".join(line.rstrip() for line in words.strip().splitlines())))
        held[role] = []

    for line in data.decode().splitlines(keepends=True):
        if line.startswith("# "):
            continue
        if line.startswith("> "):
            close("assistant")
            close("user")
        elif line.startswith("#### "):
            close("assistant")
            held["user"].append(line[5:])
        else:
            close("user")
            held["assistant"].append(line)
    close("assistant")
    close("user")
    return found


def ids() -> Iterator[str]:
    return (f"{n:08x}-0000-4000-8000-{n:012x}" for n in count(1))


def path_of(session: Session) -> list[Item]:
    return list(session.tree.items(session.threads["main"].tip))


def ordered(data: bytes, sent: list[SentBlock] | None = None, **more: Any) -> ResumedFile:
    path = path_of(read(data, name=NAME).session)
    kept = sent if sent is not None else [SentBlock(item, at) for at, item in enumerate(path)]
    return resume(ResumeOrder(source=data, path=path, sent=kept, ids=ids(), now=NOW, **more))


SAID = [
    ("user", "What does the file do?\nAnd why?"),
    ("assistant", "It adds up.\n\n- twice"),
    ("user", "Which port?"),
    ("assistant", "8080."),
]


def test_aider_restores_what_was_said() -> None:
    made = ordered(CHAT.encode())
    assert restored(made.data) == SAID == restored(CHAT.encode()) and made.lost == ()
    assert made.data.startswith(b"\n# aider chat started at 2026-11-22 20:15:00\n")


def test_what_is_dropped_is_gone_and_what_is_put_in_is_there() -> None:
    path = path_of(read(CHAT.encode(), name=NAME).session)
    note = SentBlock(Item(block.text("Mind the\n\ngap."), Place("messages", "user")))
    kept = [SentBlock(item, at) for at, item in enumerate(path)]
    kept = [one for one in kept if "adds up" not in str(one.item.block.value())]
    made = ordered(CHAT.encode(), [note, *kept])
    assert restored(made.data) == [("user", "Mind the\n\ngap."), SAID[0], *SAID[2:]]


def test_a_prompt_that_waits_is_left_out_and_named() -> None:
    data = (CHAT + "\n#### and now?\n").encode()
    path = path_of(read(data, name=NAME).session)
    end = max(at for at, item in enumerate(path) if item.place.role == "assistant") + 1
    made = ordered(data, end=end)
    assert restored(made.data) == SAID and len(made.lost) == 1 and "after the last answer" in made.lost[0]


def test_lines_that_aider_would_pass_over_are_kept_and_named() -> None:
    path = path_of(read(CHAT.encode(), name=NAME).session)
    odd = block.text("# A heading\n> a quotation\n#### a smaller one\ntext")
    kept = [
        SentBlock(Item(odd, item.place) if item.block.value().get("text") == "8080." else item, at)
        for at, item in enumerate(path)
    ]
    made = ordered(CHAT.encode(), kept)
    assert restored(made.data)[-1] == ("assistant", "# A heading\n > a quotation\n #### a smaller one\ntext")
    assert len(made.lost) == 1 and "(3 times)" in made.lost[0]


def test_what_aider_writes_itself_is_named_once() -> None:
    path = [
        Item(block.text("Act as an expert."), Place("messages", "system")),
        Item(block.text("I have *added these files to the chat*"), Place("messages", "user")),
        *path_of(read(CHAT.encode(), name=NAME).session),
    ]
    kept = [SentBlock(item, at) for at, item in enumerate(path)]
    made = resume(ResumeOrder(source=CHAT.encode(), path=path, sent=kept, ids=ids(), now=NOW))
    assert restored(made.data) == SAID and len(made.lost) == 1 and "builds its system prompt" in made.lost[0]


@given(st.sets(st.integers(0, 9)), st.lists(st.text(st.sampled_from("ab #>\n-"), min_size=1), max_size=3))
@settings(deadline=None)
def test_whatever_goes_and_comes_is_what_aider_restores(drop: set[int], notes: list[str]) -> None:
    path = path_of(read(CHAT.encode(), name=NAME).session)
    new = [SentBlock(Item(block.text(one), Place("messages", "user"))) for one in notes]
    kept = [SentBlock(item, at) for at, item in enumerate(path) if at not in drop or item.block.kind == "header"]
    made = ordered(CHAT.encode(), [*new, *kept])
    wanted = [one for one in [*new, *kept] if one.item.block.kind == "text"]
    told = [(one.item.place.role, _plain(str(one.item.block.value()["text"]))) for one in wanted]
    assert restored(made.data) == [one for one in told if one[1]]


def _plain(words: str) -> str:
    return "\n".join(line.rstrip() for line in words.strip().splitlines())


def test_the_record_of_messages_gives_the_conversation_and_not_what_aider_puts_round_it() -> None:
    sent = [
        ("system", "Act as an expert."),
        ("user", "Change the greeting"),
        ("assistant", "Ok, I will."),
        ("user", "I switched to a new code base. Please don't consider the above files"),
        ("assistant", "Ok."),
        ("user", "I am not sharing any files that you can edit yet."),
        ("assistant", "Ok."),
        ("user", "Which port?"),
        ("assistant", "Ok, it is 8080."),
        ("user", "And why?\n\n# *SEARCH/REPLACE block* Rules:\n\nEvery block"),
        ("assistant", "It is free."),
    ]
    path = [Item(block.text(words), Place("messages", role)) for role, words in sent]
    kept = [SentBlock(item, at) for at, item in enumerate(path)]
    made = resume(ResumeOrder(source=b"TO LLM 2026-11-22T09:38:43\n", path=path, sent=kept, ids=ids(), now=NOW))
    assert restored(made.data) == [
        ("user", "Which port?"),
        ("assistant", "Ok, it is 8080."),
        ("user", "And why?"),
        ("assistant", "It is free."),
    ]


@pytest.mark.parametrize("file", corpus_params("clients", "aider-*/aider.llm.history"))
def test_both_records_of_a_chat_are_written_back_alike(file: Path) -> None:
    data = file.read_bytes()
    path = path_of(read(data, name=file.name).session)
    kept = [SentBlock(item, at) for at, item in enumerate(path)]
    made = resume(ResumeOrder(source=data, path=path, sent=kept, ids=ids(), now=NOW))
    assert restored(made.data) == restored(file.with_name("aider.chat.history.md").read_bytes())
