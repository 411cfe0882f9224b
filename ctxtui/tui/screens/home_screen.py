"""Home made of the user's own sessions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ctxtui.runtime.keeping import Keeper, first_run, welcomed
from ctxtui.runtime.settings import Settings
from ctxtui.runtime.shelf import Shelf
from ctxtui.tui.screens.home import HomeScreen

if TYPE_CHECKING:
    from ctxtui.tui.screens.find import Everywhere


def home_screen(settings: Settings, directory: Path) -> HomeScreen:
    """Home as it is for this user in `directory`; the welcome comes once."""
    new = first_run(settings)
    if new:
        welcomed(settings)

    def find() -> Everywhere:
        from ctxtui.runtime.search_apart import SearchApart

        return SearchApart(settings, directory)

    return HomeScreen(Shelf(settings, directory), Keeper(settings), directory, Path.home(), first_run=new, find=find)
