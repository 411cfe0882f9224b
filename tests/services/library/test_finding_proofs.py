"""The money law: what a ranked finding promises, its edits carry in the lab, which sends every later call of the
recording again under them, and by the price tag that they are staged with. What a setting promises is what the lab
finds of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from ctxtui.analysis.call_choice import choose_call
from ctxtui.analysis.findings.priced import Findings, PricedFinding
from ctxtui.analysis.lab.lab import run_experiment
from ctxtui.analysis.lab.on_record import apply_to_record
from ctxtui.analysis.lab.recorded_steps import simulated_calls
from ctxtui.analysis.lab.variant import Variant
from ctxtui.analysis.money.edited_calls import EditedCalls
from ctxtui.core.block import HEADER
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import CallSeen, Session
from ctxtui.core.usage import Usage
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.context import Context
from ctxtui.curation.price.price_tag import MISS, NOW, PriceTag
from ctxtui.curation.provider_rules import rules_for
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import Account
from ctxtui.services.counting.books import cache_rules_by_call
from ctxtui.services.lab.experiment import lab_inputs_of_account, lab_inputs_of_session
from ctxtui.services.recordings.open import load
from ctxtui.tui.inspector.controllers.staging import Breakpoint
from ctxtui.views.lists.findings import detail, lines, price_lines
from ctxtui.views.text import cells
from tests.analysis.lab.recordings import COUNTER, grown, staged
from tests.cases import claude_code
from tests.cases.long_runs import long_run
from tests.corpus import every_recording
from tests.sampling import few
from tests.services.library.test_findings import found, planted

STEP = 512
"""Tokens by which the reads of automatic caches differ at most: they go in steps (facts: 128, 512 for newer models)."""
WITHIN = 0.05
"""Share of the money that moves by which it may differ: the tag counts blocks by what was learnt up to its call, the
lab by what all reports of the recording tell, and the next request is not written yet when it is priced."""


Simulated = Mapping[str, Usage]
"""The usage of each call by its id, as the lab simulates the recording itself."""


def simulated(session: Session) -> Simulated:
    """What each call would have read, written and sent by its provider's rules. So what a promise is worth is not mixed
    with what a provider's cache did otherwise; that is said by the lab in words
    (`tests/analysis/lab/test_as_recorded.py`)."""
    own = run_experiment(lab_inputs_of_session(session, COUNTER, Settings()), [Variant()])[0]
    made = {}
    for call, one in zip(simulated_calls(session), own.calls, strict=True):
        if one.read is not None and one.write is not None and one.fresh is not None and call.usage is not None:
            hour = call.usage.write_1h > call.usage.write_5m
            write = {"write_1h": one.write} if hour else {"write_5m": one.write}
            made[call.id] = Usage(fresh=one.fresh, cache_read=one.read, output=call.usage.output, **write)
    return made


def promised(session: Session, number: int) -> tuple[Findings, Account]:
    """The findings at call `number`, with what they would have saved later."""
    told, made, _ = found(session, number)
    return told, made


def unlike(account: Account, told: Findings, usages: Simulated, *, whole: bool = True) -> Iterator[str]:
    """Where what is promised is not what the lab finds; `whole`: of a session in which no block comes twice, so that
    just as many tokens go as were promised."""
    for one, carried in followed(account, told):
        if one.rest is not None and one.tag is not None:
            law = _Law(account, told, one, one.tag, carried, usages)
            found = [*law.tokens(whole=whole), *law.each_call(), *law.first_call(), *law.together()]
            yield from (f"{one.finding.kind}, {why}" for why in found)


class Proof(NamedTuple):
    """What the lab finds of edits in the calls `numbers`: tokens and USD less."""

    numbers: tuple[int, ...]
    saved: tuple[int, ...]
    usd: tuple[float | None, ...]

    @property
    def money(self) -> float | None:
        """USD that all of them cost less."""
        return None if None in self.usd or not self.usd else sum(one for one in self.usd if one is not None)


def followed(account: Account, told: Findings) -> list[tuple[PricedFinding, Proof]]:
    """The findings that an edit cures, with what the lab finds of them in the calls that followed."""
    calls = account.session.thread_calls(told.thread)
    later = calls[told.number :]
    found = [one for one in told.priced if one.finding.edits] if later else []
    bench, numbers = lab_inputs_of_account(account), {call.id: n for n, call in enumerate(calls, 1)}
    runs = run_experiment(bench, [Variant(), *(staged(later, one.finding.edits) for one in found)])
    own, *others = (apply_to_record(bench, runs[0], one) for one in runs)
    proved = []
    for one, under in zip(found, others, strict=True):
        pairs = [(a, b) for a, b in zip(own.calls, under.calls, strict=True) if numbers.get(a.id, 0) > told.number]
        usd = tuple(None if a.usd is None or b.usd is None else a.usd - b.usd for a, b in pairs)
        proof = Proof(tuple(numbers[a.id] for a, _ in pairs), tuple(a.context - b.context for a, b in pairs), usd)
        proved += [(one, proof)] if not under.refused else []
    return proved


class _Law:
    """One finding, held by the lab, which `followed` it."""

    def __init__(
        self, account: Account, told: Findings, one: PricedFinding, tag: PriceTag, proof: Proof, usages: Simulated
    ) -> None:
        assert one.rest is not None
        self.account, self.told, self.one, self.tag, self.usages = account, told, one, tag, usages
        self.rest, self.followed = one.rest, proof
        self.calls = account.session.thread_calls(told.thread)
        self.here = self.calls[told.number - 1]
        once = {moment.name: moment.once for moment in tag.moments}
        self.per_token = abs(once.get(MISS) or 0.0) / max(tag.freed, 1)
        """USD of a token that is not read."""
        # Automatic caches read in steps: what of one step is fresh costs as much as where nothing is read.
        in_steps = not cache_rules_by_call(account.book)(self.here).mechanism.writes_at_markers
        self.step = STEP * self.per_token if in_steps else 0.0

    def tokens(self, *, whole: bool) -> Iterator[str]:
        """In each later call just as many tokens are not sent as was promised; of recordings, in which blocks of the
        same words come again, never fewer."""
        for number, promised, carried in self._by_call():
            if not promised or abs(carried - promised) <= self._rounded():
                continue
            anew = self.calls[number - 1].epoch.number != self.here.epoch.number
            if carried < promised * (1 - WITHIN * anew) or (whole and not self._repaired_behind(number)):
                yield f"call {number}: {promised} tokens promised, {carried} carried"

    def _by_call(self) -> Iterator[tuple[int, int, int]]:
        """Of each later call the number, the tokens promised and those carried."""
        for number, carried in zip(self.followed.numbers, self.followed.saved, strict=True):
            yield number, self.rest.saved[number - self.told.number - 1], carried

    def _rounded(self) -> float:
        """Tokens by which one call may differ: every block is counted in whole ones."""
        return 3 + sum(len(edit.targets) for edit in self.one.finding.edits) / 2

    def _context(self, number: int) -> Context:
        """The recorded context of the call `number`; of the call shown the one behind its answer."""
        call, tree = self.calls[number - 1], self.account.session.tree
        return Context.of_call(tree, call, call.response_head if call is self.here else None)

    def _under(self, number: int) -> Applied:
        """It under the edits."""
        rules = rules_for(self._context(number).dialect, self.account.book.card(self.calls[number - 1].model))
        return apply(self._context(number), self.one.finding.edits, rules)

    def _repaired_behind(self, number: int) -> bool:
        """Whether in a later call blocks go that came after the edits: the model would not have answered like that
        under them, so nobody can promise it. Behind a compaction or a clearing by the client it is another context."""
        if self.calls[number - 1].epoch.number != self.here.epoch.number:
            return True
        there = len(self._context(self.told.number))
        return any(at >= there for at in self._under(number).changes)

    def _miscounted(self, number: int) -> float:
        """USD by which a call may differ because the lab counts its blocks, where the tag goes by reports: that of the
        tokens by which the lab misses the report of the recording itself (`tests/analysis/lab/test_as_recorded.py`)."""
        call = self.calls[number - 1]
        own = self.usages.get(call.id)
        return abs(call.usage.input - own.input) * self.per_token if call.usage and own else 0.0

    def first_call(self) -> Iterator[str]:
        """The first later call pays what the tag says for one of its moments."""
        number = self.told.number + 1
        once = [moment.once for moment in self.tag.moments if moment.once is not None]
        usd = dict(zip(self.followed.numbers, self.followed.usd, strict=True)).get(number)
        if not once or usd is None or self._parts(number) or self._out_of_reach(number):
            return
        least, most = min(once), max(once)
        slack = WITHIN * (most - least) + self._miscounted(number) + self.step + 1e-6
        if not least - slack <= -usd <= most + slack:
            yield f"call {number}: {usd:.5f} USD less, {-most:.5f} to {-least:.5f} promised"

    def _parts(self, number: int) -> bool:
        """Whether a call does not go on from the one shown, so that its caches are others than those of the tag."""
        return not self.account.session.tree.holds(self.calls[number - 1].sent_head, self.here.sent_head)

    def _out_of_reach(self, number: int) -> bool:
        """Whether a call has so many more blocks than were there when it was priced that what was written before the
        edits is not looked up any more from its marker."""
        reach = cache_rules_by_call(self.account.book)(self.here).lookback
        places = [sum(item.item.block.kind != HEADER for item in self._under(n).items) for n in (number - 1, number)]
        tree, first = self.account.session.tree, min(self._under(number).changes, default=0)
        entries = [
            sum(tree[node].block.kind != HEADER for node in tree.path(call.sent_head))
            for call in self.calls[: number - 1]
            if tree[call.sent_head].depth <= first
        ]
        return bool(entries) and places[0] - max(entries) <= reach <= places[1] - max(entries)

    def each_call(self) -> Iterator[str]:
        """Each further call of the same model that reads its context and has all that is freed costs as much less as
        the tag says for every later call."""
        per_call = next((moment.per_call for moment in self.tag.moments if moment.name == NOW), None)
        if per_call is None or not self.per_token:
            return
        slack = WITHIN * abs(per_call) + self.step + 1e-5
        rows = zip(self.followed.numbers[1:], self.followed.saved[1:], self.followed.usd[1:], strict=True)
        for number, saved, usd in rows:
            call = self.calls[number - 1]
            usage = call.usage
            if usd is None or usage is None or call.model != self.here.model:
                continue
            whole = abs(saved - self.tag.freed) <= self._rounded()
            if whole and usage.cache_read > WARM * usage.input and abs(usd + per_call) > slack:
                yield f"call {number}: {usd:.5f} USD less, {-per_call:.5f} promised for each call"

    def together(self) -> Iterator[str]:
        """All later calls together cost as much less; where more goes than could be promised, not more."""
        carried, rest, first = self.followed.money, self.rest, self.told.number + 1
        if carried is None or rest.usd is None or rest.partial or rest.calls != len(self.followed.numbers):
            return
        if self._out_of_reach(first):
            return
        # What is written anew at once and what is saved later may all but cancel out: what moves is the measure.
        moved = sum(abs(usd or 0.0) for usd in self.followed.usd)
        # Twice: of what the first call read, and of what is left of that.
        slack = WITHIN * moved + 2 * self._miscounted(first) + self.step * len(self.followed.numbers) + 1e-5
        off = carried + rest.usd
        # A client that compacts or clears where the edits have done so already breaks nothing any more.
        anew = len({call.epoch.number for call in self.calls[self.told.number - 1 :]}) > 1
        more = any(carried > promised + self._rounded() for _, promised, carried in self._by_call())
        if abs(off) > slack and not ((anew or more) and off > 0):
            yield f"{-rest.usd:.5f} USD promised, {carried:.5f} carried, of {moved:.5f} that moved"


WARM = 0.9
"""The share of a call's input that it reads where nothing was lost before it."""


