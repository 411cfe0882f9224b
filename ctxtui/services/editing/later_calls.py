"""The recorded calls that followed the one shown, as far as they still have what staged edits change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from ctxtui.core.call import Call
from ctxtui.core.tree import Tree
from ctxtui.curation.price.price_tag import MISS, NOW, Charge, PriceTag
from ctxtui.curation.price.rest_of_session import FreedBlock, LaterCall, RestOfSession, rest_of_session
from ctxtui.services.editing.next_request import Next
from ctxtui.views.model.scene import Scene
from ctxtui.views.model.staging import Staging


def rest_under(staging: Staging, coming: Next | None, tag: PriceTag | None) -> RestOfSession | None:
    """What the edits in question would have saved to the end of the recording, with the prices of `coming` and `tag`
    (None: not known yet); None where no call followed, or all of it is not counted yet."""
    asked = asked_of_rest(staging, coming, tag)
    return rest_of_session(*asked) if asked is not None else None


Once = Callable[[int], float | None]
"""What the first call pays more, by the tokens that it read."""


def asked_of_rest(
    staging: Staging, coming: Next | None, tag: PriceTag | None
) -> tuple[list[LaterCall], Once, Charge | None, float] | None:
    """What `rest_of_session` is asked: the calls that followed, their prices, and the tag's tokens for one of ours."""
    scene = staging.scene
    later = scene.calls[scene.index + 1 :]
    if not later or not staging.counted or not staging.unsent:
        return None
    freed = list(_freed(staging))
    if not freed:
        return None
    first = min(one.before for one in freed)
    moments = {one.name: one.once for one in tag.moments} if tag is not None else {}

    def once(read: int) -> float | None:
        # What the first call read ends before the edits: it wrote the rest anyway.
        return moments.get(NOW if read > first else MISS)

    gone = sum(one.tokens for one in freed)
    # The tag prices the request by what reports make of it: a token of it may be more or less than one of ours.
    scale = (tag.foretold - tag.foretold_under) / gone if tag is not None and gone else 1.0
    calls = list(_later(scene, later, freed))
    return calls, once, coming.asked.charge if coming and tag else None, max(0.0, scale)


def _freed(staging: Staging) -> Iterator[FreedBlock]:
    """The blocks that the edits in question change, with the tokens that go: without what other edits freed before."""
    under, scene = staging.under, staging.scene
    nodes = staging.applied.context.nodes
    before = under.fates if under is not None else {}
    found: dict[int, int] = {}
    for at, change in staging.applied.changes.items():
        known = before.get(change.node)
        found[at] = staging.fates[change.node].freed - (known.freed if known is not None else 0)
    for sign, news in ((-1, staging.news), (1, under.news if under is not None else ())):
        for new in news:
            found[new.at] = found.get(new.at, 0) + sign * (new.tokens or 0)
    for at, tokens in found.items():
        if tokens:
            stood = nodes[at - 1] if 0 < at <= len(nodes) else 0
            front = scene.running.read(staging.head, stood) if stood and scene.running.counted(stood) else 0
            yield FreedBlock(at, scene.missing + front, tokens)


def _later(scene: Scene, later: Sequence[Call], freed: Sequence[FreedBlock]) -> Iterator[LaterCall]:
    """Each later call with the changed blocks that it has."""
    stand = _Standing(scene.session.tree, scene.tip or scene.head, freed)
    for call in later:
        found = stand.go(call.raw_head)
        edited = call.sent_head != call.raw_head
        yield LaterCall(call.usage, call.started or 0.0, () if edited else tuple(_placed(scene, call, found)))


def _placed(scene: Scene, call: Call, found: Sequence[tuple[FreedBlock, int]]) -> Iterator[FreedBlock]:
    """The blocks where they stand in `call`."""
    tree = scene.session.tree
    for one, at in found:
        if at == one.at:
            yield one
            continue
        node = call.raw_head
        while tree[node].depth > at:
            node = tree[node].parent
        front = scene.running.read(call.raw_head, node) if scene.running.counted(node) else 0
        yield one._replace(at=at, before=scene.missing + front)


class _Standing:
    """Where changed blocks stand in one context after the other. Edits are about content, and which of several equal
    blocks one is: where a call parts from the one before, a block may stand again, as after a compaction that kept
    it."""

    def __init__(self, tree: Tree, head: int, freed: Sequence[FreedBlock]) -> None:
        self._tree = tree
        self._head = head
        self._freed = freed
        self._at: dict[int, int | None] = {one.at: one.at for one in freed}
        self._names = {at: name for name, at in self._places(head).items() if at in self._at}

    def _places(self, head: int, among: frozenset[str] | None = None) -> dict[tuple[str, int], int]:
        """The blocks of a context, or those `among` digests, by digest and which of several, with their positions."""
        found: dict[tuple[str, int], int] = {}
        seen: Counter[str] = Counter()
        for at, node in enumerate(self._tree.path(head)):
            digest = self._tree[node].block.digest
            if among is None or digest in among:
                found[digest, seen[digest]] = at
                seen[digest] += 1
        return found

    def go(self, head: int) -> list[tuple[FreedBlock, int]]:
        """The blocks that the context `head` has, each with its position there."""
        tree = self._tree
        shared = tree[tree.common(self._head, head)].depth
        parts, self._head = shared < tree[self._head].depth, head
        gone = [at for at, now in self._at.items() if now is None or now >= shared]
        if parts and gone:
            names = [self._names[at] for at in gone if at in self._names]
            places = self._places(head, frozenset(digest for digest, _ in names))
            for was in gone:
                self._at[was] = places.get(self._names[was]) if was in self._names else None
        return [(one, at) for one in self._freed if (at := self._at[one.at]) is not None]
