"""Parses settings as a user writes them: ``n=9 exclude=Read,Bash rename=old:new``."""

from __future__ import annotations

import shlex

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.core.errors import BadConfig
from ctxtui.curation.policies.policy import Policy


def parse_value(text: str, default: Json) -> Json:
    """Parse `text` as a setting with that `default`.

    If the default is a text, it is the text itself. Otherwise the text is read as JSON; if it is none and the default
    is a list or an object, as words or pairs ``a:b`` between commas. Other text is returned as it is, and
    `Policy.settings` refuses it.
    """
    if isinstance(default, str):
        return text
    try:
        value = canonical.loads(text)
    except (ValueError, RecursionError):
        if isinstance(default, list | tuple):
            return text.split(",")
        pairs = [word.partition(":") for word in text.split(",")]
        if isinstance(default, dict) and all(name and sign and value for name, sign, value in pairs):
            return {name: value for name, _, value in pairs}
        return text
    return [text] if isinstance(default, list | tuple) and not isinstance(value, list) else value


def parse_settings(policy: Policy, text: str) -> dict[str, Json]:
    """Parse ``key=value`` words into settings, only those that are written.

    Raises `BadConfig` for a word without ``=``, an unknown setting and a value of a wrong type.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise BadConfig(f"{text!r} cannot be read: {error}", way_out="write key=value") from None
    settings: dict[str, Json] = {}
    for word in words:
        key, sign, value = word.partition("=")
        if not sign:
            raise BadConfig(f"{word!r} is no setting", way_out="write key=value")
        settings[key] = parse_value(value, policy.defaults.get(key, ""))
    policy.settings(settings)  # checks names and types
    return settings
