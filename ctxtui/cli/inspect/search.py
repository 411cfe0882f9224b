"""`ctxtui search`: find a text in all sessions."""

from __future__ import annotations

import sys
import time
from itertools import islice
from pathlib import Path
from typing import Any, Final

import click

from ctxtui.cli.all_sessions import Age
from ctxtui.cli.context import JSON_OPTION, SessionName, config_of, resolve_name
from ctxtui.cli.output import note, write_json
from ctxtui.cli.paint import Painter, abbreviate_home, width
from ctxtui.cli.progress import Working
from ctxtui.core.category import CATEGORIES
from ctxtui.core.errors import CtxtuiError, NotFound
from ctxtui.core.session import MAIN
from ctxtui.services.config.config import Config
from ctxtui.services.library.library import SessionLibrary, summary_from_file
from ctxtui.services.members import members
from ctxtui.services.recordings.discover import recording_at
from ctxtui.services.search.library_search import BlockFilter, Hit, Searcher
from ctxtui.services.search.pattern import Pattern
from ctxtui.views.home.columns import session_age
from ctxtui.views.model.session_summary import HERE, SAMPLES, SessionSummary
from ctxtui.views.text import numbers, safe_text
from ctxtui.views.text.signs import CATEGORY
from ctxtui.views.text.span import Span, cropped
from ctxtui.views.text.table import Column, Table

NOT_FOUND_CODE: Final = 1
DEFAULT_LIMIT: Final = 200
_KINDS: Final = tuple(name.replace("_", "-") for name in CATEGORIES)


@click.command("search")
@click.argument("query", metavar="QUERY")
@click.option("-e", "--regex", is_flag=True, help="QUERY is a regular expression.")
@click.option("--session", "name", metavar="NAME", type=SessionName(), help="Only this file, folder or session id.")
@click.option(
    "--kind", "kinds", multiple=True, type=click.Choice(_KINDS), help="Only blocks of this category (repeatable)."
)
@click.option(
    "--tool", default="", metavar="TEXT", help="Only tools whose name contains TEXT, and their calls and results."
)
@click.option(
    "--source", default="", metavar="TEXT", help="Only sessions whose format contains TEXT: codex, claude ..."
)
@click.option("--here", is_flag=True, help="Only sessions of this directory and its worktrees.")
@click.option("--since", type=Age(), metavar="AGE", help="Only sessions changed within this time: 7d, 12h ...")
@click.option("--archived", is_flag=True, help="Include archived sessions.")
@click.option("--limit", type=click.IntRange(min=1), default=DEFAULT_LIMIT, show_default=True, help="At most N blocks.")
@JSON_OPTION
@click.pass_context
def search(context: click.Context, /, query: str, *, limit: int, as_json: bool, **options: Any) -> int:
    """Find a text in the blocks of all sessions, newest first.

    Searches stored sessions, recordings of clients and of `ctxtui exec` on this machine, and the samples (not with
    --since).

    The search is case-sensitive if QUERY has capital letters. Sessions that are not in the full-text index yet (it is
    updated while the screen runs, or by `ctxtui db index`) are read, which is slower; so are all of them if QUERY has
    less than 3 characters in a row or is an expression with any of `\\ | ( [ {`. Exits with 0 if something was found, 1
    if not.

    \b
    Example: ctxtui search "permission denied" --kind tool-result --since 7d
    Example: ctxtui search -e "E[0-9]{4}"
    """
    if not query:
        raise click.UsageError("the text to search for is empty")
    if options["name"] and (options["source"] or options["here"] or options["since"] is not None):
        raise click.UsageError("--source, --here and --since choose from all sessions: leave them out with --session")
    config = config_of(context)
    block_filter = BlockFilter(frozenset(kind.replace("-", "_") for kind in options["kinds"]), options["tool"])
    searcher = Searcher(config.settings, Pattern(query, regex=options["regex"]), block_filter)
    sessions = _select_sessions(options, config)
    hits: list[Hit] = []
    painter = None if as_json else Painter(config.settings.glyphs)
    with Working("searching") as work:

        def show_progress(done: int) -> None:
            work.show(f"{done:,} of {len(sessions):,} sessions")

        for hit in islice(searcher.hits(sessions, show_progress), limit + 1):
            if painter and len(hits) < limit:
                _print(painter, hit, first=not hits or hits[-1].summary.key != hit.summary.key)
            hits.append(hit)
    errors = [*searcher.tally.failed.values(), *searcher.tally.without_context]
    if options["name"] and len(errors) == len(sessions):
        raise errors[0]
    has_more, hits = len(hits) > limit, hits[:limit]
    if as_json:
        write_json(_search_json(query, bool(options["regex"]), hits, has_more, searcher))
    else:
        _print_notes(searcher, has_more, limit)
        # A named file need not be one that `ctxtui db index` reads.
        if not options["name"]:
            _print_index_note(searcher)
    return 0 if hits else NOT_FOUND_CODE


