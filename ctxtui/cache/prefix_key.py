"""Prefix keys along the tree: what two requests must have in common for one to read what the other wrote (design §2).

Anthropic chains (section, role, block): neighbouring messages of one role merge, headers count only by their role.
The OpenAI dialects chain headers too, so message bounds count. Markers are in no block and so in no key. The chain is
kept per node: a call costs as much as it has new blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b, blake2s
from typing import Final, NamedTuple

from msgspec import Struct

from ctxtui.cache.prefix_seed import KEY_BYTES, Seed, mixed
from ctxtui.core import canonical
from ctxtui.core.block import HEADER, Block, Place
from ctxtui.core.category import INDEX
from ctxtui.core.tree import ROOT, Node, Tree
from ctxtui.wire.grammar import ANTHROPIC, MESSAGE_PARTS, RESPONSES

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
            for node in self._tree.missing_nodes(head, known):
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


THINKING_IS_POSITION: Final = True
"""Whether a thinking block is one of the positions that a read walks back (unverified, facts §12)."""
UNREAD: Final = frozenset({"id", "status", "content"})
"""Members of an OpenAI header that do not reach the prompt (assumed); of `content` it only has the spelling."""
_USUAL: Final = frozenset({"text", "tool_use", "tool_result"})
_SPELLINGS: Final = ("string", "list", "object")
_THINKING: Final = INDEX["thinking"]
_Told = tuple[Callable[[], blake2s], str, str]
"""What of a block's place is in its key: what gives a hash that only this went into, then the section and the role. It
went in as parameters, so that a key and a digest are one round of BLAKE2s; copies of a hash take less than new ones."""


def _told(section: str, role: str) -> _Told:
    named = blake2b(f"{section}\0{role}\0".encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()
    return blake2s(digest_size=KEY_BYTES, salt=named[:8], person=named[8:]).copy, section, role


_NOWHERE: Final = _told("", "")


class PrefixEnd(Struct, eq=False):
    """A place in a prompt where a prefix may end: just after the block of tree node `node`, said by `role`.

    `key` names the prefix (16 bytes), `before` is the place before it (None in front of everything), `number` counts
    positions from 1. `opens`: the block opens a message, so what is before it ends one. `served`: it is the result of a
    tool that the provider runs.
    """

    key: bytes
    before: PrefixEnd | None
    node: int
    number: int
    section: str = "tools"
    role: str = ""
    opens: bool = False
    served: bool = False

    def __repr__(self) -> str:
        return f"Spot({self.number}, node {self.node})"

    @property
    def ended(self) -> bytes:
        """The key of this prefix with its message ended here (OpenAI's implicit breakpoints, facts §4)."""
        return mixed(self.key, b"message ends")

    def back(self) -> Iterator[PrefixEnd]:
        """This place and all before it, the nearest first, less the front."""
        spot = self
        while spot.before is not None:
            yield spot
            spot = spot.before


class PrefixKeys:
    """The places along one tree under one seed. With `strips`, thinking before a person last spoke is not there."""

    def __init__(self, tree: Tree, seed: Seed, facts: PromptFacts, strips: bool) -> None:
        self._tree = tree
        self._seed = seed
        self._facts = facts
        self._strips = strips
        self._bounded = seed.dialect != ANTHROPIC
        self._usual = _USUAL if seed.dialect != RESPONSES else _USUAL & MESSAGE_PARTS
        self._places: dict[Place, _Told] = {}
        front = PrefixEnd(seed.tools, None, ROOT, 0)
        self._current: dict[int, PrefixEnd] = {ROOT: front}
        self._earlier: dict[int, PrefixEnd] = {ROOT: front} if strips else self._current

    def spot(self, node: int, head: int) -> PrefixEnd:
        """The place at, or else nearest before, `node` in the request whose context is `head`."""
        known = self._current
        if self._strips and node < self._facts.asked(head):
            known = self._earlier
        return known.get(node) or self._extend(known, node)

    def along(self, line: Sequence[Node], asked: int) -> dict[int, PrefixEnd]:
        """The places at blocks in a `line`, or else nearest before them, by the numbers of their nodes; a person last
        speaks at the index `asked` (0 where thinking is not stripped)."""
        spot = self._chained(self._earlier, self._current[ROOT], line[:asked])
        self._chained(self._current, spot, line[asked:])
        return {**self._earlier, **self._current}

    def _extend(self, known: dict[int, PrefixEnd], node: int) -> PrefixEnd:
        if not self._strips or known is self._earlier:
            missing = self._tree.missing_nodes(node, known)
            return self._chained(known, known[missing[0].parent], missing)
        own, spot = list[Node](), None
        while spot is None:
            here = self._tree[node]
            own.append(here)
            if self._facts.asked(node) == node:
                # Whatever comes before this message is read without its thinking.
                spot = self._earlier.get(here.parent) or self._extend(self._earlier, here.parent)
            else:
                spot = known.get(here.parent)
            node = here.parent
        own.reverse()
        return self._chained(known, spot, own)

    def _chained(self, known: dict[int, PrefixEnd], spot: PrefixEnd, missing: Sequence[Node]) -> PrefixEnd:
        """The place at the end of `missing`, which follow `spot`; each is `known` then."""
        bare, bounded, places, usual = known is not self._current, self._bounded, self._places, self._usual
        at: Place | None = None
        fresh, section, role = _NOWHERE
        for here in missing:
            block = here.block
            kind = block.kind
            if kind == HEADER and not bounded:
                # Anthropic's prompts have no message bounds.
                known[here.id] = spot
                continue
            if here.place is not at:
                at = here.place
                fresh, section, role = places.get(at) or self._told(at)
            if kind in usual and section == spot.section:
                # Nearly every block: the general way gives the same.
                hashed = fresh()
                hashed.update(spot.key + block.digest.encode())
                spot = PrefixEnd(hashed.digest(), spot, here.id, spot.number + 1, section, role)
            else:
                spot = self._after(spot, here, bare)
            known[here.id] = spot
        return spot

    def _after(self, before: PrefixEnd, node: Node, bare: bool) -> PrefixEnd:
        block = node.block
        fresh, section, role = self._places.get(node.place) or self._told(node.place)
        heads = block.kind == HEADER
        thought = node.category == _THINKING and not heads
        if (bare and thought) or (not self._bounded and _apart(section, block)):
            return before
        if block.kind == "compaction" and not self._bounded:
            before = _front(before)
        said = header_key(block.value()) if heads else block.digest.encode()
        key = before.key if section == before.section else self._entered(before, section)
        hashed = fresh()
        hashed.update(key + said)
        counts = THINKING_IS_POSITION or not thought
        opens = self._bounded and (heads or self._alone(node))
        served = block.kind.endswith("_tool_result") and block.kind != "tool_result"
        return PrefixEnd(hashed.digest(), before, node.id, before.number + counts, section, role, opens, served)

    def _told(self, place: Place) -> _Told:
        found = self._places[place] = _told(place.section, place.role)
        return found

    def _alone(self, node: Node) -> bool:
        """Whether a block is an item of its own, outside messages."""
        inside = node.place.section != "messages" or node.block.kind in MESSAGE_PARTS
        return self._seed.dialect == RESPONSES and not inside

    def _entered(self, before: PrefixEnd, section: str) -> bytes:
        """The key that a block of `section` goes on from: each section that begins mixes in what it depends on."""
        key = before.key
        if before.section == "tools":
            key = mixed(key, self._seed.system)
        if section == "messages":
            key = mixed(key, self._seed.messages)
        return key


def _apart(section: str, block: Block) -> bool:
    """Whether a block of Anthropic's front stands outside the cached prefix."""
    return (section == "tools" and outside(block)) or (section == "system" and billing(block))


def _front(spot: PrefixEnd) -> PrefixEnd:
    """The place before all messages: what a provider's own compaction stands for is not read any more (facts §3)."""
    while spot.section == "messages" and spot.before is not None:
        spot = spot.before
    return spot


def header_key(value: canonical.Json) -> bytes:
    """What of an OpenAI message's header reaches the prompt: all but ids and how its content was spelled."""
    if not isinstance(value, dict):
        return canonical.dumps(value)
    spelled = {key for key, item in value.items() if isinstance(item, str) and item in _SPELLINGS and key != "role"}
    return canonical.dumps({key: item for key, item in value.items() if key not in UNREAD | spelled})


class Prefixes:
    """The chains of one tree, by seed; what requests of one conversation share is worked out once."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._facts = PromptFacts(tree)
        self._chains: dict[tuple[Seed, bool], PrefixKeys] = {}
        self._latest: tuple[Seed, StretchFacts, bool, PrefixKeys] | None = None

    def chain(self, seed: Seed, head: int, strips: bool = False) -> PrefixKeys:
        """The chain of a request with `seed` whose context is `head`."""
        facts = self._facts.facts(head) if seed.dialect == ANTHROPIC else NOTHING
        latest = self._latest
        if latest is not None and latest[0] is seed and latest[1] is facts and latest[2] is strips:
            return latest[3]
        salted = facts.salted(seed)
        found = self._chains.get((salted, strips))
        if found is None:
            found = self._chains[salted, strips] = PrefixKeys(self.tree, salted, self._facts, strips)
        self._latest = seed, facts, strips, found
        return found


class RequestEnds(NamedTuple):
    """Where the requests end that differ from one another in their contexts alone: all with one `seed`, in the tree of
    `prefixes`; with `strips`, thinking before a person last spoke is not there."""

    prefixes: Prefixes
    seed: Seed
    strips: bool

    def __call__(self, node: int) -> PrefixEnd:
        """The last place of the request whose context is `node`."""
        return self.prefixes.chain(self.seed, node, self.strips).spot(node, node)

    def along(self, line: Sequence[Node]) -> dict[int, PrefixEnd]:
        """The places of the request whose blocks are those of `line`, wherever in a tree they stand: at each of them,
        or else nearest before it, by the numbers of the nodes."""
        seed = facts_of(line).salted(self.seed) if self.seed.dialect == ANTHROPIC else self.seed
        asked = next((n for n in range(len(line) - 1, 0, -1) if speaks(line[n])), 0) if self.strips else 0
        return PrefixKeys(self.prefixes.tree, seed, PromptFacts(self.prefixes.tree), self.strips).along(line, asked)
