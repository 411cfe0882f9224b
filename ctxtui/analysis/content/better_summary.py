"""A summary for the place of a compaction's own: what that said, and what it left out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ctxtui.analysis.content.compactions import DECISION, FILE, LITERAL, SAID_AGAIN, USED_AGAIN, Compaction, Fact
from ctxtui.core.block_content import read
from ctxtui.core.tree import Tree

_FILES, _DECISIONS, _LITERALS = 40, 30, 40
"""How many of each are added at most."""
_SPELLED: Final = frozenset({SAID_AGAIN, USED_AGAIN})


def better_summary(tree: Tree, one: Compaction, otherwise: str) -> str:
    """The words of the compaction's summary with the files and decisions that it lost and the literals that somebody
    had to say again. `otherwise` is said where the client's is
    encrypted."""
    said = "\n\n".join(text for node in one.summary if (text := read(tree[node].block).text.strip()))
    parts = [said or otherwise]
    files, decisions, literals = _lost(one, FILE), _lost(one, DECISION), _lost(one, LITERAL)
    if files or decisions or literals:
        parts.append("[What the summary above left out]")
    if files:
        parts.append(f"- files: {'; '.join(fact.text for fact in files[:_FILES])}")
    parts += [f"- said: {fact.text}" for fact in decisions[:_DECISIONS]]
    spelled = [fact.text for fact in literals if fact.again and fact.again[0].how in _SPELLED]
    if spelled:
        parts.append(f"- spelled out: {'; '.join(spelled[:_LITERALS])}")
    return "\n".join(parts)


def _lost(one: Compaction, kind: str) -> list[Fact]:
    """What was lost of a kind, what came back first."""
    return _first_again(fact for fact in one.of(kind) if not fact.kept)


def _first_again(facts: Iterable[Fact]) -> list[Fact]:
    return sorted(facts, key=lambda fact: not fact.again)
