"""`ctxtui check`: recordings held against limits; the exit code says whether all hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import click

from ctxtui.analysis.money.limits import TOLERANCE, Figures, Limits, all_passed, figures_as_fields
from ctxtui.cli.context import JSON_OPTION, SessionName, config_of
from ctxtui.cli.exit_codes import FAILED, OK, UNKNOWN, WrongUse
from ctxtui.cli.output import answer, shown
from ctxtui.cli.session_work import CLUSTER_HELP, ClusterAddress, worked
from ctxtui.core.errors import CtxtuiError
from ctxtui.services.library.limit_checks import (
    CheckedRecording,
    baseline_for,
    check_measured,
    parse_count,
    parse_share,
    read_baseline,
)
from ctxtui.services.recordings.folder_scan import expand_names
from ctxtui.services.workers.session_studies import CHECK, CheckRequest

_CODES: Final = {True: OK, False: FAILED, None: UNKNOWN}
_WORDS: Final = {True: "ok    ", False: "FAILED", None: "?     "}
"""How the result of a limit is shown; None: it cannot be told."""
_JUNIT: Final = {False: "failure", None: "error"}


@click.command(
    "check",
    help="Hold recordings against limits: for the tests of an agent. The exit code is 0 where all hold, 8 where one "
    "does not, and 9 where no limit is broken but one cannot be told.\n\n"
    "NAME is a file, a folder (every recording in it), a session's id, or -. An answer whose length is not known "
    "costs at most what its request allows, or its model.\n\n\b\n"
    "Example: ctxtui check run.jsonl --max-context 100k --max-rewrites 2 --junit report.xml\n"
    "Example: ctxtui check runs/ --max-cost 5 --json | jq .passed",
)
@click.argument("names", metavar="NAME...", nargs=-1, required=True, type=SessionName())
@click.option("--max-context", metavar="N", help="Tokens of the largest context, or of the next: 100k.")
@click.option("--max-block-chars", metavar="N", help="Characters of the longest block: 10000.")
@click.option("--min-cache-read", metavar="SHARE", help="Tokens read from the cache / all input tokens: 30%.")
@click.option(
    "--max-rewrites", type=click.IntRange(min=0), metavar="N", help="Calls that paid again for a lost prefix."
)
@click.option("--max-cost", type=click.FloatRange(min=0), metavar="USD", help="List price of all calls.")
@click.option(
    "--min-read-per-write", type=click.FloatRange(min=0), metavar="N", help="Tokens read from the cache / written: 1."
)
@click.option("--max-seconds", type=click.FloatRange(min=0), metavar="N", help="Seconds of the longest call.")
@click.option("--max-repeats", type=click.IntRange(min=1), metavar="N", help="The same calls and answers in a row.")
@click.option("--no-secrets", is_flag=True, help="No block holds a key, a token or a password.")
@click.option("--max-lost", type=click.IntRange(min=0), metavar="N", help="Facts that compactions lost.")
@click.option("--baseline", type=click.Path(dir_okay=False, path_type=Path), help="An earlier check --json: no worse.")
@click.option("--tolerance", metavar="SHARE", default=f"{TOLERANCE:.0%}", help="How much worse is no worse [5%].")
@click.option("--junit", type=click.Path(dir_okay=False, path_type=Path), help="Write a JUnit report, too.")
@click.option("--cluster", type=ClusterAddress(), metavar="ADDRESS", default="", help=CLUSTER_HELP)
@JSON_OPTION
@click.pass_context
def check_(
    context: click.Context, /, names: tuple[str, ...], baseline: Path | None, tolerance: str, junit: Path | None,
    cluster: str, as_json: bool, **given: Any,
) -> int:  # fmt: skip
    """Hold recordings against limits."""
    limits = _limits(given)
    if limits == Limits() and baseline is None and not as_json:
        raise WrongUse("no limit was given", way_out="name one: --max-context 100k, or --json for the figures alone")
    known = read_baseline(baseline) if baseline else None
    settings = config_of(context).settings
    files = expand_names(names, settings.clients)
    checked, worse = [], parse_share(tolerance, "--tolerance")
    for one in worked(CHECK, files, CheckRequest(settings, limits), settings, "checking", cluster):
        if one.error is not None:
            raise one.error
        before = None if known is None else baseline_for(one.name, known, len(files) == 1)
        checked.append(check_measured(one.name, one.result, limits, before, worse))
    if junit is not None:
        try:
            junit.write_bytes(as_junit(checked))
        except OSError as error:
            raise CtxtuiError(f"{junit} cannot be written: {error.strerror}", way_out="name another file") from error
    answer(as_json, check_json(checked), as_text(checked))
    return _CODES[all_passed(one.passed for one in checked)].number


def _limits(given: dict[str, Any]) -> Limits:
    context, chars, hits = given["max_context"], given["max_block_chars"], given["min_cache_read"]
    return Limits(
        max_context=None if context is None else parse_count(context, "--max-context"),
        max_block_chars=None if chars is None else parse_count(chars, "--max-block-chars"),
        min_cache_read=None if hits is None else parse_share(hits, "--min-cache-read"),
        max_rewrites=given["max_rewrites"],
        max_cost=given["max_cost"],
        min_read_per_write=given["min_read_per_write"],
        max_seconds=given["max_seconds"],
        max_repeats=given["max_repeats"],
        max_secrets=0 if given["no_secrets"] else None,
        max_lost=given["max_lost"],
    )


def check_json(checked: list[CheckedRecording]) -> dict[str, Any]:
    """The fields of ``check --json``; its ``files`` serve as a baseline."""
    return {
        "passed": all_passed(one.passed for one in checked),
        "files": [
            {
                "file": one.name,
                "passed": one.passed,
                "figures": figures_as_fields(one.figures),
                "context_window": one.window.as_fields(),
                "checks": [v.as_fields() for v in one.verdicts],
            }
            for one in checked
        ],
    }


def as_text(checked: list[CheckedRecording]) -> str:
    """A line per limit and file, and the figures that explain them."""
    lines = []
    for one in checked:
        lines.append(f"{_WORDS[one.passed]}  {shown(one.name)}")
        lines += [f"  {_WORDS[v.passed]}  {v.told}" for v in one.verdicts]
        lines.append(f"          {_hits(one.figures)}")
        lines += [f"          {told}" for told in _filled(one)]
    return "\n".join(lines)


def _filled(one: CheckedRecording) -> Iterator[str]:
    """How full the window was at its fullest."""
    size, window = one.figures.context_tokens, one.window
    share = window.share(size) if size is not None else None
    if share is not None:
        limit = f"{window.limit:,} is {window.origin_text}"
        yield f"context: {size:,} at most, {share:.0%} of {window.usable:,} usable; {limit}"


def _hits(found: Figures) -> str:
    if found.cache_read is None:
        return "cache: nothing reported"
    other = found.cache_read_of_unwritten
    second = "" if other is None else f", read / (read + fresh) {other:.1%}"
    return f"cache: read / input {found.cache_read:.1%}{second}"


def as_junit(checked: list[CheckedRecording]) -> bytes:
    """A JUnit report: a suite per recording, a case per limit."""
    root = ElementTree.Element("testsuites", name="ctxtui check")
    for one in checked:
        results = [v.passed for v in one.verdicts]
        counts = {"tests": len(results), "failures": results.count(False), "errors": results.count(None)}
        suite = ElementTree.SubElement(
            root, "testsuite", {"name": shown(one.name), **{name: str(n) for name, n in counts.items()}}
        )
        for verdict in one.verdicts:
            case = ElementTree.SubElement(suite, "testcase", classname=shown(one.name), name=verdict.limit)
            if not verdict.passed:
                ElementTree.SubElement(case, _JUNIT[verdict.passed], message=verdict.told).text = _hits(one.figures)
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))
