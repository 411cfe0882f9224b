"""`ctxtui lab`: recorded sessions, call by call, through other policies, cache strategies and models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ctxtui.cli.context import SessionName, config_of, opened
from ctxtui.cli.exit_codes import code_for
from ctxtui.cli.lab.lab_json import lab_fields
from ctxtui.cli.output import note, report_error, write_json
from ctxtui.cli.progress import Working
from ctxtui.core.errors import CtxtuiError

if TYPE_CHECKING:
    from ctxtui.analysis.lab.report import SessionLab
    from ctxtui.analysis.lab.variant import Variant
    from ctxtui.services.config.settings import Settings

_CACHES = "recorded, 5m, 1h (the client's own markers, with that lifetime), none, automatic, anchored ..."
_RULE = (
    "A path that is named like a command opens as ./lab. PATH is a file, a folder (every recording in it), a session's "
    "id, or -."
)


@click.command(
    "lab",
    help="Take recorded sessions, call by call, through other policies, cache strategies and models, and say what each "
    "would have come to: peak and final context, tokens sent, read, written and fresh, cost, rewrites, calls over the "
    "usable window, and what it took out that was quoted later. No model is called: answers are as recorded.\n\n"
    f"{_RULE} Without --policy, --cache and --model the usual policies are tried. NAME may have settings behind it: "
    "'budget target=80000'.\n\n\b\n"
    "Example: ctxtui lab session.jsonl --policy keep_rounds --cache recorded --cache 1h",
)
@click.argument("names", metavar="PATH...", nargs=-1, required=True, type=SessionName())
@click.option(
    "--policy", "policies", metavar="NAME|FILE", multiple=True, help="A policy or profile to try (repeatable)."
)
@click.option(
    "--cache", "caches", metavar="S", multiple=True, help="A cache strategy to try (repeatable): recorded, 5m ..."
)
@click.option("--model", "models", metavar="M", multiple=True, help="A model to send it to instead.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema_version 1).")
@click.pass_context
def lab(
    context: click.Context,
    names: tuple[str, ...],
    policies: tuple[str, ...],
    caches: tuple[str, ...],
    models: tuple[str, ...],
    as_json: bool,
) -> int:
    """Try variants on recordings."""
    from ctxtui.services.lab.variants import variants
    from ctxtui.services.recordings.folder_scan import expanded

    settings = config_of(context).settings
    tried = variants(policies, caches, models)
    found: list[SessionLab] = []
    failed: list[tuple[str, CtxtuiError]] = []
    for name in expanded(names, settings.clients):
        try:
            found.append(_tried(name, tried, settings))
        except CtxtuiError as error:
            failed.append((name, error))
    if failed and not found:
        worst = failed[0][1]
        return report_error(code_for(worst), worst.message, place=worst.place, way_out=worst.way_out, as_json=as_json)
    if as_json:
        write_json(lab_fields(found))
    else:
        _print(found, settings)
    for name, trouble in failed:
        note(f"{name}: {trouble}")
    return code_for(failed[0][1]).number if failed else 0


def _tried(name: str, tried: list[Variant], settings: Settings) -> SessionLab:
    from ctxtui.services.counting.count_cache import counter_with_memory
    from ctxtui.services.lab.experiment import bench_of, session_in_lab

    loaded = opened(name, settings)
    with Working("counting tokens") as work, counter_with_memory(settings) as counter:
        bench = bench_of(loaded.session, counter, settings)

        def told(done: int, of: int) -> bool:
            work.say(f"call {done:,} of {of:,} under {len(tried)} variants")
            return True

        return session_in_lab(bench, tried, loaded.name, told)


def _print(found: list[SessionLab], settings: Settings) -> None:
    from ctxtui.cli.paint import Painter, rule, width
    from ctxtui.views.lists import lab as views
    from ctxtui.views.text import safe_text
    from ctxtui.views.text.span import Span, plain

    painter, room = Painter(settings.glyphs), width()
    for number, one in enumerate(found):
        if number:
            painter.line(())
        title = f"{safe_text.one_line(one.title)} · {one.calls:,} call{'s' if one.calls != 1 else ''}"
        painter.line(rule(title, plain(views.told(one))))
        if one.rows:
            table = views.lab_table(one, curves=False)
            painter.line(table.heads(room))
            for line in views.lab_lines(one):
                painter.line(table.draw(line, room))
        for told in views.notes(one):
            first, *more = safe_text.wrap(plain(told), room - 2) or [""]
            painter.line([Span(first, told[0].style)])
            for rest in more:
                painter.line([Span(f"  {rest.lstrip()}", told[0].style)])
