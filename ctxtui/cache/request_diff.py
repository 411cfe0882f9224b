"""What two requests differ in beyond their messages: tools by name, and what a request holds anywhere."""

from __future__ import annotations

from ctxtui.cache.prompt_facts import PromptFacts
from ctxtui.core.block_content import read
from ctxtui.core.tree import Tree


def tools_changed(tree: Tree, before: int, now: int) -> str:
    """Which tools differ between the contexts `before` and `now`: added, removed, changed, or only their order."""
    old, new = _tools(tree, before), _tools(tree, now)
    words = [
        *(f"{name} added" for name in new if name not in old),
        *(f"{name} removed" for name in old if name not in new),
        *(f"{name} changed" for name in new if name in old and old[name] != new[name]),
    ]
    if words:
        return ", ".join(words)
    return "" if list(old) == list(new) else "order changed"


def _tools(tree: Tree, head: int) -> dict[str, str]:
    """Digests of the tool definitions of a context, by name, in order."""
    items = tree.items(head)
    return {read(block).name: block.digest for block, place in items if place.section == "tools"}


def toggled(tree: Tree, before: int, now: int) -> str:
    """What one context holds anywhere and the other does not, of what loses the cache by being there at all."""
    facts = PromptFacts(tree)
    old, new = facts.facts(before), facts.facts(now)
    words = []
    if old.images != new.images:
        words.append("first image" if new.images else "no image any more")
    if old.citations != new.citations:
        words.append("citations on" if new.citations else "citations off")
    if old.web != new.web:
        words.append("web tools")
    return ", ".join(words)
