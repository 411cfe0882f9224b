"""The Inspector's panes as text, on hand-built sessions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ctxtui.analysis.content.tools import ToolUse
from ctxtui.analysis.context_window import COMPACTION, ORIGIN_TEXTS, ContextWindow
from ctxtui.analysis.figures import context_size
from ctxtui.analysis.growth.thread_tree import thread_nodes
from ctxtui.analysis.money.spending import SpendingRow
from ctxtui.analysis.money.totals import SessionTotals
from ctxtui.analysis.short_names import Names
from ctxtui.core.call import ANSWER_LEAST, SUM, Call, EpochStart, count_calls
from ctxtui.core.category import INDEX
from ctxtui.core.session import MAIN, CallSeen, Described, Session
from ctxtui.core.usage import Usage
from ctxtui.pricing.price import Cost
from ctxtui.views.glossary import arithmetic
from ctxtui.views.glossary.arithmetic import explain_context, explain_this_call
from ctxtui.views.inspector import call_strip, composition, header, this_call, threads
from ctxtui.views.inspector.call_strip import Columns
from ctxtui.views.inspector.composition import CategoryPart, fold
from ctxtui.views.inspector.header import Header
from ctxtui.views.inspector.heaviest import Heaviest
from ctxtui.views.inspector.map import context_map
from ctxtui.views.inspector.toolset import toolset
from ctxtui.views.model.block_cache import Readings
from ctxtui.views.text import bars, numbers
from ctxtui.views.text.grid import Grid
from ctxtui.views.text.span import plain, width
from ctxtui.views.transcript import block_details
from ctxtui.views.transcript.open_block import OpenState
from tests.cases.scenes import rows_of, scene_of, study_of, text_of
from tests.cases.sessions import Story, compacted, every_category, hostile, long_session, troubled, use, with_subagents
from tests.cases.unsaid import Unsaid, cleared

STUDY = study_of(every_category())
SIZES = [(49, 80), (73, 120), (111, 200)]


@pytest.mark.parametrize(("pane", "screen"), SIZES)
@pytest.mark.parametrize("make", [every_category, compacted, hostile, troubled])
def test_every_row_is_exactly_as_wide_as_its_pane(make, pane: int, screen: int) -> None:  # type: ignore[no-untyped-def]
    study = study_of(make())
    grid = Grid.for_pane(pane, screen)
    for number in range(len(study.thread(MAIN).calls)):
        rows = rows_of(study, number)
        for index in range(rows.count):
            assert width(rows.line(index, 0, grid, "\u25b8")) == pane


def test_the_transcript_tells_the_story() -> None:
    text = "\n".join(text_of(rows_of(STUDY)))
    for expected in (
        "\u00a7 not recorded ",
        "\u0192 Bash Runs a command.",
        "1 \u203a I have updated HANDY_SOCKET_PATH",
        "\u2192 Bash npm test",
        "\u2190 Bash 12 passing (18s) \u00b7 1 failing",
        "\u2190 Read import {Command} from '@oclif/core'",
        "2 \u203a A couple of things",
        "\u2192 puppeteer/navigate https://example.org",
        "\u25a1 image/png, 70 B",
        "\u00b6 The specification.",
        "\u2190 Bash \u2717 command not found",
        "\u254c\u254c answer",
        "\u25cf Done.",
    ):
        assert expected in text
    thought = next(line for line in text.splitlines() if "Let me run the demo" in line)
    assert thought.startswith("  ") and thought.rstrip().endswith(")")


def test_the_gutter_is_the_charge() -> None:
    second = text_of(rows_of(STUDY, 1))
    assert [line[0] for line in second if line[0] != " "].count("\u25c7") == 2
    assert second[0][0] == "\u2503"
    missed = text_of(rows_of(STUDY, 3))
    assert "\u2503" not in {line[0] for line in missed} and "\u254f" in {line[0] for line in missed}


def test_without_cache_figures_there_is_no_gutter() -> None:
    study = study_of(troubled())
    assert {line[0] for line in text_of(rows_of(study, 1))} == {" "}


def test_an_epoch_begins_with_a_rule() -> None:
    text = text_of(rows_of(study_of(compacted()), 4))
    assert any("\u03a3\u254c compaction \u00b7 24.2k \u2192 3.1k" in line for line in text)
    assert any("\u254c\u254c resumed" in line for line in text)


def test_the_number_of_blocks_counts_no_rules_and_no_tail() -> None:
    rows = rows_of(study_of(compacted()), 4)
    context = set(rows.path)
    rules = [index for index in range(rows.count) if rows.rule_at(index) is not None]
    assert rules and rules[0] < rows.index_of(rows.path[-1]), "a rule within the context"
    assert rows.blocks == sum(rows.entry(index) in context for index in range(rows.count)) < rows.count


def test_hostile_text_reaches_no_row() -> None:
    rows = rows_of(study_of(hostile()))
    for index in range(rows.count):
        if rows.entry(index) >= 0:
            rows.toggle(index)
            rows.opened[rows.entry(index)] = OpenState(200)
    for pane, screen in SIZES:
        for line in text_of(rows, pane, screen):
            assert line.isprintable() and "\u202e" not in line and width([]) == 0
    assert any("unreadable record, line 812" in line for line in text_of(rows))


def test_an_opened_block_is_indented_and_closed() -> None:
    rows = rows_of(STUDY)
    index = next(i for i, line in enumerate(text_of(rows)) if "\u2190 Read" in line)
    rows.toggle(index)
    text = text_of(rows)
    assert text[index + 1][6:].startswith("\u2502   1 import {Command}")
    assert "\u2570 17 more lines  $0.0" in text[index + 7]
    assert "this call \u00b7 $0.006 so far  \u23ce fold  e more  o pager  y copy  r raw JSON" in text[index + 7]
    rows.show_more(index)
    assert len(text_of(rows)) == len(text) + 17
    rows.toggle(index, raw=True)
    assert '{"tool_use_id":"t2"' in "".join(text_of(rows)[index + 1 : index + 4])
    rows.toggle(index)
    assert len(text_of(rows)) == rows.count


def test_categories_are_hidden_or_full() -> None:
    shown = ["line"] * 11
    shown[INDEX["tool_result"]] = "hidden"
    assert not any("\u2190" in line for line in text_of(rows_of(STUDY, shown=tuple(shown))))
    shown[INDEX["tool_result"]] = "full"
    assert sum("\u2502" in line[6:7] for line in text_of(rows_of(STUDY, shown=tuple(shown)))) > 8


# Composition


@pytest.mark.parametrize("room", [30, 46, 88])
def test_the_composition_adds_up(room: int) -> None:
    for number in range(6):
        scene = STUDY.scene(MAIN, number)
        what = composition.composition(scene)
        assert sum(part.tokens for part in what.parts) + what.residual == what.total == scene.figures.context_tokens
        lines = [plain(line) for line in composition.lines(what, room, 20)]
        assert all(len(line) <= room for line in lines)
        assert len(lines) == composition.unfolded_height(what, room)


def test_small_categories_share_a_row() -> None:
    parts = [
        CategoryPart(category=category, tokens=tokens, share=0.1) for category, tokens in enumerate((5, 900, 7, 300, 2))
    ]
    kept, folded = fold(parts, 3)
    assert [part.tokens for part in kept] == [900, 300] and [part.tokens for part in folded] == [5, 7, 2]
    assert fold(parts, 5) == (parts, [])


@pytest.mark.parametrize(("room", "first"), [(46, 0), (88, 1)])
def test_a_click_finds_the_category_of_the_drawn_line(room: int, first: int) -> None:
    unrecorded = composition.NOT_RECORDED
    sizes = {0: 5, 1: 900, 2: 7, 3: 300, unrecorded: 500}
    parts = tuple(CategoryPart(category=category, tokens=tokens, share=0.1) for category, tokens in sizes.items())
    what = composition.Composition(total=1712, reported=True, half_width=0.0, parts=parts)
    drawn = [plain(line) for line in composition.lines(what, room, 4 + first)]
    assert [name in line for name, line in zip(("tools", "user", "12", "not recorded"), drawn[first:], strict=True)]
    found = [composition.part_at(what, room, 4 + first, line) for line in range(-1, len(drawn) + 1)]
    assert [part and part.category for part in found[1 + first :]] == [1, 3, None, unrecorded, None]
    assert found[: 1 + first] == [None] * (1 + first)


def test_the_total_says_where_it_is_from() -> None:
    what = composition.composition(STUDY.scene(MAIN, 5))
    assert plain(composition.notes(what, 46)) == f"{what.total:,} reported"
    assert f"blocks \u00b1{100 * what.half_width:.0f} %" in explain_context(what)["reported"]
    unreported = composition.composition(study_of(troubled()).scene(MAIN, 1))
    assert "reported" not in plain(composition.notes(unreported, 46))


# Map


def test_the_map_shows_the_context_in_prompt_order() -> None:
    scene = scene_of(every_category())
    rows = rows_of(STUDY)
    what = context_map.context_map(scene, scene.session.tree.path(scene.head), rows.charge, 400)
    shown = [pixel for pixel in what.shown if pixel is not None]
    filled = len(shown) / 400
    assert abs(filled - scene.figures.context_tokens / what.extent) < 0.01
    assert shown[0] == 11 and INDEX["tool_result"] in shown
    assert abs(sum(tokens for _, tokens in what.segments) - scene.figures.context_tokens) < 1


def test_pointing_and_showing_agree() -> None:
    scene = scene_of(every_category())
    path = scene.session.tree.path(scene.head)
    for node in path:
        at = context_map.cursor_token(scene, node)
        if (
            at is not None
            and scene.running.block_tokens(node)
            and scene.position(node) > scene.position(scene.session.tree[node].parent)
        ):
            assert context_map.node_at(scene, path, at) == node
    assert context_map.node_at(scene, path, 10.0) == 0
    assert context_map.node_at(scene, path, 1e9) is None


def test_a_report_of_no_input_at_all_is_drawn_as_counted() -> None:
    """Mocks and some proxies report zero tokens."""
    story = Story().user("hello " * 1000)
    story.call("hi")
    session = story.session
    (call,) = session.calls.values()
    session.apply(CallSeen(replace(call, usage=Usage())))
    scene = scene_of(session)
    path = session.tree.path(scene.head)
    assert scene.figures.reported and scene.figures.context_tokens == 0 and scene.position(scene.head) > 0
    assert INDEX["user"] in context_map.context_map(scene, path, None, 400).shown
    at = context_map.cursor_token(scene, path[-1])
    assert at is not None and context_map.node_at(scene, path, at) == path[-1]


# This call


def test_an_answer_that_is_reported_in_part_is_the_least_and_so_is_its_call() -> None:
    story = Story().user("a").call("one")
    (call,) = story.session.calls.values()
    assert call.usage is not None
    usage = replace(call.usage, output=1, output_final=False)
    story.session.apply(CallSeen(replace(call, usage=usage, extra={**call.extra, ANSWER_LEAST: 40})))
    study = study_of(story.session)
    what = this_call.this_call(study.scene(MAIN, 0))
    text = [plain(line) for line in this_call.lines(what, 46, 7)]
    cost = study.costs[call.id]
    assert cost is not None and cost.output > 0
    assert "≥40" in text[3] and f"≥{numbers.money(cost.output)}" in text[3]
    assert text[5].lstrip().startswith(f"≥ {numbers.money(cost.usd)}")
    assert "at least 40 tokens of output" in explain_this_call(what)["answer"]


def test_this_call_adds_up_and_says_what_was_saved() -> None:
    what = this_call.this_call(STUDY.scene(MAIN, 2))
    assert abs(sum(line.usd or 0 for line in what.lines) - (what.total or 0)) < 1e-9
    text = [plain(line) for line in this_call.lines(what, 46, 7)]
    assert [line[3:9].strip() for line in text[:4]] == ["read", "write", "fresh", "answer"]
    assert "saves" in text[5] and "uncached" in text[5]
    assert all(len(line) <= 46 for line in text)
    folded = [plain(line) for line in this_call.lines(what, 30, 3)]
    assert len(folded) == 3 and "$" in folded[1]
    assert [plain(line) for line in this_call.lines(what, 30, 1)] == folded[1:2] and not this_call.lines(what, 30, 0)


def test_a_miss_is_told() -> None:
    text = "\n".join(plain(line) for line in this_call.lines(this_call.this_call(STUDY.scene(MAIN, 3)), 46, 7))
    assert "17k rewritten after a 52-minute pause" in text


def test_a_call_without_report_says_so() -> None:
    scene = study_of(troubled()).scene(MAIN, 1)
    text = "\n".join(plain(line) for line in this_call.lines(this_call.this_call(scene), 46, 7))
    assert "No usage recorded" in text and "overloaded_error" in text


# Header, strip, lists


@given(
    st.integers(30, 250),
    st.builds(
        lambda **members: Header(**members),
        title=st.text(max_size=60).filter(str.isprintable),
        model=st.sampled_from(["", "opus-4"]),
        call=st.integers(0, 99999),
        state=st.sampled_from(["live", "recorded", "following"]),
        fidelity=st.sampled_from(["wire", "transcript", "totals only"]),
        used=st.none() | st.integers(0, 2_000_000),
        limits=st.builds(ContextWindow, st.integers(0, 1_000_000), st.integers(0, 750_000)),
        cost=st.none() | st.floats(0, 9999),
        priced=st.booleans(),
    ),
)
def test_the_header_fits_any_width(room: int, what: Header) -> None:
    spans = header.draw_header(what, room)
    assert width(spans) == room
    assert plain(spans).rstrip().endswith("unknown" if what.priced and what.cost is None else plain(spans).rstrip()[-1])


@pytest.mark.parametrize("room", [80, 160])
def test_the_header_says_once_that_no_cost_is_known(room: int) -> None:
    """Neither of the thread, nor of the session with its subagents."""
    main, others = SpendingRow("", calls=100), SpendingRow("", calls=2)
    what = Header(
        title="LM Studio",
        model="gemma",
        call=100,
        state="recorded",
        fidelity="wire",
        used=49_300,
        limits=ContextWindow(131_072, 98_304),
        cost=None,
        priced=True,
        totals=SessionTotals(main, others, 2),
    )
    shown = plain(header.draw_header(what, room)).rstrip()
    assert shown.endswith(" unknown") and "unknown of" not in shown
    some = replace(what, cost=0.25, totals=SessionTotals(main._replace(usd=0.25), others, 2))
    assert "$0.250 of " in plain(header.draw_header(some, room))


def test_the_header_has_the_cost_of_other_threads_that_are_only_a_sum() -> None:
    """Of Inspect's and goose's sums the number of calls is unknown."""
    totals = SessionTotals(SpendingRow("", usd=0.25, tokens=9, calls=1), SpendingRow("", usd=0.5, tokens=99))
    what = Header(title="a", call=1, cost=0.25, priced=True, totals=totals)
    assert plain(header.draw_header(what, 120)).rstrip().endswith("$0.250 of $0.750")
    explained = arithmetic.explain_header(what)["with subagents"]
    assert explained == "$0.750 = $0.250 in the main thread + $0.500 in other requests; 1 call and a sum of others."


@given(st.integers(1, 300), st.integers(1, 120), st.lists(st.integers(0, 299), min_size=1, max_size=20))
def test_the_window_of_calls_holds_the_cursor_and_moves_little(count: int, room: int, walk: list[int]) -> None:
    window = None
    for step in walk:
        cursor, before = step % count, window
        window = call_strip.window(before, count, cursor, room)
        assert window.first <= cursor <= window.last
        assert (window.last - window.first + 1) * window.per <= max(room, 1)
        assert window.last - window.first + 1 == min(count, room)
        if before is not None and before.first <= cursor <= before.last:
            assert window == before


def test_columns_are_made_once() -> None:
    known = study_of(long_session(30)).thread(MAIN)
    columns = Columns()
    first = list(columns.update(known.calls[:20], known.events, frozenset()))
    more = columns.update(list(known.calls), known.events, frozenset())
    assert len(more) == 30 and all(a is b for a, b in zip(first[:20], more, strict=False))


def cleared_within_a_turn() -> Session:
    made = Unsaid()
    made.hear()
    made.work(12)
    made.lose(made.nodes(lambda block: block.kind == "tool_result")[:-3])
    made.work(4)
    return made.script.session


@pytest.mark.parametrize(
    ("session", "numbers"), [(compacted(), (0, 1, 2, 4, 1, 3, 2)), (cleared_within_a_turn(), range(16))]
)
def test_the_heaviest_are_the_same_whichever_way_one_came(session: Session, numbers: Sequence[int]) -> None:
    study = study_of(session)
    travelled = Heaviest()
    for number in numbers:
        scene = study.scene(MAIN, number)
        path = scene.session.tree.path(scene.head)
        assert travelled.update(scene, path) == Heaviest().update(scene, path)
        sizes = [scene.running.block_tokens(node) for node in travelled.update(scene, path)]
        assert sizes == sorted(sizes, reverse=True) and sizes


def test_threads_are_a_tree() -> None:
    rows = threads.thread_rows(with_subagents())
    assert [(row.depth, row.label[:4]) for row in rows] == [(0, "main"), (1, "Find"), (1, "Upda")]
    assert all(width(threads.pane_table("").draw(row, 44)) == 44 for row in rows)


def _reported(call: Call) -> int | None:
    return call.usage.input if call.usage is not None else None


def test_which_limit_is_in_force_is_on_the_map_and_in_a_header_with_room() -> None:
    limits = ContextWindow(168_483, 150_000, COMPACTION, 200_000, 1_000_000)
    what = Header(title="a session", call=184, used=69_100, limits=limits, cost=12.57, priced=True)
    assert (
        "46 %  compacts at 168.5k" in plain(header.draw_header(what, 160))
        and width(header.draw_header(what, 160)) == 160
    )
    assert "compacts" not in plain(header.draw_header(what, 80))
    assert {bars.limit_short(replace(limits, origin=one)) for one in ORIGIN_TEXTS} == {
        "compacts at 168.5k", "168.5k as recorded", "168.5k by default", "168.5k as requested", "168.5k inferred",
        "model limit 168.5k", "168.5k by setting",
    }  # fmt: skip
    assert bars.limit_short(ContextWindow()) == ""
    scene = scene_of(every_category())
    drawn = context_map.context_map(scene, scene.session.tree.path(scene.head), None, 40)
    assert drawn.limit == bars.limit_short(scene.limits)


def test_a_thread_whose_last_call_has_no_report_has_the_context_that_the_header_tells() -> None:
    session = with_subagents()
    last = session.thread_calls(MAIN)[-1]
    session.apply(CallSeen(replace(last, usage=None)))
    study = study_of(session)
    size = partial(context_size, study.book)
    told = header.header(study.scene(MAIN, len(session.thread_calls(MAIN))), "recorded", None, False).used
    row = threads.ThreadSums().rows(session, {}, size)[0]
    assert row.tokens == thread_nodes(session, {}, size)[0].tokens == told
    assert told is not None and told > 0 and (row.peak or 0) >= told


def test_paths_are_told_from_where_the_session_ran_also_when_that_is_known_late() -> None:
    story = Story()
    story.user("go").call(use("t", "Read", file_path="/work/shop/src/a.py"))
    readings = Readings(story.session, Names(story.session.tree))
    node = story.session.thread_calls(MAIN)[0].response_head
    assert readings.preview(node).text == "/work/shop/src/a.py"
    story.session.apply(Described(cwd="/work/shop"))
    assert readings.preview(node).text == "src/a.py"


@pytest.mark.parametrize("told", [None, True, 6])
def test_peaks_and_costs_of_threads_are_those_of_the_whole_list_at_every_moment(told: int | None) -> None:
    session = with_subagents()
    if told is not None:
        session.apply(CallSeen(replace(session.calls["find-1"], extra={SUM: told})))
    calls = dict(session.calls)
    sums = threads.ThreadSums()
    costs: dict[str, Cost | None] = {}
    for number, id_ in enumerate([*calls, ""]):
        kin = {one.id: one for one in thread_nodes(session, costs, _reported)}
        for row in sums.rows(session, costs, _reported):
            own = kin[row.id]
            assert (row.tokens, row.peak, row.calls) == (own.tokens, own.peak, own.calls)
            assert (row.usd is None) == (own.least is None) and row.priced == own.priced
            assert row.usd is None or abs(row.usd - (own.least or 0)) < 1e-9
            assert not row.priced or (row.lacking > 0) == (own.usd is None and own.peak is not None)
        if id_:
            costs[id_] = None if number == 2 else Cost(0.1, fresh=0.0, read=0.1, write=0.0, output=0.0, version="t")
    assert all(row.priced for row in sums.rows(session, costs, _reported))
    counted = {row.id: row.calls for row in sums.rows(session, costs, _reported)}
    assert counted == {id_: count_calls(session.thread_calls(id_)) for id_ in session.threads}
    fuller = replace(calls["find-2"], usage=Usage(fresh=99_999, cost=7.0))
    session.apply(CallSeen(fuller))
    assert {row.id: row.peak for row in sums.rows(session, costs, _reported)}["find"] == 99_999


def test_an_answer_without_a_report_makes_the_cost_of_its_thread_a_lower_bound() -> None:
    session = Story().user("a").call("b").user("c").call("d", usage=False).session
    costs = study_of(session).costs
    [row], [node] = threads.ThreadSums().rows(session, costs, _reported), thread_nodes(session, costs, _reported)
    assert row.usd == node.least and row.lacking == 1 and node.usd is None


def test_a_sum_of_untold_calls_has_no_average() -> None:
    session = with_subagents()
    for call in session.thread_calls("find"):
        session.apply(CallSeen(replace(call, extra={SUM: True})))
    (row,) = (one for one in thread_nodes(session, {}, _reported) if one.id == "find")
    (sent,) = (column for column in threads.table("").columns if column.name == "sent in all")
    assert (
        sent.sum is not None and sent.sum(row) == f"{row.sent:,} tokens of input; the number of calls is not recorded."
    )


def test_tools_are_counted_along_the_path() -> None:
    scene = STUDY.scene(MAIN, 5)
    use = ToolUse(scene.session.tree)
    for number in (0, 3, 5, 2, 5):
        use.read_path(STUDY.scene(MAIN, number).head)
    got = toolset(scene, use)
    assert [(server.name, server.calls) for server in got.servers] == [("puppeteer", 1), ("", 3)]
    assert got.defined == 2 and got.unused == 0


@pytest.mark.parametrize("room", [30, 46, 88])
def test_the_residual_opens_to_what_it_is_its_cause_and_its_first_call(room: int) -> None:
    made = Unsaid()
    made.hear()
    made.work(4)
    made.added = 3_000
    made.work(2)
    what = composition.composition(scene_of(made.script.session))
    folded = [plain(line) for line in composition.lines(what, room, 30)]
    opened = [plain(line) for line in composition.lines(what, room, 30, opened=True)]
    assert opened[: len(folded)] == folded and all(len(line) <= room for line in opened)
    words = " ".join(" ".join(opened[len(folded) :]).split())
    assert "since call 5, likely unrecorded text that the client added" in words
    assert "beyond the recorded blocks" in words or room < 40
    assert len(opened) == composition.unfolded_height(what, room, opened=True)
    places = [composition.is_residual(what, room, 30, line, opened=True) for line in range(len(opened))]
    assert places == [False] * (len(folded) - 1) + [True] * (len(opened) - len(folded) + 1)


def test_a_block_that_is_gone_says_so_in_its_row_and_when_it_is_opened() -> None:
    made, lost = cleared()
    study = study_of(made.script.session)
    rows = text_of(rows_of(study))
    assert sum("gone since call 14" in row for row in rows) == len(lost) == 9
    scene = study.scene(MAIN, len(made.calls) - 1)
    said = block_details.details(scene, min(lost), study.thread(MAIN).lifetimes, None, 80)
    assert "the client cleared its oldest results" in " ".join(plain(line) for line in said)
    early = text_of(rows_of(study, 5))
    assert not any("gone since" in row for row in early)


def test_what_was_attached_again_after_a_compaction_is_a_row_of_its_own() -> None:
    made = Unsaid()
    made.hear()
    made.work(3)
    made.script.head = 0
    made.epoch(EpochStart.COMPACTION)
    made.added = 9_000
    made.hear(200, 300)
    made.work(2)
    scene = scene_of(made.script.session)
    what = composition.composition(scene)
    lines = [plain(line) for line in composition.lines(what, 60, 30)]
    assert any("re-attached" in line and "?9.0k" in line for line in lines)
    assert any("not recorded" in line and "?20.0k" in line for line in lines)
    assert sum(part.tokens for part in what.parts) + what.residual == what.total


@pytest.mark.parametrize("room", [30, 46, 90])
def test_a_session_of_which_nothing_is_reported_says_so_and_shows_no_zeros(room: int) -> None:
    story = Story().user("go").call("an answer of some words")
    for id_, call in list(story.session.calls.items()):
        story.session.calls[id_] = replace(call, usage=None)
    scene = scene_of(story.session)
    told = " ".join(plain(line).strip() for line in this_call.lines(this_call.this_call(scene), room, 8))
    assert "No usage in this recording" in told and "money is not known" in told
    head = plain(header.draw_header(header.header(scene, "recorded", 0.0, True), 120))
    assert "no usage" in head and "$0.000" not in head
