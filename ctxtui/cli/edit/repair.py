"""`ctxtui repair`: a session that its provider refuses, mended into a new file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from ctxtui.cli.context import NAME_HELP, THREAD_OPTION, SessionName, config_of, opened
from ctxtui.cli.edit.curate import curated_from, made, write_request
from ctxtui.cli.output import note, write_json
from ctxtui.core.edit import Edit
from ctxtui.core.edit_json import to_json
from ctxtui.curation.legality.violation import PlacedViolation
from ctxtui.services.counting.books import table_for
from ctxtui.services.editing.edited_context import resumed_by
from ctxtui.services.editing.repair import Diagnosis, diagnose, recording_line
from ctxtui.services.members import members
from ctxtui.services.recordings.recording import Loaded
from ctxtui.views.text.safe_text import one_line


@click.command(
    "repair",
    help="Find what the provider would refuse in a session's next request, and write a mended one: for a recording of "
    "Claude Code or Codex a file that the tool resumes, else the request. The recording itself is never touched.\n\n"
    f"NAME is {NAME_HELP}. --error takes the API's error as text: it names the block that it is about.\n\n\b\n"
    'Example: ctxtui repair last --error "messages.3: tool_use ids were found without tool_result" -o .\n'
    "Example: ctxtui repair last --dry-run",
)
@click.argument("name", metavar="ID|FILE", type=SessionName())
@click.option("--error", metavar="TEXT", default="", help="The API's error, pasted.")
@THREAD_OPTION
@click.option("--to", "form", help="Format to write (default: the tool's own where it can be resumed).")
@click.option("--dry-run", is_flag=True, help="Write nothing: only say what is wrong and what mends it.")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write FILE, or into a folder.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema_version 1) instead of the mended file.")
@click.pass_context
def repair(
    context: click.Context,
    /,
    name: str,
    error: str,
    thread: str,
    form: str | None,
    output: Path | None,
    **flags: bool,
) -> None:
    """Mend a session that its provider refuses."""
    settings = config_of(context).settings
    loaded = opened(name, settings)
    found = diagnose(loaded.session, table_for(settings).card(loaded.session.model), thread=thread, error=error)
    for line in _lines(found, loaded):
        note(line)
    if flags["as_json"]:
        write_json(_diagnosis_json(found, loaded))
    elif found.mended.edits and not flags["dry_run"] and output is None and sys.stdout.isatty():
        note("nothing is written yet: -o . writes the mended session here, a pipe takes it")
    elif found.mended.edits and not flags["dry_run"]:
        _write(found, loaded, form, output, settings)


def _lines(found: Diagnosis, loaded: Loaded) -> list[str]:
    mended = found.mended
    if found.too_long:
        return ["the context is too long: `ctxtui curate ... --after --policy budget` makes it fit"]
    if not mended.faults:
        return ["nothing to mend: the provider would take the next request"]
    told = [f"wrong: {_where(found, loaded, fault)}" for fault in mended.faults[:20]]
    told += [f"mend: {_mend(edit)}" for edit in mended.edits]
    told += [f"left: {_where(found, loaded, fault)}" for fault in mended.left[:20]]
    return told


def _mend(edit: Edit) -> str:
    what, blocks = edit.params.get("what"), f"{len(edit.targets)} block{'s' * (len(edit.targets) != 1)}"
    return f"{edit.kind} {what} from {blocks}" if what else f"{edit.kind} {blocks}"


def _where(found: Diagnosis, loaded: Loaded, fault: PlacedViolation) -> str:
    words = f"{one_line(fault.violation.message)} @ {fault.violation.path}"
    if fault.position < 0:
        return words
    block = found.context.items[fault.position].block
    line = recording_line(loaded.session, found.context, fault.position)
    return f"{words}, block {fault.position + 1:,} ({block.kind})" + (f", after line {line:,}" if line else "")


def _diagnosis_json(found: Diagnosis, loaded: Loaded) -> dict[str, Any]:
    def fault(one: PlacedViolation) -> dict[str, Any]:
        known = one.position >= 0
        return {
            **members(one, "path=violation.path message=violation.message rule=violation.rule"),
            "block": one.position + 1 if known else None,
            "digest": found.context.items[one.position].block.digest if known else None,
            "after_line": recording_line(loaded.session, found.context, one.position) or None if known else None,
        }

    return {
        "session": loaded.session.about.id,
        "thread": found.chosen.thread,
        "faults": [fault(one) for one in found.mended.faults],
        "edits": [to_json(edit) for edit in found.mended.edits],
        "left": [fault(one) for one in found.mended.left],
        "too_long": found.too_long,
    }


def _write(found: Diagnosis, loaded: Loaded, form: str | None, output: Path | None, settings: Any) -> None:
    curation = curated_from(
        loaded, (found.chosen.thread, found.chosen.number), [], list(found.mended.edits), settings, True
    )
    out, place = made(curation, loaded, form or resumed_by(curation, loaded.path), output, False)
    write_request(out.data, place)
    for line in out.lost:
        note(f"not carried over: {line}")
