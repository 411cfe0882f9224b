"""The glossary: words and signs of the screens in a sentence or two, from a data file."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from msgspec import Struct, field

from ctxtui.views.text import signs
from ctxtui.views.text.signs import Sign

GROUPS: Final = (
    "signs", "blocks", "tokens", "cache", "money", "time", "edits", "how sure a figure is", "home",
)  # fmt: skip
"""Groups of entries, in the order of the help."""
_TABLES: Final[Mapping[str, Mapping[str, Sign]]] = {
    "category": {sign.name: sign for sign in signs.CATEGORY},
    "mark": signs.MARK,
    "gutter": signs.GUTTER,
    "track": signs.TRACK,
    "repeat": signs.REPEAT,
}
PANES_OF_TABLE: Final[Mapping[str, frozenset[str]]] = {
    "track": frozenset({"map"}),
    "category": frozenset({"transcript", "context", "heaviest", "composition", "growth", "repeats", "bill"}),
}
"""Tables whose signs have a meaning in some panes only; elsewhere they are bars, rules and arrows."""


class Entry(Struct, frozen=True):
    """One glossary entry: `says` defines `word`.

    `labels` are all its names on a screen, `signs` its glyphs, `glyphs` further characters. Each label and character
    maps to the panes in which it has this meaning (empty: all).
    """

    word: str
    group: str
    says: str
    labels: Mapping[str, frozenset[str]]
    signs: tuple[Sign, ...] = ()
    glyphs: Mapping[str, frozenset[str]] = field(default_factory=dict)


_Meaning: TypeAlias = "tuple[Entry, frozenset[str]]"


class Glossary(Struct, frozen=True):
    """All entries, indexed by label and by character."""

    entries: tuple[Entry, ...]
    _labels: Mapping[str, tuple[_Meaning, ...]]
    _glyphs: Mapping[str, tuple[_Meaning, ...]]

    @classmethod
    def from_entries(cls, entries: Iterable[Entry]) -> Glossary:
        entry_tuple = tuple(entries)
        labels: dict[str, tuple[_Meaning, ...]] = {}
        glyphs: dict[str, tuple[_Meaning, ...]] = {}
        for entry in entry_tuple:
            for label, panes in entry.labels.items():
                labels[label] = (*labels.get(label, ()), (entry, panes))
            for glyph, panes in entry.glyphs.items():
                glyphs[glyph] = (*glyphs.get(glyph, ()), (entry, panes))
        return cls(entry_tuple, labels, glyphs)

    @property
    def labels(self) -> Iterable[str]:
        return self._labels

    def label(self, text: str, pane: str = "") -> Entry | None:
        """The entry for the label `text`; None if it has no meaning in `pane`."""
        return _choose_meaning(self._labels.get(text.strip(), ()), pane)

    def glyph(self, char: str, pane: str = "") -> Entry | None:
        """The entry for a character; None if it has no meaning in `pane`."""
        return _choose_meaning(self._glyphs.get(char, ()), pane)

    def grouped(self) -> Iterable[tuple[str, list[Entry]]]:
        for group in GROUPS:
            yield group, [entry for entry in self.entries if entry.group == group]


def _choose_meaning(meanings: Iterable[_Meaning], pane: str) -> Entry | None:
    """Choose the meaning for `pane`, else a general one; the first of all if `pane` is ""."""
    candidates = list(meanings)
    return next((entry for entry, panes in candidates if pane in panes), None) or next(
        (entry for entry, panes in candidates if not panes or not pane), None
    )


def parse_glossary(text: str) -> Glossary:
    """Parse a glossary data file.

    Raises `KeyError` for an unknown sign, `ValueError` for an unknown group or an entry without text.
    """
    return Glossary.from_entries(_parse_entry(raw) for raw in tomllib.loads(text)["entry"])


def _parse_entry(raw: Mapping[str, object]) -> Entry:
    word, group, says = str(raw["word"]), str(raw["group"]), str(raw["says"]).strip()
    if group not in GROUPS or not says:
        raise ValueError(f"glossary: {word}")
    everywhere = frozenset(_string_list(raw, "panes"))
    entry_signs, glyphs = [], _split_panes(_string_list(raw, "glyphs"), everywhere)
    for name, panes in _split_panes(_string_list(raw, "signs"), everywhere).items():
        table, _, sign = name.partition(":")
        entry_signs.append(_TABLES[table][sign])
        glyphs.setdefault(entry_signs[-1].glyph, panes or PANES_OF_TABLE.get(table, frozenset()))
    return Entry(
        word, group, says, _split_panes((word, *_string_list(raw, "also")), everywhere), tuple(entry_signs), glyphs
    )


def _split_panes(texts: Iterable[str], everywhere: frozenset[str]) -> dict[str, frozenset[str]]:
    """Split texts such as ``end@forks`` into the text and its panes."""
    panes_by_name: dict[str, frozenset[str]] = {}
    for text in texts:
        name, _, panes = text.strip().partition("@")
        panes_by_name.setdefault(name.strip(), frozenset(panes.split(",")) if panes else everywhere)
    return panes_by_name


def _string_list(raw: Mapping[str, object], key: str) -> tuple[str, ...]:
    values = raw.get(key, [])
    assert isinstance(values, list)
    return tuple(str(value) for value in values)
