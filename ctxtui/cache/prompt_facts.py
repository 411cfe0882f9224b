"""What of a whole request's blocks decides how its prefix is cached: images, citations, web tools, who spoke last."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from ctxtui.cache.prefix_seed import Seed, mixed
from ctxtui.core.block import HEADER, Block
from ctxtui.core.category import INDEX
from ctxtui.core.tree import ROOT, Node, Tree

IMAGES_TOGGLE: Final = False
"""Whether the first image of a conversation loses what the cache holds of its messages. The table of what invalidates
says so (facts §2); of 27 recorded first images one did."""
IMAGES_IN_RESULTS_COUNT: Final = True
"""Whether an image inside a tool result is an image in the request (the table says "anywhere", facts §2)."""
BILLING_LINE_COUNTS: Final = False
"""Whether the line that Claude Code puts in front of its system prompt for the biller is part of the cached prefix. It
changes with the kind of request, with the first message, in some versions with every request, which all go on hitting
(facts §13.3)."""
_BILLING: Final = b'"text":"x-anthropic-billing-header:'
_PLAIN: Final = frozenset({HEADER, "text", "thinking", "tool_use"})
_RESULT: Final = INDEX["tool_result"]
_SPEAKING: Final = frozenset({"user", "human"})
_IMAGE: Final = b'"type":"image"'
_CONTENT: Final = b'"content":'
_CITED: Final = b'"citations":{"enabled":true'
_WEB: Final = (b'"type":"web_search_', b'"type":"web_fetch_')


class StretchFacts(NamedTuple):
    """What the prompt up to a node holds: images, documents with citations, and a digest of its web tools."""

    images: bool = False
    citations: bool = False
    web: bytes = b""

    def salted(self, seed: Seed) -> Seed:
        """The seed of a request with these blocks: a toggle loses the cache from its section on (facts §2)."""
        if self == NOTHING:
            return seed
        system, messages = seed.system, seed.messages
        if self.citations or self.web:
            system = mixed(system, b"citations" if self.citations else b"", self.web)
        if self.images:
            messages = mixed(messages, b"images")
        return seed._replace(system=system, messages=messages)


NOTHING: Final = StretchFacts()


class PromptFacts:
    """Facts by node of one tree, each worked out once. Only Anthropic's prompts depend on them."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._facts: dict[int, StretchFacts] = {ROOT: NOTHING}
        self._asked: dict[int, int] = {ROOT: ROOT}

    def facts(self, head: int) -> StretchFacts:
        """What the context `head` holds."""
        known = self._facts
        found, node = known.get(head), head
        if found is not None:
            return found
        tree = self._tree
        telling: list[Node] = []
        while found is None:
            here = tree[node]
            if here.block.kind not in _PLAIN:
                telling.append(here)
            node = here.parent
            found = known.get(node)
        for here in reversed(telling):
            found = _with(found, here)
        known[head] = found
        return found

    def asked(self, head: int) -> int:
        """The node at which a person last spoke in the context `head` (`ROOT`: nobody has)."""
        known = self._asked
        if head not in known:
            for node in self._tree.unknown(head, known):
                known[node.id] = node.id if speaks(node) else known[node.parent]
        return known[head]


def facts_of(line: Iterable[Node]) -> StretchFacts:
    """Facts of the prompt whose blocks are `line`."""
    facts = NOTHING
    for node in line:
        if node.block.kind not in _PLAIN:
            facts = _with(facts, node)
    return facts


def speaks(node: Node) -> bool:
    """Whether a person speaks here; also beside a tool result, which opens no turn but ends the thinking before it."""
    place = node.place
    spoken = place.section == "messages" and place.role in _SPEAKING and not place.mark
    return spoken and node.block.kind != HEADER and node.category != _RESULT


def outside(block: Block) -> bool:
    """Whether a tool definition stands outside the cached tools: toggling web search or fetch spares them and loses
    what follows (facts §2)."""
    return block.kind == "tool" and any(kind in block.body for kind in _WEB)


def billing(block: Block) -> bool:
    """Whether a system text is the line for the biller, which stands outside the cached prefix."""
    return not BILLING_LINE_COUNTS and block.kind == "text" and _BILLING in block.body[:120]


def _with(facts: StretchFacts, node: Node) -> StretchFacts:
    block = node.block
    if node.place.section == "tools":
        return facts._replace(web=mixed(facts.web, block.digest.encode())) if outside(block) else facts
    if IMAGES_TOGGLE and not facts.images and _shows(node):
        facts = facts._replace(images=True)
    if block.kind == "document" and not facts.citations and _CITED in block.body:
        facts = facts._replace(citations=True)
    return facts


def _shows(node: Node) -> bool:
    if node.category != _RESULT:
        return node.block.kind == "image"
    body = node.block.body
    # In canonical JSON a quote inside a string is escaped, so what is found is a real member. Only a list holds images.
    at = body.find(_CONTENT)
    return IMAGES_IN_RESULTS_COUNT and body.startswith(b"[", at + len(_CONTENT)) and body.find(_IMAGE, at) >= 0
