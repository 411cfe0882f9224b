"""The strip marks the calls of a loop, also without colours and in ASCII."""

from __future__ import annotations

import pytest

from ctxtui.tui.theme.glyphs import translate
from tests.cases.sessions import Story, use
from tests.tui.inspector.test_inspector import opened, text, until


def looping() -> Story:
    story = Story()
    story.user("build it").call(use("r", "Read", file_path="x")).results(("r", "other"))
    for n in range(4):
        story.call(use(f"b{n}", "Bash", command="make")).results((f"b{n}", "the same"))
    story.call("I see.").user("thank you").call("done")
    return story


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_calls_of_a_loop_are_marked_and_reached(size: tuple[int, int]) -> None:
    async with opened(looping().session, size=size) as (screen, pilot):
        await until(pilot, lambda: "↻" in text(screen))
        # The small strip has no line for marks: its legend counts them.
        is_small = size == (80, 24)
        assert ("↻ loop 4" in text(screen)) if is_small else text(screen).count("↻") >= 4
        await pilot.press("g", *"1", "enter")
        await until(pilot, lambda: screen.state.index == 0)
        await pilot.press("g", *"loop", "enter")
        await until(pilot, lambda: screen.state.index == 2)
    assert translate("↻", "warn") == "L"
