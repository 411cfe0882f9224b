"""The words with which a session begins: its title where it has no other. Needs no figures and no tokenizer."""

from __future__ import annotations

from typing import Final

from ctxtui.core.block_content import read
from ctxtui.core.session import Session

WORDS: Final = 400
"""Characters of the first user text and the last answer that are kept."""


def first_user_text(session: Session, head: int) -> str:
    """The text that opened the first turn."""
    tree = session.tree
    for node in tree.path(head):
        if tree[node].opens_turn and (text := read(tree[node].block).text):
            return text[:WORDS]
    return ""
