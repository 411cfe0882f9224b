"""A request's bytes as JSON, as strictly as a provider reads them."""

from __future__ import annotations

import json
import re
from typing import Final, NoReturn

from ctxtui.core.canonical import Json

_LONE: Final = re.compile("[\ud800-\udfff]")


class NotJson(ValueError):
    """The bytes are no JSON object; the message says where and why, as a provider would."""


def parse(body: bytes) -> dict[str, Json]:
    """The object that `body` spells. Raises `NotJson` for invalid UTF-8, anything the JSON standard does not know
    (NaN, raw control characters), half of a surrogate pair, too deep nesting, and a value that is no object."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotJson(f"invalid UTF-8 at byte {error.start}") from None
    try:
        value = json.loads(text, parse_constant=_constant)
    except json.JSONDecodeError as error:
        raise NotJson(f"{error.msg}: line {error.lineno} column {error.colno} (char {error.pos})") from None
    except (RecursionError, ValueError) as error:
        raise NotJson(str(error) or "nested too deeply") from None
    # Python reads an escaped half of a surrogate pair without complaint.
    if "\\ud" in text or "\\uD" in text:
        _refuse_halves(value, text)
    if not isinstance(value, dict):
        raise NotJson("the body is not an object")
    return value


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _refuse_halves(value: Json, text: str) -> None:
    if _LONE.search(json.dumps(value, ensure_ascii=False)):
        at = max(text.find("\\ud"), text.find("\\uD"))
        raise NotJson(f"no low surrogate in string: line 1 column {at + 1} (char {at})")
