"""The price tag against the simulator: the staged request, encoded whole and sent at that time, costs what it says."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from ctxtui.analysis.cache.prompts import message_before
from ctxtui.cache.prefix_key import PrefixChains, PromptFacts, RequestEnds
from ctxtui.cache.prefix_salt import prefix_salt
from ctxtui.cache.prompt import CachedPrompt, build_prompt
from ctxtui.cache.requests import SummedTokens, prompt_from_request
from ctxtui.cache.simulate import Simulator
from ctxtui.core.block import HEADER, Block
from ctxtui.core.edit import make
from ctxtui.core.edit_kinds import BREAKPOINT, DROP, PIN, SUMMARIZE, TRUNCATE
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.usage import Usage
from ctxtui.curation.apply.applied import RAW, Applied, Position, sent_items
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.apply.moved_markers import markers_under_edits
from ctxtui.curation.context import THINKING
from ctxtui.curation.legality.request_check import encode_outgoing
from ctxtui.curation.price.dependence import Literals
from ctxtui.curation.price.edited_prompt import edited_prompt
from ctxtui.curation.price.price_tag import EXPIRY, MISS, NOW, PriceQuestion, PriceTag, price_tag
from ctxtui.curation.price.request_count import RequestCount
from ctxtui.curation.provider_rules import rules_for
from ctxtui.pricing.price import price
from ctxtui.services.config.package_data import model_table
from ctxtui.services.counting.books import cache_rules
from ctxtui.wire.registry import DIALECTS
from tests.curation.conversations import context_of
from tests.curation.shaped import SHAPES, edits
from tests.sampling import few

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
START = 1_750_000_000.0


def count(block: Block) -> int:
    return 3 if block.kind == HEADER else 5 + len(block.body) // 3


def as_read(block: Block) -> int:
    """For models that take earlier thinking out; here they take all of it."""
    return 0 if block.kind in THINKING else count(block)


def lengths(tree: Tree, head: int, strips: bool) -> Callable[[int], int]:
    """Tokens of a request's prefixes; where the provider `strips` it, less the thinking before a person last spoke."""
    summed = SummedTokens(tree, count)
    if not strips:
        return summed
    spoken = tree[PromptFacts(tree).last_person_node(head)].depth
    thoughts = [n for n in tree.path(head) if tree[n].block.kind in THINKING and tree[n].depth < spoken]

    def tokens(node: int) -> int:
        return summed(node) - sum(count(tree[n].block) for n in thoughts if tree[n].depth <= tree[node].depth)

    return tokens


def charge_of(model: str) -> Any:
    def charge(usage: Usage, at: float) -> float | None:
        cost = price(usage, model)
        return None if cost is None else cost.usd

    return charge


