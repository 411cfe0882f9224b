"""`ctxtui repair`: fix a session that its provider refuses, in a new file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from ctxtui.cli.context import NAME_HELP, THREAD_OPTION, SessionName, config_of, open_recording
from ctxtui.cli.edit.curate import OUTPUT_OPTION, curate_session, prepare_output, should_write, write_request
from ctxtui.cli.output import note, write_json
from ctxtui.core.edit import Edit
from ctxtui.core.edit_json import to_json
from ctxtui.curation.legality.provider_errors import TOO_LONG
from ctxtui.curation.legality.violation import PlacedViolation
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import table_for
from ctxtui.services.editing.edited_context import FORMS, RESUMED, resumed_by
from ctxtui.services.editing.repair import Diagnosis, diagnose, recording_line
from ctxtui.services.members import members
from ctxtui.services.recordings.recording import Loaded
from ctxtui.views.text.safe_text import one_line


@click.command(
    "repair",
    help="Find what the provider would refuse in a session's next request, and write a fixed one: a session file to "
    "resume if its client reads one (Claude Code, Codex ...), else the request. The recording itself is never "
    "changed.\n\n"
    f"NAME is {NAME_HELP}. --error takes the API's error message, which names the block; without it the "
    "recording's last error is used.\n\n\b\n"
    'Example: ctxtui repair last --error "messages.3: tool_use ids were found without tool_result" -o .\n'
    "Example: ctxtui repair last --dry-run",
)
@click.argument("name", metavar="NAME", type=SessionName())
@click.option("--error", metavar="TEXT", default="", help="The API's error message (default: the last one recorded).")
@THREAD_OPTION
@click.option(
    "--to", "form", type=click.Choice(FORMS), help="Format to write (default: the client's own if it can be resumed)."
)
@click.option("--dry-run", is_flag=True, help="Write nothing: only print the problems and their fixes.")
@OUTPUT_OPTION
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print JSON (schema_version 1) instead of the fixed file; -o FILE is written, too.",
)
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
    settings = config_of(context).settings
    loaded = open_recording(name, settings)
    diagnosis = diagnose(loaded.session, table_for(settings), thread=thread, error=error)
    form = form or resumed_by(loaded.session, loaded.path)
    for line in _repair_lines(diagnosis, loaded):
        note(line)
    is_wanted = diagnosis.mended.edits and not flags["dry_run"]
    if is_wanted and should_write(output, as_json=flags["as_json"]):
        _write_repaired(diagnosis, loaded, form, output, settings)
    elif is_wanted and not flags["as_json"]:
        way_out = "-o . to write the fixed session here" if form in RESUMED else "-o FILE to write the fixed context"
        note(f"nothing is written yet: use {way_out}, or a pipe")
    if flags["as_json"]:
        write_json(_diagnosis_json(diagnosis, loaded))


def _repair_lines(diagnosis: Diagnosis, loaded: Loaded) -> list[str]:
    repair_result = diagnosis.mended
    if not repair_result.faults:
        return ["nothing to fix: no reason is known why the provider would refuse the next request"]
    out = []
    if diagnosis.too_long:
        out.append("the context is too long: shorten it with `ctxtui curate ... --after --policy budget`")
    out += _violation_lines("wrong", diagnosis, loaded, repair_result.faults)
    out += [f"fix: {_describe_edit(edit)}" for edit in repair_result.edits]
    out += _violation_lines("not fixed", diagnosis, loaded, repair_result.left)
    return out


MAX_VIOLATIONS: Final = 20


def _violation_lines(
    label: str, diagnosis: Diagnosis, loaded: Loaded, violations: Sequence[PlacedViolation]
) -> list[str]:
    shown = [violation for violation in violations if violation.violation.rule != TOO_LONG]
    lines = [f"{label}: {_describe_violation(diagnosis, loaded, fault)}" for fault in shown[:MAX_VIOLATIONS]]
    more = len(shown) - MAX_VIOLATIONS
    return [*lines, f"{label}: {more:,} more"] if more > 0 else lines


def _describe_edit(edit: Edit) -> str:
    part, blocks = edit.params.get("what"), f"{len(edit.targets)} block{'s' * (len(edit.targets) != 1)}"
    return f"{edit.kind} {part} from {blocks}" if part else f"{edit.kind} {blocks}"


def _describe_violation(diagnosis: Diagnosis, loaded: Loaded, violation: PlacedViolation) -> str:
    message = f"{one_line(violation.violation.message)} @ {violation.violation.path}"
    if violation.position < 0:
        return message
    block = diagnosis.context.items[violation.position].block
    line = recording_line(loaded.session, diagnosis.context, violation.position)
    return f"{message}, block {violation.position + 1:,} ({block.kind})" + (f", after line {line:,}" if line else "")


def _diagnosis_json(diagnosis: Diagnosis, loaded: Loaded) -> dict[str, Any]:
    def fault(violation: PlacedViolation) -> dict[str, Any]:
        has_block = violation.position >= 0
        return {
            **members(violation, "path=violation.path message=violation.message rule=violation.rule"),
            "block": violation.position + 1 if has_block else None,
            "digest": diagnosis.context.items[violation.position].block.digest if has_block else None,
            "after_line": recording_line(loaded.session, diagnosis.context, violation.position) or None
            if has_block
            else None,
        }

    return {
        "session": loaded.session.about.id,
        "thread": diagnosis.chosen.thread,
        "faults": [fault(violation) for violation in diagnosis.mended.faults],
        "edits": [to_json(edit) for edit in diagnosis.mended.edits],
        "left": [fault(violation) for violation in diagnosis.mended.left],
        "too_long": diagnosis.too_long,
    }


def _write_repaired(diagnosis: Diagnosis, loaded: Loaded, form: str, output: Path | None, settings: Settings) -> None:
    curation = curate_session(
        loaded,
        (diagnosis.chosen.thread, diagnosis.chosen.number),
        [],
        list(diagnosis.mended.edits),
        settings,
        after=True,
    )
    out, path = prepare_output(curation, loaded, form, output, dry=False)
    write_request(out, path, loaded.path)
    listed = {fault.violation.message for fault in diagnosis.mended.left}
    for violation in out.violations:
        if violation.message not in listed:
            note(f"not fixed: {one_line(violation.message)} @ {violation.path}")
    for line in out.lost:
        note(f"not carried over: {line}")
