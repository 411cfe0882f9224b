"""Memory in a conversation, in every dialect: where it stands, when it moves, what it is marked with."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from ctxtui.agent.conversation import Conversation
from ctxtui.agent.memory_place import MemoryPlace
from ctxtui.core import block
from ctxtui.core.block import Item, Place
from ctxtui.core.category import CATEGORIES
from ctxtui.curation.legality.legality import check
from ctxtui.wire.registry import encode
from ctxtui.wire.request import Request
from ctxtui.wire.speech import Attachment, Result
from tests.agent.test_conversation import EVERY, STREAMS, begun, heard
from tests.cases.sessions import PNG

MARKER = {"cache_control": {"type": "ephemeral"}}


def words(talk: Conversation) -> list[str]:
    """What the messages of the next request say, in their order; memory in brackets."""
    items = [item for item in talk.tree.items(talk.head) if item.place.section == "messages"]
    said = [(item.block.member("text"), item.place.mark) for item in items if item.block.kind.endswith("text")]
    return [f"[{text}]" if mark == "memory" else str(text) for text, mark in said if text != "You help."]


def sent(talk: Conversation) -> dict[str, Any]:
    """The next request, which is legal and rebuilt from its path byte for byte."""
    draft = talk.draft()
    assert check(talk.dialect, draft.body) == []
    assert encode(Request(tuple(talk.tree.items(draft.sent_head)), draft.skeleton)) == draft.body
    found: dict[str, Any] = json.loads(draft.body)
    return found


@EVERY
def test_first_it_stays_until_it_is_modified(dialect: str) -> None:
    talk = begun(dialect)
    talk.memory = MemoryPlace(("one", "two"))
    talk.add_user_message("hello")
    assert words(talk) == ["[one]", "[two]", "hello"]
    sent(talk)
    before = talk.head
    talk.add_user_message("more")
    assert talk.tree.common(before, talk.head) == before, "nothing moved: the cache holds it"
    talk.memory = replace(talk.memory, texts=("one", "three"))
    talk.add_user_message("now")
    assert words(talk) == ["[one]", "[three]", "hello", "more", "now"]
    sent(talk)
    talk.memory = replace(talk.memory, texts=())
    talk.add_user_message("none")
    assert words(talk) == ["hello", "more", "now", "none"]


@EVERY
def test_last_it_stands_behind_what_was_said_last(dialect: str) -> None:
    talk = begun(dialect)
    talk.memory = MemoryPlace(("one",), first=False)
    talk.add_user_message("hello")
    assert words(talk) == ["hello", "[one]"]
    talk.add_user_message("more")
    assert words(talk) == ["hello", "more", "[one]"]
    sent(talk)


def test_the_cache_is_asked_to_hold_it() -> None:
    talk = begun("anthropic")
    talk.memory = MemoryPlace(("one", "two"), marker=MARKER)
    talk.add_user_message("hello")
    assert marked(talk) == ["You help.", "two"], "a change of memory loses no more than memory"
    assert talk.draft().raw_head == talk.draft().sent_head == talk.head
    talk.memory = MemoryPlace(("rules", "one", "two"), marker=MARKER, stable=1)
    talk.add_user_message("more")
    assert marked(talk) == ["rules", "two"]
    talk.memory = MemoryPlace(("rules",), marker=MARKER, stable=1)
    talk.add_user_message("more")
    assert marked(talk) == ["rules"]
    talk.memory = MemoryPlace(("rules", "one"), False, MARKER, stable=1)
    talk.add_user_message("more")
    assert marked(talk) == ["one"]


@pytest.mark.parametrize("dialect", ["openai_chat", "openai_responses"])
def test_openai_is_asked_in_its_own_words(dialect: str) -> None:
    wanted = {"mode": "explicit"}
    for texts in (("one",), ("one", "two")):
        talk = begun(dialect)
        talk.memory = MemoryPlace(texts, marker={"prompt_cache_breakpoint": wanted})
        talk.add_user_message("hello")
        body = sent(talk)
        messages = body["messages" if dialect == "openai_chat" else "input"]
        parts = [part for one in messages if isinstance(one["content"], list) for part in one["content"]]
        assert [part["text"] for part in parts if part.get("prompt_cache_breakpoint") == wanted] == [texts[-1]]


def marked(talk: Conversation) -> list[str]:
    """The texts up to which the next request asks to be cached."""
    body = sent(talk)
    parts = [*body["system"], *(part for message in body["messages"] for part in message["content"])]
    assert all(part["cache_control"] == {"type": "ephemeral"} for part in parts if "cache_control" in part)
    return [part["text"] for part in parts if "cache_control" in part]


def thought(talk: Conversation) -> None:
    """The partner thinks and answers."""
    thinking = block.from_part({"type": "thinking", "thinking": "I look", "signature": "c2lnbg=="})
    place = Place("messages", "assistant")
    parts = (block.header("assistant", {"content": "list"}), thinking, block.text("so it is"))
    talk.head = talk.tree.extend(talk.head, [Item(part, place) for part in parts])


def test_thinking_that_is_bound_goes_when_what_is_before_it_changes() -> None:
    for binds in (True, False):
        talk = begun("anthropic")
        talk.memory = MemoryPlace(("one",), binds=binds)
        talk.add_user_message("hello")
        thought(talk)
        talk.add_user_message("more")
        assert b'"thinking"' in talk.draft().body
        thought(talk)
        talk.memory = replace(talk.memory, texts=("two",))
        talk.add_user_message("now")
        assert words(talk)[0] == "[two]"
        assert (b'"thinking"' in talk.draft().body) is not binds
        sent(talk)


def test_in_the_middle_of_a_turn_nothing_moves() -> None:
    talk = begun("anthropic")
    talk.memory = MemoryPlace(("one",))
    talk.add_user_message("hello")
    talk.add_answer(heard("anthropic", STREAMS["anthropic"]))
    talk.add_results([Result(one.id, one.name, "done") for one in talk.open_calls()])
    talk.memory = replace(talk.memory, texts=("two",))
    talk.add_user_message("meanwhile")
    assert words(talk)[0] == "[one]"
    sent(talk)


@EVERY
def test_files_and_images_stand_in_front_of_the_words(dialect: str) -> None:
    image = {"type": "base64", "media_type": "image/png", "data": PNG}
    talk = begun(dialect)
    picture = Attachment(block.make("image", {"type": "image", "source": image}))
    talk.add_user_message("hello", [Attachment(block.text("the file"), "file"), picture])
    nodes = [talk.tree[n] for n in talk.tree.path(talk.head)]
    said = {CATEGORIES[n.category] for n in nodes if n.block.kind != "header" and n.place.role == "user"}
    assert said == {"document", "image", "user"}
    body = talk.draft().body
    assert b"the file" in body and PNG.encode() in body and b"hello" in body
    sent(talk)


@EVERY
def test_what_leaves_as_it_is_is_the_agents_own_context_with_memory_in_it(dialect: str) -> None:
    talk = begun(dialect)
    talk.memory = MemoryPlace(("one", "two"))
    talk.add_user_message("hello")
    body = talk.draft().body
    # As under edits that change no block: a pin.
    talk.editor = lambda head, skeleton: body
    draft = talk.draft()
    assert draft.sent_head == draft.raw_head
