"""`ctxtui edits`: the edits of a session, and what became of them in each call."""

from __future__ import annotations

from typing import Any

import click

from ctxtui.cli.context import JSON_OPTION, NAME_HELP, SessionName, config_of, opened
from ctxtui.cli.output import shown, write, write_json
from ctxtui.core.call import EDITS
from ctxtui.core.edit_json import to_json
from ctxtui.services.editing.overlay import SessionEdits


@click.command(
    "edits",
    help=f"Print the edits of a session, and what became of them in its calls. NAME is {NAME_HELP}.\n\n\b\n"
    "Example: ctxtui edits last --json\n"
    "Example: ctxtui edits session.jsonl",
)
@click.argument("name", metavar="NAME", type=SessionName())
@JSON_OPTION
@click.pass_context
def edits(context: click.Context, name: str, as_json: bool) -> int:
    """Print the overlay."""
    settings = config_of(context).settings
    loaded = opened(name, settings)
    overlays = SessionEdits(loaded, settings)
    threads: list[dict[str, Any]] = []
    for thread in loaded.session.order or ["main"]:
        standing = overlays.of(thread).edits_in_force
        calls = [
            {"call": number, "id": call.id, **call.extra[EDITS]}
            for number, call in enumerate(loaded.session.thread_calls(thread), 1)
            if isinstance(call.extra.get(EDITS), dict)
        ]
        told = {"applied": list(map(to_json, standing.applied)), "staged": list(map(to_json, standing.staged))}
        if calls or any(told.values()):
            threads.append({"thread": thread, **told, "calls": calls})
    if as_json:
        write_json({"session": loaded.session.about.id, "threads": threads})
        return 0
    for one in threads:
        for state in ("applied", "staged"):
            for edit in one[state]:
                targets = ", ".join(target["digest"][:12] for target in edit["targets"])
                write(shown(f"{one['thread']}: {state} {edit['kind']} {targets}"))
        for call in one["calls"]:
            refused = "; ".join(str(why) for why in (call.get("refused") or {}).values())
            states = ((state, call.get(state) or []) for state in ("applied", "asleep", "refused"))
            words = " · ".join(f"{len(found)} {state}" for state, found in states if found)
            parts = [*([f"{words}{f': {refused}' if refused else ''}"] if words else []), *(call.get("done") or ())]
            if parts:
                write(shown(f"{one['thread']} call {call['call']}: {'; '.join(map(str, parts))}"))
    if not threads:
        write("no edits")
    return 0
