"""The misses of a session: cause, money, the block that parted the requests."""

from __future__ import annotations

import pickle

import pytest

from ctxtui.analysis.cache.miss import COMPACTION, CONTENT, MODEL, TTL
from ctxtui.analysis.cache.miss_finder import Misses, find_cure, session_misses
from ctxtui.core import block
from ctxtui.core.call import Call, Epoch, EpochStart
from ctxtui.core.session import Session
from ctxtui.core.usage import Usage
from ctxtui.pricing.price import price_call, rates_for_call
from ctxtui.services.config.package_data import model_table, price_table
from ctxtui.services.counting.books import cache_rules_by_call
from tests.analysis.sessions import Script, book

OPUS = "claude-opus-4-5"


def found(session: Session) -> Misses:
    counted = book(session, model_table())
    table = price_table()
    costs = {call.id: price_call(call, table) for call in session.calls.values()}

    def rates(call: Call):  # type: ignore[no-untyped-def]
        return rates_for_call(call, table)

    return session_misses(counted, cache_rules_by_call(counted), costs, rates)


def talk(turns: int = 4) -> tuple[Script, int]:
    script, size = Script(OPUS), 20_000
    for n in range(turns):
        script.hear(block.text(f"question {n} " + "word " * 400))
        script.call(block.text("answer " * 100), usage=Usage(cache_read=size if n else 0, write_5m=600 if n else size))
        size += 600 if n else 0
    return script, size


def test_a_pause_longer_than_the_lifetime() -> None:
    script, size = talk()
    script.hear(block.text("back again")).call(block.text("ok"), usage=Usage(write_5m=size + 50), after=900)
    what = found(script.session)
    (one,) = what.misses
    assert (one.cause, one.number, one.life, one.foreseen) == (TTL, 5, 300.0, True)
    assert one.by == pytest.approx(600) and one.tokens == pytest.approx(size, abs=700)
    rates = rates_for_call(list(script.session.calls.values())[-1], price_table())
    assert rates is not None and one.usd == pytest.approx(one.tokens * (rates.write_5m - rates.read), rel=0.01)
    assert what.lost == one.usd and what.usd is not None and what.usd > one.usd
    told, saved = find_cure(one, what.misses)
    assert "lifetime" in told and saved == one.usd
    assert pickle.loads(pickle.dumps(what)) == what, "the misses are worked out in a child process"


def test_another_model() -> None:
    script, size = talk()
    script.model = "claude-sonnet-4-5"
    script.hear(block.text("go on")).call(block.text("ok"), usage=Usage(write_5m=size + 50))
    (one,) = found(script.session).misses
    assert one.cause == MODEL and one.what == f"{OPUS} → claude-sonnet-4-5"


def test_changed_content_names_the_block_and_both_versions() -> None:
    script, size = talk()
    tree, head = script.session.tree, script.head
    items = tree.items(head)
    items[1] = items[1]._replace(block=block.text("question 0, put otherwise " + "word " * 400))
    script.head = tree.extend(0, items)
    script.hear(block.text("go on")).call(block.text("ok"), usage=Usage(write_5m=size + 50))
    (one,) = found(script.session).misses
    assert one.cause == CONTENT and one.block == 2
    assert one.old is not None and one.old.words.startswith("question 0 word")
    assert one.new is not None and "otherwise" in one.new.words


def test_a_compaction_is_told_with_its_delta() -> None:
    script, _ = talk()
    script.epoch, script.head = Epoch(2, EpochStart.COMPACTION, "22k → 3k"), 0
    script.hear(block.text("summary " * 2000)).call(block.text("ok"), usage=Usage(cache_read=0, write_5m=15_000))
    what = found(script.session)
    assert [one.cause for one in what.misses] in ([COMPACTION], []), "only what was resent can be written again"


def test_a_session_without_misses() -> None:
    script, _ = talk()
    what = found(script.session)
    assert what.misses == () and what.tokens == 0 and what.lost == 0
