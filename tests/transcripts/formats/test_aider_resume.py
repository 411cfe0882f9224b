"""aider's chat histories written so that aider restores them, held against its own rules of reading one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ctxtui.core import block
from ctxtui.core.block import Item, Place
from ctxtui.core.session import Session
from ctxtui.transcripts.formats.aider.resume import resume
from ctxtui.transcripts.kit.resume import KeptBlock, ResumedFile, ResumeOrder
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


def ordered(data: bytes, sent: list[KeptBlock] | None = None, **more: Any) -> ResumedFile:
    path = path_of(read(data, name=NAME).session)
    kept = sent if sent is not None else [KeptBlock(item, at) for at, item in enumerate(path)]
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
    note = KeptBlock(Item(block.text("Mind the\n\ngap."), Place("messages", "user")))
    kept = [KeptBlock(item, at) for at, item in enumerate(path)]
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
        KeptBlock(Item(odd, item.place) if item.block.value().get("text") == "8080." else item, at)
        for at, item in enumerate(path)
    ]
    made = ordered(CHAT.encode(), kept)
    assert restored(made.data)[-1] == ("assistant", "# A heading\n > a quotation\n #### a smaller one\ntext")
    assert len(made.lost) == 1 and "(3 times)" in made.lost[0]


def test_the_rules_that_aider_puts_behind_the_newest_prompt_take_no_prompt_along() -> None:
    path = path_of(read(CHAT.encode(), name=NAME).session)
    rules = "\n\nTo suggest changes you MUST return a *file listing*.\n\nReply in English.\n"
    path = [
        Item(block.text(item.block.value()["text"] + rules), item.place)
        if item.block.value().get("text") == "Which port?"
        else item
        for item in path
    ]
    kept = [KeptBlock(item, at) for at, item in enumerate(path)]
    made = resume(ResumeOrder(source=CHAT.encode(), path=path, sent=kept, ids=ids(), now=NOW))
    assert restored(made.data) == SAID and len(made.lost) == 1 and "anew" in made.lost[0]
    edited = [
        KeptBlock(Item(block.text("Which one?" + rules), one.item.place), one.at)
        if "Which port?" in str(one.item.block.value())
        else one
        for one in kept
    ]
    made = resume(ResumeOrder(source=CHAT.encode(), path=path, sent=edited, ids=ids(), now=NOW))
    assert restored(made.data) == [*SAID[:2], ("user", "Which one?"), SAID[3]]


def test_of_a_recording_that_is_no_chat_history_nothing_said_is_left_out() -> None:
    path = path_of(read(CHAT.encode(), name=NAME).session)
    kept = [KeptBlock(item, at) for at, item in enumerate(path)]
    source = b"TO LLM 2026-11-22T21:10:02\n-------\nUSER What does the file do?\n"
    made = resume(ResumeOrder(source=source, path=path, sent=kept, ids=ids(), now=NOW))
    assert restored(made.data) == SAID and "all are kept" in made.lost[0]


def test_what_aider_writes_itself_is_named_once() -> None:
    path = [
        Item(block.text("Act as an expert."), Place("messages", "system")),
        Item(block.text("I have *added these files to the chat*"), Place("messages", "user")),
        *path_of(read(CHAT.encode(), name=NAME).session),
    ]
    kept = [KeptBlock(item, at) for at, item in enumerate(path)]
    made = resume(ResumeOrder(source=CHAT.encode(), path=path, sent=kept, ids=ids(), now=NOW))
    assert restored(made.data) == SAID and len(made.lost) == 1 and "anew" in made.lost[0]


@given(st.sets(st.integers(0, 9)), st.lists(st.text(st.sampled_from("ab #>\n-"), min_size=1), max_size=3))
@settings(deadline=None)
def test_whatever_goes_and_comes_is_what_aider_restores(drop: set[int], notes: list[str]) -> None:
    path = path_of(read(CHAT.encode(), name=NAME).session)
    new = [KeptBlock(Item(block.text(one), Place("messages", "user"))) for one in notes]
    kept = [KeptBlock(item, at) for at, item in enumerate(path) if at not in drop or item.block.kind == "header"]
    made = ordered(CHAT.encode(), [*new, *kept])
    wanted = [one for one in [*new, *kept] if one.item.block.kind == "text"]
    told = [(one.item.place.role, _plain(str(one.item.block.value()["text"]))) for one in wanted]
    assert restored(made.data) == [one for one in told if one[1]]


def _plain(words: str) -> str:
    return "\n".join(line.rstrip() for line in words.strip().splitlines())
