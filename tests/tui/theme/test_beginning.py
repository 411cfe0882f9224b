"""What an app begins with: a theme that is there from the first frame on."""

from __future__ import annotations

import pytest
from textual.app import App
from textual.screen import Screen

from ctxtui.tui.app import CtxtuiApp
from ctxtui.tui.theme.theme import apply_theme


@pytest.mark.parametrize("name", ["ctxtui-dark", "ctxtui-light", "ctxtui-16", "ctxtui-mono"])
async def test_an_app_that_begins_with_a_theme_is_as_one_that_changes_to_it(name: str) -> None:
    def app(begins: str) -> App[None]:
        made = App[None]()
        apply_theme(made, {}, begins)
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


@pytest.mark.parametrize("name", ["dark", "light", "16", "mono"])
async def test_the_app_has_the_colours_of_its_theme_before_it_draws(name: str) -> None:
    app = CtxtuiApp(Screen, lambda _: Screen(), theme=name)
    begins_with = dict(app.stylesheet._variables)
    async with app.run_test():
        assert app.theme == f"ctxtui-{name}"
        assert begins_with == app.get_css_variables()
        assert begins_with["cat-user"]
