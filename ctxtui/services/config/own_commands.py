"""The user's own commands as ``[commands.NAME]`` in the user's configuration defines them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

OUTPUTS: Final = ("pager", "terminal", "message")
"""Destinations of a command's output; the first is the default. ``terminal``: the program uses the terminal itself."""


class OwnCommand(Struct, frozen=True):
    """A command of the user.

    `run` is a line for the shell, `key` a Textual key name or "", `output` one of `OUTPUTS`, `help` its help line.
    """

    name: str
    run: str
    key: str = ""
    output: str = OUTPUTS[0]
    help: str = ""


def parse_command(name: str, table: Any) -> OwnCommand:
    """Parse a table of the configuration. Raises `ValueError` with the expected form."""
    expected = f"a table with run (a shell command) and, if wanted, key, help and output ({', '.join(OUTPUTS)})"
    if not isinstance(table, Mapping) or not all(isinstance(value, str) for value in table.values()):
        raise ValueError(f"{expected}; {name} is not")
    if not table.keys() <= {"run", "key", "output", "help"} or not str(table.get("run", "")).strip():
        raise ValueError(f"{expected}; {name} is not")
    if table.get("output", OUTPUTS[0]) not in OUTPUTS:
        raise ValueError(f"{expected}; {name} has output {table['output']!r}")
    return OwnCommand(name, **table)
