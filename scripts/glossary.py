"""docs/glossary.md from the data of the glossary: `make glossary`."""

from __future__ import annotations

from pathlib import Path

from ctxtui.services.config.package_data import glossary
from ctxtui.views.glossary.page import render_page

DOCS = Path(__file__).resolve().parent.parent / "docs"

if __name__ == "__main__":
    (DOCS / "glossary.md").write_text(render_page(glossary()), encoding="utf-8")
