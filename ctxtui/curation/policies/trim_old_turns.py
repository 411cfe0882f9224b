"""What a person's message said in an old turn, in one line: a template filled from its JSON and its words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.core.edit import REPLACE, Edit
from ctxtui.curation.compact import values
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.situation import Settings, Situation, edit
from ctxtui.curation.policies.spans import tokens_of

NAME = "trim_old_turns"
TEMPLATE: Final = "[turn {turn}] {first}"
FIRST: Final = 120
LONGEST: Final = 600
"""Characters of one placeholder's words."""

_FIELD: Final = re.compile(r"\{(\w+)\}")


def propose(situation: Situation, settings: Settings) -> Iterator[Edit]:
    """Write the user's texts of turns older than the last `keep` by the `template`, once there are `slack` of them.

    Placeholders: ``{turn}`` its number, ``{first}`` its first words, ``{names}`` every ``name`` in its JSON; any other
    word the JSON under that key.
    """
    turns = situation.turns
    old = turns[: max(0, len(turns) - settings["keep"])]
    found = [(n, p) for n, turn in enumerate(old, 1) for p in _texts(situation, turn.start, turn.stop)]
    found = [(n, p) for n, p in found if situation.free(p, NAME)]
    if len({n for n, _ in found}) < settings["slack"]:
        return
    for number, position in found:
        text = filled(settings["template"], number, situation.context.reading(position).text)
        if situation.size(position) > tokens_of(situation, text) + settings["least"]:
            yield edit(situation, NAME, REPLACE, [position], {"text": text})


def _texts(situation: Situation, start: int, stop: int) -> list[int]:
    """The user's own texts between two positions."""
    items = situation.context.items
    return [
        p
        for p in situation.blocks(start, stop)
        if items[p].place.role == "user" and items[p].block.kind in ("text", "input_text") and not items[p].place.mark
    ]


def filled(template: str, turn: int, text: str) -> str:
    """`template` with its placeholders filled from a message's `text`."""
    held = list(values(text))

    def word(found: re.Match[str]) -> str:
        key = found[1]
        if key == "turn":
            return str(turn)
        if key == "first":
            return " ".join(text[: FIRST * 2].split())[:FIRST]
        if key == "names":
            return ", ".join(dict.fromkeys(str(one) for one in _under(held, "name")))[:LONGEST]
        return " ".join(one if isinstance(one, str) else canonical.text_of(one) for one in _under(held, key))[:LONGEST]

    return _FIELD.sub(word, template)


def _under(value: Json, key: str) -> list[Json]:
    """Every value under `key`, at any depth."""
    if isinstance(value, list):
        return [one for item in value for one in _under(item, key)]
    if not isinstance(value, dict):
        return []
    own = [value[key]] if key in value else []
    return [*own, *(one for name, item in value.items() if name != key for one in _under(item, key))]


POLICY = Policy(
    NAME,
    "write old turns' user messages as one line by a template",
    propose,
    {"template": TEMPLATE, "keep": 1, "slack": 1, "least": 20},
    {
        "template": "text with {turn}, {first}, {names} or a JSON key",
        "keep": "newest turns left whole",
        "slack": "old turns before it acts",
        "least": "tokens that each must save",
    },
)
