"""`ctxtui export`: one context as a request body, or a session as JSONL."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ctxtui.analysis.call_choice import choose
from ctxtui.cli.context import NAME_HELP, SessionName, config_of, opened
from ctxtui.cli.output import note, write_json
from ctxtui.core.errors import CtxtuiError
from ctxtui.services.editing.edited_context import OWN, RESUMED
from ctxtui.services.editing.exporting import FORMS, Exported, exported, placed, resumable, resume_of, write_private


@click.command(
    "export",
    help="Write one call's context as a request body, the whole session in ctxtui's own format, or a new session that "
    "its tool resumes behind the call's answer (claude-code, codex: translated where another tool recorded it; "
    "opencode, pi, aider).\n\n"
    f"NAME is {NAME_HELP}. What the target cannot carry is named on standard error. A file made with -o is for you "
    "alone (mode 0600).\n\n\b\n"
    "Example: ctxtui export session.jsonl --to anthropic --call 12 -o request.json",
)
@click.argument("name", metavar="NAME", type=SessionName())
@click.option("--to", "form", type=click.Choice(FORMS), default=OWN, show_default=True, help="Format to write.")
@click.option(
    "--call", "number", type=click.IntRange(min=1), metavar="N", help="The thread's Nth call (default: last)."
)
@click.option("--thread", default="", metavar="T", help="A subagent's thread (default: the main one).")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write FILE (-: standard output)."
)
@click.option("--force", is_flag=True, help="Replace FILE where there is one.")
@click.option("--json", "as_json", is_flag=True, help="With -o: print what was written and lost (schema_version 1).")
@click.pass_context
def export(
    context: click.Context,
    name: str,
    form: str,
    number: int | None,
    thread: str,
    output: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Write one context as a request body, or a session as JSONL."""
    output = None if output == Path("-") else output
    if as_json and output is None:
        raise click.UsageError("--json needs -o: standard output is the export itself", context)
    loaded = opened(name, config_of(context).settings)
    chosen = choose(loaded.session, thread, number or 0)
    resume = None
    if form in RESUMED:
        out = resumable(loaded.session, chosen, form, loaded.path)
        made = Exported(out.data, out.lost)
        output = placed(output, out) if output is not None else None
        resume = resume_of(form, out, output)
    else:
        made = exported(loaded.session, form, chosen)
    if output is None:
        sys.stdout.buffer.write(made.data)
        sys.stdout.buffer.flush()
    else:
        if any(path.exists() and output.exists() and path.samefile(output) for path in loaded.paths):
            raise CtxtuiError("a recording is never written to", place=str(output), way_out="choose another name")
        write_private(output, made.data, replace=force)
    if as_json:
        fields = {"path": str(output), "format": form, "bytes": len(made.data), "lost": list(made.lost)}
        write_json({**fields, "call": None if form == OWN else chosen.number, "resume": resume})
    if resume is not None:
        note(f"to resume it: {resume['command']}")
    for line in made.lost:
        note(f"not carried over: {line}")
