"""Starting the screen: the app with its screens, and what they need from below."""

from __future__ import annotations

from ctxtui.runtime.config import Config


def start(name: str | None, config: Config) -> None:
    """Run the screen on what `name` stands for, or on the list of sessions; returns when it is left."""
    from ctxtui.tui.start import start as run_app

    run_app(name, config)
