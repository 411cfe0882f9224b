"""What a report shows to be gone is found, marked as inferred and carried on; the rest stays where it was."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from ctxtui.analysis.figures import block_figures, context_size, figures
from ctxtui.analysis.money.block_costs import thread_costs
from ctxtui.analysis.money.spending import rows_by_category
from ctxtui.analysis.read import absence
from ctxtui.analysis.request_counts import count_request
from ctxtui.analysis.residual import explain_residual, residual_steps
from ctxtui.analysis.running_totals import RunningTotals
from ctxtui.core import block
from ctxtui.core.block import Item
from ctxtui.core.call import ESTIMATED_INPUT, SUM, Call, EpochStart, Fidelity
from ctxtui.core.edit import make
from ctxtui.core.edit_kinds import DROP
from ctxtui.core.session import CallSeen
from ctxtui.core.tree import ROOT
from ctxtui.core.usage import Usage
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.context import Context
from ctxtui.pricing.price import Cost
from tests.analysis.audits import counted, speech
from tests.analysis.sessions import said
from tests.cases.unsaid import (
    FRONT,
    Unsaid,
    call_block,
    cleared,
    failed_answer,
    old_messages_left_out,
    result,
    summarised_without_a_word,
    thinking_left_out,
)

Case = Callable[[int], tuple[Unsaid, set[int]]]
CASES: list[tuple[Case, str]] = [
    (cleared, absence.RESULTS_CLEARED),
    (failed_answer, absence.NOT_SENT),
    (thinking_left_out, absence.THINKING_LEFT_OUT),
    (old_messages_left_out, absence.MESSAGES_LEFT_OUT),
]


@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize(("case", "why"), CASES)
def test_what_left_without_a_word_is_found_where_the_report_falls(case: Case, why: str, seed: int) -> None:
    made, lost = case(seed)
    book = counted(made.script)
    found = book.contexts.read_of(made.calls[-1])
    assert found is not None and {one.why for one in found.gone.by_node.values()} == {why}
    wrong = set(found.gone.by_node) ^ lost
    known = sum(book.block_tokens(made.model, n) for n in lost)
    assert sum(book.block_tokens(made.model, n) for n in wrong) <= 0.15 * known, (
        "nearly the blocks that left, no others"
    )


def with_usage(made: Unsaid, other: Callable[[Call], Call]) -> None:
    """Each call as another client or provider would report it."""
    for call in made.calls:
        made.script.session.apply(CallSeen(other(call)))


def front_read_alone(call: Call) -> Call:
    """The provider reads the system prompt alone from its cache, and reports no writes."""
    whole = call.usage.input if call.usage else 0
    read = min(FRONT, whole) if whole > FRONT else 0
    return replace(call, usage=Usage(fresh=whole - read, cache_read=read, output=1))


def said_by_the_client(call: Call) -> Call:
    """No report: the client's own figure."""
    whole = call.usage.input if call.usage else 0
    return replace(call, usage=None, extra={**call.extra, ESTIMATED_INPUT: whole})


@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize(("case", "why"), CASES)
def test_what_left_is_found_also_where_the_cache_held_less_than_the_context(case: Case, why: str, seed: int) -> None:
    made, lost = case(seed)
    with_usage(made, front_read_alone)
    book = counted(made.script)
    found = book.contexts.read_of(made.calls[-1])
    assert found is not None and found.gone
    wrong = set(found.gone.by_node) ^ lost
    assert sum(book.block_tokens(made.model, n) for n in wrong) <= 0.15 * sum(
        book.block_tokens(made.model, n) for n in lost
    )


@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("case", [summarised_without_a_word, cleared])
def test_no_composition_exceeds_by_much_what_the_client_says_of_its_context(case: Case, seed: int) -> None:
    made, lost = case(seed)
    with_usage(made, said_by_the_client)
    book, last = counted(made.script), made.calls[-1]
    got = figures(book, last)
    assert got.context_tokens == last.estimated_input and got.reported is None
    assert got.residual >= -0.3 * got.context_tokens
    unmarked = sum(book.sums(made.model, last.sent_head)) + (got.not_recorded or 0)
    assert unmarked < 1.3 * got.context_tokens or set(book.contexts.absences_at(last.sent_head).by_node) & lost


