"""The glossary as a page of the documents, and the help's rows of it."""

from __future__ import annotations

from ctxtui.views.glossary.entries import Entry, Glossary

_HEAD = """# Words and signs of the screens

In the program, `=` explains the word or figure under the cursor with its arithmetic, and `?` lists all of this.
Written by `make glossary` from `ctxtui/data/glossary.toml`.
"""


def page(glossary: Glossary) -> str:
    """The page in Markdown, with a table for each group."""
    parts = [_HEAD]
    for group, entries in glossary.grouped():
        rows = [
            f"| {signs(one)} | **{one.word}**{also(one)} | {one.says.replace('|', chr(92) + '|')} |" for one in entries
        ]
        parts.append(
            "\n".join([f"\n## {group[:1].upper() + group[1:]}\n", "| | word | what it is |", "|---|---|---|", *rows])
        )
    return "\n".join(parts) + "\n"


def signs(entry: Entry) -> str:
    """Its signs, as code: ``▼ ◇``."""
    drawn = [glyph.replace("|", "\\|") for glyph in entry.glyphs]
    return " ".join(f"`{glyph}`" for glyph in drawn)


def also(entry: Entry) -> str:
    """Its other labels."""
    others = [label for label in entry.labels if label != entry.word]
    return f" ({', '.join(others)})" if others else ""