def _select_sessions(options: dict[str, Any], config: Config) -> list[SessionSummary]:
    """The sessions to search, newest first, samples last.

    With ``--session`` only that one or that folder.
    """
    library = SessionLibrary(config.settings, Path.cwd())
    if options["name"]:
        return _resolve_sessions(options["name"], config)
    listed = library.all_sessions()
    if library.trouble:
        # The search needs the database as well, and would report the same error.
        raise library.trouble
    oldest = time.time() - options["since"] if options["since"] is not None else 0.0
    selected = [
        summary
        for summary in listed
        if (options["archived"] or not summary.archived)
        and (summary.group == HERE or not options["here"])
        and (summary.mtime >= oldest and (summary.group != SAMPLES or not oldest))
        and options["source"].lower() in summary.source.lower()
    ]
    return sorted(selected, key=lambda summary: (summary.group == SAMPLES, -summary.mtime))


def _resolve_sessions(name: str, config: Config) -> list[SessionSummary]:
    target = resolve_name(name, config.settings, with_note=False)
    if target.stored:
        return [SessionSummary(key=target.stored, title=target.stored, stored=target.stored)]
    if target.path is None:
        raise CtxtuiError("standard input cannot be searched", way_out="give a file")
    recordings = [recording_at(path.absolute()) for path in (target.path, *target.others)]
    summaries = [
        summary_from_file(recording, time.time(), config.settings.live_seconds)
        for recording in recordings
        if recording is not None
    ]
    if not summaries:
        raise NotFound(f"no such file: {target.path}", way_out="`ctxtui sessions` lists what can be opened")
    return summaries


def _print(painter: Painter, hit: Hit, *, first: bool) -> None:
    summary, block_hits = hit.summary, hit.hits
    if first:
        # With --session, the summary of a stored session has no mtime.
        age = f"  {ago}" if summary.mtime and (ago := session_age(summary, time.time())) else ""
        title = safe_text.one_line(hit.session.about.title or summary.title)
        head = [Span(abbreviate_home(summary.path) or summary.stored, "bold"), Span(f"{age}  {title}", "dim")]
        painter.line(cropped(head, width()) if sys.stdout.isatty() else head)
    at = block_hits.at
    line = [
        *_HITS.draw(hit, 0),
        Span(safe_text.line(block_hits.snippet[:at])),
        Span(safe_text.line(block_hits.snippet[at : block_hits.end]), "warn bold"),
        Span(safe_text.line(block_hits.snippet[block_hits.end :])),
        Span(f"  ({block_hits.hits:,} hits)" if block_hits.hits > 1 else "", "dim"),
    ]
    painter.line(cropped(line, width()) if sys.stdout.isatty() else line)


def _format_place(hit: Hit, room: int) -> Span:
    place = hit.hits.place
    where = f"call {place.call:,}" if place.call is not None else "not sent"
    return Span(where + (f" {safe_text.one_line(place.thread)}" if place.thread != MAIN else ""))


_HITS: Final[Table[Hit]] = Table(
    (
        Column("", 12, _format_place, "left"),
        Column("", 1, lambda hit, _: CATEGORY[CATEGORIES.index(hit.hits.place.category)].span, gap=1),
        Column("", 16, lambda hit, _: Span(safe_text.one_line(hit.label), "dim"), "left", gap=1),
    ),
    mark=2,
    tail=2,
)


def _print_notes(searcher: Searcher, more: bool, limit: int) -> None:
    tally = searcher.tally
    if more:
        note(f"more than {limit:,} blocks have hits: raise --limit to see them")
    for name, error in tally.failed.items():
        note(f"{name} was skipped: {error.message}")


def _print_index_note(searcher: Searcher) -> None:
    """Say why most sessions were read, and whether indexing would help."""
    tally = searcher.tally
    if tally.direct <= tally.indexed or not sys.stderr.isatty():
        return
    sessions = numbers.many(tally.direct, "session")
    if tally.uses_index:
        note(f"read {sessions} not in the full-text index: `ctxtui db index` makes the next search faster")
    else:
        note(
            f"read {sessions}: this search cannot use the full-text index"
            " (less than 3 characters in a row, or an expression with any of `\\ | ( [ {`)"
        )


def _search_json(query: str, regex: bool, hits: list[Hit], has_more: bool, searcher: Searcher) -> dict[str, Any]:
    tally = searcher.tally
    return {
        "query": query,
        "regex": regex,
        "case_sensitive": searcher.pattern.exact,
        "hits": [_hit_to_json(hit) for hit in hits],
        "more": has_more,
        "sessions": {"indexed": tally.indexed, "direct": tally.direct},
        "failed": [{"session": name, "message": error.message} for name, error in tally.failed.items()],
    }


def _hit_to_json(hit: Hit) -> dict[str, Any]:
    summary, block_hits = hit.summary, hit.hits
    place = block_hits.place
    return {
        "session": hit.session.about.id or summary.stored or summary.path,
        "path": summary.path or None,
        "stored": summary.stored or None,
        "title": hit.session.about.title or summary.title,
        "source": hit.session.about.source or summary.source or None,
        **members(place, "thread call turn"),
        "digest": block_hits.block.digest,
        "category": place.category,
        "label": hit.label,
        "hits": block_hits.hits,
        "snippet": block_hits.snippet,
        "span": [block_hits.at, block_hits.end],
    }
