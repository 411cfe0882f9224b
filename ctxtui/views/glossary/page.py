"""The glossary page of the documentation, and the glossary rows of the help."""

from __future__ import annotations

from ctxtui.views.glossary.entries import Entry, Glossary

_HEAD = """# Words and signs of the screens

In the program, `=` explains the word or figure under the cursor with its arithmetic, and `?` lists all of this.
Written by `make glossary` from `ctxtui/data/glossary.toml`.
"""


def render_page(glossary: Glossary) -> str:
    """Render the page in Markdown, with one table for each group."""
    parts = [_HEAD]
    for group, entries in glossary.grouped():
        rows = [
            f"| {signs_as_code(entry)} | **{entry.word}**{other_labels(entry)} | "
            f"{entry.says.replace('|', chr(92) + '|')} |"
            for entry in entries
        ]
        parts.append(
            "\n".join([f"\n## {group[:1].upper() + group[1:]}\n", "| | word | what it is |", "|---|---|---|", *rows])
        )
    return "\n".join(parts) + "\n"


def signs_as_code(entry: Entry) -> str:
    """The signs of `entry` as code: ``▼ ◇``."""
    drawn = [glyph.replace("|", "\\|") for glyph in entry.glyphs]
    return " ".join(f"`{glyph}`" for glyph in drawn)


def other_labels(entry: Entry) -> str:
    """The other labels of `entry`, in parentheses."""
    others = [label for label in entry.labels if label != entry.word]
    return f" ({', '.join(others)})" if others else ""
