"""A test double for agents: a local provider, strict, free, cache-accurate, with no model.

``with offline() as provider:`` serves in a thread, ``async with serving() as provider:`` in the running event loop;
``provider.url`` is the base URL for the SDKs of Anthropic and Google, ``provider.openai_url`` the one for OpenAI's.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from ctxtui.offline.http.hosting import RunningProvider, offline, serving
    from ctxtui.offline.http.server import Server
    from ctxtui.offline.provider import Provider, SetClock

__all__ = ["Provider", "RunningProvider", "Server", "SetClock", "offline", "serving"]

_MODULES: Final = {
    "Provider": "provider",
    "SetClock": "provider",
    "Server": "http.server",
    "RunningProvider": "http.hosting",
    "offline": "http.hosting",
    "serving": "http.hosting",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used.

    This way an import of the validators does not import the web server.
    """
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
