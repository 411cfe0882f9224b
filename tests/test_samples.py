"""The samples: the same bytes each time, the sizes and turns that the systems' authors measured."""

from __future__ import annotations

import ast
import itertools
import json
from functools import cache
from pathlib import Path

import pytest

from ctxtui.core.session import Session
from ctxtui.wire.registry import encode
from ctxtui.wire.request import Request
from sessions import bridge, make, musume, pedroceli, pineapple
from sessions.dice import Dice, exactly
from sessions.prompt_cache import PromptCache, characters
from sessions.recorded import body, session
from sessions.recording import Exchange, Json, Recording
from tests.cli.conftest import Run, ctxtui, home
from tests.sampling import few

__all__ = ["ctxtui", "home"]

RECORDS = {"pineapple": pineapple, "musume": musume, "bridge": bridge, "pedroceli": pedroceli}


@cache
def recording(name: str) -> Recording:
    """A sample's exchanges."""
    return RECORDS[name].record()


def of_thread(name: str, thread: str = "main") -> list[Exchange]:
    """The calls of one thread."""
    return [one for one in recording(name).exchanges if one.thread == thread]


def text(message: Json) -> str:
    """A message's text."""
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def prompt(exchange: Exchange) -> int:
    """Input tokens that the response reports."""
    usage = exchange.response["usage"]
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "prompt_tokens")
    return sum(usage.get(name, 0) for name in names)


# The files


@pytest.fixture(scope="module")
def generated() -> dict[str, bytes]:
    """What the generators make now."""
    return make.made()


def test_the_files_are_what_the_generators_make(generated: dict[str, bytes]) -> None:
    for name, data in generated.items():
        assert (make.HERE / name).read_bytes() == data, f"{name}: run `make samples`"
    assert sum(map(len, generated.values())) <= 1_500_000


def test_every_sample_opens_and_is_the_session_it_was_made_from(generated: dict[str, bytes]) -> None:
    from ctxtui.services.recordings.open import load

    for name, record in zip(generated, make.SAMPLES, strict=True):
        read, made = load(make.HERE / name).session, session(record())
        assert read.about.title == made.about.title
        assert {i: (c.model, c.usage, c.started) for i, c in read.calls.items()} == {
            i: (c.model, c.usage, c.started) for i, c in made.calls.items()
        }
        assert read.order == made.order and not read.skipped


@pytest.mark.parametrize("name", few(RECORDS))
def test_recorded_requests_come_out_byte_for_byte(name: str) -> None:
    found: Session = session(recording(name))
    for exchange in recording(name).exchanges[:: 1 if name != "bridge" else 20]:
        call = found.calls[exchange.response["id"]]
        assert call.skeleton is not None
        items = tuple(found.tree.items(call.sent_head))
        assert encode(Request(items, call.skeleton)) == body(exchange.request)


@pytest.mark.parametrize("name", RECORDS)
def test_calls_follow_one_another_in_time(name: str) -> None:
    for thread in {one.thread for one in recording(name).exchanges}:
        calls = of_thread(name, thread)
        for one, after in itertools.pairwise(calls):
            assert one.started < one.first_byte < one.ended <= after.started


# 1 pineapple_evolve

MEASURED = """
    assistant 9881, user 21, user 1847, assistant 3360, user 85625, assistant 10581, user 21, user 2437,
    assistant 3280, user 138325, assistant 2950, user 109, assistant 10847, user 21, user 2277, assistant 4738,
    user 130529, assistant 3054, user 109, assistant 11969, user 21, user 3154, assistant 4835, user 171850,
    assistant 775, user 109, assistant 11376, user 21, user 2825, assistant 4230, user 141234"""
"""Roles and characters; the notes of 21 characters, `system` in the loop, leave as the user's: the API has no
system message in between for this model."""


def test_messages_have_the_measured_sizes() -> None:
    sent = of_thread("pineapple")[-1].request["messages"]
    found = [f"{message['role']} {len(text(message))}" for message in sent]
    assert found[1:] == [part.strip() for part in MEASURED.split(",")]
    assert found[0] == f"user {len(text(sent[0]))}"


