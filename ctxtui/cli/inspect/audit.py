"""`ctxtui audit`: forecasts held against reports, per call, per file and over all; input, cache reads and misses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click
from msgspec import to_builtins

from ctxtui.analysis.audit import AuditedCall, summarize
from ctxtui.analysis.cache.audit import summarize_bands, summarize_reads
from ctxtui.analysis.cache.miss import NOT_IN_RECORD
from ctxtui.cli.context import JSON_OPTION, config_of
from ctxtui.cli.output import note_failed, refuse, shown, write, write_json
from ctxtui.cli.session_work import worked
from ctxtui.core.errors import CtxtuiError, NoContext
from ctxtui.services.counting.books import Audit
from ctxtui.services.members import members
from ctxtui.services.recordings.folder_scan import expand_names
from ctxtui.services.workers.session_studies import AUDIT, AuditRequest
from ctxtui.tokens.estimators import ESTIMATORS

Rows = dict[str, Audit]

_COLUMNS: Final = (
    ("median_abs_error_pct", "median %"),
    ("p95_abs_error_pct", "p95 %"),
    ("new_median_abs_error_pct", "median %"),
    ("new_p90_abs_error_pct", "p90 %"),
    ("interval_coverage_pct", "held %"),
    ("median_interval_width_pct", "± %"),
)
_NAME: Final = 38


@click.command(
    "audit",
    help="Foretell each call's input and what it reads from the cache, from the calls before it, and hold that "
    "against what the provider reported.\n\n"
    "PATH is a file or a folder (every recording in it).\n\n\b\n"
    "Example: ctxtui audit session.jsonl --json | jq .input_tokens\n"
    "Example: ctxtui audit last",
)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--estimator", type=click.Choice(tuple(ESTIMATORS)), help="Count by a plain rule, as others do.")
@JSON_OPTION
@click.pass_context
def audit_(context: click.Context, paths: tuple[str, ...], estimator: str | None, as_json: bool) -> int:
    """Hold forecasts against reports."""
    settings = config_of(context).settings
    asked = AuditRequest(settings, estimator or "")
    done = worked(AUDIT, expand_names(paths, settings.clients), asked, settings, "foretelling")
    rows: Rows = {one.name: one.result for one in done if one.error is None}
    failed = [(one.name, one.error) for one in done if one.error is not None]
    if failed and not rows:
        return refuse(failed[0][1], as_json=as_json)
    write_json(audit_json(rows, failed)) if as_json else write(as_text(rows))
    # A folder may well hold files without any call; those are only noted.
    return note_failed(failed, passing=(NoContext,))


def audit_json(rows: Rows, failed: list[tuple[str, CtxtuiError]]) -> dict[str, Any]:
    """The fields of ``audit --json``; every aggregate can be worked out from ``per_call``."""
    every = [row for one in rows.values() for row in one.inputs]
    trouble = {"failed": [{"file": name, "error": str(error)} for name, error in failed]} if failed else {}
    return {
        "calls": len(every),
        "input_tokens": summarize(every),
        "per_file": [
            {"file": name, "calls": len(one.inputs), "input_tokens": summarize(one.inputs)}
            for name, one in rows.items()
        ],
        "per_call": [_call(name, row) for name, one in rows.items() for row in one.inputs],
        **cache_json(rows),
        **trouble,
    }


def _call(name: str, row: AuditedCall) -> dict[str, Any]:
    fields = to_builtins(row)
    del fields["asked"]
    return {"file": name, **fields}


def as_text(rows: Rows) -> str:
    """A table with one line per file and one over all, in percent; then the cache reads."""
    above = f"{'':{_NAME}} {'':>6} {'error of the input':>21} {'error of what is new':>21} {'90 % interval':>21}"
    head = f"{'':{_NAME}} {'calls':>6} " + " ".join(f"{title:>10}" for _, title in _COLUMNS)
    lines = [_line(name, one.inputs) for name, one in rows.items()]
    if len(rows) > 1:
        lines.append(_line("all", [row for one in rows.values() for row in one.inputs]))
    return "\n".join([above, head, *lines, *cache_text(rows)])


def _line(name: str, rows: list[AuditedCall]) -> str:
    figures = summarize(rows)
    cells = " ".join(f"{'-' if figures[key] is None else format(figures[key], '.2f'):>10}" for key, _ in _COLUMNS)
    plain = shown(name)
    return f"{plain if len(plain) <= _NAME else '…' + plain[1 - _NAME :]:{_NAME}} {len(rows):>6} {cells}"


def cache_json(rows: Rows) -> dict[str, Any]:
    """The fields of ``audit --json`` about the cache; every aggregate can be worked out from ``cache_per_call``."""
    every = [row for one in rows.values() for row in one.reads]
    return {
        "cache_read": summarize_reads(every),
        "cache_band": summarize_bands(every),
        "cache_misses": [one for name, some in rows.items() for one in _misses(name, some)],
        "cache_per_call": [{"file": name, **to_builtins(row)} for name, one in rows.items() for row in one.reads],
    }


def _misses(name: str, one: Audit) -> Iterator[dict[str, Any]]:
    """Every miss, those that could not be tested last, and every false alarm."""
    for row in one.reads:
        if row.missed or row.alarm:
            told = members(row, "thread call missed foretold=alarm cause evidence written_again_tokens=lost")
            yield {"file": name, **told, "tested": True}
    for missed in one.misses:
        if not missed.tested:
            told = {"missed": True, "foretold": False, **members(missed, "cause evidence written_again_tokens=tokens")}
            yield {"file": name, **members(missed, "thread call=number"), **told, "tested": False}


def cache_text(rows: Rows) -> Iterator[str]:
    """Some lines per provider; every miss that nothing in the recordings explains has one, with its evidence."""
    every = [row for one in rows.values() for row in one.reads]
    bands = summarize_bands(every)
    for provider, got in summarize_reads(every).items():
        missed = got["misses"]
        yield ""
        yield (
            f"cache reads, {shown(provider)}: {got['calls']} calls, {got['within_pct']:.1f} % right within "
            f"2 % of the input or 300 tokens, hit or miss {got['hit_miss_accuracy_pct']:.1f} % right"
        )
        if provider in bands:
            band = bands[provider]
            yield (
                f"  the band from floor to ceiling held {band['holds_pct']:.1f} %; "
                f"it spans {band['median_width_pct']:.0f} % of the input (median)"
            )
        yield (
            f"  {missed['reported']} {'miss' if missed['reported'] == 1 else 'misses'}: {missed['foreseen']} foreseen, "
            f"{missed['not_in_record']} not in the record; {missed['false_alarms']} false alarms"
        )
        for name, some in rows.items():
            mine = [row for row in some.reads if row.provider == provider and row.missed and row.cause == NOT_IN_RECORD]
            yield from (f"  {shown(Path(name).name)} call {row.call}: {row.evidence}" for row in mine)
        if any(row.inferred for row in every if row.provider == provider):
            yield "  its markers are not recorded: the client's habit is inferred from its earlier calls"
    untested = sum(not one.tested for some in rows.values() for one in some.misses)
    if untested:
        yield ""
        many = "miss" if untested == 1 else "misses"
        yield f"{untested} further {many} not tested: smaller than half, or nothing could be foretold"
