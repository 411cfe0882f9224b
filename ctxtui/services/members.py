"""JSON objects and rows of tables made of the attributes of records."""

from __future__ import annotations

from operator import attrgetter
from typing import Any


def members(record: object, names: str) -> dict[str, Any]:
    """The members of a JSON object that are attributes of `record`, in order: ``"tokens"``; ``"call=number"`` where the
    attribute has another name; ``"path?"`` is null where it is empty."""
    fields: dict[str, Any] = {}
    for word in names.split():
        name, _, attribute = word.rstrip("?").partition("=")
        value = attrgetter(attribute or name)(record)
        fields[name] = value or None if word.endswith("?") else value
    return fields
