"""`ctxtui lab`: recorded sessions, call by call, through other policies, cache strategies and models."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from ctxtui.analysis.lab.report import SessionLab
from ctxtui.cli.agent.agree import agree
from ctxtui.cli.context import SessionName, config_of
from ctxtui.cli.exit_codes import WrongUse, code_for
from ctxtui.cli.lab.lab_json import lab_fields
from ctxtui.cli.lab.solved import solved_fields, solved_lines
from ctxtui.cli.output import note, report_error, write_json
from ctxtui.cli.paint import Painter, rule, width
from ctxtui.cli.session_work import worked
from ctxtui.curation.mask_rules import Level
from ctxtui.curation.masking import Masker
from ctxtui.services.config.package_data import mask_rules
from ctxtui.services.config.settings import Settings
from ctxtui.services.editing.exporting import write_private
from ctxtui.services.lab.solve import Solved, SolvedSession, solved
from ctxtui.services.lab.variants import own_models, variants
from ctxtui.services.recordings.folder_scan import expanded
from ctxtui.services.workers.session_studies import LAB, SOLVE, LabAsked
from ctxtui.views.lists import lab as views
from ctxtui.views.pages.lab_page import lab_page
from ctxtui.views.text import cells, safe_text
from ctxtui.views.text.span import Span, plain

_CACHES = "recorded, 5m, 1h (the client's own markers, with that lifetime), none, automatic, anchored ..."
_RULE = (
    "A path that is named like a command opens as ./lab. PATH is a file, a folder (every recording in it), a session's "
    "id, or -."
)


_LEGEND: Final = "✦ nothing else is both cheaper and less risky; quoted: what it took out and later calls still quote"


@click.command(
    "lab",
    help="Take recorded sessions, call by call, through other policies, cache strategies and models, and say what each "
    "would have come to: peak and final context, tokens sent, read, written and fresh, cost, rewrites, calls over the "
    "usable window, and what it took out that was quoted later. No model is called: answers are as recorded.\n\n"
    f"{_RULE} Without --policy, --cache and --model the usual policies are tried. NAME may have settings behind it: "
    "'budget target=80000'.\n\n\b\n"
    "Example: ctxtui lab session.jsonl --policy keep_rounds --cache recorded --cache 1h\n"
    "Example: ctxtui lab last --json | jq '.rows[0]'",
)
@click.argument("names", metavar="PATH...", nargs=-1, required=True, type=SessionName())
@click.option(
    "--policy", "policies", metavar="NAME|FILE", multiple=True, help="A policy or profile to try (repeatable)."
)
@click.option(
    "--cache", "caches", metavar="S", multiple=True, help="A cache strategy to try (repeatable): recorded, 5m ..."
)
@click.option("--model", "models", metavar="M", multiple=True, help="A model to send it to instead.")
@click.option(
    "--solve",
    is_flag=True,
    help="Seek the best policy, settings, cache strategy and lifetime; each session is held out once.",
)
@click.option("--html", type=click.Path(path_type=Path), metavar="FILE", help="Write one self-contained page.")
@click.option("--force", is_flag=True, help="Replace FILE where there is one.")
@click.option(
    "--agree", type=click.IntRange(min=1), metavar="N", help="Send N calls again under --policy and --model; see agree."
)
@click.option("--budget-usd", type=click.FloatRange(min=0), metavar="X", help="With --agree: what it may cost at most.")
@click.option(
    "--leave-out", type=click.IntRange(min=0), default=0, metavar="K", help="With --agree: without each of K blocks."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema_version 1).")
@click.pass_context
def lab(
    context: click.Context,
    names: tuple[str, ...],
    policies: tuple[str, ...],
    caches: tuple[str, ...],
    models: tuple[str, ...],
    *,
    solve: bool,
    html: Path | None,
    force: bool,
    agree: int | None,
    budget_usd: float | None,
    leave_out: int,
    as_json: bool,
) -> int:
    """Try variants on recordings."""
    others = solve or html is not None or bool(caches)
    _refuse_what_does_not_go_together(agree, budget_usd, leave_out, others=others)
    if agree is not None:
        return _agree(context, names, policies, models, agree, budget_usd, leave_out, as_json=as_json)

    if solve and (policies or caches or models):
        raise WrongUse("--solve seeks among policies and caches of its own", way_out="ctxtui lab PATH... --solve")
    settings = config_of(context).settings
    asked = settings if solve else LabAsked(settings, variants(policies, caches, models, own_models(settings)))
    done = worked(SOLVE if solve else LAB, expanded(names, settings.clients), asked, settings, "in the lab")
    failed = [(one.name, one.error) for one in done if one.error is not None]
    best: list[SolvedSession] = [one.found for one in done if solve and one.error is None]
    found: list[SessionLab] = [one.lab for one in best] or [one.found for one in done if one.error is None]
    if failed and not found:
        worst = failed[0][1]
        return report_error(code_for(worst), worst.message, place=worst.place, way_out=worst.way_out, as_json=as_json)
    if html is not None:
        _write_page(html, found, force)
    if as_json:
        write_json({**lab_fields(found), **({"solved": solved_fields(solved(best))} if solve else {})})
    elif html is None:
        _print(found, settings)
        if solve:
            _print_solved(solved(best), settings)
    for name, trouble in failed:
        note(f"{name}: {trouble}")
    return code_for(failed[0][1]).number if failed else 0


def _refuse_what_does_not_go_together(
    agree: int | None, budget_usd: float | None, leave_out: int, *, others: bool
) -> None:
    """Raises `WrongUse` where an option would be passed over in silence."""
    if agree is not None and others:
        raise WrongUse(
            "--agree prints what a model answered: it takes no --solve, --html or --cache",
            way_out="ctxtui lab PATH --agree N --budget-usd X [--policy NAME] [--model M] [--leave-out K] [--json]",
        )
    if agree is None and (leave_out or budget_usd is not None):
        raise WrongUse("--leave-out and --budget-usd are of --agree", way_out="--agree N --budget-usd X")


def _agree(
    context: click.Context,
    names: tuple[str, ...],
    policies: tuple[str, ...],
    models: tuple[str, ...],
    calls: int,
    budget_usd: float | None,
    leave_out: int,
    *,
    as_json: bool,
) -> int:
    """What `ctxtui agree` does, which needs a model."""
    if len(names) != 1 or budget_usd is None:
        raise click.UsageError("--agree asks a model about one recording, and needs --budget-usd", context)
    context.invoke(
        agree,
        name=names[0],
        calls=calls,
        budget_usd=budget_usd,
        policies=policies,
        models=models,
        leave_out=leave_out,
        base_url="",
        thread="",
        as_json=as_json,
    )
    return 0


def _write_page(path: Path, found: list[SessionLab], force: bool) -> None:
    masker = Masker(mask_rules(), Level("personal"))
    write_private(path, lab_page(found, masker.line).encode("utf-8", "replace"), replace=force)
    note(f"wrote {path}")


def _print_solved(found: Solved, settings: Settings) -> None:
    painter, room = Painter(settings.glyphs), width()
    painter.line(())
    painter.lines(rule("what is best", f"{len(found.sessions):,} session{'s' if len(found.sessions) != 1 else ''}"))
    for line in solved_lines(found):
        indent = "  " if line.startswith("  ") else ""
        for n, words in enumerate(safe_text.wrap(line.strip(), room - 4)):
            painter.line([Span(f"{indent}{'  ' if n else ''}{words}", "dim" if indent else "ink")])


def _print(found: list[SessionLab], settings: Settings) -> None:
    painter, room = Painter(settings.glyphs), width()
    for number, one in enumerate(found):
        if number:
            painter.line(())
        calls, told_off = f" · {one.calls:,} call{'s' if one.calls != 1 else ''}", plain(views.told(one))
        title = cells.fit(safe_text.one_line(one.title), max(12, room - len(calls) - len(told_off) - 8))
        painter.lines(rule(f"{title}{calls}", told_off))
        if one.rows:
            table = views.lab_table(one, curves=False)
            painter.line(table.heads(room))
            for line in views.lab_lines(one):
                painter.line(table.draw(line, room))
            painter.lines([Span(words, "dim")] for words in safe_text.wrap(_LEGEND, room))
        for told in views.notes(one):
            first, *more = safe_text.wrap(plain(told), room - 2) or [""]
            painter.line([Span(first, told[0].style)])
            for rest in more:
                painter.line([Span(f"  {rest.lstrip()}", told[0].style)])
