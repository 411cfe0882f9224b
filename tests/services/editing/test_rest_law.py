"""The ghost of staged edits: what they would have saved to the end of the recording is what the cache simulator finds
when every later call is sent again under them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.what_if import Replay, Weigh
from ctxtui.analysis.content.block_lifetimes import BlockLifetimes
from ctxtui.analysis.money.edited_calls import EditedThread, freed_tokens
from ctxtui.analysis.money.ledger import CostLedger
from ctxtui.analysis.request_counts import weigh_as_reported
from ctxtui.cache.simulate import Simulator
from ctxtui.core.block import Block
from ctxtui.core.edit_kinds import DROP, TRUNCATE
from ctxtui.core.errors import NoContext
from ctxtui.core.session import Session
from ctxtui.core.usage import Usage
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.context import Context
from ctxtui.curation.provider_rules import rules_for
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for, cache_rules_by_call
from ctxtui.services.counting.counting import Counter, count_all
from ctxtui.services.editing.edited_request import SentPath
from ctxtui.services.editing.later_calls import policy_context_of
from ctxtui.services.recordings.open import load
from ctxtui.tokens.features import Features
from tests.cases import claude_code, claude_code_requests
from tests.corpus import need_corpus
from tests.services.editing.test_staging import Table, at_once

Measure = Callable[[Block], Features]
SAMPLES = sorted((Path(__file__).parents[3] / "sessions").glob("*.jsonl"))
LARGEST = 1_500_000
"""Bytes of a recording that is tried."""
LATER = 12
"""Calls behind the edits that are sent again: the law is about each of them."""


class SentAgain(NamedTuple):
    """A later call in the simulator: its usage `plain` and under the edits, the tokens that its context has `less`;
    `fair`: it is one that can be foretold."""

    plain: Usage
    edited: Usage
    less: int
    fair: bool


def sent_again(table: Table, book: Book, counter: Counter) -> list[SentAgain]:
    """Each later call as the simulator has it."""
    scene, tree = table.scene, table.study.session.tree
    calls = scene.calls
    replay = Replay(book, cache_rules_by_call(book))
    first = replay.request_after(calls[scene.index], calls[scene.index].response_head or calls[scene.index].sent_head)
    plain, edited, anew = first.simulator.copy(), first.simulator.copy(), Simulator()
    found, length = [], len(table.desk.context(table.scene))
    for before, call in islice(zip(calls[scene.index :], calls[scene.index + 1 :], strict=False), LATER):
        context = Context.of_call(tree, call, call.raw_head)
        card = book.card(call.model)
        applied = apply(context, table.overlay.in_force, rules_for(context.dialect, card))
        under = SentPath.from_applied(applied)
        # What repair takes of answers that came later would not have been answered like that under the edits; of
        # thinking it depends on the turn whether it is read.
        behind = any(at >= length or one.before.kind == "thinking" for at, one in applied.changes.items())
        count_all(book, counter)
        at = call.started or 0.0
        raw, other = replay.request_after(before, call.raw_head, at), replay.request_after(before, under.head, at)
        measure, weigh = book.measure(call.model), weigh_as_reported(book, before.model, call.raw_head, raw)

        def count(block: Block, weigh: Weigh = weigh, measure: Measure = measure) -> int:
            return round(weigh(measure(block)))

        prompt = under.make_price_question(before, raw, other, lambda usage, at: 0.0, count).prompt
        usages = [one.send(asked, at).to_usage() for one, asked in ((plain, raw.prompt), (edited, prompt))]
        less = book.sums(call.model, call.raw_head), book.sums(call.model, under.head)
        # One that read what was there before the edits reads nothing of the kind under them: the tag cannot know.
        older = anew.send(raw.prompt, at).read < usages[0].cache_read and found
        found.append(SentAgain(usages[0], usages[1], round(sum(less[0]) - sum(less[1])), not behind and not older))
    return found


class Told(NamedTuple):
    """What the ghost says of one later call, and what sending it again says: tokens less, USD more."""

    saved: int
    less: int
    usd: float
    again: float


def law(table: Table, book: Book, counter: Counter) -> list[Told]:
    """Each later call as the ghost has it and sent again; none where nothing is foretold."""
    for _ in range(3):
        pane = table.desk.pane(table.desk.staging(table.scene), at_once)
        table.work()
    coming = table.desk.next_call(table.scene, at_once)
    refused = pane.staging.applied.refused or pane.staging.applied.rejected
    if coming is None or refused or pane.rest is None or not pane.staging.edits:
        return []
    tag = table.desk._price(pane.staging, coming, lambda work: work())
    here, scene = pane.staging, table.scene
    if tag is None or not pane.rest.more or scene.index + 1 >= len(scene.calls):
        return []
    again = sent_again(table, book, counter)
    later = zip(scene.calls[scene.index + 1 :], again, strict=False)
    calls = [*scene.calls[: scene.index + 1], *(replace(call, usage=sent.plain) for call, sent in later)]
    ledger = CostLedger(book, scene.running, BlockLifetimes(scene.session.tree))
    ledger.advance(calls, dict.fromkeys(scene.session.calls), len(calls))
    before = here.under.applied if here.under is not None else here.applied.without_edits
    policy_context = policy_context_of(here, before, coming, lambda block: here.tokens_of(block) or 0)
    thread = EditedThread(ledger, calls, coming.charge)
    ghost = thread.calls_under(policy_context, here.applied, tag, since=scene.index + 1)
    assert ghost is not None and ghost.saved == pane.rest.saved[: ghost.calls], "the strip has the same figures"
    assert pane.moments and pane.moments[0].once == tag.moments[0].once
    scale = (tag.forecast - tag.forecast_under) / sum(freed_tokens(policy_context, here.applied).values())
    found = []
    rows = zip(calls[scene.index + 1 :], ghost.saved, ghost.more, again, strict=True)
    for number, (call, saved, more, (raw, edited, less, fair)) in enumerate(rows):
        a, b = coming.charge(raw, call), coming.charge(edited, call)
        # The first call's price is the tag's own, which has laws of its own.
        if number and fair and a is not None and b is not None and more is not None:
            # Reports that came meanwhile may have taught what a token counts: the price is that of as many.
            priced, told = saved * scale, raw.input - edited.input
            found.append(Told(saved, less, more * told / priced if priced >= 1 else more, b - a))
    return found


def tried(session: Session, seed: str, times: int) -> list[Told]:
    """The law for some edits at some calls of a session."""
    found, rng, counter = [], Random(seed), Counter()
    book = book_for(session, counter, Settings())
    count_all(book, counter)
    calls = len(session.thread_calls("main"))
    for _ in range(times if calls > 3 else 0):
        table = Table(session, book)
        table.call = rng.randrange(1, calls - 2)
        context = table.desk.context(table.scene)
        spoken = [n for n, item in enumerate(context.items) if item.place.section == "messages"]
        places = table.results() or [n for n in spoken if context.items[n].block.kind == "text"]
        if not places:
            continue
        kind = rng.choice([DROP, TRUNCATE])
        for at in rng.sample(places, min(len(places), rng.choice([1, 2]))):
            table.stage(kind, at, **({"head": 50, "tail": 0} if kind == TRUNCATE else {}))
        found += law(table, book, counter)
    return found


def held(found: list[Told], share: float = 0.0) -> None:
    """The law: tokens to 3 %, money to 5 %, of all calls but a `share`: right behind the edits one may find nothing of
    what the call before it wrote, which no price foretells."""
    wrong = [
        one
        for one in found
        if one.saved != pytest.approx(one.less, abs=max(4, 0.03 * abs(one.less)))
        or one.usd != pytest.approx(one.again, abs=max(0.0005, 0.05 * abs(one.again)))
    ]
    assert len(wrong) <= share * len(found), wrong


def look_alikes() -> list[tuple[str, Callable[[], bytes]]]:
    return [
        ("claude", lambda: claude_code.generate(n_messages=60, seed=3)),
        ("compacted", lambda: claude_code_requests.compacted().dump()),
    ]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_the_ghost_of_a_sample(sample: Path) -> None:
    held(tried(load(sample).session, sample.name, 3))


@pytest.mark.parametrize(("name", "make"), look_alikes(), ids=lambda one: one if isinstance(one, str) else "")
def test_the_ghost_of_a_look_alike(name: str, make: Callable[[], bytes], tmp_path: Path) -> None:
    path = tmp_path / f"{name}.jsonl"
    path.write_bytes(make())
    held(tried(load(path).session, name, 4))


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["claude_code", "codex", "pi", "gemini_cli"])
def test_the_ghost_of_recordings(folder: str) -> None:
    found = []
    for path in need_corpus(folder):
        if path.stat().st_size < LARGEST:
            try:
                found += tried(load(path).session, path.name, 3)
            except NoContext:
                continue
    assert len(found) > 10 or folder != "claude_code"
    held(found, 0.02)
