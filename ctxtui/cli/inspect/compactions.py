"""`ctxtui compactions`: what the summaries of a session kept and lost, and what of that came back at what cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import click

from ctxtui.analysis.call_choice import choose_call
from ctxtui.analysis.content.compactions import KINDS, LITERAL, Compaction, Fact, Recovery, thread_compactions
from ctxtui.analysis.figures import CallFigures
from ctxtui.cli.context import JSON_OPTION, SessionName, config_of, opened
from ctxtui.cli.output import write_json
from ctxtui.cli.paint import Painter, rule, table_lines, width
from ctxtui.core.session import Session
from ctxtui.core.tree import Tree
from ctxtui.services.counting.accounts import make_account
from ctxtui.services.counting.count_cache import cached_counter
from ctxtui.services.members import members
from ctxtui.views.lists import compactions as views
from ctxtui.views.text.span import Span, plain

_ROWS: Final = 12
"""Facts that are printed of each compaction."""


@click.command("compactions")
@click.argument("name", metavar="NAME", type=SessionName())
@click.option("--thread", default="", metavar="ID", help="Of this thread alone.")
@click.option("--all", "every", is_flag=True, help=f"Print all that was lost, not the first {_ROWS}.")
@JSON_OPTION
@click.pass_context
def compactions(context: click.Context, name: str, thread: str, every: bool, as_json: bool) -> None:
    """Say what compactions did: the context before and after, what the summary kept, the files, decisions and literals
    that it lost, which of them came back later, and what reading files again has cost.

    \b
    Example: ctxtui compactions last --json | jq .count
    Example: ctxtui compactions session.jsonl
    """
    settings = config_of(context).settings
    loaded = opened(name, settings)
    session = loaded.session
    if thread:
        choose_call(session, thread, 0)
    with cached_counter(settings) as counter:
        made = make_account(session, counter, settings)
    threads = [costs for costs in made.threads() if thread in ("", costs.thread)]
    found = [one for costs in threads for one in thread_compactions(made.book, costs)]
    if as_json:
        about = session.about
        write_json(
            {
                "session": about.id or loaded.name,
                "title": about.title or loaded.name,
                "count": len(found),
                "read_again_tokens": sum(one.again_tokens for one in found),
                "compactions": [_compaction_json(one, session.tree) for one in found],
            }
        )
        return

    painter = Painter(settings.glyphs)
    painter.lines(_lines(session, found, thread, every))


def _lines(session: Session, found: list[Compaction], thread: str, every: bool) -> Iterator[list[Span]]:
    room = width()
    calls = sum(len(ids) for id_, ids in session.order.items() if thread in ("", id_))
    yield views.summary(found, thread, calls)
    for index, one in enumerate(found):
        yield from rule("Σ" + plain(views.title(found, index)), "" if one.thread == "main" else one.thread)
        yield views.heads(room)
        yield from map(list, views.bars_of(one, room))
        yield from map(list, views.sentences(one))
        rows = views.facts(one)
        shown = rows if every else rows[:_ROWS]
        if rows:
            yield from rule("lost", plain(views.noted(one, views.LOST)))
            yield from table_lines(views.TABLE, shown, room)
        if len(shown) < len(rows):
            yield [Span(f"   and {len(rows) - len(shown):,} more; --all prints them", "dim")]


def _compaction_json(one: Compaction, tree: Tree) -> dict[str, Any]:
    return {
        **members(one, "thread call=number trigger? at"),
        "before": _figures(one.before),
        "after": _figures(one.after),
        **members(one, "summary_tokens summary_encrypted=sealed replaced_blocks=replaced"),
        "kept_blocks": len(one.kept),
        "kept_tokens": one.kept_tokens,
        "facts": {f"{kind}s": {"total": one.count_facts(kind), "lost": one.count_lost(kind)} for kind in KINDS},
        "read_again_tokens": one.again_tokens,
        "read_again_usd": one.again_usd,
        **{f"{kind}s": [_fact(fact, tree) for fact in one.facts_of(kind)] for kind in KINDS if kind != LITERAL},
        "lost_literals": [_fact(fact, tree) for fact in one.facts_of(LITERAL)],
    }


def _figures(got: CallFigures) -> dict[str, Any]:
    return {
        "context_tokens": got.context_tokens,
        "method": got.method,
        "categories": {
            **got.categories,
            **({"not_recorded": got.not_recorded} if got.not_recorded else {}),
            **({"reattached": got.attached} if got.attached else {}),
        },
        "residual": got.residual,
    }


def _fact(fact: Fact, tree: Tree) -> dict[str, Any]:
    return {
        **members(fact, "text kept times"),
        "digest": tree[fact.node].block.digest,
        "again": [_again(one, tree) for one in fact.again],
    }


def _again(one: Recovery, tree: Tree) -> dict[str, Any]:
    return {
        "how": one.how,
        "call": one.call,
        "digest": tree[one.node].block.digest,
        "tokens": one.tokens or None,
        "cost_usd": one.usd,
    }
