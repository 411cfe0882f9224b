"""The law of the price tag: its body is the count of the request that is then written, in the recorded dialect and
under the same weights. Held for every policy on the samples, on sessions of known sizes, and on recordings."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from random import Random
from statistics import median

import pytest

from ctxtui.analysis.book import Book
from ctxtui.analysis.call_choice import choose_call
from ctxtui.analysis.figures import figures
from ctxtui.core.category import INDEX
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import Session
from ctxtui.core.tree import ROOT, Tree
from ctxtui.curation.legality.request_check import RequestRefused
from ctxtui.curation.policies.policy import Step
from ctxtui.services.config.package_data import price_table
from ctxtui.services.config.policy_registry import load_policies
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.counting import Counter, count_all
from ctxtui.services.editing.curate import Curation, curate_context
from ctxtui.services.editing.edited_context import build_request_body
from ctxtui.services.recordings.open import load
from ctxtui.tokens.cumulate import Cumulated
from ctxtui.tokens.weights import weigh
from ctxtui.wire.registry import DIALECTS
from tests.analysis.cache.test_audit import Talk
from tests.cases import claude_code
from tests.corpus import CORPUS
from tests.pty_app import REPO

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
SMALLEST, LARGEST = 2_000, 1_000_000
"""Bytes of the recordings that `make test` tries some of; `make test-all` tries them all."""
_THINKING = INDEX["thinking"]


def written_count(book: Book, counter: Counter, found: Curation) -> int:
    """Tokens of the request as it is written, read again by its dialect. Thinking that only its provider can read
    counts as its report told, which the written request does not say."""
    model, tree, told = found.chosen.call.model or found.session.model, found.context.tree, dict[str, deque[int]]()
    card, weights, ways = book.card(model), book.weights(model), book.cumulated(model)
    for one in found.applied.items:
        if one.edit is None and one.node >= 0 and book.is_reported(one.node):
            told.setdefault(tree[one.node].block.digest, deque()).append(one.node)
    request = DIALECTS[found.form.replace("-", "_")].decode_request(build_request_body(found).body, None)
    made, reported = Tree(), dict[int, float]()
    head = ROOT
    for item in request.items:
        head = made.child(head, *item)
        if known := told.get(item.block.digest):
            reported[head] = ways.block_features(known.popleft()).reported
    counts = Cumulated(made, counter(card), None, reported)
    counts.advance()
    sums = [round(weigh(features, weights)) for features in counts.composition_at(head)]
    start = made[head].turn_start
    if card.strips_thinking and start != ROOT:
        sums[_THINKING] -= round(weigh(counts.composition_at(made[start].parent)[_THINKING], weights))
    return sum(sums)


def errors(session: Session, ends: tuple[bool, ...] = (False, True)) -> Iterator[tuple[str, int, int]]:
    """For every policy that changes something: its name, the tag's body, the count of what is written; before the last
    answer and behind it (`ends`)."""
    counter = Counter()
    book = book_for(session, counter, Settings())
    count_all(book, counter)
    chosen = choose_call(session)
    for name, policy in load_policies().items():
        for after in ends:
            found = curate_context(book, counter, chosen, steps=(Step(policy, {}),), after=after, prices=price_table())
            if found.applied.is_changed and not found.applied.refused:
                yield name, found.tag.under.body, written_count(book, counter, found)


def held(path: Path, session: Session, ends: tuple[bool, ...] = (False, True)) -> list[float]:
    shares = []
    for name, told, written in errors(session, ends):
        share = abs(told - written) / max(1, written)
        # A few tokens of a short request are rounding.
        assert share <= 0.05 or abs(told - written) <= 5, (path.name, name, told, written)
        shares.append(share)
    return shares


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted((REPO / "sessions").glob("*.jsonl")), ids=lambda path: path.stem)
def test_on_the_samples_it_is_the_same_figure(path: Path) -> None:
    assert set(held(path, load(path).session, (False, True) if THOROUGH else (False,))) == {0.0}


def test_on_a_transcript_it_is_the_same_figure() -> None:
    made = Talk()
    for _ in range(14):
        made.call()
    shares = held(Path("talk"), made.script.session)
    assert len(shares) > 8 and max(shares) < 0.003, "a call that nothing answers is not written, but for its header"


def test_messages_that_are_written_as_one_have_one_head(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_bytes(claude_code.generate(n_messages=20, seed=3))
    assert {name: told - written for name, told, written in errors(load(path).session)} == {
        "sliding_window": 0,
        "keep_rounds": 0,
        "hybrid": 0,
        "stateless": 0,
    }


def test_a_head_goes_on_when_its_messages_first_part_is_not_written(tmp_path: Path) -> None:
    script, path = claude_code.Script(), tmp_path / "unsigned.jsonl"
    for number in range(4):
        script.user(f"Please look at file {number}. " + "It is long. " * 40)
        call = claude_code.tool_use(f"t{number}", "Read", file_path=f"src/{number}.py")
        for at, last in enumerate((call, claude_code.text("Done with it."))):
            thought = claude_code.thinking("I look at it first. " * 9, signature="")
            script.assistant(thought, last, id=f"m{number}{at}", use=claude_code.usage(fresh=900))
            if not at:
                script.result(f"t{number}", "some lines " * 90)
    path.write_bytes(script.dump())
    found = list(errors(load(path).session))
    assert found and all(told == written for _, told, written in found), found


def test_without_edits_the_body_is_the_composition() -> None:
    for path in sorted((REPO / "sessions").glob("*.jsonl")):
        session, counter = load(path).session, Counter()
        book = book_for(session, counter, Settings())
        count_all(book, counter)
        chosen = choose_call(session)
        tag = curate_context(book, counter, chosen, prices=price_table()).tag
        got = figures(book, chosen.call)
        assert tag.without == tag.under and tag.under.body == sum(got.categories.values()), path.name
        assert tag.under.client == (got.not_recorded or 0) + got.attached


@pytest.mark.slow
def test_on_recordings_the_tag_tells_the_request_that_is_written() -> None:
    files = [
        path for path in CORPUS.rglob("*") if path.is_file() and (THOROUGH or SMALLEST < path.stat().st_size < LARGEST)
    ]
    if not files:
        pytest.skip("corpus absent")
    shares: list[float] = []
    for path in files if THOROUGH else Random("law").sample(sorted(files), min(14, len(files))):
        try:
            session = load(path).session
            choose_call(session)
        except CtxtuiError:
            continue  # holds no context
        try:
            shares += held(path, session)
        except RequestRefused:
            continue
    assert not shares or median(shares) <= 0.02
