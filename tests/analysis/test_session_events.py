"""What is said of a session is so."""

import pytest
from msgspec.structs import replace

from ctxtui.analysis.cache.miss import COMPACTION, MODEL, TTL, UNKNOWN, CacheMiss
from ctxtui.analysis.cache.miss_finder import session_misses
from ctxtui.analysis.session_events import describe_miss, format_duration, list_events, summarize_thread
from ctxtui.analysis.short_names import Names
from ctxtui.core import block
from ctxtui.core.call import Epoch, EpochStart
from ctxtui.core.session import MAIN, Happened
from ctxtui.core.usage import Usage
from ctxtui.services.config.package_data import model_table
from ctxtui.services.counting.books import cache_rules_by_call
from tests.analysis.sessions import Script, book
from tests.cases.sessions import Story, use

OPUS, SONNET = "claude-opus-4-20250514", "claude-sonnet-4-20250514"


def cached(read: int, write: int, fresh: int = 4, hour: bool = False) -> Usage:
    return Usage(fresh=fresh, cache_read=read, write_1h=write if hour else 0, write_5m=0 if hour else write)


def script(*calls: tuple[Usage, float]) -> Script:
    made = Script(OPUS)
    for usage, after in calls:
        made.hear(block.text("q")).call(block.text("a"), usage=usage, after=after)
    return made


def misses(made: Script) -> tuple[CacheMiss, ...]:
    """The misses of a session, in order of calls."""
    counted = book(made.session, model_table())
    return tuple(session_misses(counted, cache_rules_by_call(counted)).of_thread(MAIN))


def test_a_read_below_half_of_what_the_cache_held_is_a_miss_and_a_long_pause_its_cause() -> None:
    made = script((cached(0, 100_000), 0), (cached(100_000, 88_000), 10), (cached(0, 188_100), 52 * 60))
    (found,) = misses(made)
    assert (found.number, found.tokens, found.read, found.cause) == (3, 188_000, 0, TTL)
    assert describe_miss(found) == "188k rewritten after a 52-minute pause"
    assert summarize_thread(made.session, MAIN, misses(made)) == "188k rewritten at call 3 after a 52-minute pause"


def test_an_entry_of_one_hour_survives_a_pause_of_half_an_hour_so_the_pause_is_not_blamed() -> None:
    made = script((cached(0, 50_000, hour=True), 0), (cached(0, 50_000), 1800))
    (found,) = misses(made)
    assert found.cause == UNKNOWN and describe_miss(found) == "50k rewritten; the recording does not say why"


def test_a_hit_a_short_prefix_and_a_provider_without_cache_figures_are_no_misses() -> None:
    assert misses(script((cached(0, 50_000), 0), (cached(50_000, 10), 9999))) == ()
    assert misses(script((cached(0, 900), 0), (cached(0, 900), 9999))) == ()
    silent = Usage(fresh=50_000, has_cache=False)
    assert misses(script((silent, 0), (silent, 10))) == ()


def test_automatic_prefixes_are_held_against_the_whole_previous_input() -> None:
    made = Script("gpt-5.4", provider="openai")
    made.hear(block.text("q")).call(block.text("a"), usage=Usage(fresh=1_152, cache_read=48_512))
    made.hear(block.text("q")).call(block.text("a"), usage=Usage(fresh=51_000))
    (found,) = misses(made)
    assert found.tokens == 49_536, "in the steps in which the provider counts"


def test_a_change_of_model_and_a_compaction_are_named() -> None:
    made = script((cached(0, 50_000), 0))
    made.model = SONNET
    made.hear(block.text("q")).call(usage=cached(0, 50_000))
    assert misses(made)[0].cause == MODEL
    made = script((cached(0, 50_000), 0))
    made.epoch = Epoch(2, EpochStart.COMPACTION, "50k → 9k")
    made.hear(block.text("q")).call(usage=cached(0, 9_000))
    assert misses(made)[0].cause == COMPACTION


def test_events_name_turns_jumps_errors_and_epochs() -> None:
    made = script((cached(0, 10_000), 0), (cached(10_000, 9_000), 10))
    made.hear(block.text("q")).call(usage=cached(19_000, 10), error="529 overloaded")
    made.session.apply(Happened("interrupt", "interrupted by the user", after="msg_1"))
    made.epoch = Epoch(2, EpochStart.RESUME, "after 13:25")
    made.call(usage=cached(19_000, 10))
    found = [(e.number, e.kind) for e in list_events(made.session, MAIN)]
    assert found == [(1, "turn"), (1, "error"), (2, "turn"), (2, "jump"), (3, "turn"), (3, "error"), (4, "resume")]


def test_notes_of_a_chat_about_edits_and_files_are_no_errors() -> None:
    made = script((cached(0, 10_000), 0))
    for kind in ("edits", "files"):
        made.session.apply(Happened(kind, "2 edits are applied", after="msg_1"))
    assert [event.kind for event in list_events(made.session, MAIN)] == ["turn"]


def test_sentences_for_sessions_without_a_miss() -> None:
    assert summarize_thread(Script(OPUS).session, MAIN) == "no call recorded"
    assert summarize_thread(script((cached(0, 12_000), 0)).session, MAIN) == "one call of 12k"
    jumping = script((cached(0, 10_000), 0), (cached(10_000, 40_000), 10))
    assert summarize_thread(jumping.session, MAIN) == "call 2 added 40k at once"
    calm = script((cached(0, 10_000), 0), (cached(10_000, 100), 10))
    assert summarize_thread(calm.session, MAIN) == "50 % of 20k read from the cache over 2 calls"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (59, "59-second"),
        (60, "1-minute"),
        (3120, "52-minute"),
        (7200, "2-hour"),
        (90_000, "25-hour"),
        (200_000, "2-day"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


def test_results_are_called_by_their_tool_in_every_dialect() -> None:
    made = Script(OPUS)
    made.hear(block.text("go")).call(block.from_part({"type": "tool_use", "id": "t1", "name": "Read", "input": {}}))
    made.hear(block.from_part({"type": "tool_result", "tool_use_id": "t1", "content": "x"}))
    tree = made.session.tree
    assert Names(tree).label(tree[made.head]) == "Read"
    chat = block.make("tool_call", {"id": "c", "type": "function", "function": {"name": "ls", "arguments": "{}"}})
    made.call(chat)
    place = block.Place("messages", "tool")
    head = tree.extend(
        made.head,
        [block.Item(block.header("tool", {"tool_call_id": "c"}), place), block.Item(block.text("out"), place)],
    )
    assert Names(tree).label(tree[head]) == "ls"
    assert replace(tree[head]) == tree[head]


def test_of_calls_with_one_id_a_result_answers_the_last_before_it() -> None:
    story = Story()
    story.user("go").call(use("1", "Read", file_path="a.py")).results(("1", "text of a"))
    first = story.head
    story.call("done").user("on").call(use("1", "Bash", command="ls")).results(("1", "a.py"))
    names, tree = Names(story.session.tree), story.session.tree
    assert names.tool("1", first) == names.label(tree[first]) == "Read"
    assert names.tool("1", story.head) == names.label(tree[story.head]) == "Bash" == names.tool("1")
    found = names.call("1", first)
    assert found is not None and "a.py" in found.arguments