def test_the_context_after_each_feedback_is_what_they_counted() -> None:
    sizes = [len(text(message)) for message in of_thread("pineapple")[-1].request["messages"][1:]]
    ends = [sum(sizes[: i + 1]) // 4 for i, size in enumerate(sizes) if size > 80_000]
    assert [round(tokens / 1000) for tokens in ends] == [25, 64, 102, 150, 191]
    assert prompt(of_thread("pineapple")[-1]) == pytest.approx(192_500, rel=0.01)


def test_feedback_is_printed_as_the_loop_prints_it() -> None:
    feedback = text(of_thread("pineapple")[2].request["messages"][-1])
    head, results = feedback.split("\n\nResults:\n  - ", 1)
    assert head == "Generation 0 complete. 15 children spawned." and results.startswith("trial_0_13:\n    Code: import")
    assert "```" not in feedback
    code = 0
    found = results.split("\n  - trial_")
    for one in found:
        program, _, told = one.partition("\n    Code: ")[2].partition("\n    Metrics: ")
        compile(program, "trial", "exec")
        metrics, _, reasoning = told.partition("\n    Reasoning: ")
        assert ast.literal_eval(metrics).keys() >= {"valid", "sum_radii", "target_ratio"} and len(reasoning) == 300
        code += len(program)
    assert len(found) == 15 and 0.85 < code / len(feedback) < 0.95


def test_the_loop_says_what_the_documents_print() -> None:
    calls = of_thread("pineapple")
    messages = calls[-1].request["messages"]
    assert text(messages[2]) == "REPL execution result"
    block = text(messages[1]).partition("```repl\n")[2].removesuffix("\n```")
    tree = ast.parse(block)
    assert (
        block.startswith('children = [\n    {"prompt": "Strategy 1: ') and "spawn_children_parallel(children)" in block
    )
    (listed,) = [node.value for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.value, ast.List)]
    assert len(ast.literal_eval(listed)) == 15
    chosen = json.loads(text(messages[4]).partition("```selection\n")[2].removesuffix("\n```"))
    assert chosen.keys() == {"selections", "summary"} and len(chosen["selections"]) == 4
    assert chosen["selections"][0].keys() == {"trial_id", "reasoning", "category"}


def test_the_end_of_the_system_prompt_changes_with_each_generation() -> None:
    systems = [[part["text"] for part in one.request["system"]] for one in of_thread("pineapple")]
    assert {len(static) for static, _ in systems} == {7000} and len({static for static, _ in systems}) == 1
    assert {len(state) for _, state in systems} == {200}
    spoken = [state.partition("current_generation: ")[2][0] for _, state in systems]
    assert "".join(spoken) == "00" + "11" + "222" + "333" + "444" + "55"[:1]


def test_the_marker_hits_within_a_generation_and_the_state_breaks_it_between_two() -> None:
    calls = of_thread("pineapple")
    reads = [one.response["usage"]["cache_read_input_tokens"] for one in calls]
    states = [one.request["system"][1]["text"] for one in calls]
    assert reads[0] == 0
    pauses = [0.0, *(after.started - before.started for before, after in itertools.pairwise(calls))]
    late = [i for i, read in enumerate(reads) if i and not read]
    assert len(late) == 1 and pauses[late[0]] > 300
    changed = [i for i in range(1, len(calls)) if states[i] != states[i - 1]]
    assert {reads[i] for i in changed} == {1_750}, "the static part alone is read"
    assert sum(read > 1_750 for read in reads) == 6


def test_fourteen_children_read_what_the_first_one_wrote() -> None:
    children = [one for one in recording("pineapple").exchanges if one.thread != "main"]
    usages = [one.response["usage"] for one in children]
    assert len(children) == 15 and usages[0]["cache_creation_input_tokens"] == 1200
    assert [u["cache_read_input_tokens"] for u in usages[1:]] == [1200] * 14
    assert all(one.started > children[0].first_byte for one in children[1:])


