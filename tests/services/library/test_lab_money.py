"""The lab's money: a row saves what two rows differ by, and its variant opened as a session costs the same."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxtui.analysis.lab.lab import run_experiment
from ctxtui.analysis.lab.placed_markers import spell_name, strategy_names
from ctxtui.analysis.lab.report import session_lab
from ctxtui.analysis.lab.variant import Variant
from ctxtui.analysis.lab.variant_session import variant_session
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import Session
from ctxtui.curation.policies.policy import Step
from ctxtui.curation.policies.registry import POLICIES
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import make_account
from ctxtui.services.lab.experiment import lab_inputs_of_session
from ctxtui.services.lab.marker_costs import run_marker_strategies
from ctxtui.services.library.preflight import try_all_markers
from ctxtui.services.recordings.open import load
from ctxtui.views.lists.lab import lab_lines
from tests.analysis.lab.recordings import COUNTER, grown
from tests.analysis.lab.test_laws import EAGER
from tests.cases import claude_code
from tests.cases.long_runs import long_run
from tests.corpus import every_recording
from tests.curation.shaped import SHAPES
from tests.sampling import few
from tests.services.library.test_finding_proofs import MADE

VARIANTS = (
    Variant(),
    *(Variant(policy=name, steps=(Step(POLICIES[name], EAGER[name]),)) for name in ("clear_tool_results", "hybrid")),
    *(Variant(cache=name) for name in strategy_names()[1:]),
)


def unlike(session: Session) -> list[str]:
    """Variants that save something else than their row says, or cost something else once they are opened."""
    bench = lab_inputs_of_session(session, COUNTER, Settings())
    runs = run_experiment(bench, VARIANTS)
    lab = session_lab(bench, runs, "it")
    if not lab.rows:
        return []  # No call can be simulated: then that is said instead.
    own = lab.rows[0]
    found = []
    for line in lab_lines(lab):
        row = line.row
        if line.saves is None or not own.usd or row.usd is None:
            continue
        if line.saves * own.usd != pytest.approx(own.usd - row.usd, abs=1e-9):
            found.append(f"{row.policy} {row.cache}: saves {line.saves * own.usd}, {own.usd - row.usd} less")
    for one in runs:
        if one.usd is None or not one.calls:
            continue
        opened = variant_session(session, one, "what if")
        costs = make_account(opened, COUNTER, Settings()).costs
        known = [cost.usd for cost in costs.values() if cost is not None]
        if len(known) != len(one.calls) or sum(known) != pytest.approx(one.usd, rel=1e-9, abs=1e-9):
            found.append(f"{one.variant}: {one.usd} in the lab, {sum(known)} opened")
        input_tokens = sum(call.usage.input for call in opened.calls.values() if call.usage is not None)
        if input_tokens != one.total:
            found.append(f"{one.variant}: {one.total} tokens in the lab, {input_tokens} opened")
    return found


@pytest.mark.slow
@settings(max_examples=12)
@given(st.sampled_from(sorted(SHAPES)), st.integers(0, 1_000_000), st.booleans())
def test_a_row_saves_what_the_rows_differ_by_and_opens_as_it_says(dialect: str, seed: int, wire: bool) -> None:
    rng = Random(f"{dialect} {seed}")
    assert unlike(grown(SHAPES[dialect](rng), dialect, rng, wire=wire)) == []


@pytest.mark.slow
def test_so_does_a_long_run(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_bytes(claude_code.generate(60, 5))
    assert unlike(load(path).session) == []
    assert unlike(grown(long_run(6, turns=3), "anthropic", Random(6), wire=False)) == []


@pytest.mark.parametrize("name", few(list(MADE)))
def test_markers_cost_the_same_in_the_cache_command_and_in_the_findings(name: str, tmp_path: Path) -> None:
    """`ctxtui cache --markers` and the finding that names a strategy ask one function."""
    session = MADE[name](tmp_path)
    found = [one for one in try_all_markers(session, COUNTER, Settings()) if not one.relative]
    names = [spell_name(tried.name) for one in found for tried in one.strategy_trials]
    markers = run_marker_strategies(make_account(session, COUNTER, Settings()), list(dict.fromkeys(names)))
    for one in found:
        for tried in one.strategy_trials:
            under = markers.edited_calls(spell_name(tried.name), session.thread_calls(one.thread))
            assert under is not None and under.usd is not None
            assert one.own - tried.cost == pytest.approx(-under.usd, abs=1e-9), tried.name
        assert one.plan.cost <= min(one.own, one.strategy_trials[0].cost) + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("path", every_recording())
def test_so_does_every_recording(path: Path) -> None:
    try:
        session = load(path).session
    except CtxtuiError:
        pytest.skip("holds no context")
    assert unlike(session) == []
