"""The lab's page and its chart on the screen: the calls by their numbers, variants by names that tell them apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from ctxtui.analysis.lab.lab import run_experiment
from ctxtui.analysis.lab.report import SessionLab, session_lab
from ctxtui.analysis.lab.variant import Variant
from ctxtui.services.config.settings import Settings
from ctxtui.services.lab.experiment import lab_inputs_of_session
from ctxtui.services.recordings.open import load
from ctxtui.tui.lists.lab import ShowCurve
from ctxtui.views.lists.lab import chart_lines, lab_lines
from ctxtui.views.pages.lab_page import lab_page
from ctxtui.views.text.span import plain
from tests.analysis.lab.recordings import COUNTER
from tests.cli.lab.test_lab import script
from tests.views.html.test_charts import labels_of


@pytest.fixture
def lab(tmp_path: Path) -> SessionLab:
    path = tmp_path / "one.jsonl"
    path.write_bytes(script(8))
    inputs = lab_inputs_of_session(load(path).session, COUNTER, Settings())
    variants = (Variant(), Variant(model="claude-haiku-4-5"), Variant(model="gpt-5.5"))
    return session_lab(inputs, run_experiment(inputs, variants), "one")


def test_the_columns_are_the_calls_that_were_simulated(lab: SessionLab) -> None:
    later = replace(lab, numbers=tuple(number + 20 for number in lab.numbers))
    assert [number for _, number in labels_of(lab_page([later], str))] == list(range(21, 29))


def test_other_models_are_told_apart_on_the_screen_too(lab: SessionLab) -> None:
    shown = "\n".join(plain(line) for line in chart_lines(lab, lab_lines(lab), 120, 14))
    assert "as_recorded claude-ha" in shown and "as_recorded gpt-5.5" in shown


def test_a_variant_that_costs_the_same_saves_0(lab: SessionLab) -> None:
    first, second, *_ = lab.rows
    assert first.usd is not None
    dearer = replace(lab, rows=(first, replace(second, usd=first.usd * 1.001)))
    assert "<td>0 %</td>" in lab_page([dearer], str)


def test_a_chart_without_curves_names_the_key_that_shows_one(lab: SessionLab) -> None:
    lines = chart_lines(lab, lab_lines(lab, hidden=range(len(lab.rows))), 120, 14)
    assert [plain(line) for line in lines] == [f" No curve is shown: {ShowCurve.keys[0]} shows one."]
