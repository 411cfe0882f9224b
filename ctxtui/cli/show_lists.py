"""The lists that `ctxtui show` adds when asked: threads, tools."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from ctxtui.cli.paint import Painter, rule, width
from ctxtui.lab.book import Book
from ctxtui.lab.chosen import Chosen
from ctxtui.lab.family import Kin, family
from ctxtui.lab.tools import Server, ToolUse, used
from ctxtui.lab.tools import totals as tool_totals
from ctxtui.runtime.loaded import Loaded
from ctxtui.runtime.pricing import price_of, prices_for
from ctxtui.runtime.settings import Settings
from ctxtui.views import threads as thread_view
from ctxtui.views import toolset
from ctxtui.views.span import Span


@dataclass(frozen=True)
class Asked:
    """What a list is made of: the counted `book`, the call, the recording, the settings."""

    book: Book
    chosen: Chosen
    loaded: Loaded
    settings: Settings

    @property
    def family(self) -> list[Kin]:
        """The session's threads with their figures."""
        price = price_of(prices_for(self.settings))
        session = self.book.session
        return family(session, {id_: price(call) for id_, call in session.calls.items()})

    @property
    def servers(self) -> list[Server]:
        """The tools of the call's context, with the calls of the thread so far."""
        use, call, tree = ToolUse(self.book.session.tree), self.chosen.call, self.book.session.tree
        use.show(call.sent_head)
        calls = self.book.session.thread_calls(self.chosen.thread)[: self.chosen.number]
        return use.servers(lambda node: self.book.own(call.model, node), used(tree, calls))


class Listing(NamedTuple):
    """A list: its data for scripts, and its lines for people."""

    fields: Callable[[Asked], Any]
    lines: Callable[[Asked], Iterable[list[Span]]]


def as_fields(asked: Asked, names: Collection[str]) -> dict[str, Any]:
    """The members of ``show --json`` for the lists asked for."""
    return {name: LISTINGS[name].fields(asked) for name in LISTINGS if name in names}


def print_lists(asked: Asked, names: Collection[str]) -> None:
    """Print the lists asked for."""
    painter = Painter(asked.settings.glyphs)
    for name, listing in LISTINGS.items():
        if name in names:
            for line in listing.lines(asked):
                painter.line(line)


def _threads(asked: Asked) -> list[dict[str, Any]]:
    return [
        {
            "id": kin.id,
            "label": kin.label,
            "parent": kin.parent or None,
            "depth": kin.depth,
            "after_call": kin.since or None,
            "model": kin.model or None,
            "calls": kin.calls,
            "context_tokens": kin.tokens,
            "peak_tokens": kin.peak,
            "input_tokens": kin.sent,
            "output_tokens": kin.answered,
            "cost_usd": kin.usd,
            "compactions": kin.folds,
        }
        for kin in asked.family
    ]


def _thread_lines(asked: Asked) -> Iterator[list[Span]]:
    rows = asked.family
    yield rule("threads", f"{len(rows):,}")
    yield thread_view.heads(width() - 1)
    for kin in rows:
        yield thread_view.draw_kin(kin, width() - 1, shown=kin.id == asked.chosen.thread, here=False)


def _tools(asked: Asked) -> list[dict[str, Any]]:
    return [
        {
            "server": server.name or None,
            "tokens": server.tokens,
            "calls": server.calls,
            "never_called": server.unused,
            "tools": [
                {"name": tool.name or None, "tokens": tool.tokens, "state": tool.state, "calls": tool.calls}
                for tool in server.tools
            ],
        }
        for server in asked.servers
    ]


def _tool_lines(asked: Asked) -> Iterator[list[Span]]:
    servers = asked.servers
    source = asked.book.session.about.source
    what = toolset.Toolset(tuple(servers), *tool_totals(servers), source)
    yield rule("tools", "".join(span.text for span in toolset.notes(what)))
    most = max((tool.tokens or 0 for server in servers for tool in server.tools), default=0)
    for row in toolset.rows(servers):
        yield toolset.draw(row, most, width() - 1, source=source, here=False)


LISTINGS: Final = {
    "threads": Listing(_threads, _thread_lines),
    "tools": Listing(_tools, _tool_lines),
}
"""The lists by the name of their option and of their member."""
