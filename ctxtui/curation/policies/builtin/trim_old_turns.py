"""What a person's message said in an old turn, in one line: a template filled from its JSON and its words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.core.edit import Edit
from ctxtui.core.edit_kinds import DROP, REPLACE
from ctxtui.curation.apply.compact_json import values
from ctxtui.curation.context import Message
from ctxtui.curation.policies.context_spans import tokens_of
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.risk import Risk
from ctxtui.curation.policies.situation import PolicyContext, Settings, edit

NAME = "trim_old_turns"
TEMPLATE: Final = "[turn {turn}] {first}"
FIRST: Final = 120
LONGEST: Final = 600
"""Characters of one placeholder's words."""

NOTHING: Final = "none"
"""What stands for a placeholder that the message does not fill."""
_FIELD: Final = re.compile(r"\{(\w+(?:[.|]\w+)*)\}")
_ITEM: Final = re.compile(r"[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+(\S[^\n]*)")


def propose(situation: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Write what a person said in messages older than the last `keep` by the `template`, once there are `slack` of
    them: one text for all texts of a message.

    Placeholders: ``{turn}`` the message's number, ``{first}`` its first words, ``{names}`` every ``name`` in its JSON;
    any other word the JSON under that key (``{buttons.name}``: under one key inside another), however its parts are
    joined, else what the message says behind that word and a colon, in the line or as a list below it. Of words with a
    ``|`` between them the first counts that is there; ``none`` where the message says nothing.
    """
    said = situation.said
    old = list(enumerate(said[: max(0, len(said) - settings["keep"])], 1))
    found = [(n, _texts(situation, message)) for n, message in old]
    found = [(n, texts) for n, texts in found if texts and all(situation.free(p, NAME) for p in texts)]
    if len(found) < settings["slack"]:
        return
    for number, texts in found:
        whole = "\n".join(situation.context.reading(p).text for p in texts)
        words = filled(settings["template"], number, whole)
        if sum(map(situation.size, texts)) > tokens_of(situation, words) + settings["least"]:
            yield edit(situation, NAME, REPLACE, texts[:1], {"text": words})
            if texts[1:]:
                yield edit(situation, NAME, DROP, texts[1:])


def _texts(situation: PolicyContext, message: Message) -> list[int]:
    """The person's own texts in a message."""
    items = situation.context.items
    return [
        p
        for p in situation.blocks(message.start, message.stop)
        if items[p].block.kind in ("text", "input_text") and not items[p].place.mark
    ]


@lru_cache(256)
def filled(template: str, turn: int, text: str) -> str:
    """`template` with its placeholders filled from a message's `text`: remembered, as every request of an agent has the
    old turns of the one before."""
    held = list(values(text))

    def word(found: re.Match[str]) -> str:
        key = found[1]
        if key == "turn":
            return str(turn)
        if key == "first":
            return " ".join(text[: FIRST * 2].split())[:FIRST]
        if key == "names":
            return ", ".join(dict.fromkeys(str(one) for one in _under(held, "name")))[:LONGEST]
        told = (_said(held, text, one) for one in key.split("|"))
        return next(filter(None, told), NOTHING)[:LONGEST]

    return _FIELD.sub(word, template)


def _said(held: Json, text: str, key: str) -> str:
    """What `held`, the JSON of a message's `text`, or a line of the text has under `key`."""
    first, *parts = key.split(".")
    held = _under(held, first)
    if held:
        for part in parts:
            held = _under(held, part)
        return ", ".join(dict.fromkeys(_plain(one) for one in held if one is not None))
    # Items of a list in words have no members: "Buttons:" stands for {buttons.name}.
    spelled = r"[ _-]?".join(map(re.escape, first.split("_")))
    line = re.search(rf"(?im)^\W*{spelled}(?: \(\d+\))?\W*[:=][*_ \t]*(\S[^\n]*?)?[ \t]*(?:\n\n?|\Z)", text)
    return "" if line is None else line[1] or ", ".join(_items(text, line.end()))


def _items(text: str, at: int) -> Iterator[str]:
    """The items of the list that begins at `at`."""
    while (item := _ITEM.match(text, at)) is not None:
        yield item[1].rstrip()
        at = item.end() + 1


def _plain(value: Json) -> str:
    """A value as people write it: lists in brackets without quotes, objects as ``key=value``."""
    if isinstance(value, list):
        return f"[{', '.join(map(_plain, value))}]"
    if isinstance(value, dict):
        return ", ".join(f"{key}={_plain(item)}" for key, item in value.items())
    return value if isinstance(value, str) else canonical.dump_text(value)


def _under(value: Json, key: str) -> list[Json]:
    """Every value under `key`, at any depth; ``selectedTab`` is ``selected_tab``."""
    found: list[Json] = []
    _gather(value, _joined(key), found)
    return found


def _gather(value: Json, joined: str, found: list[Json]) -> None:
    # No generator: of a request with many old turns this is most of the work.
    if isinstance(value, list):
        for item in value:
            if isinstance(item, (dict, list)):
                _gather(item, joined, found)
    elif isinstance(value, dict):
        own = [name for name in value if _joined(name) == joined]
        found.extend(value[name] for name in own)
        for name, item in value.items():
            if isinstance(item, (dict, list)) and name not in own:
                _gather(item, joined, found)


@lru_cache(4096)
def _joined(name: str) -> str:
    """A name without what joins its parts."""
    return name.replace("_", "").replace("-", "").replace(" ", "").lower()


POLICY = Policy(
    NAME,
    "write old turns' user messages as one line by a template",
    propose,
    {"template": TEMPLATE, "keep": 1, "slack": 1, "least": 20},
    {
        "template": "{turn}, {first}, {names}, a JSON key ({buttons.name}), a word before a colon, {a|b} either",
        "keep": "newest messages left whole",
        "slack": "old messages before it acts",
        "least": "tokens that each must save",
    },
    least=Risk.GONE,
)
