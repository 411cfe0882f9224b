"""The policy ``trim_old_turns``: rewrites a user's message of an old turn as one line.

The line is a template, filled from the JSON and the text of the message. It is for agents that send a state (a page, a
game) with every turn.
"""

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
from ctxtui.curation.policies.context_spans import count_text
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.policy_context import PolicyContext, Settings, make_edit
from ctxtui.curation.policies.risk import Risk

NAME = "trim_old_turns"
TEMPLATE: Final = "[turn {turn}] {first}"
FIRST_CHARS: Final = 120
MAX_VALUE_CHARS: Final = 600

NOTHING: Final = "none"
"""Value of a placeholder that the message does not fill."""
_FIELD: Final = re.compile(r"\{(\w+(?:[.|]\w+)*)\}")
_ITEM: Final = re.compile(r"[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+(\S[^\n]*)")


def propose(policy_context: PolicyContext, settings: Settings) -> Iterator[Edit]:
    """Rewrite user messages older than the last `keep`, once there are `slack` of them.

    Each must save more than `least` tokens. All texts of a message become one. Placeholders:
    - ``{turn}``: the number of the message.
    - ``{first}``: its first words.
    - ``{names}``: every ``name`` in its JSON.
    - any other word: the JSON under that key, in any spelling of its parts (``{buttons.name}``: under one key inside
      another); else the text after that word and a colon, in the line or as a list below it.
    - words with a ``|`` between them: the first that the message has.

    A placeholder that the message does not fill becomes ``none``.
    """
    user_messages = policy_context.user_messages
    old = list(enumerate(user_messages[: max(0, len(user_messages) - settings["keep"])], 1))
    candidates = [(n, _user_texts(policy_context, message)) for n, message in old]
    candidates = [
        (n, texts) for n, texts in candidates if texts and all(policy_context.may_change(p, NAME) for p in texts)
    ]
    if len(candidates) < settings["slack"]:
        return
    for number, texts in candidates:
        full_text = "\n".join(policy_context.context.reading(p).text for p in texts)
        text = fill_template(settings["template"], number, full_text)
        if sum(map(policy_context.size, texts)) > count_text(policy_context, text) + settings["least"]:
            yield make_edit(policy_context, NAME, REPLACE, texts[:1], {"text": text})
            if texts[1:]:
                yield make_edit(policy_context, NAME, DROP, texts[1:])


def _user_texts(policy_context: PolicyContext, message: Message) -> list[int]:
    items = policy_context.context.items
    return [
        p
        for p in policy_context.blocks(message.start, message.stop)
        if items[p].block.kind in ("text", "input_text") and not items[p].place.mark
    ]


@lru_cache(256)
def fill_template(template: str, turn: int, text: str) -> str:
    """Fill the placeholders of `template` from a message's `text`; cached, as old turns recur."""
    objects = list(values(text))

    def word(match: re.Match[str]) -> str:
        key = match[1]
        if key == "turn":
            return str(turn)
        if key == "first":
            return " ".join(text[: FIRST_CHARS * 2].split())[:FIRST_CHARS]
        if key == "names":
            return ", ".join(dict.fromkeys(str(value) for value in _values_under(objects, "name")))[:MAX_VALUE_CHARS]
        field_values = (_value_of(objects, text, name) for name in key.split("|"))
        return next(filter(None, field_values), NOTHING)[:MAX_VALUE_CHARS]

    return _FIELD.sub(word, template)


def _value_of(objects: Json, text: str, key: str) -> str:
    """The value of `key` in `objects`, the JSON of `text`, else in a line of it."""
    first, *parts = key.split(".")
    objects = _values_under(objects, first)
    if objects:
        for part in parts:
            objects = _values_under(objects, part)
        return ", ".join(dict.fromkeys(_format_value(value) for value in objects if value is not None))
    # Items of a text list have no members: "Buttons:" matches {buttons.name}.
    spelled = r"[ _-]?".join(map(re.escape, first.split("_")))
    line = re.search(rf"(?im)^\W*{spelled}(?: \(\d+\))?\W*[:=][*_ \t]*(\S[^\n]*?)?[ \t]*(?:\n\n?|\Z)", text)
    return "" if line is None else line[1] or ", ".join(_list_items(text, line.end()))


def _list_items(text: str, offset: int) -> Iterator[str]:
    while (item := _ITEM.match(text, offset)) is not None:
        yield item[1].rstrip()
        offset = item.end() + 1


def _format_value(value: Json) -> str:
    """Write a value as people do: lists in brackets without quotes, objects as ``key=value``."""
    if isinstance(value, list):
        return f"[{', '.join(map(_format_value, value))}]"
    if isinstance(value, dict):
        return ", ".join(f"{key}={_format_value(item)}" for key, item in value.items())
    return value if isinstance(value, str) else canonical.dump_text(value)


def _values_under(value: Json, key: str) -> list[Json]:
    """Every value under `key`, at any depth; ``selectedTab`` matches ``selected_tab``."""
    results: list[Json] = []
    _gather_values(value, _normalized(key), results)
    return results


def _gather_values(value: Json, joined: str, results: list[Json]) -> None:
    # No generator, for speed: this is most of the work on a request with many old turns.
    if isinstance(value, list):
        for item in value:
            if isinstance(item, (dict, list)):
                _gather_values(item, joined, results)
    elif isinstance(value, dict):
        matching_keys = [name for name in value if _normalized(name) == joined]
        results.extend(value[name] for name in matching_keys)
        for name, item in value.items():
            if isinstance(item, (dict, list)) and name not in matching_keys:
                _gather_values(item, joined, results)


@lru_cache(4096)
def _normalized(name: str) -> str:
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
