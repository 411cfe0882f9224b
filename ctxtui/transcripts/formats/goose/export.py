"""Goose's exports (``goose session export --format json``): one session as JSON."""

from __future__ import annotations

from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_dict
from ctxtui.transcripts.formats.goose.database import read_tables
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.fields import as_dicts
from ctxtui.transcripts.kit.readers import Tables, json_reader

MESSAGE_COLUMNS: Final = {
    "id": "message_id",
    "role": "role",
    "created": "created_timestamp",
    "content": "content_json",
    "metadata": "metadata_json",
}
"""Members of a message in an export, and their columns in the database."""
JSON_COLUMNS: Final = {
    "model_config": "model_config_json",
    "recipe": "recipe_json",
    "user_recipe_values": "user_recipe_values_json",
}
"""Members of a session whose columns have other names."""


def sniff(head: bytes, name: str) -> float:
    export = as_dict(next(iter(file_head.parse_values(head)), None))
    return 0.95 if {"id", "working_dir", "extension_data"} <= export.keys() else 0.0


def to_tables(export: dict[str, Json]) -> Tables:
    """Convert an export to rows of the database, whose JSON columns are values."""
    session = {JSON_COLUMNS.get(key, key): value for key, value in export.items() if key != "conversation"}
    rows = [
        {"id": n, "session_id": export.get("id")} | {key: message.get(name) for name, key in MESSAGE_COLUMNS.items()}
        for n, message in enumerate(as_dicts(export.get("conversation")))
    ]
    return {"sessions": [session], "messages": rows}


reader = json_reader(lambda value, tree: read_tables(to_tables(as_dict(value)), tree))
