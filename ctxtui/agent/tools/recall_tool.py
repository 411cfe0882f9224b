"""recall: content that an edit put outside the conversation is read back by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from ctxtui.agent.tools.tool import BadInput, Tool, shortened
from ctxtui.agent.tools.workspace import Workspace
from ctxtui.core.canonical import Json

Known = Callable[[], Mapping[str, str]]
"""Gives what stands outside by now, by name."""

NAME: Final = "recall"


def recall(known: Known) -> Tool:
    """The tool that reads back what ``{{REF:name}}`` stands for."""

    def run(where: Workspace, given: Mapping[str, Json]) -> str:
        name = str(given["name"]).removeprefix("{{REF:").removesuffix("}}")
        held = known()
        if name not in held:
            names = ", ".join(list(held)[:20]) or "none"
            raise BadInput(f"nothing is kept under {name!r}", place=NAME, way_out=f"names: {names}")
        return shortened(held[name], "it stands outside as a whole; ask for a smaller part of it")

    return Tool(
        NAME,
        "Read back content that stands outside this conversation: {{REF:name}} stands in its place. In the inputs of "
        "other tools such a reference is replaced by its content.",
        {"name": {"type": "string", "description": "The name in {{REF:name}}."}},
        run,
        required=("name",),
    )