class Scene:
    """A conversation that was sent turn by turn, and its next request."""

    def __init__(self, dialect: str, body: dict[str, Any], rng: Random) -> None:
        self.context, self.request = context_of(body, dialect)
        self.model = body["model"]
        self.card = model_table().card(self.model)
        self.rules = cache_rules().for_model(self.card)
        self.count = count
        self.prefixes = PrefixChains(self.context.tree)
        self.seed = prefix_salt(self.rules, dialect, model=self.model, params=self.context.params)
        self.place = RequestEnds(self.prefixes, self.seed, self.rules.strips)
        self.simulator = Simulator()
        self.habit = rng.random() < 0.5 and self.rules.mechanism.writes_at_markers
        self.now = START
        nodes = self.context.nodes
        starts = [m.start for m in self.context.messages[1:] if m.role == "user"]
        for start in starts:
            self.now += rng.choice([10.0, 40.0, 200.0])
            self.simulator.send(self.ask(nodes[start - 1], self._marks(start)), self.now, self.now + 1)
        self.now += rng.choice([20.0, 250.0, 1000.0])
        self.base = self.ask(self.context.head, self._marks(len(nodes)))

    def _marks(self, end: int) -> list[tuple[int, float, int]]:
        """Markers on the system prompt and the last block, or where a client has the habit of setting them anew: at the
        ends of the last two messages."""
        if not self.rules.markers or not self.rules.lives:
            return []
        if self.habit:
            return self._at_ends(self.context.tree, self.context.nodes[end - 1])
        fixed = [p for p, item in enumerate(self.context.items) if item.place.section == "system"][-1:]
        last = next(
            (p for p in range(end - 1, -1, -1) if self.context.items[p].block.kind not in (HEADER, "thinking")), 0
        )
        life = self.rules.seconds(self.rules.life)
        return [(self.context.nodes[p], life, 0) for p in sorted({*fixed, last}) if p < end]

    def _at_ends(self, tree: Tree, head: int) -> list[tuple[int, float, int]]:
        life, before = self.rules.seconds(self.rules.life), message_before(tree, head)
        return [(node, life, ends) for node, ends in ((before, 2), (head, 1)) if node != ROOT]

    def ask(self, head: int, marks: Sequence[tuple[int, float, int]]) -> CachedPrompt:
        tokens = lengths(self.context.tree, head, self.rules.strips)
        return build_prompt(self.prefixes, self.rules, self.seed, head, tokens, marks)

    def exact(
        self, applied: Applied, tree: Tree | None = None, had: dict[Position, float] | None = None
    ) -> CachedPrompt:
        """The staged request, every block of it, in a tree of its own or in `tree`; `had` are the lifetimes of markers
        that stand at a block."""
        tree = Tree() if tree is None else tree
        head, marks = ROOT, list[tuple[int, float, int]]()
        off: set[int] = set()
        standing = markers_under_edits(applied, self.marked if had is None else had)
        for edge, one, item in zip(applied.positions, applied.items, sent_items(applied), strict=True):
            head = tree.child(head, *item)
            edit = applied.marks.get(self.context.position(one.node)) if one.node >= 0 else None
            life = standing.get(edge)
            if edit is not None:
                life = None if edit.params.get("on") is False else self.rules.seconds(str(edit.params.get("ttl") or ""))
                off |= {head} if life is None else set()
            if life is not None:
                marks.append((head, life, 0))
        if self.habit and self.rules.markers and self.rules.lives:
            own = {node for node, *_ in marks} | off
            marks += [mark for mark in self._at_ends(tree, head) if mark[0] not in own]
            marks.sort(key=lambda mark: tree[mark[0]].depth)
        prefixes = self.prefixes if tree is self.context.tree else PrefixChains(tree)
        return build_prompt(prefixes, self.rules, self.seed, head, lengths(tree, head, self.rules.strips), marks)

    @property
    def marked(self) -> dict[Position, float]:
        """The lifetimes of markers that stand at a block."""
        return {
            (self.context.position(mark.position.node), RAW): mark.life for mark in self.base.markers if not mark.ends
        }

    def head_of(self, applied: Applied) -> int:
        """The node at which the path of `applied` ends."""
        return self.context.tree.extend(ROOT, sent_items(applied))

    def asked(self, now: float | None = None) -> PriceQuestion:
        at = self.now if now is None else now
        return PriceQuestion(self.simulator, self.base, charge_of(self.model), at, request_ends=self.place)


def outcome(simulator: Simulator, one: CachedPrompt, at: float) -> tuple[Any, ...]:
    found = simulator.predict(one, at)
    return found.read, found.writes, found.fresh, found.total


def alike(scene: Scene, derived: CachedPrompt, exact: CachedPrompt, number: int) -> None:
    """Both cost the same, whenever they are sent, and so does what is sent next."""
    for pause in (0.0, 100.0, 400.0, 4000.0):
        at = scene.now + pause
        assert outcome(scene.simulator, derived, at) == outcome(scene.simulator, exact, at), (number, pause)
        one, other = scene.simulator.copy(), scene.simulator.copy()
        one.send(derived, at)
        other.send(exact, at)
        assert outcome(one, derived, at + 20) == outcome(other, exact, at + 20), (number, pause)


