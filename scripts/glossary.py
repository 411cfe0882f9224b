"""Write docs/signs.md from the glossary's data: `make glossary`."""

from __future__ import annotations

from pathlib import Path

from ctxtui.services.config.package_data import glossary
from ctxtui.views.glossary.entries import Entry, Glossary

DOCS = Path(__file__).resolve().parent.parent / "docs"
_HEAD = """# Words and signs of the screens

In the program, `=` explains the word or figure under the cursor with its arithmetic, and `?` lists all of this.
Written by `make glossary` from `ctxtui/data/glossary.toml`.
"""


def render_page(glossary: Glossary) -> str:
    parts = [_HEAD]
    for group, entries in glossary.grouped():
        rows = [
            f"| {_signs_as_code(entry)} | **{entry.word}**{_other_labels(entry)} | "
            f"{entry.says.replace('|', chr(92) + '|')} |"
            for entry in entries
        ]
        parts.append(
            "\n".join([f"\n## {group[:1].upper() + group[1:]}\n", "| | word | what it is |", "|---|---|---|", *rows])
        )
    return "\n".join(parts) + "\n"


def _signs_as_code(entry: Entry) -> str:
    drawn = [glyph.replace("|", "\\|") for glyph in entry.glyphs]
    return " ".join(f"`{glyph}`" for glyph in drawn)


def _other_labels(entry: Entry) -> str:
    others = [label for label in entry.labels if label != entry.word]
    return f" ({', '.join(others)})" if others else ""


if __name__ == "__main__":
    (DOCS / "signs.md").write_text(render_page(glossary()), encoding="utf-8")
