"""Home made of the user's own sessions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ctxtui.services.config.settings import Settings
from ctxtui.services.library.library import Shelf
from ctxtui.services.library.session_actions import Keeper, first_run, welcomed
from ctxtui.tui.screens.home import HomeScreen

if TYPE_CHECKING:
    from ctxtui.tui.screens.find import Everywhere


def home_screen(settings: Settings, directory: Path) -> HomeScreen:
    """Home as it is for this user in `directory`; the welcome comes once."""
    new = first_run(settings)
    if new:
        welcomed(settings)

    def find() -> Everywhere:
        from ctxtui.services.workers.search_worker import SearchApart

        return SearchApart(settings, directory)

    return HomeScreen(Shelf(settings, directory), Keeper(settings), directory, Path.home(), first_run=new, find=find)
