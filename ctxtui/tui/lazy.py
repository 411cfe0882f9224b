"""Lazy imports of modules that neither the first frame nor the first blocks need.

if TYPE_CHECKING:
    from ctxtui.views.inspector import composition
else:
    composition = later("ctxtui.views.inspector.composition")
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any


class later:
    """Read-only proxy that imports the module `name` when an attribute is first read."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._module: ModuleType | None = None

    def __getattr__(self, attribute: str) -> Any:
        if self._module is None:
            self._module = import_module(self._name)
        return getattr(self._module, attribute)
