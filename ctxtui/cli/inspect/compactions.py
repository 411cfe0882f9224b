"""`ctxtui compactions`: what summaries kept and lost, and the cost of what came back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click

from ctxtui.analysis.call_choice import choose_call
from ctxtui.analysis.content.compactions import (
    KINDS,
    LITERAL,
    Compaction,
    Fact,
    Recovery,
    name_facts,
    preview_compaction,
    thread_compactions,
)
from ctxtui.analysis.figures import CallFigures
from ctxtui.cli.context import JSON_OPTION, SessionName, config_of, open_recording
from ctxtui.cli.edit.pins import HOOK_INPUT_OPTION, YES_OPTION, hook_transcript, install_hook
from ctxtui.cli.exit_codes import WrongUse
from ctxtui.cli.output import write, write_json
from ctxtui.cli.paint import Painter, rule, table_lines, width
from ctxtui.core.session import MAIN, Session
from ctxtui.core.tree import Tree
from ctxtui.services.counting.accounts import make_account
from ctxtui.services.counting.count_cache import cached_counter
from ctxtui.services.editing.pins import AHEAD_HOOK, ahead_command
from ctxtui.services.members import members
from ctxtui.views.lists import compactions as views
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span, plain

MAX_FACTS: Final = 12


@click.command("compactions")
@click.argument("name", metavar="[NAME]", type=SessionName(), default="last")
@click.option("--thread", default="", metavar="T", help="Only this thread, by ID or label.")
@click.option("--all", "every", is_flag=True, help=f"Print all lost facts, not only the first {MAX_FACTS}.")
@click.option("--ahead", is_flag=True, help="Print what a compaction now must keep, as instructions for its summary.")
@click.option("--hook", is_flag=True, help="With --ahead: let Claude Code add this to the instructions (PreCompact).")
@YES_OPTION
@HOOK_INPUT_OPTION
@JSON_OPTION
@click.pass_context
def compactions(context: click.Context, /, name: str, thread: str, every: bool, as_json: bool, **options: bool) -> None:
    """Show the effect of compactions: the context before and after, and the facts kept.

    It lists the files, decisions and literals (paths, ids, numbers, errors) that the summary lost, those that came back
    later, and the cost of reading files again.

    With --ahead it prints what the next one must keep: files, decisions and frequent literals of the context now.
    --ahead --hook lets Claude Code add these to the instructions for its summary. It shows the change to
    .claude/settings.local.json in the session's directory, and asks before writing it.

    \b
    Example: ctxtui compactions last --json | jq .count
    Example: ctxtui compactions session.jsonl
    """
    settings = config_of(context).settings
    if options["hook"] and not options["ahead"]:
        raise WrongUse("--hook needs --ahead", way_out="`ctxtui compactions last --ahead --hook`")
    loaded = open_recording(hook_transcript() if options["hook_input"] else name, settings)
    session = loaded.session
    if options["hook"]:
        install_hook(Path(session.about.cwd or "."), ahead_command(), AHEAD_HOOK, options["yes"])
        return
    if thread:
        thread = choose_call(session, thread).thread
    with cached_counter(settings) as counter:
        booked = make_account(session, counter, settings)
    if options["ahead"]:
        preview = preview_compaction(booked.book, thread or MAIN, "")
        # A result may hold terminal escapes and invisible text.
        text = safe_text.plain(name_facts(preview)) if preview is not None else ""
        if as_json:
            write_json({"session": session.about.id or loaded.name, "instructions": text})
        elif text:
            write(text)
        return
    threads = [costs for costs in booked.threads() if thread in ("", costs.thread)]
    compaction_list = [compaction for costs in threads for compaction in thread_compactions(booked.book, costs)]
    if as_json:
        description = session.about
        write_json(
            {
                "session": description.id or loaded.name,
                "title": description.title or loaded.name,
                "count": len(compaction_list),
                "read_again_tokens": sum(compaction.again_tokens for compaction in compaction_list),
                "compactions": [compaction_json(compaction, session.tree) for compaction in compaction_list],
            }
        )
        return
    Painter(settings.glyphs).lines(_lines(session, compaction_list, thread, every))


def _lines(session: Session, compaction_list: list[Compaction], thread: str, every: bool) -> Iterator[list[Span]]:
    room = width()
    calls = sum(len(ids) for id_, ids in session.order.items() if thread in ("", id_))
    yield views.summary(compaction_list, thread, calls)
    for index in range(len(compaction_list)):
        yield from compaction_lines(compaction_list, index, every, room)


def compaction_lines(compaction_list: list[Compaction], index: int, every: bool, room: int) -> Iterator[list[Span]]:
    """The lines of compaction `index`; `every`: all lost facts, not only the first `MAX_FACTS`."""
    compaction = compaction_list[index]
    yield from rule(
        "Σ" + plain(views.title(compaction_list, index)), "" if compaction.thread == "main" else compaction.thread
    )
    yield views.heads(room)
    yield from map(list, views.bars_of(compaction, room))
    yield from map(list, views.sentences(compaction))
    rows = views.facts(compaction)
    shown = rows if every else rows[:MAX_FACTS]
    if rows:
        yield from rule("lost", plain(views.listed_counts(compaction, views.LOST)))
        yield from table_lines(views.TABLE, shown, room)
    if len(shown) < len(rows):
        yield [Span(f"   and {len(rows) - len(shown):,} more; --all prints them", "dim")]


def compaction_json(compaction: Compaction, tree: Tree) -> dict[str, Any]:
    return {
        **members(compaction, "thread call=number trigger? at"),
        "before": _figures(compaction.before),
        "after": _figures(compaction.after),
        **members(compaction, "summary_tokens summary_encrypted=sealed replaced_blocks=replaced"),
        "kept_blocks": len(compaction.kept_nodes),
        "kept_tokens": compaction.kept_tokens,
        "facts": {
            f"{kind}s": {"total": compaction.count_facts(kind), "lost": compaction.count_lost(kind)} for kind in KINDS
        },
        "read_again_tokens": compaction.again_tokens,
        "read_again_usd": compaction.again_usd,
        **{f"{kind}s": [_fact(fact, tree) for fact in compaction.facts_of(kind)] for kind in KINDS if kind != LITERAL},
        "lost_literals": [_fact(fact, tree) for fact in compaction.facts_of(LITERAL)],
    }


def _figures(context_figures: CallFigures) -> dict[str, Any]:
    return {
        "context_tokens": context_figures.context_tokens,
        "method": context_figures.method,
        "categories": {
            **context_figures.categories,
            **({"not_recorded": context_figures.not_recorded} if context_figures.not_recorded else {}),
            **({"reattached": context_figures.attached} if context_figures.attached else {}),
        },
        "residual": context_figures.residual,
    }


def _fact(fact: Fact, tree: Tree) -> dict[str, Any]:
    return {
        **members(fact, "text kept=is_kept times"),
        "digest": tree[fact.node].block.digest,
        "again": [_again(reading, tree) for reading in fact.recoveries],
    }


def _again(reading: Recovery, tree: Tree) -> dict[str, Any]:
    digest = tree[reading.node].block.digest
    return {**members(reading, "how call"), "digest": digest, **members(reading, "tokens? cost_usd=usd")}
