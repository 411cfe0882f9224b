"""Anthropic's cache, by hand: every worked example of the caching rules (facts §2)."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from ctxtui.cache import outcome as why
from ctxtui.cache.engines.anthropic import Anthropic
from tests.cache.bodies import Desk, assistant, figures, marked, rules_of, text, user

BIG = "prompt#2000"
TOOL: dict[str, Any] = {"name": "read", "description": "reads", "input_schema": {"type": "object"}}


def chain(size: int, mark: int = 0) -> list[Any]:
    """`size` blocks in one user message; block number `mark` (from 1) is marked."""
    return [user(*(text(f"block {n}#100", "" if n == mark else None) for n in range(1, size + 1)))]


def test_an_entry_at_block_15_is_out_of_reach_of_a_marker_at_35() -> None:
    desk = Desk()
    assert figures(desk.send(0, chain(15, 15))) == (0, 1500, 0)
    missed = desk.ask(10, chain(35, 35))
    assert figures(missed) == (0, 3500, 0)
    assert [(r.kind, r.position and r.position.number, r.by) for r in missed.reasons] == [(why.LOOKBACK, 15, 1)]


def test_the_window_of_twenty_includes_the_marker() -> None:
    desk = Desk()
    desk.send(0, chain(15, 15))
    assert figures(desk.ask(10, chain(34, 34))) == (1500, 1900, 0)


def test_an_earlier_marker_has_a_window_of_its_own() -> None:
    desk = Desk()
    desk.send(0, chain(15, 15))
    both = chain(60, 60)
    both[0]["content"][29]["cache_control"] = {"type": "ephemeral"}
    assert figures(desk.ask(10, both)) == (1500, 4500, 0)


def test_nothing_is_written_without_a_marker_and_nothing_where_none_stood() -> None:
    desk = Desk()
    plain = desk.send(0, chain(30))
    assert figures(plain) == (0, 0, 3000) and plain.reasons[0].kind == why.NO_MARKER
    desk.send(1, chain(30, 30))
    # A shorter prompt's end was never written, although a longer prompt that begins with it was.
    assert figures(desk.ask(2, chain(25, 25))) == (0, 2500, 0)


def test_what_follows_the_last_marker_is_fresh() -> None:
    desk = Desk()
    assert figures(desk.send(0, chain(30, 20))) == (0, 2000, 1000)
    assert figures(desk.send(1, chain(30, 20))) == (2000, 0, 1000)


@pytest.mark.parametrize(
    ("model", "least"),
    [
        ("claude-opus-5-5", 512),
        ("claude-haiku-5-5", 512),
        ("claude-opus-5", 512),
        ("claude-fable-5-1", 512),
        ("claude-fable-5-2", 512),  # not documented, assumed
        ("claude-opus-4-8", 1024),
        ("claude-sonnet-5", 1024),
        ("claude-sonnet-4-6", 1024),
        ("claude-sonnet-4-5-20250929", 1024),
        ("claude-opus-4-1", 1024),
        ("claude-sonnet-4", 1024),
        ("claude-opus-4-7", 2048),
        ("claude-3-5-haiku-20241022", 2048),
        ("claude-opus-4-6", 4096),
        ("claude-opus-4-5-20251101", 4096),
        ("claude-haiku-4-5-20251001", 4096),
    ],
)
def test_a_shorter_prefix_than_the_models_minimum_is_not_cached(model: str, least: int) -> None:
    desk = Desk(model=model)
    short = desk.send(0, [user(text(f"a#{least - 1}", ""), text("b#1"))])
    assert figures(short) == (0, 0, least)
    assert [(r.kind, r.by) for r in short.reasons if r.kind == why.MINIMUM] == [(why.MINIMUM, 1)]
    assert figures(desk.send(1, [user(text(f"a#{least}", ""), text("b#1"))])) == (0, least, 1)


@pytest.mark.parametrize(
    ("model", "read"), [("claude-opus-5", 0.1), ("claude-opus-5-5", 0.05), ("claude-sonnet-5-5", 0.05),
                        ("claude-fable-5-1", 0.025), ("claude-mythos-5-2", 0.025), ("claude-haiku-5-5", 0.1)],
)  # fmt: skip
def test_price_multiples(model: str, read: float) -> None:
    rules = rules_of(model)
    assert (rules.read, dict(rules.writes)) == (read, {"5m": 1.25, "1h": 2.0})
    assert dict(rules.sources)["read"]


def test_lifetime_counts_from_the_start_of_the_request_and_a_read_renews_it() -> None:
    desk = Desk()
    message = [user(text(BIG, ""))]
    # The answer took four minutes to begin: the five minutes count from the request all the same.
    assert desk.send(0, message, began=240).expires == 300
    assert figures(desk.ask(300, message)) == (2000, 0, 0)
    late = desk.ask(301, message)
    assert figures(late) == (0, 2000, 0)
    assert [(r.kind, r.by) for r in late.reasons] == [(why.EXPIRED, 1)]
    desk.send(290, message)
    assert figures(desk.ask(580, message)) == (2000, 0, 0)


def test_one_hour_entries() -> None:
    desk = Desk()
    desk.send(0, [user(text(BIG, "1h"))])
    assert figures(desk.ask(3600, [user(text(BIG, "1h"))])) == (2000, 0, 0)
    assert figures(desk.ask(3601, [user(text(BIG, "1h"))])) == (0, 2000, 0)


def test_a_hit_without_its_marker_renews_too() -> None:
    desk = Desk()
    desk.send(0, [user(text(BIG, ""))])
    desk.send(200, [user(text(BIG), text("more", ""))])
    assert figures(desk.ask(450, [user(text(BIG, ""))])) == (2000, 0, 0)


def test_an_entry_is_readable_once_the_first_answer_began() -> None:
    desk = Desk()
    message = [user(text(BIG, ""))]
    first = desk.ask(0, message)
    desk.simulator.record(first, began=3)
    second = desk.ask(1, message)
    assert figures(second) == (0, 2000, 0)
    assert [(r.kind, r.by) for r in second.reasons] == [(why.NOT_YET, 2)]
    assert figures(desk.ask(3, message)) == (2000, 0, 0)


def test_mixed_lifetimes_are_charged_up_to_the_last_marker_of_each() -> None:
    desk = Desk()
    content = [text("a#1000", "1h"), text("b#300", "1h"), text("c#200", "5m"), text("d#100", "5m"), text("e#50")]
    first = desk.send(0, [user(*content)])
    assert first.writes == ((3600.0, 1300), (300.0, 300))
    assert figures(first) == (0, 1600, 50)
    usage = first.to_usage(output=7)
    assert (usage.write_1h, usage.write_5m, usage.fresh, usage.output, usage.input) == (1300, 300, 50, 7, 1650)


def test_mixed_lifetimes_after_a_hit() -> None:
    desk = Desk()
    desk.send(0, [user(text("a#1000", "1h"))])
    again = desk.send(10, [user(text("a#1000", "1h"), text("b#300", "1h"), text("c#200", "5m"), text("d#50"))])
    assert again.read == 1000 and again.writes == ((3600.0, 300), (300.0, 200)) and again.fresh == 50
    # B is A where no 1h marker stands behind the hit.
    third = desk.send(20, [user(text("a#1000", "1h"), text("b#300"), text("c#200", "5m"), text("d#50", "5m"))])
    assert (third.read, third.writes) == (1500, ((300.0, 50),))


def test_the_one_hour_part_outlives_the_rest() -> None:
    desk = Desk()
    message = [user(text("a#1000", "1h"), text("b#300", "5m"))]
    desk.send(0, message)
    later = desk.ask(600, message)
    assert (later.read, later.writes) == (1000, ((300.0, 300),))


def test_string_and_list_are_one_prompt() -> None:
    desk = Desk()
    listed = [user(text(BIG)), assistant(text("yes")), user(text("go", ""))]
    desk.send(0, listed)
    spelled = [
        {"role": "user", "content": BIG},
        {"role": "assistant", "content": "yes"},
        {"role": "user", "content": "go"},
        assistant(text("done")),
        user(text("more", "")),
    ]
    assert figures(desk.ask(1, spelled)) == (2200, 200, 0)


def test_a_system_prompt_as_string_is_the_one_of_one_block() -> None:
    desk = Desk()
    desk.send(0, [user(text("hi", ""))], system=[text(BIG, "")])
    assert desk.ask(1, [user(text("other", ""))], system=BIG).read == 2000
    assert figures(desk.ask(1, [user(text("hi", ""))], system=BIG)) == (2100, 0, 0)


def test_neighbouring_messages_of_one_role_are_one() -> None:
    desk = Desk()
    desk.send(0, [user(text(BIG), text("and", ""))])
    assert figures(desk.ask(1, [user(text(BIG)), user(text("and", ""))])) == (2100, 0, 0)


def test_the_same_text_said_by_another_role_is_another_prompt() -> None:
    desk = Desk()
    desk.send(0, [user(text(BIG), text("x", ""))])
    assert desk.ask(1, [user(text(BIG)), assistant(text("x", ""))]).read == 0


def test_markers_are_no_content_but_key_order_is() -> None:
    desk = Desk()
    call = {"type": "tool_use", "id": "t", "name": "read", "input": {"a": 1, "b": 2}}
    turned = {**call, "input": {"b": 2, "a": 1}}
    desk.send(0, [user(text(BIG, "")), assistant(marked(dict(call), ""))])
    assert desk.ask(1, [user(text(BIG)), assistant(marked(dict(call), ""))]).read == 2100
    assert desk.ask(1, [user(text(BIG)), assistant(marked(turned, ""))]).read == 2000


def test_order_is_tools_system_messages() -> None:
    desk = Desk()
    body: dict[str, Any] = {"tools": [marked(dict(TOOL), "")], "system": [text("sys#1000", "")]}
    first = desk.send(0, [user(text("hi", ""))], **body)
    assert figures(first) == (0, 1200, 0)
    body["system"] = [text("other#1000", "")]
    # Tools alone are below the minimum, so nothing is left.
    assert desk.ask(1, [user(text("hi", ""))], **body).read == 0


# --- what a parameter invalidates: T tools, S system, M messages ------------------------------------------------------

LONG_TOOL = {**TOOL, "description": "long"}


def sections(**changes: Any) -> dict[str, Any]:
    """A request whose three sections are marked, 1000 tokens each; tools are counted with the first system block."""
    base: dict[str, Any] = {
        "tools": [marked(dict(TOOL), "")],
        "system": [text("sys#1000", "")],
        "messages": [user(text("one#1000", ""))],
    }
    return {**base, **changes}


def left(**changes: Any) -> str:
    """The sections whose cache a request still reads after a change against the plain request."""
    desk = Desk(minimum=0)
    plain = sections()
    desk.send(0, plain.pop("messages"), **plain)
    changed = sections(**changes)
    read = desk.ask(1, changed.pop("messages"), **changed).read
    return {0: "", 100: "T", 1100: "TS", 2100: "TSM"}[read]


def test_nothing_changed() -> None:
    assert left() == "TSM"
    assert left(max_tokens=5, metadata={"user_id": "u"}, stream=True, stop_sequences=["x"]) == "TSM"


@pytest.mark.parametrize(
    ("change", "still"),
    [
        ({"tools": [marked({**TOOL, "description": "edited"}, "")]}, ""),
        ({"tools": [dict(TOOL), marked({**TOOL, "name": "b"}, "")]}, "T"),
        ({"model": "claude-opus-4-8"}, ""),
        ({"system": [text("new#1000", "")]}, "T"),
        ({"speed": "fast"}, "T"),
        ({"tools": [marked(dict(TOOL), ""), {"type": "web_search_20260318", "name": "web_search"}]}, "T"),
        ({"tool_choice": {"type": "any"}}, "TS"),
        ({"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}, "TS"),
        ({"tool_choice": {"type": "auto"}}, "TSM"),
        ({"thinking": {"type": "enabled", "budget_tokens": 2048}}, "TS"),
        ({"output_config": {"effort": "low"}}, "TS"),
        ({"output_config": {"effort": "high"}}, "TSM"),  # the default, spelled out
        ({"output_config": {"format": {"type": "json_schema"}}}, "TS"),
        ({"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}}, "TS"),
        ({"betas": ["compact-2026-01-12"]}, "TS"),
        ({"messages": [user(text("two#1000", ""))]}, "TS"),
    ],
)
def test_what_a_change_invalidates(change: dict[str, Any], still: str) -> None:
    assert left(**change) == still


def test_the_order_of_betas_does_not_matter() -> None:
    desk = Desk()
    desk.send(0, [user(text(BIG, ""))], betas=["a", "b"])
    assert desk.ask(1, [user(text(BIG, ""))], betas=["b", "a"]).read == 2000


PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}


def test_the_line_for_the_biller_is_no_part_of_the_prefix() -> None:
    def system(suffix: str) -> list[dict[str, Any]]:
        line = {"type": "text", "text": f"x-anthropic-billing-header: cc_version=2.1.330.{suffix}; cc_entrypoint=cli;"}
        return [line, text("rules#1000", "")]

    desk = Desk()
    desk.send(0, [user(text("one#1000", ""))], system=system("cd7"))
    assert desk.ask(1, [user(text("one#1000", ""))], system=system("232")).read >= 2000
    other = [text("another line#20"), text("rules#1000", "")]
    assert desk.ask(1, [user(text("one#1000", ""))], system=other).read == 0


def test_a_first_image_loses_nothing() -> None:
    desk = Desk()
    desk.send(0, [user(text("one#2000", ""))])
    first = [user(text("one#2000")), assistant(text("ok")), user(dict(PICTURE), text("look", ""))]
    assert desk.ask(1, first).read == 2000


def test_the_citations_toggle_loses_system_and_messages() -> None:
    desk = Desk()
    paper = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}
    cited = {**paper, "citations": {"enabled": True}}
    system = [text("sys#1000", "")]
    desk.send(0, [user(dict(paper), text("q", ""))], system=system)
    assert desk.ask(1, [user(dict(paper), text("other", ""))], system=system).read == 1000
    assert desk.ask(1, [user(cited, text("q", ""))], system=system).read == 0


def test_text_that_looks_like_an_image_is_none() -> None:
    desk = Desk()
    desk.send(0, [user(text(BIG, ""))])
    result = {"type": "tool_result", "tool_use_id": "t", "content": 'the json {"type":"image"} in a string'}
    assert desk.ask(1, [user(text(BIG)), assistant(text("ok")), user(marked(result, ""))]).read == 2000


# --- thinking ---------------------------------------------------------------------------------------------------------


def thinking(words: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": words, "signature": "s"}


@pytest.mark.parametrize(("model", "read"), [("claude-sonnet-4-5", 2000), ("claude-opus-4-5", 5300)])
def test_thinking_is_stripped_when_a_person_speaks_on_models_that_strip(model: str, read: int) -> None:
    desk = Desk(model=model, minimum=1024)
    size = "#2000"
    call = {"type": "tool_use", "id": "t", "name": "read", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "r"}
    opening = [user(text("go" + size, ""))]
    desk.send(0, opening)
    loop = [*opening, assistant(thinking("hm"), dict(call), text("x#3000")), user(marked(dict(result), ""))]
    assert desk.send(1, loop).read == 2000
    # A tool result alone leaves the thinking where it is.
    assert desk.ask(2, [*loop, assistant(text("y")), user(marked(dict(result), ""))]).read == 5300
    # A person speaks: on a model that strips, all that follows the first thinking is another prompt.
    spoken = [*loop[:2], user(dict(result)), assistant(text("done")), user(text("next", ""))]
    assert desk.ask(2, spoken).read == read


def test_stripped_thinking_leaves_the_same_prompt_as_none() -> None:
    desk = Desk(model="claude-sonnet-4-5", minimum=0)
    desk.send(0, [user(text(BIG)), assistant(text("a")), user(text("next", ""))])
    thought = [user(text(BIG)), assistant(thinking("hm"), text("a")), user(text("next", ""))]
    assert desk.prompt(thought)[0].last.key == desk.prompt([thought[0], assistant(text("a")), thought[2]])[0].last.key


def test_thinking_counts_as_a_position() -> None:
    desk = Desk()
    desk.send(0, [user(text(BIG, ""))])
    thoughts = [thinking(f"{n}") for n in range(18)]
    assert desk.ask(1, [user(text(BIG)), assistant(*thoughts), user(text("x", ""))]).read == 2000
    far = [user(text(BIG)), assistant(*thoughts, thinking("last")), user(text("x", ""))]
    assert desk.ask(1, far).read == 0


# --- automatic caching and refusals -----------------------------------------------------------------------------------

AUTO = {"cache_control": {"type": "ephemeral"}}


def test_automatic_caching_marks_the_last_eligible_block() -> None:
    desk = Desk()
    assert figures(desk.send(0, [user(text(BIG))], **AUTO)) == (0, 2000, 0)
    grown = [user(text(BIG)), assistant(text("a")), user(text("b"))]
    assert figures(desk.send(1, grown, **AUTO)) == (2000, 200, 0)
    # Thinking cannot be marked: the marker walks back silently.
    tail = [user(text(BIG)), assistant(text("a"), thinking("hm"))]
    assert figures(desk.send(2, tail, **AUTO)) == (2000, 100, 100)


def test_automatic_caching_on_a_block_with_the_same_lifetime_does_nothing() -> None:
    desk = Desk()
    assert figures(desk.send(0, [user(text(BIG, ""))], **AUTO)) == (0, 2000, 0)


@pytest.mark.parametrize(
    ("messages", "members", "words"),
    [
        ([user(*(text(f"{n}", "") for n in range(5)))], {}, "maximum of 4"),
        ([user(*(text(f"{n}", "") for n in range(4)), text("tail"))], AUTO, "maximum of 4"),
        ([user(*(text(f"{n}", "") for n in range(4)))], AUTO, "no slot"),
        ([user(text(BIG, "1h"))], AUTO, "different ttl"),
        ([user(text("a", "5m"), text("b", "1h"))], {}, "must not come after"),
        ([user(text("", ""))], {}, "empty text"),
        ([user(text("a")), assistant(marked(thinking("hm"), ""))], {}, "Extra inputs"),
        ([user(text("a", "7m"))], {}, "'5m' or '1h'"),
        ([user({"type": "text", "text": "a", "cache_control": {"type": "forever"}})], {}, "'ephemeral'"),
        ([user({"type": "text", "text": "a", "cache_control": {"type": "ephemeral", "ttl": ["5m"]}})], {}, "'5m' or"),
        ([user(text("a"))], {"cache_control": {"type": "x"}}, "'ephemeral'"),
        ([user(text("a"))], {"cache_control": {"type": "ephemeral", "ttl": {}}}, "'5m' or '1h'"),
    ],
)
def test_markers_that_are_refused(messages: list[Any], members: dict[str, Any], words: str) -> None:
    refused = Desk().refused(messages, **members)
    assert len(refused) == 1 and words in refused[0]


def test_without_a_limit_no_number_of_markers_is_refused() -> None:
    marked_blocks = [user(*(text(f"{n}", "") for n in range(5)))]
    assert Desk(markers=0).refused(marked_blocks, **AUTO) == []


def test_markers_stand_on_tools_and_in_tool_results() -> None:
    desk = Desk(minimum=0)
    inner = {"type": "tool_result", "tool_use_id": "t", "content": [text("r", "")]}
    assert figures(desk.send(0, [user(text(BIG), inner)])) == (0, 2100, 0)
    assert desk.send(1, [user(text("x"))], tools=[marked(dict(TOOL), "1h")]).writes == ((3600.0, 100),)


def test_scopes_and_providers_share_nothing() -> None:
    first, second = Desk(provider="anthropic"), Desk(provider="bedrock")
    second.simulator = first.simulator
    first.send(0, [user(text(BIG, ""))])
    assert second.ask(1, [user(text(BIG, ""))]).read == 0


def test_asking_changes_nothing_and_a_copy_goes_its_own_way() -> None:
    desk = Desk()
    message = [user(text(BIG, ""))]
    desk.ask(0, message)
    assert desk.ask(1, message).read == 0
    other = desk.simulator.copy()
    desk.send(1, message)
    assert desk.ask(2, message).read == 2000
    desk.simulator = other
    assert desk.ask(2, message).read == 0
    desk.send(3, message)
    desk.simulator = desk.simulator.copy()
    assert desk.ask(4, message).read == 2000


# --- what the provider does by itself ---------------------------------------------------------------------------------


def test_results_of_served_tools_are_entries() -> None:
    desk = Desk()
    start = [user(text(BIG, "1h"))]
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    use = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    grown = [*start, assistant(use, found, text("so ..."), text("and")), user(text("thanks", "5m"))]
    first = desk.ask(0, start)
    whole = desk.prompt(grown[:2])[0]
    desk.simulator.record(first._replace(prompt=first.prompt._replace(answer=whole.last)))
    # It reads up to the search result, which was written for five minutes although the marker says an hour.
    assert desk.ask(10, grown).read == 2200
    assert desk.ask(301, grown).read == 2000
    # Without a marker nothing is written.
    bare = Desk()
    plain = [user(text(BIG))]
    asked = bare.ask(0, plain)
    bare.simulator.record(asked._replace(prompt=asked.prompt._replace(answer=bare.prompt(grown[:2])[0].last)))
    assert bare.ask(10, grown).read == 0


def test_what_a_compaction_stands_for_is_not_in_the_prompt() -> None:
    desk = Desk()
    system = [text("sys#1000", "")]
    summary = {"type": "compaction", "content": "what was said", "signature": "s"}
    kept = [user(text("long#9000")), assistant(dict(summary), text("go on")), user(text("next", ""))]
    dropped = [assistant(dict(summary), text("go on")), user(text("next", ""))]
    desk.send(0, kept, system=system)
    assert desk.ask(1, dropped, system=system).hit is not None
    assert desk.prompt(kept, system=system)[0].last.key == desk.prompt(dropped, system=system)[0].last.key
    # The system prompt is read on, what stood before the summary is not.
    assert desk.prompt([user(text("long#9000")), user(text("next", ""))], system=system)[0].last.number == 3


def test_what_is_held_is_what_a_walk_along_the_whole_path_finds() -> None:
    draw = Random(5)
    desk = Desk()
    engine, at, found = Anthropic(), 0.0, set()
    for _ in range(300):
        at += draw.choice((5.0, 60.0, 400.0, 2000.0, 4000.0))
        size = draw.randint(2, 12)
        made, _ = desk.prompt(
            [user(*(marked(text(f"{n % draw.choice((1, 99))}#900"), draw.choice((None, "1h"))) for n in range(size)))]
        )
        if draw.random() < 0.5:
            engine.record(engine.predict(made, at), at + draw.choice((0.0, 30.0)))
        later = at + draw.choice((0.0, 100.0, 1000.0))
        if draw.random() < 0.1:
            engine = engine.copy()
        for life in (0.0, 300.0, 3600.0):
            live = (
                spot
                for spot in made.last.back()
                if (entry := engine.entries.get(spot.key)) and entry[1] <= later <= entry[0] and entry[2] >= life
            )
            walked = next(live, None)
            assert engine.deepest_cached(made, later, life) is walked
            found.add((life, walked is None))
    assert len(found) == 6, "each lifetime was held sometimes, and sometimes not"
