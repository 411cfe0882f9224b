"""docs/keys.md from the commands of the screens: `make keys`."""

from __future__ import annotations

from pathlib import Path

from ctxtui.cli.commands import OLD_NAMES
from ctxtui.tui.key_page import page

DOCS = Path(__file__).resolve().parent.parent / "docs"

if __name__ == "__main__":
    (DOCS / "keys.md").write_text(page(OLD_NAMES), encoding="utf-8")
