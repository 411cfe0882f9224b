"""What is offered unasked is safe: nothing goes that later blocks quote, by a check of its own, and little of the
conversation does."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxtui.analysis.call_choice import choose_call
from ctxtui.analysis.findings.priced import Findings
from ctxtui.core.block import HEADER, Block
from ctxtui.core.canonical import Json
from ctxtui.core.edit import make
from ctxtui.core.edit_kinds import DROP
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import Session
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.policies.safe_edits import without_quoted
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import make_account
from ctxtui.services.counting.counting import Counter
from ctxtui.services.editing.advice import SearchResult, search_remedies
from ctxtui.services.library.findings import price_findings
from ctxtui.services.recordings.open import load
from ctxtui.views.lists.findings import lines
from tests.cases.sessions import Story, use
from tests.corpus import every_recording
from tests.one_truth.test_every_figure import SAMPLES
from tests.sampling import few

_WORD = re.compile(r"[\w@~./:+-]{7,120}")
_NAMES = frozenset("signature type id tool_use_id call_id data encrypted_content name role media_type mimeType".split())
"""Members that are no text of the conversation."""


def texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in _NAMES and "metadata" not in key:
                yield from texts(item)


def words(block: Block) -> set[str]:
    """Paths, ids and numbers of a block."""
    if block.kind == HEADER:
        return set()
    # The names of a tool and of what it takes stand in its definition, however short that is.
    said = block.body.decode() if block.kind in ("tool", "function") else " ".join(texts(json.loads(block.body)))
    found = (word.strip(".:/+-~@") for word in _WORD.findall(said))
    return {word for word in found if len(word) >= 7 and re.search(r"[\d/_]", word)}


def lost(after: Applied) -> dict[str, tuple[int, int]]:
    """Words that go from a position and that a later block says, with nothing in front of it that still says them."""
    first: dict[str, int] = {}
    gone: dict[str, int] = {}
    for one in after.inserts:
        for word in (word for item in one.items for word in words(item.block)):
            first.setdefault(word, -1)
    for position, item in enumerate(after.context.items):
        change = after.changes.get(position)
        was = words(item.block)
        kept = was if change is None else set() if change.after is None else words(change.after)
        for word in kept:
            first[word] = min(first.get(word, position), position)
        for word in was - kept:
            gone.setdefault(word, position)
    return {word: (position, first[word]) for word, position in gone.items() if first.get(word, -1) > position}


def offers(session: Session) -> tuple[SearchResult, Findings]:
    counter, settings = Counter(), Settings()
    made, chosen = make_account(session, counter, settings), choose_call(session)
    return (
        search_remedies(made.book, counter, chosen, made.table, settings.usable_share),
        price_findings(made, counter, chosen, settings),
    )


def unsafe(session: Session) -> list[tuple[Any, ...]]:
    """Offers that lose what is quoted later, or take most of the conversation."""
    if not choose_call(session).number:
        return []
    found, told = offers(session)
    every = [(one.names, one.edits) for one in found.ahead(20)]
    every += [((one.finding.kind,), one.finding.edits) for one in told.priced if one.finding.edits]
    bad: list[tuple[Any, ...]] = []
    for names, edits in every:
        after = found.base.policy_context.under(edits).applied
        items = after.context.items
        said = [p for p, item in enumerate(items) if item.place.section == "messages" and item.block.kind != HEADER]
        gone = [p for p in said if p in after.changes and after.changes[p].after is None]
        if lost(after) or 2 * len(gone) > len(said):
            bad.append((names, len(gone), len(said), lost(after)))
    return bad


@pytest.mark.parametrize("sample", few(SAMPLES[::-1]), ids=lambda path: path.stem)
def test_no_offer_for_a_sample_loses_what_is_quoted_later(sample: Path) -> None:
    assert unsafe(load(sample).session) == []


@pytest.mark.slow
@pytest.mark.parametrize("recording", every_recording())
def test_no_offer_for_a_recording_loses_what_is_quoted_later(recording: Path) -> None:
    try:
        session = load(recording).session
    except CtxtuiError:
        pytest.skip("no session")
    assert unsafe(session) == []


def shop(rounds: int = 9) -> Session:
    """Results of which the first and third are quoted by the last answer."""
    story = Story(hidden_tokens=0)
    story.user("look through the shop")
    for n in range(rounds):
        story.call(use(f"t{n}", "Read", path=f"part_{n}.py"))
        story.results((f"t{n}", "\n".join(f"/srv/shop/{n}/row_{m}.txt is there" for m in range(300))))
    story.call("Look at /srv/shop/0/row_7.txt and /srv/shop/2/row_8.txt.")
    return story.session


def test_edits_stay_of_which_nothing_is_quoted_and_what_goes_along_counts() -> None:
    found, _ = offers(shop())
    context = found.base.context
    calls = [p for p, item in enumerate(context.items) if item.block.kind == "tool_use"]
    drops = [make(DROP, context.targets([call])) for call in calls]
    # Only the calls are dropped: their results go along.
    assert without_quoted(found.base.policy_context, drops) == [drops[1], *drops[3:]]


def test_a_finding_that_proposes_nothing_says_why() -> None:
    story = Story(hidden_tokens=0)
    story.user("look")
    for n in range(9):
        story.call(use(f"t{n}", "Read", path=f"part_{n}.py"))
        story.results((f"t{n}", f"/srv/shop/{n}/row.txt " * 400))
    story.call("Read " + ", ".join(f"/srv/shop/{n}/row.txt" for n in range(9)))
    _, told = offers(story.session)
    assert "old results: later blocks quote all of it" in told.lacks
    said = ["".join(span.text for span in line) for line in lines(told, "a.jsonl", 100)]
    assert any("left out: old results: later blocks quote all of it" in line for line in said)
