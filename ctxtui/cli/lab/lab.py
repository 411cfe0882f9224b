"""`ctxtui lab`: recorded sessions, call by call, through other policies, cache strategies and models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import click

from ctxtui.analysis.lab.report import LabRow, SessionLab
from ctxtui.analysis.lab.solve import FittedVariant
from ctxtui.cli.agent.agree import agree
from ctxtui.cli.context import FORCE_OPTION, JSON_OPTION, SessionName, config_of
from ctxtui.cli.edit.share import masker_of
from ctxtui.cli.exit_codes import WrongUse
from ctxtui.cli.output import note, note_failed, refuse, write_json
from ctxtui.cli.paint import Painter, rule, table_lines, width
from ctxtui.cli.session_work import worked
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
@FORCE_OPTION
@click.option(
    "--agree", type=click.IntRange(min=1), metavar="N", help="Send N calls again under --policy and --model; see agree."
)
@click.option("--budget-usd", type=click.FloatRange(min=0), metavar="X", help="With --agree: what it may cost at most.")
@click.option(
    "--leave-out", type=click.IntRange(min=0), default=0, metavar="K", help="With --agree: without each of K blocks."
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
    """Try variants on recordings."""
    others = solve or html is not None or bool(caches)
    _refuse_what_does_not_go_together(agree, budget_usd, leave_out, others=others)
    if agree is not None:
        return _agree(context, names, policies, models, agree, budget_usd, leave_out, as_json=as_json)

    if solve and (policies or caches or models):
        raise WrongUse("--solve seeks among policies and caches of its own", way_out="ctxtui lab PATH... --solve")
    settings = config_of(context).settings
    asked = settings if solve else LabRequest(settings, make_variants(policies, caches, models, own_models(settings)))
    done = worked(SOLVE if solve else LAB, expand_names(names, settings.clients), asked, settings, "in the lab")
    failed = [(one.name, one.error) for one in done if one.error is not None]
    best: list[SolvedSession] = [one.result for one in done if solve and one.error is None]
    found: list[SessionLab] = [one.lab for one in best] or [one.result for one in done if one.error is None]
    if failed and not found:
        return refuse(failed[0][1], as_json=as_json)
    if html is not None:
        _write_page(html, found, force)
    if as_json:
        write_json({**lab_json(found), **({"solved": solved_json(find_best(best))} if solve else {})})
    elif html is None:
        _print(found, settings)
        if solve:
            _print_solved(find_best(best), settings)
    return note_failed(failed)


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
    write_private(path, lab_page(found, masker_of("personal").mask_line).encode("utf-8", "replace"), replace=force)
    note(f"wrote {path}")


def _print_solved(found: BestCandidates, settings: Settings) -> None:
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
            painter.lines(table_lines(views.lab_table(one, curves=False), views.lab_lines(one), room))
            painter.lines([Span(words, "dim")] for words in safe_text.wrap(_LEGEND, room))
        for told in views.notes(one):
            first, *more = safe_text.wrap(plain(told), room - 2) or [""]
            painter.line([Span(first, told[0].style)])
            for rest in more:
                painter.line([Span(f"  {rest.lstrip()}", told[0].style)])


def lab_json(found: Sequence[SessionLab]) -> dict[str, Any]:
    """The members of the outermost object."""
    return {"sessions": [_session(one) for one in found]}


def _session(one: SessionLab) -> dict[str, Any]:
    return {
        **members(one, "session title calls usable?"),
        "off": None if one.off is None else round(one.off, 6),
        "outcomes": [{"name": name, "value": value} for name, value in one.outcomes],
        "notes": list(one.notes),
        "variants": [_variant(row) for row in one.rows],
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


def solved_lines(found: BestCandidates) -> Iterator[str]:
    """The best policy and cache strategy with what they save on sessions that they were not fitted to, and keeping a
    cache warm against writing it again."""
    yield from _fitted("policy", found.policy)
    yield from _fitted("cache strategy", found.cache)
    for one in found.sessions:
        for warm, waited in zip(one.warm, one.waited, strict=True):
            read, write, saved = (
                numbers.money(x) if one.priced else f"{numbers.tokens(round(x))} tok"
                for x in (warm.read, warm.write, waited.saved)
            )
            yield (
                f"{one.lab.session[:8]}: a cache entry lives {_life(warm.life)}. Keeping it alive by requests that "
                f"only read it ({read} each) costs less than writing it again ({write}) up to {warm.requests} of them "
                f"(break-even: a pause of {_life(warm.seconds)})"
            )
            if not waited.longer:
                yield f"  no pause was longer than {_life(warm.life)}: there was nothing to keep alive"
                continue
            were = f"{waited.longer} pause{'s were' if waited.longer != 1 else ' was'} longer than {_life(warm.life)}"
            if not waited.cheaper:
                yield f"  {were}, so long that keeping it alive would have cost more than writing it again"
                continue
            paid = "it" if waited.longer == 1 else f"{waited.cheaper} of them"
            yield f"  {were}; keeping it alive would have paid in {paid} and saved {saved}"


def _fitted(what: str, one: FittedVariant | None) -> Iterator[str]:
    if one is None:
        yield f"best {what}: nothing could be tried on every session"
        return
    yield f"best {what} of {one.tried}: {one.best}, {_share(one.saves)} of what was recorded"
    if one.held_out is None:
        yield "  chosen from this one session: what it saves on others is not known; name several to have each held out"
        return
    low, high = min(fold.saves for fold in one.folds), max(fold.saves for fold in one.folds)
    own, many = sum(fold.own for fold in one.folds) / len(one.folds), len(one.folds)
    same = sum(fold.chosen == one.best for fold in one.folds)
    others = "the other one" if many == 2 else f"the other {many - 1}"
    yield (
        f"  held out: for each of the {many} sessions the best of {others} was taken and tried on it, which it was not "
        f"chosen from: {_share(one.held_out)} on average ({100 * low:.1f} to {100 * high:.1f} %)"
    )
    yield (
        f"  in {same} of the {many} that was {one.best}, too; had each had its own best, "
        f"that {_share(own, 'would save')}"
    )


def _share(value: float, saves: str = "saves") -> str:
    return f"{saves} {100 * value:.1f} %" if value >= 0 else f"costs {-100 * value:.1f} % more"


def _life(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds <= 3600 else f"{seconds / 3600:.0f} hours"


def solved_json(found: BestCandidates) -> dict[str, Any]:
    """``solved`` of ``lab --solve --json``."""
    return {
        "policy": _fitted_json(found.policy),
        "cache": _fitted_json(found.cache),
        "keep_warm": [
            {
                "session": one.lab.session,
                "unit": "USD" if one.priced else "fresh tokens",
                **members(
                    warm, "lifetime_seconds=life requests break_even_seconds=seconds read_cost=read write_cost=write"
                ),
                **members(waited, "pauses=longer cheaper saved"),
            }
            for one in found.sessions
            for warm, waited in zip(one.warm, one.waited, strict=True)
        ],
    }


def _fitted_json(one: FittedVariant | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return {
        **members(one, "best saves tried held_out"),
        "folds": [members(fold, "chosen saves own") for fold in one.folds],
    }