@pytest.mark.parametrize("dialect", few(sorted(SHAPES)))
def test_the_derived_request_costs_what_the_encoded_one_costs(dialect: str) -> None:
    broken = 0
    for number in range(600 if THOROUGH else 80):
        rng = Random(f"price {dialect} {number}")
        body = SHAPES[dialect](rng)
        scene = Scene(dialect, body, rng)
        log = edits(rng, scene.context)
        after = apply(scene.context, log, rules_for(dialect, scene.card))
        if after.refused:
            continue
        derived, lengths = edited_prompt(scene.base, scene.place, apply(scene.context, []), after, scene.count)
        exact = scene.exact(after)
        broken += lengths.first is not None
        alike(scene, derived, exact, number)
    assert broken > 40


@pytest.mark.parametrize("dialect", few(sorted(SHAPES)))
def test_what_is_staged_on_applied_edits_costs_what_the_encoded_request_costs(dialect: str) -> None:
    broken = 0
    for number in {*range(600 if THOROUGH else 80), 281}:  # 281: results of another session at the end
        rng = Random(f"on top {dialect} {number}")
        scene = Scene(dialect, SHAPES[dialect](rng), rng)
        log, rules = edits(rng, scene.context), rules_for(dialect, scene.card)
        first = rng.randrange(len(log) + 1)
        before, after = apply(scene.context, log[:first], rules), apply(scene.context, log, rules)
        if before.refused or after.refused:
            continue
        base = scene.exact(before, scene.context.tree)
        nodes = scene.context.tree.path(scene.head_of(before))
        sent = rng.random() < 0.5
        if sent:
            # The request under the applied edits was sent already.
            scene.now += 5.0
            scene.simulator.send(base, scene.now, scene.now + 1)
            scene.now += 5.0
        derived, lengths = edited_prompt(base, scene.place, before, after, scene.count, nodes)
        exact = scene.exact(after, had=markers_under_edits(before, scene.marked))
        broken += lengths.first is not None
        alike(scene, derived, exact, number)
    assert broken > 30


def marked_more(body: dict[str, Any], rng: Random) -> dict[str, Any]:
    """With up to two more markers on blocks of its messages, of an hour where one behind it is of five minutes."""
    parts = [part for one in body["messages"] if isinstance(one["content"], list) for part in one["content"]]
    free = [part for part in parts[:-1] if part["type"] != "thinking" and part.get("text", "-").strip()]
    life = {"ttl": "1h"} if rng.random() < 0.4 and "cache_control" not in body["system"][0] else {}
    for part in sorted(rng.sample(range(len(free)), min(len(free), rng.choice([0, 1, 2])))):
        free[part]["cache_control"] = {"type": "ephemeral", **life}
        life = life if rng.random() < 0.5 else {}
    return body


@pytest.mark.parametrize("dialect", few(sorted(SHAPES)))
def test_law_8_the_forecast_is_that_of_the_encoded_bytes_decoded_afresh(dialect: str) -> None:
    broken = 0
    for number in range(300 if THOROUGH else 60):
        rng = Random(f"law 8 {number}")
        body = SHAPES[dialect](rng)
        context, request = context_of(marked_more(body, rng) if dialect == "anthropic" else body, dialect)
        card = model_table().card(request.model)
        rules, prefixes, simulator = cache_rules().for_model(card), PrefixChains(context.tree), Simulator()
        weigh = as_read if rules.strips else count
        summed = SummedTokens(context.tree, weigh)
        base, refused = prompt_from_request(prefixes, request, rules, summed)
        assert not refused
        own = prefix_salt(rules, dialect, model=request.model, params={**request.params, "betas": []})
        place = RequestEnds(prefixes, own, rules.strips)
        simulator.send(base, START)
        after = apply(context, edits(rng, context), rules_for(dialect, card))
        if after.refused:
            continue
        out = encode_outgoing(after, request.skeleton, dialect=dialect, model=request.model)
        decoded = DIALECTS[dialect].decode_request(out.body, None)
        afresh = PrefixChains(Tree())
        exact, refused = prompt_from_request(afresh, decoded, rules, SummedTokens(afresh.tree, weigh))
        assert not refused
        derived, lengths = edited_prompt(base, place, apply(context, []), after, weigh)
        broken += lengths.first is not None
        assert outcome(simulator, derived, START + 60) == outcome(simulator, exact, START + 60), number
    assert broken > 30


