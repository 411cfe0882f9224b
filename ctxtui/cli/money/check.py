"""`ctxtui check`: check recordings against limits; the exit code is the result."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import click

from ctxtui.analysis.money.limits import TOLERANCE, Figures, Limits, all_passed, figures_as_fields
from ctxtui.cli.context import JSON_OPTION, SessionName, config_of
from ctxtui.cli.edit.share import refuse_source
from ctxtui.cli.exit_codes import FAILED, OK, UNKNOWN, WrongUse
from ctxtui.cli.output import FailedRecordings, escape, failed_as_json, note_failed, print_result
from ctxtui.cli.session_work import CLUSTER_HELP, ClusterAddress, read_sessions
from ctxtui.core.errors import CtxtuiError
from ctxtui.services.library.limit_checks import (
    CheckedRecording,
    baseline_for,
    check_measured,
    parse_limits,
    parse_share,
    read_baseline,
)
from ctxtui.services.recordings.folder_scan import expand_names
from ctxtui.services.workers.session_studies import CHECK, CheckRequest

# By result; None: it cannot be checked.
EXIT_CODES: Final = {True: OK, False: FAILED, None: UNKNOWN}
RESULT_LABELS: Final = {True: "ok    ", False: "FAILED", None: "?     "}
_JUNIT: Final = {False: "failure", None: "error"}


@click.command(
    "check",
    help="Check recordings against limits, for tests of an agent. The exit code is 0 if all limits hold, 8 if one is "
    "broken, and 9 if none is broken but one, or a recording, cannot be checked.\n\n"
    "NAME is a file, a folder (every recording in it), a session's id, or -. If the length of an answer is unknown, it "
    "has between 0 tokens and the maximum of its request or model. --max-cost cannot be checked if the limit lies "
    "between the costs of these two.\n\n\b\n"
    "Example: ctxtui check run.jsonl --max-context 100k --max-rewrites 2 --junit report.xml\n"
    "Example: ctxtui check runs/ --max-cost 5 --json | jq .passed",
)
@click.argument("names", metavar="NAME...", nargs=-1, required=True, type=SessionName())
@click.option("--max-context", metavar="N", help="Maximum tokens of any context, the next one included: 100k.")
@click.option("--max-block-chars", metavar="N", help="Maximum characters of a block: 10000.")
@click.option(
    "--min-cache-read", metavar="SHARE", help="Minimum share of input tokens that were read from the cache: 30%."
)
@click.option(
    "--max-rewrites",
    type=click.IntRange(min=0),
    metavar="N",
    help="Maximum number of calls that wrote a lost prefix again.",
)
@click.option("--max-cost", type=click.FloatRange(min=0), metavar="USD", help="Maximum list price of a recording.")
@click.option(
    "--min-read-per-write",
    type=click.FloatRange(min=0),
    metavar="N",
    help="Minimum number of tokens read from the cache for each token written to it: 1.",
)
@click.option("--max-seconds", type=click.FloatRange(min=0), metavar="N", help="Maximum seconds of a call.")
@click.option(
    "--max-repeats",
    type=click.IntRange(min=1),
    metavar="N",
    help="Maximum times in a row that the same calls get the same answers; 1: none is repeated.",
)
@click.option("--no-secrets", is_flag=True, help="Fail if a block contains a key, a token or a password.")
@click.option(
    "--max-lost", type=click.IntRange(min=0), metavar="N", help="Maximum number of facts that compactions lost."
)
@click.option(
    "--baseline",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Output of an earlier `check --json` to compare with.",
)
@click.option(
    "--tolerance",
    metavar="SHARE",
    default=f"{TOLERANCE:.0%}",
    help=f"Share by which a figure may be worse than the baseline's [{TOLERANCE:.0%}].",
)
@click.option("--junit", type=click.Path(dir_okay=False, path_type=Path), help="Also write a JUnit report.")
@click.option("--cluster", type=ClusterAddress(), metavar="ADDRESS", default="", help=CLUSTER_HELP)
@JSON_OPTION
@click.pass_context
def check_(
    context: click.Context, /, names: tuple[str, ...], baseline: Path | None, tolerance: str, junit: Path | None,
    cluster: str, as_json: bool, **limit_options: Any,
) -> int:  # fmt: skip
    limits = parse_limits(limit_options, lambda name: f"--{name.replace('_', '-')}")
    if limits == Limits() and baseline is None and not as_json:
        raise WrongUse("no limit given", way_out="add one: --max-context 100k, or --json for the figures only")
    baseline_figures = read_baseline(baseline) if baseline else None
    settings = config_of(context).settings
    files = expand_names(names, settings.clients)
    refuse_source(junit, *files)
    checked: list[CheckedRecording] = []
    failed: list[tuple[str, CtxtuiError]] = []
    tolerance_share = parse_share(tolerance, "--tolerance")
    for result in read_sessions(CHECK, files, CheckRequest(settings, limits), settings, "checking", cluster):
        if result.error is not None:
            failed.append((result.name, result.error))
            continue
        before = None if baseline_figures is None else baseline_for(result.name, baseline_figures, len(files) == 1)
        checked.append(check_measured(result.name, result.result, limits, before, tolerance_share))
    if failed and not checked:
        raise failed[0][1]
    if junit is not None:
        try:
            junit.write_bytes(as_junit(checked, failed))
        except OSError as error:
            raise CtxtuiError(f"{junit} cannot be written: {error.strerror}", way_out="choose another file") from error
    note_failed(failed)
    passed = all_passed([*(recording.passed for recording in checked), *(None for _ in failed)])
    print_result(as_json, _as_json(passed, checked, failed), as_text(checked))
    return EXIT_CODES[passed].number


def _as_json(passed: bool | None, checked: list[CheckedRecording], failed: FailedRecordings) -> dict[str, Any]:
    """The output of ``--json``, which a later run can take as its ``--baseline``."""
    return {
        "passed": passed,
        "files": [
            {
                "file": recording.name,
                "passed": recording.passed,
                "figures": figures_as_fields(recording.figures),
                "context_window": recording.window.as_fields(),
                "checks": [v.as_fields() for v in recording.verdicts],
            }
            for recording in checked
        ],
        "failed": failed_as_json(failed),
    }


def as_text(checked: list[CheckedRecording]) -> str:
    """A line for each file and each of its limits, then its cache use and largest context."""
    lines = []
    for recording in checked:
        lines.append(f"{RESULT_LABELS[recording.passed]}  {escape(recording.name)}")
        lines += [f"  {RESULT_LABELS[v.passed]}  {v.text}" for v in recording.verdicts]
        lines.append(f"          {_describe_cache_use(recording.figures)}")
        lines += [f"          {line}" for line in _window_lines(recording)]
    return "\n".join(lines)


def _window_lines(recording: CheckedRecording) -> Iterator[str]:
    """The largest context as a share of the usable window; no line without a context or window."""
    size, window = recording.figures.context_tokens, recording.window
    share = window.share(size) if size is not None else None
    if share is not None:
        limit = f"{window.limit:,} is {window.origin_text}"
        yield f"context: {size:,} at most, {share:.0%} of {window.usable:,} usable; {limit}"


def _describe_cache_use(figures: Figures) -> str:
    if figures.cache_read is None:
        return "cache: nothing reported"
    unwritten_rate = figures.cache_read_of_unwritten
    other_rate = "" if unwritten_rate is None else f", read / (read + fresh) {unwritten_rate:.1%}"
    return f"cache: read / input {figures.cache_read:.1%}{other_rate}"


def as_junit(checked: list[CheckedRecording], failed: FailedRecordings) -> bytes:
    """A JUnit report: a test case for each limit of each recording."""
    root = ElementTree.Element("testsuites", name="ctxtui check")
    for recording in checked:
        results = [v.passed for v in recording.verdicts]
        counts = {"tests": len(results), "failures": results.count(False), "errors": results.count(None)}
        suite = ElementTree.SubElement(
            root, "testsuite", {"name": escape(recording.name), **{name: str(n) for name, n in counts.items()}}
        )
        for verdict in recording.verdicts:
            case = ElementTree.SubElement(suite, "testcase", classname=escape(recording.name), name=verdict.limit)
            if not verdict.passed:
                ElementTree.SubElement(case, _JUNIT[verdict.passed], message=verdict.text).text = _describe_cache_use(
                    recording.figures
                )
    for recording_name, error in failed:
        suite = ElementTree.SubElement(
            root, "testsuite", name=escape(recording_name), tests="1", failures="0", errors="1"
        )
        case = ElementTree.SubElement(suite, "testcase", classname=escape(recording_name), name="read")
        ElementTree.SubElement(case, _JUNIT[None], message=escape(str(error)))
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))
