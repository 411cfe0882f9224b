"""`ctxtui import`: copy recordings into ctxtui's own database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from ctxtui.cli.context import JSON_OPTION, SessionName, config_of, resolve_name
from ctxtui.cli.exit_codes import code_for
from ctxtui.cli.output import escape, note, write, write_json
from ctxtui.cli.progress import Working
from ctxtui.core.call import count_calls
from ctxtui.core.errors import CtxtuiError
from ctxtui.services.config.config import Config
from ctxtui.services.config.paths import database
from ctxtui.services.counting.pricing import make_call_pricer, prices_for
from ctxtui.services.members import members
from ctxtui.services.recordings.identity import source_info
from ctxtui.services.recordings.open import load, load_stream
from ctxtui.services.recordings.open_by_name import STREAM
from ctxtui.store.store import Store
from ctxtui.views.text import numbers


@click.command("import")
@click.argument("names", metavar="PATH...", type=SessionName(), nargs=-1, required=True)
@JSON_OPTION
@click.pass_context
def import_(context: click.Context, names: tuple[str, ...], as_json: bool) -> int:
    """Copy recordings into ctxtui's own database, to keep them when the client deletes them.

    PATH is a file, a folder (every recording in it), a session's id, or - for standard input. Importing again changes
    nothing; a recording that has grown is updated. Unreadable files are listed, and the others are imported.

    \b
    Example: ctxtui import ~/.claude/projects --json | jq '.imported | length'
    Example: ctxtui import session.jsonl
    """
    config = config_of(context)
    done: list[dict[str, Any]] = []
    failed: list[dict[str, Any]] = []
    with Store.open(database(config.settings.data_dir)) as store:
        call_counts = {row.id: row.calls for archived in (False, True) for row in store.sessions(archived)}
        for name, path in _files_to_import(names, config):
            try:
                if isinstance(path, CtxtuiError):
                    raise path
                done.append(_import_one(store, path, config, call_counts))
            except CtxtuiError as error:
                failed.append(_failure(name, error))
                note(str(error) if name in str(error) else f"{name}: {error}")
            else:
                if not as_json:
                    write(_describe_result(done[-1]))
    if as_json:
        write_json({"imported": done, "failed": failed})
    # The most severe error wins: a full disk over a file without context.
    return max((int(failure["code"]) for failure in failed), default=0)


def _files_to_import(names: tuple[str, ...], config: Config) -> Iterator[tuple[str, Path | CtxtuiError | None]]:
    """The name and file of everything to import. None: standard input; an error: a wrong name."""
    for name in names:
        if name == STREAM:
            yield "standard input", None
            continue
        try:
            target = resolve_name(name, config.settings, with_note=False)
        except CtxtuiError as error:
            yield name, error
            continue
        if target.stored:
            note(f"{target.stored} is in the database already")
        for path in filter(None, (target.path, *target.others)):
            yield str(path), path


def _import_one(store: Store, path: Path | None, config: Config, call_counts: dict[str, int]) -> dict[str, Any]:
    with Working(f"importing {escape(path.name) if path else 'standard input'}") as work:
        loaded = load_stream() if path is None else load(path, work.bytes)
        id_ = store.import_session(
            loaded.session,
            source_info(loaded),
            price=make_call_pricer(prices_for(config.settings)),
            progress=lambda done, whole: work.show(f"{done:,} of {whole:,} blocks"),
        )
    session = loaded.session
    before = call_counts.get(id_)
    call_counts[id_] = count_calls(session.calls.values())
    title = session.about.title or loaded.name
    return {
        "id": id_,
        "path": str(path) if path else None,
        "title": title,
        "source": loaded.source,
        "calls": count_calls(session.calls.values()),
        "skipped": len(loaded.skipped),
        "new": before is None,
        "calls_before": before or 0,
    }


def _failure(name: str, error: CtxtuiError) -> dict[str, Any]:
    code = code_for(error)
    return {"path": name, "code": code.number, "kind": code.name, **members(error, "message place way_out")}


def _describe_result(result: dict[str, Any]) -> str:
    calls = numbers.many(result["calls"], "call")
    new_calls = result["calls"] - result["calls_before"]
    if result["new"]:
        state = f"imported, {calls}"
    elif new_calls > 0:
        state = f"updated, {calls}, {new_calls:,} of them new"
    else:
        state = f"already in the database, nothing new, {calls}"
    skipped = f", {result['skipped']:,} lines skipped" if result["skipped"] else ""
    return f"{result['id']}  {state}{skipped}  {escape(result['title'])}"
