"""`ctxtui audit`: compare forecasts of input, cache reads and misses with reports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click
from msgspec import to_builtins

from ctxtui.analysis.audit import AuditedCall, summarize
from ctxtui.analysis.cache.audit import summarize_bands, summarize_reads
from ctxtui.analysis.cache.miss import NOT_IN_RECORD
from ctxtui.cli.context import JSON_OPTION, SessionName, config_of
from ctxtui.cli.output import escape, failed_as_json, note_failed, refuse, write, write_json
from ctxtui.cli.session_work import read_sessions
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
    help="Forecast each call's input and cache reads from the calls before it, and compare the forecasts with the "
    "provider's reports.\n\n"
    "PATH is a file, a folder (every recording in it), or a session's id.\n\n\b\n"
    "Example: ctxtui audit session.jsonl --json | jq .input_tokens\n"
    "Example: ctxtui audit last",
)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=SessionName())
@click.option(
    "--estimator", type=click.Choice(tuple(ESTIMATORS)), help="Count tokens by a simple rule, for comparison."
)
@JSON_OPTION
@click.pass_context
def audit_(context: click.Context, paths: tuple[str, ...], estimator: str | None, as_json: bool) -> int:
    settings = config_of(context).settings
    request = AuditRequest(settings, estimator or "")
    results = read_sessions(AUDIT, expand_names(paths, settings.clients), request, settings, "forecasting")
    rows: Rows = {result.name: result.result for result in results if result.error is None}
    failed = [(result.name, result.error) for result in results if result.error is not None]
    if failed and not rows:
        return refuse(failed[0][1], as_json=as_json)
    write_json(audit_json(rows, failed)) if as_json else write(as_text(rows))
    # Files without any call are common in folders, and only noted.
    return note_failed(failed, tolerated=(NoContext,))


def audit_json(rows: Rows, failed: list[tuple[str, CtxtuiError]]) -> dict[str, Any]:
    all_rows = [row for audit in rows.values() for row in audit.inputs]
    return {
        "calls": len(all_rows),
        "input_tokens": summarize(all_rows),
        "per_file": [
            {"file": name, "calls": len(audit.inputs), "input_tokens": summarize(audit.inputs)}
            for name, audit in rows.items()
        ],
        "per_call": [_call_to_json(name, row) for name, audit in rows.items() for row in audit.inputs],
        **cache_json(rows),
        **({"failed": failed_as_json(failed)} if failed else {}),
    }


def _call_to_json(name: str, row: AuditedCall) -> dict[str, Any]:
    fields = to_builtins(row)
    del fields["follows_user"]
    return {"file": name, **fields}


def as_text(rows: Rows) -> str:
    """A table in percent, with one line per file and a total; then the cache reads."""
    above = f"{'':{_NAME}} {'':>6} {'error of the input':>21} {'error of new tokens':>21} {'90 % interval':>21}"
    head = f"{'':{_NAME}} {'calls':>6} " + " ".join(f"{title:>10}" for _, title in _COLUMNS)
    lines = [_table_line(name, audit.inputs) for name, audit in rows.items()]
    if len(rows) > 1:
        lines.append(_table_line("all", [row for audit in rows.values() for row in audit.inputs]))
    return "\n".join([above, head, *lines, *cache_text(rows)])


def _table_line(name: str, rows: list[AuditedCall]) -> str:
    figures = summarize(rows)
    cells = " ".join(f"{'-' if figures[key] is None else format(figures[key], '.2f'):>10}" for key, _ in _COLUMNS)
    plain = escape(name)
    return f"{plain if len(plain) <= _NAME else '…' + plain[1 - _NAME :]:{_NAME}} {len(rows):>6} {cells}"


def cache_json(rows: Rows) -> dict[str, Any]:
    all_rows = [row for audit in rows.values() for row in audit.reads]
    return {
        "cache_read": summarize_reads(all_rows),
        "cache_band": summarize_bands(all_rows),
        "cache_misses": [audit for name, some in rows.items() for audit in _miss_fields(name, some)],
        "cache_per_call": [{"file": name, **to_builtins(row)} for name, audit in rows.items() for row in audit.reads],
    }


def _miss_fields(name: str, audit: Audit) -> Iterator[dict[str, Any]]:
    """Every miss, untested ones last, and every false alarm."""
    for row in audit.reads:
        if row.missed or row.alarm:
            fields = members(row, "thread call missed foretold=alarm cause evidence written_again_tokens=lost")
            yield {"file": name, **fields, "tested": True}
    for missed in audit.misses:
        if not missed.tested:
            fields = {
                "missed": True,
                "foretold": False,
                **members(missed, "cause evidence written_again_tokens=tokens"),
            }
            yield {"file": name, **members(missed, "thread call=number"), **fields, "tested": False}


def cache_text(rows: Rows) -> Iterator[str]:
    """Lines for each provider, with the misses that recordings do not explain."""
    all_rows = [row for audit in rows.values() for row in audit.reads]
    bands = summarize_bands(all_rows)
    for provider, stats in summarize_reads(all_rows).items():
        miss_counts = stats["misses"]
        noun = "miss" if miss_counts["reported"] == 1 else "misses"
        yield ""
        yield (
            f"cache reads, {escape(provider)}: {stats['calls']} calls, {stats['within_pct']:.1f} % correct within "
            f"2 % of the input or 300 tokens, hit or miss {stats['hit_miss_accuracy_pct']:.1f} % correct"
        )
        if provider in bands:
            band = bands[provider]
            yield (
                f"  the forecast range contained {band['holds_pct']:.1f} %; "
                f"its median width is {band['median_width_pct']:.0f} % of the input"
            )
        yield (
            f"  {miss_counts['reported']} {noun}: {miss_counts['foreseen']} foreseen, "
            f"{miss_counts['not_in_record']} not explained by the recording; {miss_counts['false_alarms']} false alarms"
        )
        for name, some in rows.items():
            unexplained = [
                row for row in some.reads if row.provider == provider and row.missed and row.cause == NOT_IN_RECORD
            ]
            yield from (f"  {escape(Path(name).name)} call {row.call}: {row.evidence}" for row in unexplained)
        if any(row.inferred for row in all_rows if row.provider == provider):
            yield "  cache markers that are not recorded are inferred from earlier calls"
    untested = sum(not miss.tested for audit in rows.values() for miss in audit.misses)
    if untested:
        yield ""
        many = "miss" if untested == 1 else "misses"
        yield f"{untested} further {many} not tested: under half of the cached prefix lost, or without a forecast"