def _read(data: bytes, folder: Path) -> Session:
    path = folder / "one.jsonl"
    path.write_bytes(data)
    return load(path).session


def _cached(session: Session) -> Session:
    """`session` with a client that asks for caching, and reports of a provider that keeps to its rules."""
    for call in list(session.calls.values()):
        assert call.usage is not None
        session.apply(CallSeen(replace(call, usage=replace(call.usage, fresh=0, write_5m=call.usage.fresh))))
    for id_, usage in simulated(session).items():
        session.apply(CallSeen(replace(session.calls[id_], usage=usage)))
    return session


MADE: dict[str, Callable[[Path], Session]] = {
    "planted": lambda _: planted(),
    "a transcript": lambda _: _cached(grown(long_run(6, turns=4), "anthropic", Random(6), wire=False)),
    "a client's transcript": lambda folder: _read(claude_code.generate(90, 5), folder),
    "one that is compacted": lambda folder: _read(claude_code.generate(120, 3, compactions=1), folder),
}


@pytest.mark.parametrize("name", few(MADE))
def test_the_lab_carries_what_is_promised(name: str, tmp_path: Path) -> None:
    session = MADE[name](tmp_path)
    usages = simulated(session)
    calls = len(session.thread_calls())
    tried = 0
    for number in sorted({calls // 2, calls * 3 // 4}):
        told, made = promised(session, number)
        tried += len(followed(made, told))
        assert list(unlike(made, told, usages)) == []
    assert tried, "nothing was found: nothing is tested"


def test_a_promise_that_is_wrong_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    session, right = planted(), staged
    monkeypatch.setattr(f"{__name__}.staged", lambda calls, edits: right(calls, edits[:-1]))
    told, made = promised(session, 9)
    assert list(unlike(made, told, simulated(session))) != []


def test_what_it_cost_so_far_is_what_all_calls_have_less() -> None:
    told, _, _ = found(planted())
    tried = [one for one in told.priced if one.finding.edits and one.proved is not None]
    assert tried
    for one in tried:
        assert one.proved is not None and one.proved.usd is not None
        assert (one.proved.first, one.proved.calls) == (1, told.number)
        assert one.finding.so_far == -one.proved.usd
        assert one.finding.calls == one.proved.calls


def test_a_first_call_without_a_report_does_not_mix_up_what_was_tried() -> None:
    """The lab leaves that call out: what it finds behind the call shown is of later calls all the same."""
    session = planted()
    first = session.thread_calls()[0]
    session.apply(CallSeen(replace(first, usage=None)))
    last = len(session.thread_calls())
    told, made = promised(session, last // 2)
    tried = [one for one in told.priced if one.finding.edits and one.proved is not None]
    assert tried
    for one in tried:
        assert one.proved is not None and one.proved.usd is not None
        assert one.proved.partial == bool(one.proved.saved[0]), "what is not reported has no price"
    for _, proof in followed(made, told):
        assert proof.numbers == tuple(range(told.number + 1, last + 1))
    at_the_end, made, _ = found(session)
    assert not followed(made, at_the_end), "nothing followed the last call"
    assert list(unlike(made, told, simulated(session), whole=False)) == []


def test_what_a_setting_saves_is_what_the_lab_finds() -> None:
    """A client that asks for no caching: breakpoints cure it, and what they save is the lab's figure."""
    session = grown(long_run(6, turns=4), "anthropic", Random(6), wire=False)
    told, _, _ = found(session)
    one = next(one for one in told.priced if one.finding.kind == "cache markers")
    assert one.proved is not None
    assert one.finding.so_far == pytest.approx(-(one.proved.usd or 0.0))
    assert one.saves == pytest.approx(-(one.proved.usd or 0.0) / one.proved.calls * told.horizon)
    assert [edit.kind for edit in one.staged_edits] == ["breakpoint"] * len(one.staged_edits)
    assert one.staged_edits
    assert not one.why_not
    assert f"{Breakpoint.keys[0]} sets one" in one.finding.setting


def test_what_the_lab_says_fits_eighty_columns() -> None:
    session = grown(long_run(6, turns=4), "anthropic", Random(6), wire=False)
    told, _, _ = found(session, len(session.thread_calls()) // 2)
    rows = ["".join(span.text for span in line) for one in told.priced for line in price_lines(one, told)]
    assert any("staged as" in row for row in rows) and any("call 1 on" in row for row in rows)
    assert max(map(cells.width, rows)) <= 79


@pytest.mark.parametrize("room", few([40, 80, 120]))
def test_every_word_of_a_finding_is_in_its_lines_and_none_is_cut(room: int) -> None:
    session = grown(long_run(6, turns=4), "anthropic", Random(6), wire=False)
    told, _, _ = found(session, len(session.thread_calls()) // 2)
    words = "the client rebuilds this text, put dates and lists into the last message " * 2
    finding = replace(told.priced[0].finding, setting=words, by_hand=words, edits=())
    one = replace(told.priced[0], finding=finding, marks=())
    rows = ["".join(span.text for span in line) for line in detail(one, told, "a.jsonl", room)]
    assert max(map(cells.width, rows)) <= room
    assert " ".join(" ".join(rows).split()).count(words.strip()) == 2
    listed = ["".join(span.text for span in line) for line in lines(replace(told, priced=[one]), "a.jsonl", room)]
    assert max(cells.width(row) for row in listed if "ctxtui curate" not in row) <= room


def test_what_cannot_be_staged_says_why() -> None:
    about = replace(next(iter(found(planted())[0].priced)).finding, edits=(), by_hand="it is set in the program")
    assert PricedFinding(finding=about, horizon=20).why_not == "it is set in the program"


def test_blocks_that_get_no_shorter_and_fewer_tokens_that_cost_more_are_said_plainly() -> None:
    told, _, _ = found(planted())
    first = next(one for one in told.priced if one.tag is not None)
    dear = EditedCalls(4, (1_000, 1_000), (0.2, 0.3))
    rows = _told(replace(first, blocks=52, longer=12, along=0, proved=dear), told)
    assert "staged: 52 blocks; 12 of them would not get shorter" in rows
    assert any(row.endswith("2.0k tokens less, +$0.500 in 2 calls: tokens read from the cache are written again")
               for row in rows)  # fmt: skip
    cheap = replace(dear, more=(-0.2, -0.3))
    rows = _told(replace(first, blocks=1, longer=0, along=0, proved=cheap), told)
    assert "staged: 1 block" in rows and any(row.endswith("$0.500 in 2 calls") for row in rows)


def _told(one: PricedFinding, what: Findings) -> list[str]:
    return ["".join(span.text for span in line).strip() for line in price_lines(one, what)]


@pytest.mark.slow
@pytest.mark.parametrize("path", every_recording())
def test_recordings_carry_it_too(path: Path) -> None:
    try:
        session = load(path).session
    except CtxtuiError:
        pytest.skip("holds no context")
    usages = simulated(session)
    calls = len(session.thread_calls()) if session.order else 0
    for number in sorted({calls // 2, calls * 3 // 4}):
        if 0 < number < calls and choose_call(session, "", number).number == number:
            told, made = promised(session, number)
            assert list(unlike(made, told, usages, whole=False)) == []