def test_a_sum_of_calls_is_no_context() -> None:
    story = Unsaid()
    story.hear()
    made = story.call(block.text("so"))
    whole = replace(
        made,
        id="sum",
        raw_head=ROOT,
        sent_head=ROOT,
        response_head=ROOT,
        usage=Usage(6_000_000, output=9),
        fidelity=Fidelity.TOTALS,
        extra={SUM: True},
    )
    story.script.session.apply(CallSeen(whole))
    book = counted(story.script)
    got = figures(book, whole)
    assert (got.context_tokens, got.residual, context_size(book, whole)) == (0, 0, None)
    assert got.reported == whole.usage, "it is paid"


def test_what_is_not_recorded_comes_back_with_the_block_that_had_seemed_to_lower_it() -> None:
    """A block that is counted for too much seems to leave no room for the system prompt, until it is cleared."""
    story = Unsaid(front=4_000)
    story.hear()
    story.work(1, 20_000, 30_000)
    (heavy,) = story.nodes(lambda one: one.kind == "tool_result")
    many = story.call(block.text("so"))
    assert many.usage is not None
    whole = sum(counted(story.script).sums(story.model, many.sent_head))
    story.script.session.apply(CallSeen(replace(many, usage=Usage(whole - 1_000, output=1))))
    story.lose([heavy])
    story.hear()
    last = story.call(block.text("done"))
    found = counted(story.script).contexts.read_of(last)
    assert found is not None and list(found.gone.by_node) == [heavy] and abs((found.front or 0) - 4_000) < 1_000


@pytest.mark.parametrize("seed", range(1, 4))
@pytest.mark.parametrize(("case", "why"), CASES)
def test_no_composition_exceeds_its_report(case: Case, why: str, seed: int) -> None:
    made, _ = case(seed)
    book = counted(made.script)
    for call in made.calls:
        got = figures(book, call)
        assert got.reported is not None and got.residual >= -0.02 * got.reported.input


@pytest.mark.parametrize(("case", "why"), CASES)
def test_a_report_that_nobody_went_through_yet_is_no_composition_that_exceeds_it(case: Case, why: str) -> None:
    made, _ = case(1)
    script = made.script
    told = [call for call in made.calls if call.usage is not None]
    for call in told:
        script.session.apply(CallSeen(replace(call, usage=None)))
    book, waited = counted(script), 0
    for call in told:
        script.session.apply(CallSeen(call))
        book.count(1_000)
        got = figures(book, call)
        assert got.context_tokens == call.usage.input, "the report is here"
        assert not got.counted or got.residual >= -max(40, 0.005 * call.usage.input)
        waited += not got.counted
        book.advance()
        assert figures(book, call).counted, "and now it is known what is gone"
    assert waited, "where blocks left there was a moment in which that was not known"


@pytest.mark.parametrize("seed", range(1, 6))
def test_what_exceeds_a_report_is_gone_also_where_more_left_than_is_on_record(seed: int) -> None:
    made, lost = summarised_without_a_word(seed)
    book = counted(made.script)
    got = figures(book, made.calls[-1])
    assert got.reported is not None and got.residual >= -0.02 * got.reported.input
    found = book.contexts.absences_at(made.calls[-1].sent_head)
    assert {one.why for one in found.by_node.values()} == {absence.MESSAGES_LEFT_OUT}
    wrong = set(found.by_node) ^ lost
    assert sum(book.block_tokens(made.model, n) for n in wrong) <= 0.3 * sum(
        book.block_tokens(made.model, n) for n in lost
    )


