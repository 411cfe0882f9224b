"""Law: every figure of a session that left under edits is that of the same session told by somebody who only knows what
left."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ctxtui.core.edit import make
from tests.curation.conversations import call_and_result
from tests.one_truth.under_edits import SealedTelling, Telling, Told, both, differences
from tests.sampling import few

SAME = (
    ("show",),
    ("show", "--blocks"),
    ("growth",),
    ("compactions",),
    ("cost",),
    ("check", "--max-context", "999M"),
    ("cache",),
    ("cache", "--markers"),
    ("audit",),
    ("why",),
    ("findings",),
    ("findings", "--call", "7"),
    ("findings", "--call", "9"),
    ("preflight",),
    ("report",),
    ("lab",),
    ("lab", "--policy", "clear_tool_results", "--policy", "truncate_results"),
)
"""Commands with what goes with them, each of which says the same of both tellings."""
PRINTED = (("show", "--blocks"), ("show", "--heaviest"), ("show", "--threads"), ("show", "--tools"), ("growth",))


CAUSES = {
    "edits were applied or taken back: the requests differ": "the context differs from the previous call's",
    "edits applied": "changed",
    "content changed": "changed",
    "edits": "content",
}
"""What differs: the cause of a miss, and how it is shown."""


def use(id_: str, name: str, **given: object) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": name, "input": given}


def result(id_: str, text: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id_, "content": text}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def rows(words: str, count: int) -> str:
    return "".join(f"{words} {n}: {n * 7} pieces of silver\n" for n in range(count))


def tool(name: str, words: str) -> dict[str, Any]:
    return {"name": name, "description": words, "input_schema": {"type": "object", "properties": {}}}


def ledger() -> Telling:
    """Two reads of one file, notes, a search: a read is dropped with its call, another cut, an answer replaced; later a
    second batch, when the cache has expired."""
    told = Telling(
        system=[text("You are a careful engineer. " * 150)],
        tools=[tool("read", "Reads a file. " * 20), tool("seek", "Finds words. " * 60)],
    )
    told.user("read the ledger, please").call("I read it.", use("t1", "read", path="ledger.txt"))
    told.user(result("t1", rows("line", 400))).call("Now the notes.", use("t2", "read", path="notes.txt"))
    told.user(result("t2", rows("note", 300))).call("It adds up.")
    told.user("good. read the ledger again").call(use("t3", "read", path="ledger.txt"))
    told.user(result("t3", rows("line", 400))).call("The same as before.")
    told.apply(
        make("drop", [told.target("line 3:")], id="e1"),
        make("truncate", [told.target("note 7:")], {"head": 5, "tail": 5}, id="e2"),
        make("replace", [told.target("It adds up.")], {"text": "7 x 400"}, id="e3"),
    )
    told.user("what about the notes?").call("They are short.", use("t4", "seek"))
    told.user(result("t4", "nothing found " * 300)).call("Nothing there.")
    told.user("another turn").call("Yes.", use("t5", "read", path="big.txt"))
    told.user(result("t5", rows("big", 700))).call("Big it is.")
    told.apply(make("drop", [told.target("nothing found")], id="e4"))
    told.user("last turn").call("Well.", use("t6", "read", path="x"), pause=500)
    return told.user(result("t6", "x = 1\n" * 50)).call("Done.")


def sealed() -> Telling:
    """Over Responses, with reasoning that only its provider can read: a result is cut, later one is dropped."""

    def asked(id_: str, path: str) -> dict[str, Any]:
        given = json.dumps({"path": path})
        return {
            "type": "function_call",
            "id": f"fc_{id_}",
            "call_id": f"call_{id_}",
            "name": "read",
            "arguments": given,
        }

    def output(id_: str, words: str) -> dict[str, Any]:
        return {"type": "function_call_output", "call_id": f"call_{id_}", "output": words}

    read = {"type": "function", "name": "read", "description": "Reads a file. " * 20, "parameters": {"type": "object"}}
    told = SealedTelling(system=[text("You are a careful engineer. " * 150)], tools=[read])
    told.user("read the ledger").call("I read.", asked("1", "ledger.txt"))
    told.user(output("1", rows("line", 300))).call(asked("2", "notes.txt"))
    told.user(output("2", rows("note", 200))).call("It adds up.")
    told.user("and the notes?").call("They do, too.", asked("3", "big.txt"))
    told.apply(make("truncate", [told.target("line 3:")], {"head": 5, "tail": 5}))
    told.user(output("3", rows("big", 300))).call("Big.")
    told.user("again").call(asked("4", "x.txt"))
    told.user(output("4", "x = 1\n" * 30)).call("Done.")
    told.apply(make("drop", [told.target("note 7:")]))
    told.user("more").call("More.", asked("5", "y.txt"))
    return told.user(output("5", "y = 1\n" * 30)).call("Done, too.")


def cleared() -> Telling:
    """The provider clears old results by itself, while a result is dropped and an answer replaced."""
    told = Telling(system=[text("You are a careful engineer. " * 150)], tools=[tool("read", "Reads a file. " * 20)])
    told.user("read the ledger").call("I read it.", use("t1", "read", path="ledger.txt"))
    told.user(result("t1", rows("line", 300))).call("Now the notes.", use("t2", "read", path="notes.txt"))
    told.user(result("t2", rows("note", 300))).call("It adds up.", use("t3", "read", path="more.txt"))
    told.apply(
        make("drop", [told.target("note 7:")]), make("replace", [told.target("Now the notes.")], {"text": "Notes."})
    )
    told.user(result("t3", rows("more", 300))).call("The same.", cleared=1)
    told.user("what about it?").call("Short.", use("t4", "read", path="b.txt"), cleared=1)
    told.user(result("t4", rows("big", 500))).call("Big it is.", use("t5", "read", path="c.txt"), cleared=2)
    told.user(result("t5", rows("c", 100))).call("Yes.", cleared=2)
    told.user("go on").call("Well.", use("t6", "read", path="x"), pause=60, cleared=2)
    return told.user(result("t6", "x = 1\n" * 50)).call("Done.", cleared=3)


def summed() -> Telling:
    """A summary in the place of what was read, a tool that goes and comes back, a note, a breakpoint."""
    told = Telling(
        system=[text("You are a careful engineer. " * 150)],
        tools=[
            tool("read", "Reads a file. " * 20),
            tool("seek", "Finds. " * 60),
            tool("never", "Is never used. " * 80),
        ],
    )
    thought = {"type": "thinking", "thinking": "let me see " * 40, "signature": "x" * 80}
    told.user("read the ledger").call(thought, "I read it.", use("t1", "read", path="ledger.txt"))
    told.user(result("t1", rows("line", 300))).call("Now the notes.", use("t2", "read", path="notes.txt"))
    told.user(result("t2", rows("note", 300))).call("It adds up.")
    told.user("what about it?").call("Short.", use("t4", "seek", path="b.txt"))
    told.user(result("t4", rows("big", 300))).call("Big it is.")
    told.user("next").call("Next.")
    unused = make("drop", [told.target("Is never used")])
    gone = [told.target(words) for words in ("line 3:", "Now the notes", "notes.txt", "note 3:", "It adds up")]
    told.apply(make("summarize", gone, {"text": "The ledger and the notes say the same; all adds up."}), unused)
    told.user("go on").call("Yes.", use("t5", "read", path="c.txt"))
    told.user(result("t5", rows("c", 200))).call("Well.")
    told.apply(
        make("note", [told.target("Big it is")], {"text": "Keep to silver."}),
        make("breakpoint", [told.target("next")], {"ttl": "1h"}),
    )
    told.take_back(unused)
    told.user("and now").call("Then.", use("t6", "read", path="x"), pause=60)
    told.user(result("t6", "x = 1\n" * 50)).call("Done.")
    return told.user("the end?").call("The end.", pause=400)


def folded() -> Telling:
    """The program compacts its own context between two batches of edits, and reads again what it had read."""
    told = Telling(system=[text("You are a careful engineer. " * 150)], tools=[tool("read", "Reads a file. " * 20)])
    told.user("read the ledger").call("I read it.", use("t1", "read", path="ledger.txt"))
    told.user(result("t1", rows("line", 300))).call("Now the notes.", use("t2", "read", path="notes.txt"))
    told.apply(make("drop", [told.target("line 3:")]), make("replace", [told.target("I read it.")], {"text": "Read."}))
    told.user(result("t2", rows("note", 300))).call("It adds up: we decided to keep silver.")
    told.user("and more").call("More.", use("t3", "read", path="more.txt"))
    told.user(result("t3", rows("more", 200))).call("Much more.")
    told.said = []
    told.user("A summary: notes.txt was read, it adds up, silver is kept.", "go on").call(
        "Once more.", use("t4", "read", path="ledger.txt"), pause=40
    )
    told.user(result("t4", rows("line", 250))).call("As before.", use("t5", "read", path="notes.txt"))
    told.apply(make("truncate", [told.target("line 3:")], {"head": 40, "tail": 40}))
    told.user(result("t5", rows("note", 300))).call("As it was.")
    told.user("last").call("Last.", use("t6", "read", path="x"))
    return told.user(result("t6", "x = 1\n" * 50)).call("Done.")


def copied() -> Telling:
    """A call and its result of another session go in, and out again."""
    told = Telling(system=[text("You are a careful engineer. " * 150)], tools=[tool("read", "Reads a file. " * 20)])
    told.user("read the ledger").call("I read it.", use("t1", "read", path="ledger.txt"))
    told.user(result("t1", rows("line", 300))).call("It adds up.")
    put_in = make("transplant", [told.target("line 3:")], call_and_result("anthropic"), id="e1")
    told.apply(put_in)
    told.user("what about it?").call("Short.", use("t2", "read", path="b.txt"))
    told.user(result("t2", rows("big", 200))).call("Big it is.")
    told.user("and the next?").call("Next.", use("t3", "read", path="c.txt"))
    told.user(result("t3", rows("next", 100))).call("Next it is.")
    told.take_back(put_in)
    told.user("more").call("More.", use("t4", "read", path="d.txt"))
    told.user(result("t4", "x = 1\n" * 50)).call("Done.")
    return told.user("the end?").call("The end.", pause=400)


STORIES = {
    "ledger": ledger,
    "sealed": sealed,
    "cleared": cleared,
    "summed": summed,
    "folded": folded,
    "copied": copied,
}
ADVICE = frozenset({"ahead", "advice"})
"""What policies write says what they take away, and they leave alone what the user has changed."""
OTHERWISE = {
    "ledger": frozenset[str](),
    "copied": ADVICE | {"evidence"},
    "sealed": ADVICE,
    "cleared": ADVICE,
    "folded": ADVICE,
    # Edits begin no turn, and a change of tools by edits is none of the program's.
    "summed": ADVICE | {"turn", "name", "cause", "what", "evidence"},
}
"""Members that who knows the edits says otherwise, by story."""
_Folder = pytest.TempPathFactory


@pytest.fixture(scope="module", params=few(STORIES, 2))
def story(request: pytest.FixtureRequest, tmp_path_factory: _Folder) -> tuple[str, Told, Told]:
    return request.param, *both(STORIES[request.param](), tmp_path_factory.mktemp("tellings"))


@pytest.fixture(scope="module")
def tellings(tmp_path_factory: _Folder) -> tuple[Told, Told]:
    return both(ledger(), tmp_path_factory.mktemp("tellings"))


@pytest.mark.parametrize("command", few(SAME, 4), ids=" ".join)
def test_law_what_a_command_says_is_what_is_said_of_what_left(
    story: tuple[str, Told, Told], command: tuple[str, ...]
) -> None:
    name, *both_ = story
    own, left = (as_left(one.said(*command), OTHERWISE[name]) for one in both_)
    assert differences(own, left) == []


def as_left(said: Any, otherwise: frozenset[str] = frozenset()) -> Any:
    """What is said by whoever knows no edits: to them what edits part was changed by the program."""
    if isinstance(said, dict):
        return {key: as_left(value, otherwise) for key, value in said.items() if key not in otherwise}
    if isinstance(said, list):
        return [as_left(one, otherwise) for one in said]
    if isinstance(said, str):
        for ours, theirs in CAUSES.items():
            said = said.replace(ours, theirs)
    return said


@pytest.mark.parametrize("command", few(PRINTED, 2), ids=" ".join)
def test_law_what_a_command_prints_is_what_is_printed_of_what_left(
    tellings: tuple[Told, Told], command: tuple[str, ...]
) -> None:
    own, left = (as_left(one.run(*command).splitlines()) for one in tellings)
    assert differences(own, left) == []


@pytest.mark.parametrize("form", few(["anthropic", "openai-chat", "openai-responses", "curl"], 2))
def test_law_an_exported_body_is_what_left(story: tuple[str, Told, Told], form: str) -> None:
    for number in ("3", "5", "6", "8"):
        own, left = (one.run("export", "--to", form, "--call", number) for one in story[1:])
        assert own == left


@pytest.mark.parametrize("more", few([(), ("--policy", "truncate_results")]), ids=["as it is", "truncated"])
def test_law_a_curated_request_is_what_left(story: tuple[str, Told, Told], more: tuple[str, ...]) -> None:
    for number in ("3", "5", "6", "8"):
        own, left = (one.run("curate", "--call", number, *more) for one in story[1:])
        assert own == left


@pytest.mark.parametrize("form", few(["anthropic", "openai-responses", "openai-chat", "ctxtui"]))
def test_law_the_next_request_under_the_applied_edits_is_that_behind_what_left(
    story: tuple[str, Told, Told], form: str
) -> None:
    name, own, left = story
    if name == "summed" and form in ("openai-chat", "ctxtui"):
        pytest.skip("a breakpoint is said in every dialect, a marker is not; a summary is known to be one")
    assert own.run("curate", "--after", "--applied", "--to", form) == left.run("curate", "--after", "--to", form)


def test_law_the_price_of_more_edits_is_told_against_what_left(tellings: tuple[Told, Told]) -> None:
    more = ("--policy", "truncate_results", "--set", "limit=900")
    own, left = tellings
    under, plain = own.said("curate", "--after", "--applied", *more), left.said("curate", "--after", *more)
    assert under["tokens"]["before"] < 17_000 and under["tokens"]["freed"] > 5_000
    for name in ("edits", "repairs", "breaks_at_block", "quotes"):
        del under[name], plain[name]
    assert differences(under, plain) == []


def test_a_miss_by_edits_alone_has_a_cause_of_its_own(tellings: tuple[Told, Told]) -> None:
    own, left = (one.said("cache") for one in tellings)
    causes = [[(one["call"], one.pop("cause")) for one in told["misses"]] for told in (own, left)]
    assert causes == [[(10, "TTL"), (6, "edits applied")], [(10, "TTL"), (6, "content changed")]]
    for told in (own, left):
        for one in told["misses"]:
            del one["evidence"]
    assert differences(own["misses"], left["misses"]) == []
    why = tellings[0].said("why")
    assert [one["cause"] for one in why["rewrites"]] == ["pause", "edits applied"]
    assert "edits applied" in tellings[0].run("cache")
