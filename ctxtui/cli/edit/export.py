"""`ctxtui export`: one context as a request body, or a session as JSONL."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import click

from ctxtui.analysis.call_choice import ChosenCall, choose_call
from ctxtui.cli.agent.relay_options import otlp_options
from ctxtui.cli.all_sessions import Age, known_sessions
from ctxtui.cli.context import CALL_OPTION, FORCE_OPTION, NAME_HELP, THREAD_OPTION, SessionName, config_of, opened
from ctxtui.cli.edit.share import emit
from ctxtui.cli.output import note, write_json
from ctxtui.cli.session_work import CLUSTER_HELP, ClusterAddress
from ctxtui.core.errors import CtxtuiError, NotFound
from ctxtui.services.attach.otlp import Exporter
from ctxtui.services.config.settings import Settings
from ctxtui.services.editing.edited_context import OWN, RESUMED, Written
from ctxtui.services.editing.exporting import (
    FORMS,
    ExportResult,
    copy_own_transcript,
    export_session,
    prepare_path,
    resume_info,
)
from ctxtui.services.library.tables import ParquetFolder, table_rows
from ctxtui.services.recordings.recording import Loaded

PARQUET: Final = "parquet"
EVERY: Final = "all"
"""In place of a name: all sessions of the user."""


@click.command(
    "export",
    help="Write one call's context as a request body, the whole session in ctxtui's own format, or a new session that "
    "its tool resumes behind the call's answer (claude-code, codex: translated where another tool recorded it; "
    "opencode, pi, aider).\n\n"
    f"NAME is {NAME_HELP}. What the target cannot carry is named on standard error. A file made with -o is for you "
    "alone (mode 0600).\n\n"
    "parquet writes tables of sessions, calls and tools into the folder -o, for DuckDB and the like: of a file, of "
    "every recording in a folder, or of all (your sessions). What was read is remembered: broken off, it goes on "
    "where it was, and again it takes seconds.\n\n\b\n"
    "Example: ctxtui export session.jsonl --to anthropic --call 12 -o request.json\n"
    "Example: ctxtui export last --to openai-chat",
)
@click.argument("name", metavar="NAME", type=SessionName())
@click.option(
    "--to", "form", type=click.Choice((*FORMS, PARQUET)), default=OWN, show_default=True, help="Format to write."
)
@CALL_OPTION
@THREAD_OPTION
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write FILE (-: standard output)."
)
@FORCE_OPTION
@click.option("--since", type=Age(), metavar="AGE", help="With parquet: only calls within an age: 7d, 12h ...")
@click.option("--cluster", type=ClusterAddress(), metavar="ADDRESS", default="", help=f"With parquet. {CLUSTER_HELP}")
@otlp_options
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
    since: float | None,
    cluster: str,
    otlp: str,
    otlp_content: bool,
    as_json: bool,
) -> None:
    """Write one context as a request body, or a session as JSONL."""
    output = None if output == Path("-") else output
    settings = config_of(context).settings
    if otlp:
        if output is not None or number is not None or thread:
            raise click.UsageError("--otlp sends a whole session: it goes with no file and no call", context)
        _send(settings, name, otlp, otlp_content, as_json=as_json)
    elif form == PARQUET or since is not None or cluster:
        if form != PARQUET:
            raise click.UsageError("--since and --cluster go with --to parquet", context)
        if output is None or number is not None or thread:
            raise click.UsageError("--to parquet writes whole sessions: it needs -o FOLDER, and no call", context)
        _write_tables(settings, name, output, cluster, since, replace=force, as_json=as_json)
    elif as_json and output is None:
        raise click.UsageError("--json needs -o: standard output is the export itself", context)
    else:
        loaded = opened(name, settings)
        chosen = choose_call(loaded.session, thread, number or 0)
        _write_one(loaded, chosen, form, output, replace=force, as_json=as_json)


def _write_one(
    loaded: Loaded, chosen: ChosenCall, form: str, output: Path | None, *, replace: bool, as_json: bool
) -> None:
    """Write the context of the `chosen` call as a request body, a session that its tool resumes behind it, or the whole
    session in ctxtui's own format."""
    written: Written | ExportResult
    if form in RESUMED:
        written = copy_own_transcript(loaded, chosen, form)
        output = prepare_path(output, written, loaded.path) if output is not None else None
        resume = resume_info(form, written, output)
    else:
        written, resume = export_session(loaded.session, form, chosen), None
    if output is not None and any(path.exists() and output.exists() and path.samefile(output) for path in loaded.paths):
        raise CtxtuiError("a recording is never written to", place=str(output), way_out="choose another name")
    emit(written.data, output, replace=replace)
    if as_json:
        fields = {"path": str(output), "format": form, "bytes": len(written.data), "lost": list(written.lost)}
        write_json({**fields, "call": None if form == OWN else chosen.number, "resume": resume})
    if resume is not None:
        note(f"to resume it: {resume['command']}")
    for line in written.lost:
        note(f"not carried over: {line}")


def _send(settings: Settings, name: str, url: str, content: bool, *, as_json: bool) -> None:
    """Send every call of a session to a collector. Raises `CtxtuiError` where not all of them could be sent."""
    exporter = Exporter(url, settings, content=content)
    session = opened(name, settings).session
    exporter.add(session, list(session.calls.values()), session.about.id or name)
    exporter.send()
    missing = exporter.waiting + exporter.lost
    if missing:
        raise CtxtuiError(
            f"{missing:,} of {len(session.calls):,} calls were not sent: {exporter.error}", place="--otlp"
        )
    if as_json:
        write_json({"url": exporter.url, "sent": exporter.sent})
    else:
        note(f"{exporter.sent:,} calls sent to {exporter.url}")


def _write_tables(
    settings: Settings, name: str, folder: Path, cluster: str, since: float | None, *, replace: bool, as_json: bool
) -> None:
    """Write the tables of all sessions that `name` stands for into `folder`."""
    if name != EVERY and not Path(name).exists():
        raise NotFound("there is no such file or folder", place=name, way_out="name one, or all of your sessions")
    beginning = time.time() - since if since is not None else 0.0
    with ParquetFolder(folder, replace=replace) as out:
        known = known_sessions(settings, None if name == EVERY else Path(name), cluster, beginning)
        failed = [one for one in known if one.error]
        for rows in table_rows(known, beginning):
            out.add(rows)
    if as_json:
        written = {table: str(file) for table, file in out.files.items()}
        errors = [{"file": one.path, "error": one.error} for one in failed]
        write_json({"path": str(folder), "format": PARQUET, "files": written, "rows": out.rows, "failed": errors})
    for table, file in out.files.items():
        note(f"{out.rows[table]:,} {table}: {file}")
    for one in failed:
        note(f"left out: {one.path}: {one.error}")
