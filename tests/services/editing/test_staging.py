"""What is staged on top of applied edits: what it frees, breaks and costs besides them."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.what_if import Replay
from ctxtui.analysis.call_choice import choose_call
from ctxtui.core.edit import make
from ctxtui.core.edit_kinds import DROP, PIN, REPLACE, TRUNCATE
from ctxtui.core.session import MAIN, Session
from ctxtui.offline import offline
from ctxtui.services.chat.chat_model import ModelChoice
from ctxtui.services.chat.host import Host
from ctxtui.services.config.package_data import model_table, price_table
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for, cache_rules_by_call
from ctxtui.services.counting.counting import Counter
from ctxtui.services.counting.pricing import local_pricer
from ctxtui.services.editing import staging
from ctxtui.services.editing.curate import curate_context
from ctxtui.services.editing.edited_context import build_request_body
from ctxtui.services.editing.overlay import SessionEdits
from ctxtui.services.editing.staging import StagingArea
from ctxtui.services.recordings.open import load
from ctxtui.services.recordings.recording import Loaded
from ctxtui.services.study.study import Study
from ctxtui.views.inspector.composition import composition, with_staged_edits
from ctxtui.views.model.scene import Scene
from ctxtui.views.text.span import plain, width
from ctxtui.views.transcript.staged_pane import MomentPrice, StagedPane, lines
from tests.analysis.cache.test_audit import Talk
from tests.analysis.sessions import book
from tests.cases.inspect import InMemory
from tests.cases.sessions import every_category
from tests.pty_app import REPO
from tests.sampling import few
from tests.services.chat.test_host_offline import desk
from tests.services.chatting import Chat, config


class Table:
    """A staging desk on a session, whose worker works at once."""

    def __init__(self, session: Session, counts: Book | None = None) -> None:
        self.study = Study(session, counts or book(session, model_table()), None, local_pricer(price_table()))
        self.call = 1 << 30
        self.overlays = InMemory()
        self.desk = StagingArea(self.study, self.overlays)
        self.overlay = self.overlays.of_thread(MAIN)
        self.work()

    def work(self) -> None:
        """Until nothing is left to be worked out."""
        self.study.session_grew()
        self.study.thread(MAIN)
        while self.study.work():
            pass

    @property
    def scene(self) -> Scene:
        return self.study.scene(MAIN, self.call)

    def results(self) -> list[int]:
        """The raw positions of tool results."""
        items = self.desk.context(self.scene).items
        return [n for n, item in enumerate(items) if item.block.kind == "tool_result"]

    def stage(self, kind: str, *positions: int, **given: object) -> None:
        context = self.desk.context(self.scene)
        self.overlay.stage_all([make(kind, context.targets(positions), given)])

    def pane(self) -> StagedPane:
        """What the pane shows when everything is known."""
        for _ in range(3):
            found = self.desk.pane(self.desk.staging(self.scene), at_once)
            self.work()
        return found


def at_once(load: Callable[[], None]) -> None:
    load()


def talk(calls: int = 12) -> Table:
    made = Talk()
    for _ in range(calls):
        made.call()
    return Table(made.script.session)


def costs(pane: StagedPane) -> list[tuple[float, float]]:
    return [(one.once or 0.0, one.per_call or 0.0) for one in pane.moments]


def test_what_edits_break_is_not_known_before_they_are_counted() -> None:
    table = talk()
    table.pane()
    table.stage(REPLACE, table.results()[2], text="another result, which was not counted before")

    def broken() -> object:
        return table.desk.broken_literals(table.desk.staging(table.scene), at_once, live=False)

    assert broken() is None
    table.work()
    assert broken() is not None


@pytest.mark.parametrize(("first", "second"), [(2, 7), (7, 2), (2, 3)])
def test_what_applied_edits_cost_already_is_not_charged_again(first: int, second: int) -> None:
    table = talk()
    results = table.results()
    table.stage(DROP, results[first])
    alone = costs(table.pane())
    table.overlay.apply()
    assert costs(table.pane()) == alone, "until it is sent, an applied edit costs what it did when it was staged"
    table.stage(TRUNCATE, results[second], head=100, tail=0)
    on_top = table.pane()
    whole = talk()
    whole.stage(DROP, results[first])
    whole.stage(TRUNCATE, results[second], head=100, tail=0)
    both = whole.pane()
    for (once, per_call), (one, one_call), (two, two_call) in zip(costs(on_top), alone, costs(both), strict=False):
        assert once == pytest.approx(two - one, abs=0.001)
        assert per_call == pytest.approx(two_call - one_call, abs=0.001)
    assert on_top.staging.freed + _freed(first) == both.staging.freed
    assert on_top.staging.after == both.staging.after
    assert sum(both.staging.by_category.values()) == -both.staging.freed
    assert sum(on_top.staging.by_category.values()) == -on_top.staging.freed, "of what is staged on top only"
    plain_scene = replace(table.scene, figures=on_top.staging.following)
    figures = (
        on_top.staging.applied_by_category,
        on_top.staging.by_category,
        on_top.staging.without,
        on_top.staging.after,
    )
    shown = with_staged_edits(composition(plain_scene), *figures)
    assert sum(part.tokens for part in shown.parts) + shown.residual == pytest.approx(shown.total, abs=2)
    assert sum(part.after or 0 for part in shown.parts) + shown.residual == pytest.approx(shown.after, abs=2)
    assert on_top.staging.breaks_at == both.staging.breaks_at
    if first < second:
        assert costs(on_top)[0][0] < 0, "behind a break that is there already everything is written anew anyway"


@pytest.mark.parametrize("kind", [DROP, TRUNCATE])
def test_a_staged_block_has_the_tokens_that_its_row_has(kind: str) -> None:
    table = talk()
    here = table.results()[3]
    table.stage(kind, here, **({"head": 100, "tail": 0} if kind == TRUNCATE else {}))
    staging = table.pane().staging
    for node, fate in staging.fates.items():
        if table.study.session.tree[node].block.kind != "header":
            assert fate.tokens == table.scene.running.block_tokens(node)
    rows = sum(fate.freed for fate in staging.fates.values()) - sum(new.tokens or 0 for new in staging.inserted)
    assert rows == pytest.approx(staging.removed, abs=2), "the rows add up to what the request loses"


def _freed(first: int) -> int:
    table = talk()
    table.stage(DROP, table.results()[first])
    return table.pane().staging.freed


def test_what_is_taken_back_on_top_of_an_applied_edit_finds_the_old_prefix_in_the_cache() -> None:
    table = talk()
    here = table.results()[3]
    context = table.desk.context(table.scene)
    table.overlay.stage_all([make(DROP, context.targets([here]), author="keep_rounds")])
    down = costs(table.pane())[0]
    table.overlay.apply()
    table.stage(PIN, here)
    pane = table.pane()
    assert pane.staging.removed == 0 and pane.broken == 0
    assert costs(pane)[0] == pytest.approx((-down[0], -down[1]), abs=0.001)


def test_one_replay_tells_the_next_call_as_one_that_begins_anew() -> None:
    made = Talk()
    for _ in range(9):
        made.call()
    session = made.script.session
    counts = book(session, model_table())
    rules = cache_rules_by_call(counts)
    replay = Replay(counts, rules)
    calls = session.thread_calls()
    for index in (2, 3, 7, 1, 8, 8):
        call = calls[index]
        one, other = (
            replay.request_after(call, call.response_head),
            Replay(counts, rules).request_after(call, call.response_head),
        )
        assert one.forecast is not None and other.forecast is not None
        assert (one.at, one.prompt.total, one.forecast.read) == (other.at, other.prompt.total, other.forecast.read)
        asked = [asking.simulator.predict(asking.prompt, asking.at) for asking in (one, other)]
        assert asked[0].to_usage() == asked[1].to_usage()
    made.call()
    before = replay.request_of(session.thread_calls()[-1])
    assert before.prompt.total == session.thread_calls()[-1].usage.input  # type: ignore[union-attr]


async def test_a_chat_that_sent_its_edits_breaks_nothing_any_more(tmp_path: Path) -> None:
    work = desk(tmp_path)
    (work / "large.txt").write_text("".join(f"line {n} of a large file\n" for n in range(400)))
    (work / "notes.txt").write_text("".join(f"note {n} of many\n" for n in range(400)))
    with offline() as running:
        host = Host(ModelChoice("anthropic", "offline", running.url), config(tmp_path), work)
        await asyncio.to_thread(host.open)
        made = Chat(host)
        table = Table(host.session)
        host.overlay = lambda: table.overlay
        await host.begin(made.heard, lambda call: None, lambda: None)
        await made.say("read large.txt")
        await made.say("read notes.txt")
        table.work()
        results = table.results()
        table.stage(DROP, results[0])
        before = table.pane()
        assert before.broken and before.staging.breaks_at is not None and before.staging.was_sent_plain
        table.overlay.apply()
        await made.say("and now?")
        table.work()
        last = table.scene.call
        assert last.usage is not None and last.raw_head != last.sent_head
        sent = table.pane()
        assert not sent.staging.was_sent_plain and not sent.moments
        assert sent.staging.breaks_at is None, "the request goes on from the one that left"
        assert sent.active == 1 and sent.staging.freed == 0
        assert last.usage.input < sent.staging.after < sent.staging.before
        assert sent.staging.removed >= before.staging.freed
        counter = Counter()
        plain = curate_context(table.study.book, counter, choose_call(host.session), prices=price_table())
        left = [seen.body for seen in running.server.seen if seen.status == 200 and b'"stream"' in seen.body][-1]
        assert json.loads(build_request_body(plain).body)["messages"] == json.loads(left)["messages"], (
            "curated is what was sent"
        )
        assert plain.tag.freed == 0 and plain.tag.breaks_at is None
        table.stage(TRUNCATE, results[1], head=1, tail=0)
        more = table.pane()
        assert more.moments and more.broken and more.staging.breaks_at == results[1]
        assert 0 < more.staging.freed < sent.staging.removed
        assert sum(more.staging.by_category.values()) == -more.staging.freed and not more.staging.applied_by_category
        table.overlay.undo()
        table.overlay.undo()
        assert not table.overlay.applied
        table.stage(TRUNCATE, results[1], head=1, tail=0)
        assert table.pane().staging.breaks_at == before.staging.breaks_at, "what was taken back parts earlier"
        assert await host.close()


@pytest.mark.parametrize("seed", few(range(24), 6))
def test_the_tag_is_the_difference_to_the_request_that_then_leaves(seed: int) -> None:
    """Whatever is staged: applied, and asked of the simulator as a request of its own, it costs what the tag said."""
    dice = random.Random(seed)
    table = talk(8)
    context = table.desk.context(table.scene)
    for kind in dice.choices([DROP, TRUNCATE], k=dice.choice([1, 1, 2])):
        near_end = dice.random() < 0.5
        start = dice.randrange(max(1, len(context) - 6), len(context)) if near_end else dice.randrange(1, len(context))
        stop = min(len(context), start + dice.choice([1, 1, 3, 6]))
        table.stage(kind, *range(start, stop), **({"head": 50, "tail": 0} if kind == TRUNCATE else {}))
    pane = table.pane()
    if pane.staging.applied.refused or not pane.staging.applied.is_changed:
        return
    raw = table.desk.next_call(table.scene, at_once)
    table.overlay.apply()
    table.pane()
    table.desk.next_call(table.scene, at_once)
    table.work()
    then = table.desk.next_call(table.scene, at_once)
    assert raw is not None and then is not None and then is not raw
    floor = raw.question.floors[0]
    asked = [
        (
            one.question.charge,
            one.question.simulator.predict(one.question.prompt, one.question.now).with_min_read(floor),
        )
        for one in (raw, then)
    ]
    plain, edited = (charge(outcome.to_usage(), outcome.at) for charge, outcome in asked)
    assert plain is not None and edited is not None
    assert pane.moments[0].once == pytest.approx(edited - plain, abs=1e-6), (
        [asked[0][1].to_usage(), asked[1][1].to_usage()],
        sorted(pane.staging.applied.changes),
        len(context),
    )


@pytest.mark.parametrize("room", [34, 60])
def test_without_a_price_nothing_is_said_of_when_it_pays(room: int) -> None:
    table = talk(4)
    table.stage(DROP, *table.results()[:1])
    pane = table.pane()
    priced, unpriced = (
        "\n".join(plain(line) for line in lines(one, room, 20))
        for one in (pane, replace(pane, moments=(MomentPrice("at expiry", "", None, None, None),)))
    )
    assert "$" in priced and "unknown" not in priced
    assert " unknown " in unpriced and "never" not in unpriced
    assert ("at expiry" if room >= 44 else "expiry ") in unpriced and "unknownunknown" not in unpriced


WORST = (
    MomentPrice("now", "", 0.404, -0.011, 37),
    MomentPrice("at expiry", "4:12", -0.012, -0.011, 0),
    MomentPrice("next miss", "", -12.34, -0.011, 0),
)


@pytest.mark.parametrize("room", [34, 50])
def test_the_pane_keeps_its_columns_apart_its_last_cell_free_and_its_sentences_whole(room: int) -> None:
    table = talk(4)
    table.stage(DROP, *table.results()[:1])
    pane = replace(
        table.pane(),
        moments=WORST,
        thinking_lost=12_900,
        warnings=(
            ("16 later blocks quote", "entire.io/cli/strategy +14"),
            ("3 literals lost in Σ:", "src/shop/cart.py"),
        ),
        without_target=2,
    )
    kept = replace(pane, staging=dataclasses.replace(pane.staging, breakage=None), is_breakage_known=True)
    assert any(plain(line).startswith(" breaks nothing") for line in lines(kept, room, 40))
    assert not any("…" in plain(line) for line in lines(kept, room, 40))
    shown = [plain(line) for line in lines(pane, room, 40)]
    assert all(width(line) < room for line in lines(pane, room, 40)), shown
    assert not any("…" in line for line in shown), shown
    text = "\n".join(shown)
    assert re.search(r"\+\$0\.404 +−\$0\.011 +37", text)
    said = " ".join(text.split())
    assert "16 later blocks quote" in said and "accept" in said and "1 more" in said
    assert re.search(r"frees +−\S+ +next(?: call)? \S+", text), "which of the two figures it is"
    nothing = tuple(MomentPrice(name, "", 0.0, 0.0, 0) for name in ("now", "at expiry", "next miss"))
    free = "\n".join(plain(line) for line in lines(replace(pane, moments=nothing), room, 40))
    assert "frees" in free and "$" not in free and "once" not in free


def test_a_database_that_is_only_just_being_made_has_no_edits(tmp_path: Path) -> None:
    settings = Settings(data_dir=str(tmp_path))
    database(settings.data_dir).touch()
    session = every_category()
    assert SessionEdits(Loaded(session, "a session"), settings).of_thread("main").log == ()


def test_the_request_without_edits_is_counted_once_for_all_keys(monkeypatch: pytest.MonkeyPatch) -> None:

    counted = []
    whole = staging.count_under
    monkeypatch.setattr(staging, "count_under", lambda *given: counted.append(given[1]) or whole(*given))
    table = Table(every_category())
    first, second, *_ = table.results()
    table.stage(TRUNCATE, first, head=10, tail=0)
    before = table.desk.staging(table.scene).before
    counted.clear()
    table.stage(DROP, second)
    found = table.desk.staging(table.scene)
    assert found.before == before and found.after < before
    assert [one.is_changed for one in counted] == [True]


def test_a_long_context_is_priced_in_a_worker_and_to_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    table = talk()
    table.stage(DROP, table.results()[2])
    at_once_known = table.pane()
    monkeypatch.setattr(staging, "MAX_INLINE_PRICED_BLOCKS", 0)
    queue: list[Callable[[], None]] = []

    def shown() -> StagedPane:
        return table.desk.pane(table.desk.staging(table.scene), queue.append)

    table.stage(DROP, table.results()[4])
    assert not shown().is_breakage_known and not shown().is_breakage_known, (
        "the key is answered, the price is not there"
    )
    table.stage(DROP, table.results()[6])
    assert not shown().is_breakage_known
    assert len(queue) == 2, "each state of the edits is asked for once"
    for work in queue:
        work()
    assert shown().is_breakage_known and len(queue) == 2, "the first of them was not worked out any more"
    priced = costs(shown())
    table.overlay.undo()
    table.overlay.undo()
    shown()
    queue[-1]()
    assert costs(shown()) == costs(at_once_known) != priced


def test_where_nothing_is_cached_what_frees_tokens_costs_nothing() -> None:
    session = load(REPO / "sessions" / "2-lluma-musume.jsonl").session
    table = Table(session, book_for(session, Counter(), Settings()))
    context = table.desk.context(table.scene)
    calls = [n for n, item in enumerate(context.items) if item.block.kind == "tool_use"]
    for position in (calls[0], calls[-2], calls[-1]):
        table.stage(DROP, position)
        pane = table.pane()
        assert pane.staging.freed > 0
        assert pane.moments[0].once is not None and pane.moments[0].once < 0, position
        table.overlay.discard()
