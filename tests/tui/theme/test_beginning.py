"""What an app begins with: a theme that is there from the first frame on."""

from __future__ import annotations

import pytest
from textual.app import App

from ctxtui.tui.theme.theme import dress


@pytest.mark.parametrize("name", ["ctxtui-dark", "ctxtui-light", "ctxtui-16", "ctxtui-mono"])
async def test_an_app_that_begins_with_a_theme_is_as_one_that_changes_to_it(name: str) -> None:
    def app(begins: str) -> App[None]:
        made = App[None]()
        dress(made, {}, begins)
        return made

    found = []
    for begins in (name, "textual-dark"):
        made = app(begins)
        async with made.run_test() as pilot:
            made.theme = name
            await pilot.pause()
            modes = {one for one in made.classes if one.startswith("-theme-") or one.endswith("-mode")}
            found.append((modes, made.theme_variables, made.screen.styles.background, made.screen.styles.color))
    assert found[0] == found[1]
