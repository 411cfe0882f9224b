"""Write docs/signs.md from the glossary's data: `make glossary`."""

from __future__ import annotations

from pathlib import Path

from ctxtui.services.config.package_data import glossary
from ctxtui.views.glossary.page import render_page

DOCS = Path(__file__).resolve().parent.parent / "docs"

if __name__ == "__main__":
    (DOCS / "signs.md").write_text(render_page(glossary()), encoding="utf-8")
