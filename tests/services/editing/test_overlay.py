"""The log of a thread's edits while another program writes to it, too."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ctxtui.core.edit import Edit, Target, make
from ctxtui.services.editing.overlay import ThreadEdits


def target(digest: str) -> list[Target]:
    return [Target(digest)]


def test_entries_of_another_program_come_in_before_what_is_not_saved_yet() -> None:
    stored: list[object] = []

    class Store:
        def add_edits(self, session: str, edits: list[object], *, thread: str) -> int:
            stored.extend(edits)
            return len(edits)

    mine, theirs = ThreadEdits(), ThreadEdits()
    first = mine.stage_all([make("drop", target("aa"))])[0]
    mine.save(Store(), lambda store: "s")  # type: ignore[arg-type]
    second = mine.stage_all([make("drop", target("bb"))])[0]
    other = theirs.stage_all([make("pin", target("cc"), author="agent")])[0]
    version = mine.version
    assert mine.add_stored([first, other]) == [other] and mine.version > version
    assert list(mine.log) == [first, other, second] and mine.unsaved
    assert mine.add_stored([first, other]) == []
    mine.save(Store(), lambda store: "s")  # type: ignore[arg-type]
    assert stored == [first, second] and not mine.unsaved, "what is theirs is not written again"
    assert mine.is_earlier([other]) and not mine.is_earlier([first])


def test_what_another_program_applied_or_took_back_counts() -> None:
    mine = ThreadEdits()
    mine.stage_all([make("drop", target("aa"))])
    theirs = ThreadEdits(mine.log)
    theirs.apply()
    mine.add_stored(theirs.log)
    assert [edit.kind for edit in mine.applied] == ["drop"] and not mine.staged
    theirs.revert([mine.applied[0].id])
    mine.add_stored(theirs.log)
    assert not mine.in_force


def test_an_edit_that_stands_is_not_staged_again() -> None:
    """But one that came before another of its kind is: it changes something then; and a note may be put in twice."""
    edits = ThreadEdits()
    one, other = Target("a" * 32), Target("b" * 32)
    marks = [make("breakpoint", [one], {"ttl": "1h"}), make("breakpoint", [other])]
    assert len(edits.stage_all(marks)) == 2
    assert edits.stage_all(marks) == []
    assert len(edits.staged) == 2
    edits.apply()
    assert edits.stage_all(marks) == [], "applied, it stands as well"
    assert [edit.payload for edit in edits.stage_all([make("breakpoint", [one])])] == ["{}"]
    assert len(edits.stage_all(marks[:1])) == 1, "an hour again"
    note = make("note", [one], {"text": "mind this"})
    assert len([*edits.stage_all([note]), *edits.stage_all([note])]) == 2
    edits.undo()
    assert len(edits.stage_all([note])) == 1


def test_an_edit_is_staged_again_after_another_one_changed_its_block() -> None:
    edits, targets = ThreadEdits(), target("aa")
    drop, text = make("drop", targets), make("replace", targets, {"text": "shorter"})
    assert [len(edits.stage_all([edit])) for edit in (drop, text, drop, drop, text)] == [1, 1, 1, 0, 1]
    assert len(edits.stage_all([make("pin", targets)])) == 1 and edits.stage_all([text]) == []


@given(
    st.lists(
        st.sampled_from(
            ["stage", "stage", "stage two", "policy", "apply", "wait", "undo", "redo", "discard", "withdraw"]
        )
    )
)
def test_what_stands_is_the_same_as_of_a_log_that_was_just_read(keys: list[str]) -> None:
    count = iter(range(10_000))
    overlay = ThreadEdits(new_id=lambda: f"i{next(count)}", now=lambda: 0.0)
    made: list[Edit] = []
    for key in keys:
        at = next(count)
        if key.startswith("stage"):
            targets = [Target(f"d{at % 5}.{n}", id=f"call {at % 3}" * n) for n in range(2 if "two" in key else 1)]
            made = overlay.stage_all([make("drop" if at % 2 else "pin", [target]) for target in targets])
        elif key == "policy":
            made = overlay.stage_all([make("drop", [Target("p")], author="window", id=f"w{at % 3}")])
        elif key == "wait":
            overlay.postpone("expiry")
        elif key == "withdraw":
            overlay.remove_staged(made)
            made = []
        else:
            getattr(overlay, key)()
        read = ThreadEdits(overlay.log)
        assert (overlay.edits_in_force, overlay.in_force, overlay.waiting) == (
            read.edits_in_force,
            read.in_force,
            read.waiting,
        )
        for targets in ([Target("p")], [Target("x", id="call 1")], [Target("d0.0"), Target("", id="call 0")]):
            said = {name for target in targets for name in (target.digest, target.id) if name}
            there = [one for one in read.in_force if any({t.digest, t.id} & said for t in one.targets)]
            assert overlay.edits_of(targets) == read.edits_of(targets) == there
