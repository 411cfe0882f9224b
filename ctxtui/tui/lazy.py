"""Modules that are imported when they are first used: what neither the first frame nor the first blocks need.

if TYPE_CHECKING:
    from ctxtui.views import composition
else:
    composition = later("ctxtui.views.inspector.composition")
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any


class later:
    """Stands for the module `name` and becomes it at the first use."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._module: ModuleType | None = None

    def __getattr__(self, attribute: str) -> Any:
        if self._module is None:
            self._module = import_module(self._name)
        return getattr(self._module, attribute)
