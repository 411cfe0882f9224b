"""`ctxtui edits`: the edits of a session in force, and their outcome in each relayed call."""

from __future__ import annotations

from typing import Any

import click

from ctxtui.cli.context import JSON_OPTION, NAME_HELP, SessionName, config_of, open_recording
from ctxtui.cli.output import escape, write, write_json
from ctxtui.core.call import EDITS
from ctxtui.core.edit_json import to_json
from ctxtui.core.session import MAIN
from ctxtui.services.editing.overlay import SessionEdits


@click.command(
    "edits",
    help="Print the edits of a session that are in force, and their outcome in each call that was recorded through a "
    f"relay (`exec`, `proxy`). NAME is {NAME_HELP}.\n\n\b\n"
    "Example: ctxtui edits last --json\n"
    "Example: ctxtui edits session.jsonl",
)
@click.argument("name", metavar="NAME", type=SessionName())
@JSON_OPTION
@click.pass_context
def edits(context: click.Context, name: str, as_json: bool) -> int:
    settings = config_of(context).settings
    loaded = open_recording(name, settings)
    overlays = SessionEdits(loaded, settings)
    threads: list[dict[str, Any]] = []
    for thread in loaded.session.order or [MAIN]:
        in_force = overlays.of_thread(thread).edits_in_force
        calls = [
            {"call": number, "id": call.id, **call.extra[EDITS]}
            for number, call in enumerate(loaded.session.thread_calls(thread), 1)
            if isinstance(call.extra.get(EDITS), dict)
        ]
        by_state = {"applied": list(map(to_json, in_force.applied)), "staged": list(map(to_json, in_force.staged))}
        if calls or any(by_state.values()):
            threads.append({"thread": thread, **by_state, "calls": calls})
    if as_json:
        write_json({"session": loaded.session.about.id, "threads": threads})
        return 0
    for thread_edits in threads:
        for state in ("applied", "staged"):
            for edit in thread_edits[state]:
                targets = ", ".join(target["digest"][:12] for target in edit["targets"])
                write(escape(f"{thread_edits['thread']}: {state} {edit['kind']} {targets}"))
        for call in thread_edits["calls"]:
            write(escape(f"{thread_edits['thread']} call {call['call']}: {_describe_outcome(call)}"))
    if not threads:
        write("no edits")
    return 0


def _describe_outcome(record: dict[str, Any]) -> str:
    refused = record.get("refused") or {}
    applied = record.get("applied") or ()
    # Without an id: why the whole request was not edited. Edits that are refused in part count as applied.
    refused_ids = [id_ for id_ in refused if id_ and id_ not in applied]
    edits = {"applied": applied, "asleep": record.get("asleep"), "refused": refused_ids}
    counts = " · ".join(f"{len(edit_ids)} {state}" for state, edit_ids in edits.items() if edit_ids)
    reasons = "; ".join(map(str, refused.values()))
    decision = record.get("released") or record.get("compaction")
    facts = [": ".join(filter(None, (counts, reasons))), *(record.get("done") or ()), record.get("trouble")]
    return "; ".join(map(str, filter(None, [*facts, decision and f"decision: {decision}"]))) or "unchanged"