# 2 LLuMa Musume


def turn(number: int) -> Exchange:
    """The call of a turn."""
    return of_thread("musume")[musume.TURNS.index(number)]


def test_the_measured_turn_has_the_measured_tokens() -> None:
    measured = turn(musume.MEASURED[0])
    assert (prompt(measured), measured.response["usage"]["output_tokens"]) == (24_479, 595)
    assert pytest.approx(0.022, abs=0.0005) == (24_479 * 0.80 + 595 * 4.00) / 1e6
    last = measured.request["messages"][-1]["content"]
    assert [part["type"] for part in last].count("image") == 2
    memory = sum(len(part["text"]) for part in last if part.get("text", "").startswith("<")) / 4
    assert 4_000 <= memory <= 6_000


PRINTED = """{
  "name": "Archive",
  "full_label": "Archive | hint=NEW | section=Umamusume",
  "bounds": [907, 418, 193, 49],
  "metadata": {
    "hint": "NEW",
    "section": "Umamusume"
  },
  "region": "menus"
}"""
"""The document's button."""
FOUR_LINES = """Turn turn_000005 (2025-11-01T18:15:22)
Buttons: Archive, Profile, Titles, Trophy Room, Friends, Options, Comics, Secrets, Info button, Back button, \
Story menu button, Home menu button, Race menu button, Scout menu button
Menu: tab=Menu, available=[Jukebox, Menu]
Scrollbar: none"""
"""What the document makes of its turn."""


def test_a_turn_has_the_documents_fields() -> None:
    request = turn(5).request
    assert len(request["system"]) == 2300 * 4 and len(request["tools"]) == 9
    assert sum(map(characters, request["tools"])) == 1500 * 4
    told, vision, first, second, *memory = request["messages"][-1]["content"][2:]
    assert told["text"] == "Turn ID: turn_000005\nTimestamp: 2025-11-01T18:15:22" and len(memory) == 4
    assert first["type"] == second["type"] == "image" and first != second
    seen = json.loads(vision["text"])
    assert list(seen) == ["buttons", "scrollbar", "menu_state"] and seen["scrollbar"] is None
    assert json.dumps(seen["buttons"][0]) == json.dumps(json.loads(PRINTED))
    assert list(seen["menu_state"]) == ["is_usable", "selected_tab", "tabs", "available_tabs"]
    assert list(seen["menu_state"]["tabs"][0]) == ["name", "is_selected", "availability"]
    bar = json.loads(turn(6).request["messages"][-1]["content"][2]["text"])["scrollbar"]
    assert list(bar) == ["track_bounds", "thumb_bounds", "can_scroll_up", "can_scroll_down", "thumb_ratio"]
    for number in musume.TURNS:
        message = turn(number).request["messages"][-1]["content"]
        seen = json.loads(next(b["text"] for b in message if b.get("text", "").startswith("{")))
        assert 10 <= len(seen["buttons"]) <= 30
        assert all(list(one) == list(json.loads(PRINTED)) for one in seen["buttons"])
        labels = [f"{key}={value}" for key, value in seen["buttons"][3]["metadata"].items()]
        assert seen["buttons"][3]["full_label"] == " | ".join([seen["buttons"][3]["name"], *labels])


def test_the_documents_cures_make_of_it_what_the_document_prints(ctxtui: Run) -> None:
    cures = (make.HERE.parent / f"examples/musume/{name}.toml" for name in ("trimming", "compaction"))
    policies = [word for cure in cures for word in ("--policy", cure)]
    messages = ctxtui("curate", make.HERE / "2-lluma-musume.jsonl", *policies).json["messages"]
    assert messages[0]["content"] == [{"type": "text", "text": FOUR_LINES}]
    seen = json.loads(next(b["text"] for b in messages[-1]["content"] if b.get("text", "").startswith("{")))
    assert seen["buttons"][0] == {"name": "Speed", "meta": "hint=NEW", "region": "primary"}
    assert seen["scrollbar"].keys() == {"up", "down"} and seen["menu_state"].keys() == {"tab", "available"}


