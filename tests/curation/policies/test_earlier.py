"""What differs between two sets of changes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ctxtui.core import block
from ctxtui.core.edit import make
from ctxtui.core.edit_kinds import DROP
from ctxtui.curation.apply.applied import BlockChange
from ctxtui.curation.policies.earlier import differing_positions

CHANGES = [BlockChange(0, 1, block.text("a"), None, make(DROP, [], author=author)) for author in "abc"]
changes = st.dictionaries(st.integers(0, 8), st.sampled_from(CHANGES))


@given(changes, changes)
def test_what_differs_is_what_is_not_the_very_same_on_both_sides(
    before: dict[int, BlockChange], now: dict[int, BlockChange]
) -> None:
    found = differing_positions(before, now)
    assert {p for p in before.keys() | now.keys() if before.get(p) is not now.get(p)} == {*found}
    assert len(found) == len({*found}) and differing_positions(now, now) == []
