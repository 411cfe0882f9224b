"""The lists that are opened over the Inspector (see `tui.lists.registry`): what they ask and do is the state's."""

from __future__ import annotations

from ctxtui.tui.inspector.controller import Controller
from ctxtui.tui.lists.registry import OpensLists, open_list


class ListsController(Controller, OpensLists):
    """Opens lists over what is shown."""

    def open_list(self, opens: str) -> None:
        """Open the list of the class `opens`."""
        open_list(self.access.push, self.state, opens)
