"""The overlay's log: what is staged and applied, and that undo and redo are derived from it alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ctxtui.core import edit_json
from ctxtui.core.edit import WAIT, Edit, Target, active_edits, make
from ctxtui.core.edit_kinds import DROP, NOTE, PIN
from ctxtui.core.edit_log import (
    EXPIRY,
    MISS,
    Stamp,
    apply_staged,
    discard_staged,
    edits_in_force,
    last_action,
    postpone_staged,
    redo_last,
    revert_entries,
    undo_last,
    waiting_until,
)

ACTS = st.lists(st.sampled_from(["stage", "two", "apply", "undo", "redo", "revert", "discard"]), max_size=20)


def edit(id_: str) -> Edit:
    return make(DROP, [Target(id_)], id=id_, batch=id_)


def play(acts: list[str]) -> tuple[list[Edit], list[list[str]]]:
    """The log that `acts` make, and the ids in force after each."""
    log: list[Edit] = []
    states: list[list[str]] = []
    for n, act in enumerate(acts):
        stamp = Stamp(f"a{n}", float(n))
        if act in ("stage", "two"):
            count = 1 if act == "stage" else 2
            log += [make(DROP, [Target(f"{n}{m}")], id=f"e{n}.{m}", batch=stamp.id) for m in range(count)]
        elif act == "revert":
            log += revert_entries(log, [e.id for e in active_edits(log)][:1], stamp)
        else:
            deed = {"apply": apply_staged, "undo": undo_last, "redo": redo_last, "discard": discard_staged}[act]
            log += deed(log, stamp)
        states.append([e.id for e in active_edits(log)])
    return log, states


@given(ACTS)
def test_undo_then_redo_is_nothing_and_undoing_everything_leaves_nothing(acts: list[str]) -> None:
    log, _ = play(acts)
    before = edits_in_force(log)
    undone = undo_last(log, Stamp("u", 0))
    if undone:
        again = [*log, *undone]
        assert edits_in_force([*again, *redo_last(again, Stamp("r", 0))]) == before
    n = 0
    while undone := undo_last(log, Stamp(f"x{n}", 0)):
        log, n = [*log, *undone], n + 1
        assert n < 100
    assert active_edits(log) == []
    for m in range(n):
        log += redo_last(log, Stamp(f"y{m}", 0))
    assert edits_in_force(log) == before


@given(ACTS)
def test_applied_and_staged_are_what_is_in_force(acts: list[str]) -> None:
    log, _ = play(acts)
    found = edits_in_force(log)
    assert sorted([*found.applied, *found.staged], key=log.index) == active_edits(log)
    assert edits_in_force([*log, *apply_staged(log, Stamp("z", 0))]).staged == ()


def test_a_new_action_ends_redo_and_a_batch_goes_as_one() -> None:
    log, states = play(["two", "stage", "undo", "undo", "redo", "stage", "redo"])
    assert [len(state) for state in states] == [2, 3, 2, 0, 2, 3, 3]
    assert redo_last(log, Stamp("r", 0)) == []


@given(ACTS)
def test_a_log_survives_json(acts: list[str]) -> None:
    log, _ = play(acts)
    assert edit_json.loads(edit_json.dumps(log)) == log


def test_an_edit_without_id_is_named_after_what_it_does() -> None:
    one, two = (make(NOTE, [Target("a", 1)], {"text": "x"}, at=at) for at in (1.0, 2.0))
    assert one.id == two.id != make(PIN, [Target("a", 1)]).id
    assert one.params == {"text": "x"}


def test_what_is_staged_waits_for_what_the_last_entry_says_until_it_is_applied_or_taken_back() -> None:
    log = [edit("a"), edit("b")]
    log += postpone_staged(log, EXPIRY, Stamp("w1", 3.0))
    assert waiting_until(log) == {"a": EXPIRY, "b": EXPIRY} and [one.id for one in edits_in_force(log).staged] == [
        "a",
        "b",
    ]
    log.append(edit("c"))
    assert "c" not in waiting_until(log), "what is staged later waits for nothing"
    log += postpone_staged(log, MISS, Stamp("w2", 4.0))
    assert waiting_until(log) == {"a": MISS, "b": MISS, "c": MISS}
    log += apply_staged(log, Stamp("x", 5.0), ["a"])
    log += revert_entries(log, ["b"], Stamp("r", 6.0))
    assert waiting_until(log) == {"c": MISS} and [one.id for one in edits_in_force(log).applied] == ["a"]
    log += postpone_staged(log, "", Stamp("w3", 7.0))
    assert not waiting_until(log) and [one.id for one in edits_in_force(log).staged] == ["c"]


def test_undo_takes_back_the_edit_and_not_that_it_waits() -> None:
    log = [edit("a")]
    log += postpone_staged(log, EXPIRY, Stamp("w", 3.0))
    log += undo_last(log, Stamp("u", 4.0))
    assert not edits_in_force(log).staged and not waiting_until(log)
    log += redo_last(log, Stamp("v", 5.0))
    assert waiting_until(log) == {"a": EXPIRY}
    assert edit_json.loads(edit_json.dumps(log)) == log, "an exported log says it, too"


def test_nothing_staged_makes_no_entry() -> None:
    assert postpone_staged([], EXPIRY, Stamp("w", 3.0)) == []
    odd = [edit("a"), Edit("w", WAIT, payload='{"ids": ["a", 7], "until": "later"}')]
    assert waiting_until(odd) == {}


def test_what_was_applied_at_once_is_undone_at_once_and_is_staged_again() -> None:
    log = [edit("a"), edit("b"), edit("c")]
    log += apply_staged(log, Stamp("x", 5.0))
    assert len(edits_in_force(log).applied) == 3
    log += undo_last(log, Stamp("u", 6.0))
    assert not edits_in_force(log).applied and [one.id for one in edits_in_force(log).staged] == ["a", "b", "c"]
    log += redo_last(log, Stamp("r", 7.0))
    assert len(edits_in_force(log).applied) == 3
    log += undo_last(log, Stamp("u2", 8.0))
    log += undo_last(log, Stamp("u3", 9.0))
    assert [one.id for one in edits_in_force(log).staged] == ["a", "b"]


def test_an_undo_of_an_older_log_is_that_of_the_edit_it_names() -> None:
    log = [edit("a"), edit("b")]
    log += apply_staged(log, Stamp("x", 5.0))
    log += [*revert_entries(log, ["b"], Stamp("u", 6.0), "undo")]
    assert [one.id for one in edits_in_force(log).applied] == ["a"] and [one.id for one in last_action(log)] == ["x"]
