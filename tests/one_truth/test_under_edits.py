"""Law: every figure of a session that left under edits is that of the same session told by somebody who only knows what
left."""

from __future__ import annotations

from typing import Any

import pytest

from ctxtui.core.edit import make
from tests.one_truth.under_edits import Telling, Told, both, differences

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
    "edits were applied or taken back, so that the requests part": "the context parts from that of the call before it",
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


@pytest.fixture(scope="module")
def tellings(tmp_path_factory: pytest.TempPathFactory) -> tuple[Told, Told]:
    return both(ledger(), tmp_path_factory.mktemp("tellings"))


@pytest.mark.parametrize("command", SAME, ids=" ".join)
def test_law_what_a_command_says_is_what_is_said_of_what_left(
    tellings: tuple[Told, Told], command: tuple[str, ...]
) -> None:
    own, left = (one.said(*command) for one in tellings)
    assert differences(as_left(own), as_left(left)) == []


def as_left(said: Any) -> Any:
    """What is said by whoever knows no edits: to them what edits part was changed by the program."""
    if isinstance(said, dict):
        return {key: as_left(value) for key, value in said.items()}
    if isinstance(said, list):
        return [as_left(one) for one in said]
    if isinstance(said, str):
        for ours, theirs in CAUSES.items():
            said = said.replace(ours, theirs)
    return said


@pytest.mark.parametrize("command", PRINTED, ids=" ".join)
def test_law_what_a_command_prints_is_what_is_printed_of_what_left(
    tellings: tuple[Told, Told], command: tuple[str, ...]
) -> None:
    own, left = (one.run(*command).splitlines() for one in tellings)
    assert differences(own, left) == []


@pytest.mark.parametrize("form", ["anthropic", "openai-chat", "openai-responses", "curl"])
def test_law_an_exported_body_is_what_left(tellings: tuple[Told, Told], form: str) -> None:
    for number in ("3", "6", "8", "11"):
        own, left = (one.run("export", "--to", form, "--call", number) for one in tellings)
        assert own == left
        for more in ((), ("--policy", "truncate_results")):
            own, left = (one.run("curate", "--call", number, *more) for one in tellings)
            assert own == left


@pytest.mark.parametrize("form", ["anthropic", "openai-chat", "ctxtui"])
def test_law_the_next_request_under_the_applied_edits_is_that_behind_what_left(
    tellings: tuple[Told, Told], form: str
) -> None:
    own, left = tellings
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
