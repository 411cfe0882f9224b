"""Prefix keys along the tree: two requests share a cached prefix if its key is the same.

A key covers the blocks of the prefix with their sections and roles, without cache markers. In dialects other than
Anthropic's it covers message headers too, so that message bounds count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b, blake2s
from typing import Final, NamedTuple

from msgspec import Struct

from ctxtui.cache.prefix_salt import KEY_BYTES, PrefixSalt, mix
from ctxtui.core import canonical
from ctxtui.core.block import HEADER, Block, Place
from ctxtui.core.category import INDEX
from ctxtui.core.tree import ROOT, Node, Tree
from ctxtui.wire.grammar import ANTHROPIC, MESSAGE_PARTS, RESPONSES
from ctxtui.wire.message import LIST, OBJECT, STRING

_BILLING: Final = b'"text":"x-anthropic-billing-header:'
_RESULT: Final = INDEX["tool_result"]
_PERSON_ROLES: Final = frozenset({"user", "human"})
_CITED: Final = b'"citations":{"enabled":true'
_WEB: Final = (b'"type":"web_search_', b'"type":"web_fetch_')
_NOTED: Final = frozenset({"tool", "document"})
"""Kinds of blocks with content that `ContentFacts` notes."""


class ContentFacts(NamedTuple):
    """Content that changes the keys of system and messages: documents with citations, web tools."""

    # The first image is not among them: facts §2 says that it invalidates the cached messages, but of 27 recorded
    # first images only one did.

    citations: bool = False
    web: bytes = b""

    def apply_to(self, salt: PrefixSalt) -> PrefixSalt:
        """Salt of a request with this content: a change invalidates system and messages (facts §2)."""
        if self == NOTHING:
            return salt
        return salt._replace(system=mix(salt.system, b"citations" if self.citations else b"", self.web))


NOTHING: Final = ContentFacts()


class PromptFacts:
    """Facts about a prompt that its prefix keys depend on, by node of one tree."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._facts: dict[int, ContentFacts] = {ROOT: NOTHING}
        self._person_nodes: dict[int, int] = {ROOT: ROOT}

    def facts(self, head: int) -> ContentFacts:
        """The facts about the context `head`."""
        computed = self._facts
        facts, node = computed.get(head), head
        if facts is not None:
            return facts
        tree = self._tree
        special: list[Node] = []
        while facts is None:
            here = tree[node]
            if here.block.kind in _NOTED:
                special.append(here)
            node = here.parent
            facts = computed.get(node)
        for here in reversed(special):
            facts = _add_node(facts, here)
        computed[head] = facts
        return facts

    def last_person_node(self, head: int) -> int:
        """Node of the last block from a person in the context `head` (`ROOT`: none)."""
        computed = self._person_nodes
        if head not in computed:
            for node in self._tree.missing_nodes(head, computed):
                computed[node.id] = node.id if is_from_person(node) else computed[node.parent]
        return computed[head]


def gather_facts(line: Iterable[Node]) -> ContentFacts:
    """The facts about a context with the blocks of `line`."""
    facts = NOTHING
    for node in line:
        if node.block.kind in _NOTED:
            facts = _add_node(facts, node)
    return facts


def is_from_person(node: Node) -> bool:
    """Whether `node` is content from a person: not a result, and not marked as the client's.

    This includes text next to a tool result, which opens no turn: the thinking before it is stripped all the same.
    """
    place = node.place
    by_person = place.section == "messages" and place.role in _PERSON_ROLES and not place.mark
    return by_person and node.block.kind != HEADER and node.category != _RESULT


def is_uncached_tool(block: Block) -> bool:
    """Whether a tool definition is outside the cached tools: web search or fetch (facts §2)."""
    return block.kind == "tool" and any(kind in block.body for kind in _WEB)


def is_billing_line(block: Block) -> bool:
    """Whether a text is Claude Code's billing line, outside the cached prefix (facts §13.3)."""
    return block.kind == "text" and _BILLING in block.body[:120]


def _add_node(facts: ContentFacts, node: Node) -> ContentFacts:
    block = node.block
    if node.place.section == "tools":
        return facts._replace(web=mix(facts.web, block.digest.encode())) if is_uncached_tool(block) else facts
    return facts._replace(citations=True) if block.kind == "document" and _CITED in block.body else facts


UNREAD: Final = frozenset({"id", "status", "content"})
"""Members of a header that do not reach the prompt (assumed); ``content`` only names the content's form."""
_USUAL: Final = frozenset({"text", "tool_use", "tool_result"})
_SPELLINGS: Final = (STRING, LIST, OBJECT)
"""Values of a header's members that only name the form of the content: a string, a list or an object."""
_NAMES: Final = ("role", "name", "tool_call_id")
"""Members of a header for which such a value is content: a role may be named ``list``."""
_THINKING: Final = INDEX["thinking"]
_PlaceHash = tuple[Callable[[], blake2s], str, str]
"""A hash to copy for the keys of blocks at a place, its section, and its role."""


