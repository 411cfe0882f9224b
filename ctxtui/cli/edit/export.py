"""`ctxtui export`: one context as a request body, or a session as JSONL."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import click

from ctxtui.analysis.call_choice import ChosenCall, choose_call
from ctxtui.cli.agent.relay_options import otlp_options
from ctxtui.cli.all_sessions import Age, known_sessions
from ctxtui.cli.context import (
    CALL_OPTION,
    FORCE_OPTION,
    NAME_HELP,
    THREAD_OPTION,
    SessionName,
    config_of,
    open_recording,
)
from ctxtui.cli.edit.share import emit, emit_beside, refuse_source
from ctxtui.cli.output import note, write_json
from ctxtui.cli.session_work import CLUSTER_HELP, ClusterAddress
from ctxtui.core.errors import CtxtuiError, NotFound
from ctxtui.services.attach.otlp import Exporter
from ctxtui.services.config.settings import Settings
from ctxtui.services.editing.edited_context import OWN, RESUMED
from ctxtui.services.editing.exporting import (
    EXPORT_FORMS,
    copy_own_transcript,
    export_session,
    prepare_path,
    resume_info,
)
from ctxtui.services.library.tables import ParquetFolder, table_rows
from ctxtui.services.recordings.recording import Loaded
from ctxtui.wire.key_mask import mask_url

PARQUET: Final = "parquet"
EVERY: Final = "all"
"""In place of a name: all sessions of the user."""


@click.command(
    "export",
    help="Write one call's context as a request body, the whole session in ctxtui's own format, or a new session for "
    "its client to resume after the call's answer (for claude-code and codex translated from any client).\n\n"
    f"NAME is {NAME_HELP}. Content and parameters that the target format cannot hold are listed on standard "
    "error. The file of -o has mode 0600.\n\n"
    "parquet writes tables of sessions, calls and tools into the folder -o, for DuckDB and similar tools: of a file, "
    "of every recording in a folder, or of all (your sessions). Results are cached: an interrupted run continues, and "
    "a second one takes seconds.\n\n\b\n"
    "Example: ctxtui export session.jsonl --to anthropic --call 12 -o request.json\n"
    "Example: ctxtui export last --to openai-chat",
)
@click.argument("name", metavar="NAME", type=SessionName())
@click.option(
    "--to", "form", type=click.Choice((*EXPORT_FORMS, PARQUET)), default=OWN, show_default=True, help="Format to write."
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
    output = None if output == Path("-") else output
    settings = config_of(context).settings
    if otlp_content and not otlp:
        raise click.UsageError("--otlp-content needs --otlp", context)
    if otlp:
        if output is not None or number is not None or thread:
            raise click.UsageError("--otlp sends a whole session: remove -o, --call and --thread", context)
        _send(settings, name, otlp, otlp_content, as_json=as_json)
    elif form == PARQUET or since is not None or cluster:
        if form != PARQUET:
            raise click.UsageError("--since and --cluster need --to parquet", context)
        if output is None or number is not None or thread:
            raise click.UsageError(
                "--to parquet writes whole sessions: it needs -o FOLDER, without --call or --thread", context
            )
        _write_tables(settings, name, output, cluster, since, replace=force, as_json=as_json)
    elif as_json and output is None:
        raise click.UsageError("--json needs -o: standard output is the export itself", context)
    elif form == OWN and (number is not None or thread):
        raise click.UsageError("--to ctxtui writes a whole session: remove --call and --thread, or name --to", context)
    else:
        loaded = open_recording(name, settings)
        chosen = choose_call(loaded.session, thread, number or 0)
        _write_one(loaded, chosen, form, output, replace=force, as_json=as_json)


def _write_one(
    loaded: Loaded, chosen: ChosenCall, form: str, output: Path | None, *, replace: bool, as_json: bool
) -> None:
    if form in RESUMED:
        written = copy_own_transcript(loaded, chosen, form)
        output = prepare_path(output, written) if output is not None else None
        resume = resume_info(form, written, output)
    else:
        written, resume = export_session(loaded.session, form, chosen), None
    refuse_source(output, *loaded.paths, loaded.path)
    emit(written.data, output, replace=replace)
    emit_beside(written, output, loaded.path)
    if as_json:
        fields = {"path": str(output), "format": form, "bytes": len(written.data), "lost": list(written.lost)}
        write_json({**fields, "call": None if form == OWN else chosen.number, "resume": resume})
    if resume is not None:
        note(f"to resume it: {resume['command']}")
    for line in written.lost:
        note(f"not carried over: {line}")


def _send(settings: Settings, name: str, url: str, content: bool, *, as_json: bool) -> None:
    """Raises `CtxtuiError` if some calls could not be sent."""
    exporter = Exporter(url, settings, content=content)
    session = open_recording(name, settings).session
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
        note(f"{exporter.sent:,} calls sent to {mask_url(exporter.url)}")


def _write_tables(
    settings: Settings, name: str, folder: Path, cluster: str, since: float | None, *, replace: bool, as_json: bool
) -> None:
    if name != EVERY and not Path(name).exists():
        raise NotFound("no such file or folder", place=name, way_out="give a path, or `all` for your sessions")
    earliest = time.time() - since if since is not None else 0.0
    with ParquetFolder(folder, replace=replace) as out:
        summaries = known_sessions(settings, None if name == EVERY else Path(name), cluster, earliest)
        failed = [summary for summary in summaries if summary.error]
        for rows in table_rows(summaries, earliest):
            out.add(rows)
    if as_json:
        written = {table: str(file) for table, file in out.files.items()}
        errors = [{"file": summary.path, "error": summary.error} for summary in failed]
        write_json({"path": str(folder), "format": PARQUET, "files": written, "rows": out.rows, "failed": errors})
    for table, file in out.files.items():
        note(f"{out.rows[table]:,} {table}: {file}")
    for summary in failed:
        note(f"skipped: {summary.path}: {summary.error}")
