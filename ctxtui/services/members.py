"""Build JSON objects and table rows from the attributes of records."""

from __future__ import annotations

from operator import attrgetter
from typing import Any


def members(record: object, names: str) -> dict[str, Any]:
    """Build a JSON object from attributes of `record`, in order.

    Each word of `names` is an attribute (``"tokens"``), a key with another attribute (``"call=number"``), or ends in
    "?" for null when empty or zero (``"path?"``).
    """
    fields: dict[str, Any] = {}
    for word in names.split():
        name, _, attribute = word.rstrip("?").partition("=")
        value = attrgetter(attribute or name)(record)
        fields[name] = value or None if word.endswith("?") else value
    return fields
