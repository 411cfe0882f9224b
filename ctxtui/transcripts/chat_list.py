"""A conversation as a bare list of chat messages, as many tools save it: in JSON, or a message a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ctxtui.core.call import Call
from ctxtui.core.canonical import Json
from ctxtui.core.session import Described, Event
from ctxtui.core.tree import Tree
from ctxtui.transcripts import chat, glance
from ctxtui.transcripts.dialogue import Dialogue
from ctxtui.transcripts.fields import listed, moment, objects, word
from ctxtui.transcripts.whole import json_reader

NAME: Final = "messages"
_ROLES: Final = frozenset({"system", "developer", "user", "assistant", "tool", "function"})


def sniff(head: bytes, name: str) -> float:
    """How sure it is that `head` begins a list of chat messages and nothing more telling."""
    first = next(iter(glance.values(head)), None)
    messages = objects(first) if isinstance(first, list) else []
    # The last one may be cut before its members.
    whole = messages[:-1] or messages
    spoken = [m for m in whole if word(m.get("role")) in _ROLES and m.keys() & {"content", "tool_calls"}]
    return 0.4 if spoken and len(spoken) == len(whole) else 0.0


def take(value: Json, tree: Tree) -> Iterator[Event]:
    """The events of a list."""
    dialogue = Dialogue(tree)
    yield Described(source=NAME)
    yield from chat.converse(dialogue, listed(value), _call, "$")
    yield Described(title=dialogue.title)
    yield dialogue.tip()


def _call(message: dict[str, Json]) -> Call:
    return Call("", "", model=word(message.get("model")), ended=moment(message.get("timestamp")))


reader = json_reader(take)
