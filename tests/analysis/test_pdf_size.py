"""A PDF's size is estimated by its pages until the report of its call gives the rest."""

from __future__ import annotations

import base64
import random

import pytest
from msgspec.structs import replace

from ctxtui.analysis.audit import audit_calls
from ctxtui.analysis.book import Book
from ctxtui.analysis.figures import figures
from ctxtui.core import block
from ctxtui.core.block import Block
from ctxtui.core.call import Call, Fidelity
from ctxtui.core.session import CallSeen
from ctxtui.core.usage import Usage
from ctxtui.services.config.package_data import model_table
from tests.analysis.sessions import Script, book

CLAUDE, GPT = "claude-opus-4-5-20251101", "gpt-5.4"
PAGES = 3
WORDS, ANSWER, UNSEEN = 300, 50, 12_000
AT = 3
"""The call that brings the PDF."""


def pdf(pages: int) -> Block:
    data = base64.b64encode(b"%PDF-1.4 " + b"<</Type /Page >> " * pages).decode()
    source = {"type": "base64", "media_type": "application/pdf", "data": data}
    return block.from_part({"type": "document", "source": source})


def talk(model: str, fidelity: Fidelity, size: int, at: int = AT) -> tuple[Book, list[Call], int]:
    """A conversation whose call `at` brings a PDF of `size` tokens; and the PDF's node."""
    script, dice, factor = Script(model, fidelity), random.Random(1), model_table().card(model).factors.text
    calls, total = [], UNSEEN if fidelity == Fidelity.TRANSCRIPT else 0
    for number in range(AT + 4):
        parts = [block.text(" ".join(dice.choice(["alpha", "beta", "gamma"]) for _ in range(WORDS)))]
        total += round(WORDS * factor) + 4
        if number == at:
            parts.insert(0, pdf(PAGES))
            total += size
        script.hear(*parts)
        call = script.call(block.text(" ".join(["delta"] * ANSWER)))
        calls.append(replace(call, usage=Usage(fresh=total, output=round(ANSWER * factor))))
        script.session.apply(CallSeen(calls[-1]))
        total += round(ANSWER * factor) + 4
    counted = book(script.session, model_table())
    counted.settle()
    tree = script.session.tree
    (node,) = (node for node in tree.path(calls[-1].sent_head) if tree[node].block.kind == "document")
    return counted, calls, node


@pytest.mark.parametrize("model", [CLAUDE, GPT])
@pytest.mark.parametrize("fidelity", [Fidelity.TRANSCRIPT, Fidelity.WIRE])
@pytest.mark.parametrize("share", [0.4, 0.9, 1.6, 3.0])
def test_a_pdf_is_as_large_as_the_report_says(model: str, fidelity: Fidelity, share: float) -> None:
    size = round(share * PAGES * model_table().card(model).page_tokens)
    counted, calls, node = talk(model, fidelity, size)
    assert counted.block_tokens(model, node) == pytest.approx(size, rel=0.02)
    for call in calls[AT:]:
        read = counted.contexts.read_of(call)
        assert read is not None and not read.gone
        assert abs(figures(counted, call).residual) <= 0.02 * size


@pytest.mark.parametrize("share", [0.4, 1.6])
def test_the_first_request_gives_a_pdf_its_size_if_it_is_recorded_whole(share: float) -> None:
    size = round(share * PAGES * model_table().card(CLAUDE).page_tokens)
    counted, calls, node = talk(CLAUDE, Fidelity.WIRE, size, at=0)
    assert counted.block_tokens(CLAUDE, node) == pytest.approx(size, rel=0.02)
    assert abs(figures(counted, calls[0]).residual) <= 0.02 * size


def test_a_transcripts_first_report_says_nothing_about_a_pdf() -> None:
    counted, calls, node = talk(CLAUDE, Fidelity.TRANSCRIPT, 4_000, at=0)
    estimate = PAGES * model_table().card(CLAUDE).page_tokens
    assert counted.block_tokens(CLAUDE, node) == pytest.approx(estimate, rel=0.01)
    assert figures(counted, calls[0]).residual == 0


def test_no_forecast_of_a_pdf_knows_its_own_report() -> None:
    forecasts = []
    for size in (4_000, 20_000):
        counted, _, _ = talk(CLAUDE, Fidelity.TRANSCRIPT, size)
        row = next(row for row in audit_calls(counted) if row.call == AT + 1)
        forecasts.append(row.predicted)
        assert row.cause.startswith("PDF: estimated at ")
    assert forecasts[0] == forecasts[1]