def test_history_ends_at_twenty_messages_and_stays_legal() -> None:
    for turn in of_thread("musume"):
        messages = turn.request["messages"]
        assert len(messages) <= 20 and messages[0]["role"] == "user"
        asked: set[str] = set()
        for message in messages:
            answered = {b["tool_use_id"] for b in message["content"] if b["type"] == "tool_result"}
            assert answered == asked
            asked = {b["id"] for b in message["content"] if b["type"] == "tool_use"}
        pictures = [b for m in messages[:-1] for b in m["content"] if b["type"] == "image"]
        assert pictures == []
    assert len(of_thread("musume")[-1].request["messages"]) == len(of_thread("musume")[-2].request["messages"])


def test_screenshots_are_pictures() -> None:
    import struct
    import zlib
    from base64 import b64decode

    data = b64decode(of_thread("musume")[0].request["messages"][0]["content"][2]["source"]["data"])
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", data[16:24])
    assert (-(-width // 28)) * (-(-height // 28)) == 1512
    at = data.index(b"IDAT")
    size = int.from_bytes(data[at - 4 : at], "big")
    assert len(zlib.decompress(data[at + 4 : at + 4 + size])) == height * (1 + width // 4)


# 3 the LM Studio bridge


def test_schemas_have_the_measured_bytes() -> None:
    offered = {server: bridge.tools(server) for server in ("github", "filesystem", "memory", "fetch")}
    assert {server: (len(found), bridge.size(found)) for server, found in offered.items()} == {
        "github": (26, 29_230), "filesystem": (14, 11_671), "memory": (9, 7_859), "fetch": (1, 1_640),
    }  # fmt: skip


def test_growth_per_round_is_the_measured_one() -> None:
    github = [prompt(one) for one in of_thread("bridge")]
    assert github[:5] == [7328, 7752, 8176, 8600, 9024] and len(github) == 100
    assert round(github[-1] / 1000) == 49
    assert [prompt(one) for one in of_thread("bridge", "memory")] == [1984, 2408, 2832, 3256, 3680]
    assert pytest.approx(44_000, rel=0.01) == 1984 + 99 * 424
    assert [prompt(one) for one in of_thread("bridge", "github")] == [5703, 6937]
    assert [prompt(one) for one in of_thread("bridge", "fetch")] == [578, 938]


def test_prompts_are_a_quarter_of_what_was_sent_but_those_of_the_log() -> None:
    for one in recording("bridge").exchanges:
        sent = (bridge.size(one.request["tools"]) + bridge.letters(one.request["messages"])) // 4
        assert (sent == prompt(one)) is not bridge.LOOPS[one.thread].logged
    first, second = of_thread("bridge", "github")
    grown = bridge.letters(second.request["messages"]) - bridge.letters(first.request["messages"])
    assert grown // 4 == 1_234 and len(second.request["messages"]) == 3


def test_a_round_is_three_messages_and_every_call_is_answered() -> None:
    messages = of_thread("bridge")[-1].request["messages"]
    assert len(messages) == 1 + 99 * 3 and messages[0]["content"].startswith("Search for fastmcp repos")
    names = {tool["function"]["name"] for tool in bridge.tools("github")}
    for i in range(1, len(messages), 3):
        said, *results = messages[i : i + 3]
        assert [call["id"] for call in said["tool_calls"]] == [one["tool_call_id"] for one in results]
        assert {call["function"]["name"] for call in said["tool_calls"]} <= names


# 4 Pedroceli


def test_the_window_is_filled_by_the_budget() -> None:
    request = of_thread("pedroceli")[0].request
    system, opening = request["messages"]
    task, *files = opening["content"]
    kinds = {kind: sum(len(f["text"]) for f in files if f"({kind}) ===" in f["text"]) / 4 for kind in pedroceli.FILES}
    assert kinds["task file"] == 15_000 and kinds["dependency"] == 5_000
    assert kinds["summary"] == pytest.approx(2_000, rel=0.05), "whole lines"
    assert (len(system["content"]), len(task["text"]), request["max_tokens"]) == (2048 * 4, 512 * 4, 8192)
    assert sum(len(json.dumps(t, separators=(",", ":"))) for t in request["tools"]) == 1024 * 4
    assert prompt(of_thread("pedroceli")[0]) == 2048 + 512 + 1024 + 20_000 + int(kinds["summary"])
    summary = next(f["text"] for f in files if "(summary) ===" in f["text"]).splitlines()[1:]
    assert all(line.strip().startswith(("package ", "import ", "type ", "func ", "const ", "var ")) for line in summary)


PREVIOUS = """=== Previous Work Summary ===
Steps 1-5:
  - Modified: pkg/api/handler.go, pkg/db/queries.go
  - Tests: 12 passed, 0 failed
  - Committed: "Add rate limiting middleware"

Steps 6-8:
  - Modified: pkg/api/middleware.go
  - Tests: 1 failed (TestRateLimit)
  - Error: Redis connection timeout
  - Fixed: Added connection retry logic

=== Recent Context ==="""
"""The document's, but for a blank at the end of a line."""


def test_three_rounds_stay_and_older_ones_become_the_documents_summary() -> None:
    prompts = [prompt(one) for one in of_thread("pedroceli")]
    assert prompts[3] == prompts[0] + 3 * pedroceli.ROUND
    assert all(abs(p - prompts[3]) < 150 for p in prompts[3:])
    messages = of_thread("pedroceli")[-1].request["messages"]
    assert messages[2]["content"] == PREVIOUS
    assert sum("tool_calls" in m for m in messages) == 3
    assert prompts[-1] > 0.75 * 32_768


# The rules


def ask(system: str, *turns: str) -> Json:
    """A request whose every user message is marked."""
    mark = {"cache_control": {"type": "ephemeral"}}
    return {
        "model": "m",
        "system": [{"type": "text", "text": system, **mark}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": turn, **mark}]} for turn in turns],
    }


def test_the_cache_rules_of_the_samples() -> None:
    cache, long = PromptCache(), "x" * 8000

    def usage(at: float, *turns: str) -> tuple[int, int, int]:
        got = cache.usage(ask(long, *turns), at, at + 1, 0)
        return got["cache_read_input_tokens"], got["cache_creation_input_tokens"], got["input_tokens"]

    assert usage(0, "a" * 400) == (0, 2100, 0)
    assert usage(0.5, "a" * 400) == (0, 2100, 0), "not readable before the first byte"
    assert usage(2, "a" * 400, "b" * 400) == (2100, 100, 0)
    assert usage(301, "a" * 400) == (2100, 0, 0), "a read keeps an entry alive"
    assert usage(700, "a" * 400) == (0, 2100, 0), "five minutes without one do not"
    assert usage(701.5, "c" * 400) == (2000, 100, 0)
    assert PromptCache().usage(ask("x" * 4000), 0, 1, 0)["cache_creation_input_tokens"] == 0, "too short"


def test_texts_are_cut_to_measure_at_a_word() -> None:
    for size in range(60, 400):
        made = exactly("Begin. ", size, iter(["some words that go on for a while. "] * 99))
        assert len(made) == size and made.startswith("Begin. ")
    with pytest.raises(ValueError, match="does not fit"):
        exactly("too long", 3, iter(()))


def test_dice_fall_the_same_way_each_time() -> None:
    one, other = Dice("seed"), Dice("seed")
    assert [one.below(6) for _ in range(50)] == [other.below(6) for _ in range(50)]
    assert [Dice("seed").between(3, 5) for _ in range(3)] == [Dice("seed").between(3, 5)] * 3
    assert {one.below(6) for _ in range(200)} == set(range(6))


def test_no_sample_names_a_machine() -> None:
    for path in Path(make.HERE).glob("*.jsonl"):
        data = path.read_bytes()
        assert b"/root/" not in data and b"/home/" not in data