def test_what_was_gone_stays_gone_where_a_block_behind_the_front_was_replaced() -> None:
    made, _ = cleared()
    session, last = made.script.session, made.calls[-1]
    path = session.tree.path(last.sent_head)
    items = [Item(session.tree[n].block, session.tree[n].place) for n in path]
    spoken = next(n for n, item in enumerate(items) if item.block.kind == "text")
    items[spoken] = Item(block.text("Something else was asked."), items[spoken].place)
    head = session.tree.extend(ROOT, items)
    again = replace(
        last, id="again", sent_head=head, raw_head=head, response_head=head, started=(last.started or 0) + 9
    )
    session.apply(CallSeen(again))
    book = counted(made.script)
    before, now = book.contexts.absences_at(last.sent_head), book.contexts.absences_at(head)
    assert len(now.by_node) == len(before.by_node) > 0 and set(now.by_node).isdisjoint(before.by_node)


def test_cleared_results_stay_gone_and_say_since_when_and_why() -> None:
    made, _ = cleared()
    book = counted(made.script)
    first = next(n for n, call in enumerate(made.calls, 1) if book.contexts.absences_at(call.sent_head))
    for call in made.calls[first - 1 :]:
        gone = [row for row in block_figures(book, call) if row.gone]
        assert len(gone) == 9 and {row.gone.since for row in gone if row.gone} == {first}
        assert {row.method for row in gone} == {"inferred"}, "what stands in their place is a guess"
        assert {row.gone.reason_text for row in gone if row.gone} == {"the client cleared its oldest results"}
    before = list(block_figures(book, made.calls[first - 2]))
    assert not any(row.gone for row in before), "no call before the report that shows it"


@pytest.mark.parametrize(("case", "why"), CASES)
def test_rows_totals_and_figures_agree_where_blocks_are_gone(case: Case, why: str) -> None:
    made, _ = case(2)
    book = counted(made.script)
    running = RunningTotals(book, made.model)
    running.advance()
    for call in made.calls:
        got = figures(book, call)
        rows = [row for row in block_figures(book, call) if row.read]
        assert sum(row.tokens for row in rows) + got.residual == got.context_tokens
        assert running.read_tokens(call.sent_head, call.sent_head) == sum(got.categories.values())
        assert sum(running.sums(call.sent_head, call.sent_head)) == sum(got.categories.values())
        for name, tokens in got.categories.items():
            assert sum(row.tokens for row in rows if row.category == name) == tokens


