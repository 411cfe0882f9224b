"""What tools took in a session: the money of the bill, calls counted once, definitions loaded, deferred, found."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxtui.analysis.content.tools import DEFERRED, FOUND, LOADED, UNKNOWN
from ctxtui.analysis.money.block_costs import thread_costs
from ctxtui.analysis.money.spending import CONVERSATION, OTHER, OUTPUT, RECORDED, rows_by_tool
from ctxtui.analysis.money.tool_costs import ToolCosts, tool_costs
from ctxtui.analysis.money.tool_ledger import DEFER, DROP, KEEP, SessionTool, build_ledger, judge_tool
from ctxtui.core import block as blocks
from ctxtui.core.block import Item, Place
from ctxtui.core.call import Fidelity
from ctxtui.core.category import CATEGORIES
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import Session, ThreadSeen
from ctxtui.pricing.price import price_call
from ctxtui.services.config.package_data import sample_paths
from ctxtui.services.recordings.open import load
from tests.analysis.money_cases import counted
from tests.cases.sessions import Story, use
from tests.corpus import every_recording

REST = {CONVERSATION, OUTPUT, OTHER, RECORDED}


def defined(name: str, **more: object) -> Item:
    value = {"name": name, "description": "does something " * 20, "input_schema": {"type": "object"}, **more}
    return Item(blocks.make("tool", value), Place("tools"))


def costs_of(session: Session) -> dict[tuple[str, str], ToolCosts]:
    book = counted(session)
    costs = {id_: price_call(call) for id_, call in session.calls.items()}
    threads = thread_costs(book, costs)
    found = tool_costs(session, threads, book.names)
    shared = sum(row.usd or 0.0 for row in rows_by_tool(threads, costs, book.names) if row.name not in REST)
    assert sum(one.schema_usd + one.use_usd for one in found) == pytest.approx(shared, abs=1e-9)
    return {(one.server, one.name): one for one in found}


def wired() -> Story:
    """Four calls that carried two tools of a server and one of the client's own; a tool is called twice."""
    story = Story(hidden_tokens=0)
    story.add(defined("Read"), defined("mcp__git__log"), defined("mcp__git__push")).user("go")
    story.call(use("1", "mcp__git__log"), fidelity=Fidelity.WIRE).results(("1", "a b c " * 50))
    story.call(use("2", "Read"), fidelity=Fidelity.WIRE).results(("2", "text"))
    story.call(use("3", "mcp__git__log"), fidelity=Fidelity.WIRE).results(("3", "d e f " * 50))
    return story.call("done", fidelity=Fidelity.WIRE)


def test_a_tool_is_known_by_what_it_took_and_what_was_made_of_it() -> None:
    found = costs_of(wired().session)
    log, push, read = found["git", "log"], found["git", "push"], found["", "Read"]
    assert (log.state, log.carried, log.called, log.mcp) == (LOADED, ((0, 4),), (0, 2), True)
    assert (push.state, push.carried, push.called, push.results) == (LOADED, ((0, 4),), (), 0)
    assert not read.mcp and read.called == (1,) and log.results > read.results > 0
    assert log.tokens and push.tokens and log.schema_usd > 0 and log.use_usd > 0 and push.use_usd == 0


def test_a_deferred_tool_is_carried_from_its_search_on() -> None:
    story = Story(hidden_tokens=0)
    story.add(defined("mcp__a__one", defer_loading=True), defined("mcp__a__two", defer_loading=True)).user("go")
    story.call(use("1", "ToolSearch"), fidelity=Fidelity.WIRE)
    story.results(("1", [{"type": "tool_reference", "tool_name": "mcp__a__one"}]))
    story.call("x", fidelity=Fidelity.WIRE).user("on").call("y", fidelity=Fidelity.WIRE)
    found = costs_of(story.session)
    assert (found["a", "one"].state, found["a", "one"].carried) == (FOUND, ((1, 3),))
    assert (found["a", "two"].state, found["a", "two"].carried) == (DEFERRED, ())


def test_a_tool_that_a_client_only_names_waits() -> None:
    listing = "Tools that wait:\nmcp__shop__price_of\nmcp__shop__buy\n\nMore words about mcp__shop__none."
    story = Story(hidden_tokens=0)
    story.add(Item(blocks.text(listing), Place("system"))).user("mcp__user__typed\n").call("hello")
    found = costs_of(story.session)
    assert {key: (one.state, one.tokens) for key, one in found.items()} == {
        ("shop", "price_of"): (DEFERRED, None),
        ("shop", "buy"): (DEFERRED, None),
    }


