"""Weights are learnt from reports, whatever else is in them; intervals hold what they promise; rhythms are heard."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.services.config.package_data import model_table
from ctxtui.tokens.calibrate import COVERAGE, MIN_REPORTS, Calibration, Errors
from ctxtui.tokens.features import Features
from ctxtui.tokens.hidden_reminders import ReminderPredictor
from ctxtui.tokens.models import ModelTable
from ctxtui.tokens.weights import prior_weights

CLAUDE, GPT = "claude-sonnet-4-5", "gpt-5.4"


def rounds(truth: Features, n: int, seed: int = 1) -> list[tuple[Features, float]]:
    """Rounds of a session whose true weights are `truth`, with a little noise."""
    dice = random.Random(seed)
    found = []
    for _ in range(n):
        x = Features(
            text=dice.randrange(20, 200),
            result=dice.randrange(50, 3000),
            json=dice.randrange(10, 400),
            calls=1,
            returns=1,
            messages=2,
        )
        found.append((x, sum(a * b for a, b in zip(x, truth, strict=True)) + dice.gauss(0, 10)))
    return found


@pytest.mark.parametrize("ratio", [0.85, 1.0, 1.3])
def test_the_sessions_own_weights_are_found(table: ModelTable, ratio: float) -> None:
    card = table.card(CLAUDE)
    truth = card.factors._replace(result=card.factors.result * ratio)
    learnt = Calibration(card)
    for x, tokens in rounds(truth, 60):
        learnt.learn(x, tokens)
    assert learnt.weights.factors.result == pytest.approx(truth.result, rel=0.02)
    assert learnt.weights.calibrated


def test_until_enough_was_learnt_the_prior_holds(table: ModelTable) -> None:
    card = table.card(CLAUDE)
    learnt = Calibration(card)
    for x, tokens in rounds(card.factors, MIN_REPORTS - 1):
        learnt.learn(x, tokens)
    assert learnt.weights == prior_weights(card) and not learnt.weights.calibrated
    learnt.learn(*rounds(card.factors, 1, seed=2)[0])
    assert learnt.weights.calibrated


def test_text_that_nobody_recorded_does_not_move_the_weights(table: ModelTable) -> None:
    card = table.card(CLAUDE)
    learnt = Calibration(card)
    for n, (x, tokens) in enumerate(rounds(card.factors, 60)):
        taught = learnt.learn(x, tokens + (20_000 if n % 5 == 4 else 0))
        assert taught is (n % 5 != 4)
    assert learnt.factors.result == pytest.approx(card.factors.result, rel=0.02)


def test_a_tokenizer_that_is_known_is_not_learnt(table: ModelTable) -> None:
    learnt = Calibration(table.card(GPT))
    for x, tokens in rounds(table.card(GPT).factors._replace(result=1.05), 40):
        learnt.learn(x, tokens)
    assert learnt.factors.text == learnt.factors.result == 1.0
    assert learnt.weights.exact


def test_what_one_kind_of_text_teaches_is_half_believed_of_the_others(table: ModelTable) -> None:
    card = table.card(CLAUDE)
    learnt = Calibration(card)
    for n in range(30):
        learnt.learn(Features(result=1000.0 + n), (1000.0 + n) * card.factors.result * 1.2)
    assert card.factors.text * 1.05 < learnt.factors.text < card.factors.text * 1.2


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=30))
def test_the_more_is_known_the_surer(sizes: list[int]) -> None:
    learnt = Calibration(model_table().card(CLAUDE))
    one = Features(result=1000.0)
    before = learnt.expect(one)[1]
    for size in sizes:
        learnt.learn(Features(result=float(size)), size * 1.16)
    assert learnt.expect(one)[1] <= before * 1.01


def test_an_interval_holds_nine_in_ten_whatever_the_errors_look_like() -> None:
    dice = random.Random(7)
    for draw in (lambda: dice.gauss(0, 1), lambda: dice.expovariate(1) * 3 - 1, lambda: dice.choice([0.0, 0.0, 8.0])):
        errors, inside = Errors((-1.0, 0.0, 1.0)), 0
        for _ in range(2000):
            error = draw()
            low, high = errors.bounds()
            inside += low <= error <= high
            errors.learn(error)
        assert inside / 2000 >= COVERAGE - 0.02


def test_intervals_follow_when_errors_grow() -> None:
    errors = Errors((-1.0, 0.0, 1.0))
    for n in range(200):
        errors.learn((-1) ** n * 0.1)
    narrow = errors.bounds()
    for n in range(200):
        errors.learn((-1) ** n * 5.0)
    assert narrow[1] < 1 < 4 < errors.bounds()[1]


def test_an_addition_every_third_answer_is_foretold() -> None:
    rhythm, right = ReminderPredictor(), 0
    for n in range(1, 61):
        came = n % 3 == 0
        right += (rhythm.expect((2, 1)) > 0) is came
        rhythm.learn((2, 1), 90.0 if came else 0.0, 10.0)
    assert right >= 50
    assert rhythm.expect((2, 1)) == 0


def test_parts_are_counted_where_answers_do_not_keep_time() -> None:
    dice, rhythm, parts, right, due = random.Random(3), ReminderPredictor(), 0, 0, 0
    for n in range(200):
        step = dice.choice([1, 2])
        parts += step
        came = parts >= 4
        if n >= 60:
            due += came
            right += came and rhythm.expect((step, 1)) > 0
        rhythm.learn((step, 1), 90.0 if came else dice.gauss(0, 5), 10.0)
        parts = 0 if came else parts
    assert right >= 0.8 * due


def test_noise_has_no_rhythm() -> None:
    dice, rhythm = random.Random(5), ReminderPredictor()
    told = 0
    for _ in range(300):
        told += rhythm.expect((1, 1)) > 0
        rhythm.learn((1, 1), dice.gauss(0, 60), 30.0)
    assert told < 15