@pytest.mark.parametrize(("case", "why"), CASES)
def test_nothing_is_inferred_from_later_reports(case: Case, why: str) -> None:
    made, _ = case(1)
    whole = counted(made.script)
    for number in (len(made.calls) // 2, len(made.calls) - 1):
        cut = case(1)[0]
        kept = {call.id for call in cut.calls[:number]}
        session = cut.script.session
        session.order["main"] = [id_ for id_ in session.order["main"] if id_ in kept]
        for id_ in [id_ for id_ in session.calls if id_ not in kept]:
            del session.calls[id_]
        book = counted(cut.script)
        for call in cut.calls:
            assert set(book.contexts.absences_at(call.sent_head).by_node) == set(
                whole.contexts.absences_at(call.sent_head).by_node
            )


def test_what_the_cache_read_again_is_not_gone() -> None:
    made = Unsaid()
    made.hear()
    made.work(8)
    last = made.nodes(lambda one: one.kind == "tool_result")[-1]
    # The newest result is read as far less than is recorded; everything before it came from the cache.
    made.lose([last])
    made._known = set(made.gone)
    made.call(block.text("done"))
    book = counted(made.script)
    assert set(book.contexts.absences_at(made.calls[-1].sent_head).by_node) == {last}


def test_what_a_client_attaches_again_after_a_compaction_is_no_system_prompt() -> None:
    made = Unsaid()
    made.hear()
    made.work(4)
    made.script.head = 0
    made.epoch(EpochStart.COMPACTION)
    made.added = 9_000
    made.hear(200, 300)
    made.work(2)
    book = counted(made.script)
    before, after = figures(book, made.calls[3]), figures(book, made.calls[4])
    assert before.not_recorded is not None and abs(before.not_recorded - FRONT) < 300 and not before.attached
    assert after.not_recorded == before.not_recorded
    assert abs(after.attached - 9_000) < 300
    row = next(row for row in block_figures(book, made.calls[4]) if row.category == "reattached")
    assert row.tokens == after.attached and row.method == "inferred"
    blocks = sum(one.tokens for one in block_figures(book, made.calls[4]))
    assert blocks + after.residual == after.context_tokens
    costs = {call.id: Cost(1.0, fresh=0.5, read=0.25, write=0.25, output=0.0, version="t") for call in made.calls}
    ledger = thread_costs(book, costs)[0].ledger
    *_, lacking, again = (b - a for a, b in zip(ledger.categories(4), ledger.categories(5), strict=True))
    assert again > 0 and lacking > 0
    rows = {one.name: one.usd for one in rows_by_category(thread_costs(book, costs), costs)}
    assert rows["re-attached"] == pytest.approx(ledger.categories(len(made.calls))[-1])


def test_a_client_that_comes_back_may_have_other_tools_but_not_none() -> None:
    made = Unsaid()
    made.hear()
    made.work(4)
    made.epoch(EpochStart.RESUME)
    made.added = -6_000
    made.hear()
    made.call(block.text("ok"))
    book = counted(made.script)
    got = figures(book, made.calls[-1])
    assert got.not_recorded is not None and abs(got.not_recorded - (FRONT - 6_000)) < 400
    assert not book.contexts.absences_at(made.calls[-1].sent_head)


def test_results_that_were_cleared_while_the_client_was_away_are_found() -> None:
    made = Unsaid()
    made.hear()
    made.work(12, 900, 1_200)
    results = made.nodes(lambda one: one.kind == "tool_result")
    made.lose(results[:-2])
    made.epoch(EpochStart.RESUME)
    made.hear()
    made.call(block.text("ok"), after=9_000)
    book = counted(made.script)
    got = figures(book, made.calls[-1])
    found = book.contexts.absences_at(made.calls[-1].sent_head)
    assert {one.why for one in found.by_node.values()} == {absence.RESULTS_CLEARED}
    assert got.not_recorded is not None and abs(got.not_recorded - FRONT) < 600
    assert got.residual >= -0.02 * got.context_tokens


def test_a_residual_says_what_it_is_its_cause_and_its_first_call() -> None:
    made = Unsaid()
    made.hear()
    made.work(5)
    made.added = 3_000
    made.work(2)
    book = counted(made.script)
    left = explain_residual(book, made.calls[-1])
    assert left is not None and left.since == 6 and left.tokens > 2_800
    assert "unrecorded text that the client added" in left.cause and "beyond" in left.what


def test_a_residual_of_many_small_steps_began_with_the_first_of_them() -> None:
    made = Unsaid()
    made.hear()
    made.work(3)
    for added in (60, 60, 60, 95, 60, 60, 60):
        made.added += added
        made.work(1)
    book = counted(made.script)
    residual = explain_residual(book, made.calls[-1])
    assert residual is not None and "tokenizer" in residual.cause
    first = next(step.number for step in residual_steps(book, made.calls[-1]) if step.tokens > 0)
    assert residual.since == first and f"since call {first}, likely the model's tokenizer" in residual.describe(99)


def test_the_whole_of_a_request_without_any_recorded_block_is_not_recorded() -> None:
    made = Unsaid()
    made.hear()
    made.call(block.text("ok"))
    made.script.head = 0
    made.call(block.text("?"))
    book = counted(made.script)
    got = figures(book, made.calls[-1])
    assert got.residual == 0 and got.not_recorded == got.context_tokens


def test_where_no_block_explains_a_fall_it_is_what_was_not_recorded_that_left() -> None:
    made = Unsaid()
    made.hear()
    made.work(5, 20, 60)
    made.added, made.broken = -9_000, True
    made.work(3, 20, 60)
    book = counted(made.script)
    early, late = figures(book, made.calls[4]), figures(book, made.calls[-1])
    assert early.not_recorded is not None and late.not_recorded is not None
    assert abs(early.not_recorded - late.not_recorded - 9_000) < 400
    assert not book.contexts.absences_at(made.calls[-1].sent_head) and late.residual >= -0.02 * late.context_tokens
    made.added, made.broken = 0, True
    made.work(2, 20, 60)
    again = counted(made.script)
    assert abs((figures(again, made.calls[-1]).not_recorded or 0) - early.not_recorded) < 400, "and came back"


def test_a_call_of_which_nothing_is_recorded_says_nothing_of_the_next_one() -> None:
    made = Unsaid()
    made.hear()
    made.work(3)
    kept, made.script.head = made.script.head, 0
    made.call(block.text("?"))
    made.script.head = kept
    made.work(2)
    book = counted(made.script)
    first, last = figures(book, made.calls[0]), figures(book, made.calls[-1])
    assert first.not_recorded == last.not_recorded


def test_a_recording_that_begins_in_the_middle_does_not_exceed_its_first_report() -> None:
    made = Unsaid(front=0)
    for _ in range(6):
        made.hear(200, 400)
        made.script.head = made.script.session.tree.extend(
            made.script.head, said("assistant", block.text(speech(made.dice, 200, 400)))
        )
    made.lose(made.nodes(lambda one: one.kind == "text")[:8])
    made.hear()
    made.call(block.text("ok"))
    got = figures(counted(made.script), made.calls[0])
    assert got.residual >= -0.02 * got.context_tokens


def test_a_call_that_comes_while_the_rest_is_gone_through_waits_for_its_count() -> None:
    made = Unsaid()
    made.hear()
    made.work(3)
    book = counted(made.script)
    before = len(made.calls)
    made.work(2)  # as another thread folds it in
    book.contexts.advance()
    assert book.contexts.read_of(made.calls[before - 1]) is not None and book.contexts.read_of(made.calls[-1]) is None
    book.advance()
    assert book.contexts.read_of(made.calls[-1]) is not None


def test_a_request_that_is_written_holds_again_what_reports_show_to_be_gone_and_its_count_says_so() -> None:
    made, lost = cleared()
    book, call = counted(made.script), made.calls[-1]
    context = Context.of_call(made.script.session.tree, call, call.sent_head)
    plain = count_request(book, call, apply(context, ()))
    gone = book.contexts.absences_at(call.sent_head)
    assert set(gone.by_node) == lost
    assert plain.back == sum(book.block_tokens(made.model, node) - gone.by_node[node].left for node in lost) > 0
    assert plain.whole == figures(book, call).context_tokens, "the provider takes them out of what is sent again"
    assert plain.body + plain.client - plain.back == pytest.approx(plain.whole, rel=0.02)
    drops = [make(DROP, context.targets([context.position(node)])) for node in sorted(lost)]
    assert count_request(book, call, apply(context, drops)).back == 0


def test_a_residual_that_came_in_several_steps_names_what_came_with_each() -> None:
    made = Unsaid()
    made.hear()
    asked = {"type": "tool_use", "id": "r", "name": "Read", "input": {"file_path": "src/app.py"}}
    made.call(block.from_part(asked))
    made.script.hear(result("x = 1 " * 200, "r"))
    made.call(call_block("make format", "f"))
    made.script.hear(result("1 file changed", "f"))
    made.added = 3_000
    made.call(block.from_part({"type": "tool_use", "id": "l", "name": "TodoWrite", "input": {"todos": []}}))
    made.script.hear(result("ok", "l"))
    made.added = 5_000
    made.work(3)
    book = counted(made.script)
    left = explain_residual(book, made.calls[-1])
    assert left is not None
    first, second = left.parts
    assert (first.since, second.since) == (3, 4) and 2_800 < first.tokens < 3_200 and 1_800 < second.tokens < 2_200
    assert "`make format` may have changed" in first.cause and "repeats in an unrecorded reminder" in second.cause
    said = left.describe(6)
    assert (
        "since call 3, likely files read before that `make format` may have changed" in said
        and f"{second.tokens:,} since call 4" in said
    )