def test_what_no_recording_defines_is_unknown_but_for_its_use() -> None:
    story = Story()
    story.user("go").call(use("1", "mcp__x__y")).results(("1", "found " * 40)).call("done")
    one = costs_of(story.session)["x", "y"]
    assert (one.state, one.tokens, one.carried, one.called) == (UNKNOWN, None, (), (0,))
    assert one.results > 20 and one.use_usd > 0 and one.schema_usd == 0


def test_a_thread_that_begins_with_a_copy_adds_no_calls_of_its_own() -> None:
    story = wired()
    copy = Story(thread="side", session=story.session, head=story.head, clock=story.clock, hidden_tokens=0)
    copy.session.fold([ThreadSeen("side", "main")])
    copy.user("aside").call(use("9", "mcp__git__push"), fidelity=Fidelity.WIRE)
    found = costs_of(story.session)
    assert found["git", "log"].called == (0, 2) and found["git", "push"].called == (4,)
    assert found["git", "log"].carried == ((0, 5),)


@pytest.mark.parametrize("path", sample_paths(), ids=lambda path: path.stem)
def test_the_money_of_tools_is_that_of_the_bill(path: Path) -> None:
    session = load(path).session
    assert bool(costs_of(session)) == any(CATEGORIES[node.category] == "tool_call" for node in session.tree.nodes(1))


@pytest.mark.slow
@pytest.mark.parametrize("path", every_recording())
def test_the_money_of_tools_is_that_of_the_bill_in_real_recordings(path: Path) -> None:
    try:
        session = load(path).session
    except CtxtuiError as error:
        pytest.skip(str(error))
    costs_of(session)


@pytest.mark.parametrize(
    ("state", "sessions", "used_in", "carried", "called", "verdict"),
    [
        (UNKNOWN, 3, 2, 0, 5, UNKNOWN),
        (DEFERRED, 9, 0, 0, 0, KEEP),
        (FOUND, 9, 1, 50, 1, KEEP),
        (LOADED, 1, 0, 9, 0, KEEP),
        (LOADED, 1, 0, 10, 0, DEFER),
        (LOADED, 3, 0, 10, 0, DROP),
        (LOADED, 4, 1, 40, 3, KEEP),
        (LOADED, 5, 1, 40, 3, DEFER),
        (LOADED, 1, 1, 100, 1, DEFER),
        (LOADED, 1, 1, 99, 1, KEEP),
    ],
)
def test_the_verdict(state: str, sessions: int, used_in: int, carried: int, called: int, verdict: str) -> None:
    assert judge_tool(state, sessions, used_in, carried, called)[0] == verdict


def seen(
    name: str, *, carried: int, called: int, usd: float = 1.0, state: str = LOADED, at: float = 1.0
) -> SessionTool:
    tokens = None if state == UNKNOWN else round(100 * at)
    costs = ToolCosts(
        server="git",
        name=name,
        mcp=True,
        tokens=tokens,
        state=state,
        carried=((0, carried),),
        called=(0,) * called,
        results=10 * called,
        schema_usd=usd,
        use_usd=0.5,
    )
    return SessionTool(costs=costs, carried=carried, called=called, last=at * called, share=1.0, unpriced=0, at=at)


def test_sessions_are_added_up_and_a_server_is_kept_for_one_tool() -> None:
    many = [seen("push", carried=20, called=0, at=n) for n in (1.0, 2.0, 3.0)]
    (server,) = build_ledger(
        [*many, seen("log", carried=20, called=2), seen("log", carried=0, called=1, state=UNKNOWN)]
    )
    push, log = server.tools
    assert (push.name, push.tokens, push.carried, push.schema_usd, push.verdict) == ("push", 300, 60, 3.0, DROP)
    assert (log.carried, log.called, log.results, log.sessions, log.unrecorded) == (20, 3, 30, 2, 1)
    assert (server.tokens, server.carried, server.called, server.schema_usd) == (400, 60, 3, 4.0)
    assert (server.verdict, server.reason) == (KEEP, "keep 1, drop 1")
    (lost,) = build_ledger([seen("log", carried=0, called=1, state=UNKNOWN)])
    assert (lost.tokens, lost.carried, lost.schema_usd, lost.verdict) == (None, None, None, UNKNOWN)
