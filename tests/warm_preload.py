"""What the process of `tests/warm` has ready: the modules of every program, and vocabularies that are loaded."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import ctxtui
from ctxtui.core import block

ROOMS = ("analysis", "attach", "cli", "curation", "offline", "providers", "services", "store", "transcripts", "views")
LIBRARIES = ("aiohttp", "anthropic", "cryptography.x509", "mcp", "mcp.server", "openai", "pytest", "sqlite_utils")


def load() -> None:
    """Import it all."""
    for name in LIBRARIES:
        import_module(name)
    for found in pkgutil.walk_packages(ctxtui.__path__, "ctxtui."):
        room = found.name.split(".")[1]
        if room in ROOMS and not found.name.endswith("__main__"):
            import_module(found.name)
    from ctxtui.offline.anthropic.models import OFFLINE
    from ctxtui.offline.usage_ledger import text_counter
    from ctxtui.services.config.package_data import model_table
    from ctxtui.services.counting.counting import LocalCounts

    text_counter(OFFLINE)("")
    for model in ("claude-opus-4-6", "gpt-5"):
        LocalCounts().features(model_table().card(model), [block.text("a word")])
