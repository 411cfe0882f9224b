"""Home made of the user's own sessions."""

from __future__ import annotations

from pathlib import Path

from ctxtui.runtime.keeping import Keeper, first_run, welcomed
from ctxtui.runtime.settings import Settings
from ctxtui.runtime.shelf import Shelf
from ctxtui.tui.screens.home import HomeScreen


def home_screen(settings: Settings, directory: Path) -> HomeScreen:
    """Home as it is for this user in `directory`; the welcome comes once."""
    new = first_run(settings)
    if new:
        welcomed(settings)
    return HomeScreen(Shelf(settings, directory), Keeper(settings), directory, Path.home(), first_run=new)
