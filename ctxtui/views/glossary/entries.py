"""The glossary: every word and sign of the screens in two sentences. Its text is a data file (`ctxtui/data`)."""

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
"""The groups of entries, in the order in which the help has them."""
_TABLES: Final[Mapping[str, Mapping[str, Sign]]] = {
    "category": {sign.name: sign for sign in signs.CATEGORY},
    "mark": signs.MARK,
    "gutter": signs.GUTTER,
    "track": signs.TRACK,
    "repeat": signs.REPEAT,
}
_ONLY: Final[Mapping[str, frozenset[str]]] = {
    "track": frozenset({"map"}),
    "category": frozenset({"transcript", "context", "heaviest", "composition", "growth", "repeats", "bill"}),
}
"""Tables whose signs mean something in some panes only: elsewhere they are bars, rules and arrows."""


class Entry(Struct, frozen=True):
    """One word: `labels` are all that is written for it on a screen, `signs` how it is drawn, `glyphs` further
    characters; each of these with the panes in which it means this (none: in all). `says` is what it is."""

    word: str
    group: str
    says: str
    labels: Mapping[str, frozenset[str]]
    signs: tuple[Sign, ...] = ()
    glyphs: Mapping[str, frozenset[str]] = field(default_factory=dict)


_Meaning: TypeAlias = "tuple[Entry, frozenset[str]]"


class Glossary(Struct, frozen=True):
    """All entries, found by label and by character."""

    entries: tuple[Entry, ...]
    _labels: Mapping[str, tuple[_Meaning, ...]]
    _glyphs: Mapping[str, tuple[_Meaning, ...]]

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Glossary:
        """The glossary of these entries."""
        made = tuple(entries)
        labels: dict[str, tuple[_Meaning, ...]] = {}
        glyphs: dict[str, tuple[_Meaning, ...]] = {}
        for one in made:
            for label, panes in one.labels.items():
                labels[label] = (*labels.get(label, ()), (one, panes))
            for glyph, panes in one.glyphs.items():
                glyphs[glyph] = (*glyphs.get(glyph, ()), (one, panes))
        return cls(made, labels, glyphs)

    @property
    def labels(self) -> Iterable[str]:
        """All that is written on a screen for any entry."""
        return self._labels

    @property
    def glyphs(self) -> Iterable[str]:
        """All characters that stand for any entry."""
        return self._glyphs

    def label(self, text: str, pane: str = "") -> Entry | None:
        """What the label `text` means in a pane; None where it means nothing."""
        return _here(self._labels.get(text.strip(), ()), pane)

    def glyph(self, char: str, pane: str = "") -> Entry | None:
        """What a character means in a pane."""
        return _here(self._glyphs.get(char, ()), pane)

    def grouped(self) -> Iterable[tuple[str, list[Entry]]]:
        """The entries by group, in order."""
        for group in GROUPS:
            yield group, [one for one in self.entries if one.group == group]


def _here(found: Iterable[_Meaning], pane: str) -> Entry | None:
    """Of several meanings the one for `pane`; else one that holds everywhere."""
    meant = list(found)
    return next((one for one, panes in meant if pane in panes), None) or next(
        (one for one, panes in meant if not panes or not pane), None
    )


def parse_glossary(text: str) -> Glossary:
    """The glossary of a data file. Raises `KeyError` for a sign that is in no table, `ValueError` for a group that is
    none, or for an entry without text."""
    return Glossary.of(_entry(raw) for raw in tomllib.loads(text)["entry"])


def _entry(raw: Mapping[str, object]) -> Entry:
    word, group, says = str(raw["word"]), str(raw["group"]), str(raw["says"]).strip()
    if group not in GROUPS or not says:
        raise ValueError(f"glossary: {word}")
    everywhere = frozenset(_texts(raw, "panes"))
    drawn, glyphs = [], _placed(_texts(raw, "glyphs"), everywhere)
    for name, panes in _placed(_texts(raw, "signs"), everywhere).items():
        table, _, sign = name.partition(":")
        drawn.append(_TABLES[table][sign])
        glyphs.setdefault(drawn[-1].glyph, panes or _ONLY.get(table, frozenset()))
    return Entry(word, group, says, _placed((word, *_texts(raw, "also")), everywhere), tuple(drawn), glyphs)


def _placed(texts: Iterable[str], everywhere: frozenset[str]) -> dict[str, frozenset[str]]:
    """Texts such as ``end@forks`` with the panes in which each is meant."""
    found: dict[str, frozenset[str]] = {}
    for text in texts:
        name, _, panes = text.strip().partition("@")
        found.setdefault(name.strip(), frozenset(panes.split(",")) if panes else everywhere)
    return found


def _texts(raw: Mapping[str, object], key: str) -> tuple[str, ...]:
    found = raw.get(key, [])
    assert isinstance(found, list)
    return tuple(str(one) for one in found)
