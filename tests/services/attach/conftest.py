"""A user without anything, and the command line."""

from __future__ import annotations

from tests.cli.conftest import ctxtui, home

__all__ = ["ctxtui", "home"]