OPUS = "claude-opus-4-5"


def long_talk() -> Scene:
    """Ten rounds with large results under claude-opus-4-5 ($5 per million in, $6.25 written, $0.50 read)."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "begin"}]
    for n in range(10):
        use = {"type": "tool_use", "id": f"t{n}", "name": "run", "input": {"command": f"cat src/part_{n}.py"}}
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"token_{n}_secret = 12345{n}\n" * 800}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    messages.append({"role": "assistant", "content": [{"type": "text", "text": "The value is token_3_secret."}]})
    messages.append({"role": "user", "content": "and now?"})
    tool = {"name": "run", "description": "runs", "input_schema": {"type": "object"}}
    system = [{"type": "text", "text": "rules " * 3000}]
    body = {"model": OPUS, "max_tokens": 9, "system": system, "tools": [tool], "messages": messages}
    return Scene("anthropic", body, Random(1))


def tag_of(scene: Scene, *log: Any, now: float | None = None) -> PriceTag:
    after = apply(scene.context, log, rules_for("anthropic", scene.card))
    literals = Literals(scene.context)
    literals.advance()
    asked = scene.asked(now)
    plain = apply(scene.context, [])
    return price_tag(plain, after, asked, scene.count, sizes(scene, plain, after), literals)


def sizes(scene: Scene, *sides: Applied) -> tuple[RequestCount, RequestCount]:
    without, under = (RequestCount(sum(scene.count(item.block) for item in side.sent)) for side in sides)
    return without, under


def result(scene: Scene, number: int) -> int:
    return [p for p, item in enumerate(scene.context.items) if item.block.kind == "tool_result"][number]


def test_dropping_a_large_result_costs_a_rewrite_now_and_saves_on_every_call() -> None:
    scene = long_talk()
    scene.now = scene.now - 900 if scene.now - START > 900 else scene.now
    last = max(until for until, _, _ in scene.simulator._engines["anthropic"].entries.values())  # type: ignore[attr-defined]
    now = last - 200
    tag = tag_of(scene, make(DROP, [scene.context.target(result(scene, 3))]), now=now)
    moments = {moment.name: moment for moment in tag.moments}
    assert [*moments] == [NOW, EXPIRY, MISS]
    freed = scene.count(scene.context.items[result(scene, 3)].block)
    assert freed < tag.freed < freed + 100
    assert (tag.before - tag.after, tag.repairs) == (tag.freed, 2)
    at_once, later = moments[NOW], moments[EXPIRY]
    assert at_once.once is not None and at_once.per_call is not None and later.once is not None
    assert at_once.per_call == pytest.approx(-tag.freed * 0.5e-6, abs=1e-6)
    rewritten = tag.broken - tag.freed
    assert at_once.once == pytest.approx((rewritten * 6.25 - (tag.broken) * 0.5) * 1e-6, abs=1e-3)
    assert at_once.pays_back is not None and at_once.pays_back > 10
    assert abs((later.at or 0) - last) < 1
    assert later.once < 0 and later.pays_back == 0
    assert moments[MISS].once == pytest.approx(-tag.freed * 6.25e-6, abs=1e-6)
    assert tag.moments[tag.cheapest].once == min(m.once for m in tag.moments if m.once is not None)


def test_the_tag_names_who_quotes_what_goes() -> None:
    scene = long_talk()
    tag = tag_of(scene, make(DROP, [scene.context.target(result(scene, 3))]))
    assert [(scene.context.items[q.by[0]].place.role, q.literal) for q in tag.quotes] == [
        ("assistant", "token_3_secret")
    ]
    kept = tag_of(scene, make(TRUNCATE, [scene.context.target(result(scene, 3))], {"head": 100, "tail": 0}))
    assert not kept.quotes


def test_a_summary_tells_what_it_lost_and_one_literal_can_be_put_back() -> None:
    scene = long_talk()
    first, last = result(scene, 2) - 2, result(scene, 4)
    targets = scene.context.targets(range(first, last + 1))
    tag = tag_of(scene, make(SUMMARIZE, targets, {"text": "Three files were read."}))
    assert tag.lost[0].literal == "token_3_secret" and tag.lost[0].quoted == 1
    given = {"text": "Three files were read.\n\nKept verbatim:\n- token_3_secret"}
    again = tag_of(scene, make(SUMMARIZE, targets, given))
    assert "token_3_secret" not in {one.literal for one in again.lost} and not again.quotes


def test_two_edits_are_one_rewrite_and_no_edit_costs_nothing() -> None:
    scene = long_talk()
    drops = [make(DROP, [scene.context.target(result(scene, n))]) for n in (3, 6)]
    one, two = tag_of(scene, drops[0]), tag_of(scene, *drops)
    assert one.moments[0].once is not None and two.moments[0].once is not None
    assert two.broken == one.broken and two.moments[0].once < one.moments[0].once
    nothing = tag_of(scene, make(PIN, [scene.context.target(result(scene, 3))]))
    assert (nothing.freed, nothing.breaks_at, nothing.moments[0].once, nothing.moments[0].pays_back) == (0, None, 0, 0)


def test_thinking_that_is_bound_to_the_change_is_counted() -> None:
    messages = [{"role": "user", "content": "begin"}]
    for n in range(3):
        thought = {"type": "thinking", "thinking": "hm " * 300, "signature": "Eo" * 40}
        messages += [{"role": "assistant", "content": [thought, {"type": "text", "text": f"a{n}"}]}]
        messages += [{"role": "user", "content": f"u{n} more"}]
    plain = {"model": "claude-opus-5-5", "max_tokens": 9, "messages": messages}
    scene = Scene("anthropic", plain, Random(2))
    spot = next(p for p, item in enumerate(scene.context.items) if b"u0 more" in item.block.body)
    tag = tag_of(scene, make(DROP, [scene.context.target(spot)]))
    thoughts = [scene.count(scene.context.items[p].block) for p in scene.context.thinking]
    assert tag.thinking_lost == sum(thoughts[1:])


def test_a_breakpoint_alone_is_priced_too() -> None:
    scene = long_talk()
    tag = tag_of(scene, make(BREAKPOINT, [scene.context.target(result(scene, 3))], {"ttl": "5m"}))
    assert (tag.freed, tag.breaks_at) == (0, None)


def test_what_another_marker_keeps_is_not_broken() -> None:
    scene = long_talk()
    edit = make(DROP, [scene.context.target(result(scene, 0))])
    after = apply(scene.context, [edit], rules_for("anthropic", scene.card))
    last = max(until for until, _, _ in scene.simulator._engines["anthropic"].entries.values())  # type: ignore[attr-defined]
    bare = scene.asked(last - 200)
    warm, cold = 5_000, 2_000
    kept = replace(bare, floors=(warm, cold))
    scene.simulator._engines["anthropic"].entries = {  # type: ignore[attr-defined]
        key: entry
        for key, entry in scene.simulator._engines["anthropic"].entries.items()  # type: ignore[attr-defined]
        if key in {spot.key for spot in scene.base.last.back() if spot.number > 8}
    }
    plain = apply(scene.context, [])
    counted = sizes(scene, plain, after)
    without, with_floor = (price_tag(plain, after, one, scene.count, counted) for one in (bare, kept))
    assert without.broken - with_floor.broken == warm
    once = [tag.moments[0].once or 0.0 for tag in (without, with_floor)]
    assert once[0] - once[1] == pytest.approx(warm * (6.25 - 0.5) * 1e-6)
    misses = [tag.moments[-1].once for tag in (without, with_floor)]
    assert misses[0] == pytest.approx(misses[1]), "when everything is cold, both read what others keep"