def _place_hash(section: str, role: str) -> _PlaceHash:
    # As parameters of the hash (salt and person): a key and a digest then take one round of BLAKE2s.
    named = blake2b(f"{section}\0{role}\0".encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()
    return blake2s(digest_size=KEY_BYTES, salt=named[:8], person=named[8:]).copy, section, role


_NOWHERE: Final = _place_hash("", "")


class PrefixEnd(Struct, eq=False):
    """A position in a prompt where a prefix may end: after the block of tree node `node`.
    - `key`: names the prefix (16 bytes).
    - `before`: the previous position (None at the very start).
    - `number`: 0 at the very start.
    - `opens_message`: the previous position ends a message; never set for Anthropic.
    - `is_server_result`: the block is the result of a server-side tool.
    """

    key: bytes
    before: PrefixEnd | None
    node: int
    number: int
    section: str = "tools"
    role: str = ""
    opens_message: bool = False
    is_server_result: bool = False

    def __repr__(self) -> str:
        return f"PrefixEnd({self.number}, node {self.node})"

    @property
    def message_end_key(self) -> bytes:
        """Key of this prefix with its message ended here (OpenAI's implicit breakpoints, facts §4)."""
        return mix(self.key, b"message ends")

    def back(self) -> Iterator[PrefixEnd]:
        """Yield this position and all before it, the nearest first, without the very start."""
        position = self
        while position.before is not None:
            yield position
            position = position.before


class PrefixKeys:
    """Positions along one tree under one salt (what keys depend on besides the blocks).

    With `strips`, thinking before the last block from a person is not in the prompt.
    """

    def __init__(self, tree: Tree, salt: PrefixSalt, facts: PromptFacts, strips: bool) -> None:
        self._tree = tree
        self._salt = salt
        self._facts = facts
        self._strips = strips
        self._bounded = salt.dialect != ANTHROPIC
        self._usual = _USUAL if salt.dialect != RESPONSES else _USUAL & MESSAGE_PARTS
        self._places: dict[Place, _PlaceHash] = {}
        front = PrefixEnd(salt.tools, None, ROOT, 0)
        self._current: dict[int, PrefixEnd] = {ROOT: front}
        self._earlier: dict[int, PrefixEnd] = {ROOT: front} if strips else self._current

    def position_at(self, node: int, head: int) -> PrefixEnd:
        """Position at `node` in the request whose context is `head`, or the nearest before it."""
        positions = self._current
        if self._strips and node < self._facts.last_person_node(head):
            positions = self._earlier
        return positions.get(node) or self._extend(positions, node)

    def positions_along(self, line: Sequence[Node], last_person: int) -> dict[int, PrefixEnd]:
        """Positions at the blocks of `line` by node id, or the nearest before each.

        `last_person` is the index of the last block from a person (0: none, or thinking is not stripped).
        """
        position = self._extend_chain(self._earlier, self._current[ROOT], line[:last_person])
        self._extend_chain(self._current, position, line[last_person:])
        return {**self._earlier, **self._current}

    def _extend(self, positions: dict[int, PrefixEnd], node: int) -> PrefixEnd:
        if not self._strips or positions is self._earlier:
            missing = self._tree.missing_nodes(node, positions)
            return self._extend_chain(positions, positions[missing[0].parent], missing)
        nodes, position = list[Node](), None
        while position is None:
            here = self._tree[node]
            nodes.append(here)
            if self._facts.last_person_node(node) == node:
                # Everything before this message is read without its thinking.
                position = self._earlier.get(here.parent) or self._extend(self._earlier, here.parent)
            else:
                position = positions.get(here.parent)
            node = here.parent
        nodes.reverse()
        return self._extend_chain(positions, position, nodes)

    def _extend_chain(self, positions: dict[int, PrefixEnd], position: PrefixEnd, missing: Sequence[Node]) -> PrefixEnd:
        """Extend `positions` from `position` over `missing`; returns the last position."""
        without_thinking = positions is not self._current
        bounded, places, usual = self._bounded, self._places, self._usual
        at: Place | None = None
        fresh, section, role = _NOWHERE
        for here in missing:
            block = here.block
            kind = block.kind
            if kind == HEADER and not bounded:
                # Anthropic's prompts have no message bounds.
                positions[here.id] = position
                continue
            if here.place is not at:
                at = here.place
                fresh, section, role = places.get(at) or self._hash_place(at)
            if kind in usual and section == position.section:
                # Fast path for nearly every block, with the same result as `_next_position`.
                hashed = fresh()
                hashed.update(position.key + block.digest.encode())
                position = PrefixEnd(hashed.digest(), position, here.id, position.number + 1, section, role)
            else:
                position = self._next_position(position, here, without_thinking)
            positions[here.id] = position
        return position

    def _next_position(self, before: PrefixEnd, node: Node, without_thinking: bool) -> PrefixEnd:
        """The position after the block of `node`; `before` if the block is not in the prompt."""
        block = node.block
        fresh, section, role = self._places.get(node.place) or self._hash_place(node.place)
        is_header = block.kind == HEADER
        is_thinking = node.category == _THINKING and not is_header
        if (without_thinking and is_thinking) or (not self._bounded and _is_uncached(section, block)):
            return before
        if block.kind == "compaction" and not self._bounded:
            before = _before_messages(before)
        content_key = header_key(block.value()) if is_header else block.digest.encode()
        key = before.key if section == before.section else self._section_key(before, section)
        hashed = fresh()
        hashed.update(key + content_key)
        opens_message = self._bounded and (is_header or self._is_own_item(node))
        is_server_result = block.kind.endswith("_tool_result") and block.kind != "tool_result"
        return PrefixEnd(
            hashed.digest(), before, node.id, before.number + 1, section, role, opens_message, is_server_result
        )

    def _hash_place(self, place: Place) -> _PlaceHash:
        parts = self._places[place] = _place_hash(place.section, place.role)
        return parts

    def _is_own_item(self, node: Node) -> bool:
        """Whether a block is an item of its own, outside messages, as OpenAI's Responses have them."""
        is_inside = node.place.section != "messages" or node.block.kind in MESSAGE_PARTS
        return self._salt.dialect == RESPONSES and not is_inside

    def _section_key(self, before: PrefixEnd, section: str) -> bytes:
        """Key that the first block of `section` continues from, with the salts up to it."""
        key = before.key
        if before.section == "tools":
            key = mix(key, self._salt.system)
        if section == "messages":
            key = mix(key, self._salt.messages)
        return key


def _is_uncached(section: str, block: Block) -> bool:
    return (section == "tools" and is_uncached_tool(block)) or (section == "system" and is_billing_line(block))


def _before_messages(position: PrefixEnd) -> PrefixEnd:
    """Position before all messages, where a provider's own compaction continues (facts §3)."""
    while position.section == "messages" and position.before is not None:
        position = position.before
    return position


def header_key(value: canonical.Json) -> bytes:
    """The part of a message header that reaches the prompt, in dialects other than Anthropic's."""
    if not isinstance(value, dict):
        return canonical.dumps(value)
    spellings = {key for key, item in value.items() if item in _SPELLINGS and key not in _NAMES}
    return canonical.dumps({key: item for key, item in value.items() if key not in UNREAD | spellings})


class PrefixChains:
    """The `PrefixKeys` of one tree, by salt: requests with the same salt share the work."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._facts = PromptFacts(tree)
        self._chains: dict[tuple[PrefixSalt, bool], PrefixKeys] = {}
        self._latest: tuple[PrefixSalt, ContentFacts, bool, PrefixKeys] | None = None

    def chain(self, salt: PrefixSalt, head: int, strips: bool = False) -> PrefixKeys:
        """Keys for a request with salt `salt` and context `head`; `strips` as for `PrefixKeys`."""
        facts = self._facts.facts(head) if salt.dialect == ANTHROPIC else NOTHING
        latest = self._latest
        if latest is not None and latest[0] is salt and latest[1] is facts and latest[2] is strips:
            return latest[3]
        salted = facts.apply_to(salt)
        chain = self._chains.get((salted, strips))
        if chain is None:
            chain = self._chains[salted, strips] = PrefixKeys(self.tree, salted, self._facts, strips)
        self._latest = salt, facts, strips, chain
        return chain


class RequestEnds(NamedTuple):
    """Ends of requests that differ only in their contexts; `strips` as for `PrefixKeys`."""

    prefixes: PrefixChains
    salt: PrefixSalt
    strips: bool

    def __call__(self, node: int) -> PrefixEnd:
        return self.prefixes.chain(self.salt, node, self.strips).position_at(node, node)

    def positions_along(self, line: Sequence[Node]) -> dict[int, PrefixEnd]:
        """Positions by node id of the request whose blocks are `line`.

        The nodes may be from different paths of the tree. A block that is not in the prompt has the nearest position
        before it.
        """
        salt = gather_facts(line).apply_to(self.salt) if self.salt.dialect == ANTHROPIC else self.salt
        last_person = next((n for n in range(len(line) - 1, 0, -1) if is_from_person(line[n])), 0) if self.strips else 0
        return PrefixKeys(self.prefixes.tree, salt, PromptFacts(self.prefixes.tree), self.strips).positions_along(
            line, last_person
        )
