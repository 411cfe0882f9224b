"""`ctxtui lab`: simulate recorded sessions with other policies, cache strategies and models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from ctxtui.analysis.lab.report import LabRow, SessionLab
from ctxtui.analysis.lab.solve import FittedVariant
from ctxtui.cli.agent.agree import agree
from ctxtui.cli.context import FORCE_OPTION, JSON_OPTION, SessionName, config_of
from ctxtui.cli.edit.share import masker_of, refuse_existing, refuse_source
from ctxtui.cli.exit_codes import WrongUse
from ctxtui.cli.output import note, note_failed, refuse, write_json
from ctxtui.cli.paint import Painter, rule, table_lines, width
from ctxtui.cli.session_work import read_sessions
from ctxtui.services.config.settings import Settings
from ctxtui.services.editing.exporting import write_private
from ctxtui.services.lab.solve import BestCandidates, SolvedSession, find_best
from ctxtui.services.lab.variants import make_variants, own_models
from ctxtui.services.members import members
from ctxtui.services.recordings.folder_scan import expand_names
from ctxtui.services.workers.session_studies import LAB, SOLVE, LabRequest
from ctxtui.views.lists import lab as views
from ctxtui.views.pages.lab_page import lab_page
from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.span import Span, plain


@click.command(
    "lab",
    help="Simulate recorded sessions, call by call, with other policies, cache strategies and models. Prints for each "
    "variant: peak and final context, tokens sent, read, written and fresh, cost, rewrites, calls over the usable "
    "window, and removed blocks that were quoted later. No model is called: answers are as recorded.\n\n"
    "PATH is a file, a folder (every recording in it), a session's id, or -. Without --policy, --cache and --model the "
    "usual policies are simulated. A NAME may be followed by settings: 'budget target=80000'.\n\n\b\n"
    "Example: ctxtui lab session.jsonl --policy keep_rounds --cache recorded --cache 1h\n"
    "Example: ctxtui lab last --json | jq '.sessions[0].variants[0]'",
)
@click.argument("names", metavar="PATH...", nargs=-1, required=True, type=SessionName())
@click.option(
    "--policy", "policies", metavar="NAME|FILE", multiple=True, help="A policy or profile to simulate (repeatable)."
)
@click.option(
    "--cache", "caches", metavar="S", multiple=True, help="A cache strategy to simulate (repeatable): recorded, 5m ..."
)
@click.option("--model", "models", metavar="M", multiple=True, help="A model to simulate (repeatable).")
@click.option(
    "--solve",
    is_flag=True,
    help="Search the best policy, settings, cache strategy and lifetime, with cross-validation over sessions.",
)
@click.option("--html", type=click.Path(path_type=Path), metavar="FILE", help="Write one self-contained page.")
@FORCE_OPTION
@click.option(
    "--agree",
    type=click.IntRange(min=1),
    metavar="N",
    help="Send N calls again under --policy and --model; see `ctxtui agree`.",
)
@click.option("--budget-usd", type=click.FloatRange(min=0), metavar="X", help="With --agree: maximum cost.")
@click.option(
    "--leave-out",
    type=click.IntRange(min=0),
    default=0,
    metavar="K",
    help="With --agree: also without each of the K heaviest blocks.",
)
@JSON_OPTION
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
    with_other_options = solve or html is not None or bool(caches)
    _check_option_conflicts(agree, budget_usd, leave_out, others=with_other_options)
    if force and html is None:
        raise WrongUse("--force needs --html", way_out="--html FILE --force")
    refuse_existing(html, force)
    if agree is not None:
        return _agree(context, names, policies, models, agree, budget_usd, leave_out, as_json=as_json)

    if solve and (policies or caches or models):
        raise WrongUse("--solve tries its own policies and caches", way_out="ctxtui lab PATH... --solve")
    settings = config_of(context).settings
    request = settings if solve else LabRequest(settings, make_variants(policies, caches, models, own_models(settings)))
    recordings = expand_names(names, settings.clients)
    refuse_source(html, *recordings)
    results = read_sessions(SOLVE if solve else LAB, recordings, request, settings, "in the lab")
    failed = [(result.name, result.error) for result in results if result.error is not None]
    best: list[SolvedSession] = [result.result for result in results if solve and result.error is None]
    labs: list[SessionLab] = [result.lab for result in best] or [
        result.result for result in results if result.error is None
    ]
    if failed and not labs:
        return refuse(failed[0][1], as_json=as_json)
    if html is not None:
        _write_page(html, labs, force)
    if as_json:
        write_json({**lab_json(labs), **({"solved": solved_json(find_best(best))} if solve else {})})
    elif html is None:
        _print(labs, settings)
        if solve:
            _print_solved(find_best(best), settings)
    return note_failed(failed)


def _check_option_conflicts(agree: int | None, budget_usd: float | None, leave_out: int, *, others: bool) -> None:
    """`others`: whether ``--solve``, ``--html`` or ``--cache`` is given."""
    if agree is not None and others:
        raise WrongUse(
            "--agree cannot be combined with --solve, --html or --cache",
            way_out="ctxtui lab PATH --agree N --budget-usd X [--policy NAME] [--model M] [--leave-out K] [--json]",
        )
    if agree is None and (leave_out or budget_usd is not None):
        raise WrongUse("--leave-out and --budget-usd need --agree", way_out="--agree N --budget-usd X")


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
    if len(names) != 1 or budget_usd is None:
        raise click.UsageError("--agree needs exactly one recording and --budget-usd", context)
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


def _write_page(path: Path, labs: list[SessionLab], force: bool) -> None:
    write_private(path, lab_page(labs, masker_of("personal").mask_line).encode("utf-8", "replace"), replace=force)
    note(f"wrote {path}")


def _print_solved(best: BestCandidates, settings: Settings) -> None:
    painter, room = Painter(settings.glyphs), width()
    painter.line(())
    painter.lines(rule("best variants", numbers.many(len(best.sessions), "session")))
    for line in solved_lines(best):
        indent = "  " if line.startswith("  ") else ""
        for n, words in enumerate(safe_text.wrap(line.strip(), room - 4)):
            painter.line([Span(f"{indent}{'  ' if n else ''}{words}", "dim" if indent else "ink")])


def _print(labs: list[SessionLab], settings: Settings) -> None:
    painter, room = Painter(settings.glyphs), width()
    for number, lab_result in enumerate(labs):
        if number:
            painter.line(())
        calls, deviation = numbers.many(lab_result.calls, "call"), plain(views.describe_deviation(lab_result))
        title = cells.fit(safe_text.one_line(lab_result.title), max(12, room - len(calls) - len(deviation) - 11))
        painter.lines(rule(f"{title} · {calls}", deviation))
        if lab_result.rows:
            painter.lines(table_lines(views.lab_table(lab_result, curves=False), views.lab_lines(lab_result), room))
            painter.lines([Span(words, "dim")] for words in safe_text.wrap(views.LEGEND, room))
        for note_line in views.notes(lab_result):
            first, *more = safe_text.wrap(plain(note_line), room - 2) or [""]
            painter.line([Span(first, note_line[0].style)])
            for rest in more:
                painter.line([Span(f"  {rest.lstrip()}", note_line[0].style)])


def lab_json(labs: Sequence[SessionLab]) -> dict[str, Any]:
    return {"sessions": [_session(lab_result) for lab_result in labs]}


def _session(lab_result: SessionLab) -> dict[str, Any]:
    return {
        **members(lab_result, "session title calls usable?"),
        "off": None if lab_result.off is None else round(lab_result.off, 6),
        "outcomes": [{"name": name, "value": value} for name, value in lab_result.outcomes],
        "notes": list(lab_result.notes),
        "variants": [_variant(row) for row in lab_result.rows],
    }


def _variant(row: LabRow) -> dict[str, Any]:
    return {
        **members(
            row,
            "policy settings cache model calls peak_context=peak final_context=final total_input=total "
            "reported_total_input=reported read write fresh output",
        ),
        "cost_usd": None if row.usd is None else round(row.usd, 9),
        **members(row, "rewrites first_overflow dependence over_usable=over"),
        "summaries": {"count": row.summaries.count, "tokens": row.summaries.tokens},
        "contexts": list(row.curve),
        "refused": row.refused or None,
    }


def solved_lines(best: BestCandidates) -> Iterator[str]:
    """The best policy and cache strategy, and the pauses in which keeping warm would pay."""
    yield from _fit_lines("policy", best.policy)
    yield from _fit_lines("cache strategy", best.cache)
    for session in best.sessions:
        for warm, waited in zip(session.warm, session.waited, strict=True):
            read, write, saved = (
                numbers.money(x) if session.priced else f"{numbers.tokens(round(x))} tok"
                for x in (warm.read, warm.write, waited.saved)
            )
            yield (
                f"{session.lab.session[:8]}: cache entries live {_format_seconds(warm.life)}. Keeping one alive with "
                f"requests that only read it ({read} each) is cheaper than writing it again ({write}) for up to "
                f"{warm.requests} requests (break-even: a pause of {_format_seconds(warm.seconds)})"
            )
            if not waited.longer:
                yield f"  no pause was longer than {_format_seconds(warm.life)}, so there was nothing to keep alive"
                continue
            verb = "s were" if waited.longer != 1 else " was"
            pauses = f"{waited.longer} pause{verb} longer than {_format_seconds(warm.life)}"
            if not waited.cheaper:
                yield f"  {pauses}, but too long: keeping the entry alive would have cost more than writing it again"
                continue
            paid = "it" if waited.longer == 1 else f"{waited.cheaper} of them"
            yield f"  {pauses}; keeping the entry alive would have paid off in {paid} and saved {saved}"


def _fit_lines(kind: str, fit: FittedVariant | None) -> Iterator[str]:
    if fit is None:
        yield f"best {kind}: no variant could be simulated on every session"
        return
    yield f"best {kind} of {fit.tried}: {fit.best}, {_share(fit.saves)} compared with the recording"
    if fit.held_out is None:
        yield "  chosen on this one session, so its savings elsewhere are unknown; give several for cross-validation"
        return
    low, high = min(fold.saves for fold in fit.folds), max(fold.saves for fold in fit.folds)
    own_best, fold_count = sum(fold.own for fold in fit.folds) / len(fit.folds), len(fit.folds)
    same = sum(fold.chosen == fit.best for fold in fit.folds)
    others = "the other one" if fold_count == 2 else f"the other {fold_count - 1}"
    yield (
        f"  cross-validated: for each of the {fold_count} sessions, the best variant of {others} "
        f"{_share(fit.held_out)} on average ({100 * low:.1f} to {100 * high:.1f} %)"
    )
    yield (
        f"  in {same} of the {fold_count} that was {fit.best} as well; with its own best variant each session "
        f"{_share(own_best, 'would save')}"
    )


def _share(value: float, saves: str = "saves") -> str:
    return f"{saves} {100 * value:.1f} %" if value >= 0 else f"costs {-100 * value:.1f} % more"


def _format_seconds(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds <= 3600 else f"{seconds / 3600:.0f} hours"


def solved_json(best: BestCandidates) -> dict[str, Any]:
    return {
        "policy": _fitted_json(best.policy),
        "cache": _fitted_json(best.cache),
        "keep_warm": [
            {
                "session": session.lab.session,
                "unit": "USD" if session.priced else "fresh tokens",
                **members(
                    warm, "lifetime_seconds=life requests break_even_seconds=seconds read_cost=read write_cost=write"
                ),
                **members(waited, "pauses=longer cheaper saved"),
            }
            for session in best.sessions
            for warm, waited in zip(session.warm, session.waited, strict=True)
        ],
    }


def _fitted_json(fit: FittedVariant | None) -> dict[str, Any] | None:
    if fit is None:
        return None
    return {
        **members(fit, "best saves tried held_out"),
        "folds": [members(fold, "chosen saves own") for fold in fit.folds],
    }
