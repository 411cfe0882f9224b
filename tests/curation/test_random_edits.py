"""Law 5: whatever is edited, what leaves is taken by validators that were written apart from the rules here."""

from __future__ import annotations

import os
from random import Random
from typing import Any

import pytest

from ctxtui.core import canonical
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.legality.request_check import encode_outgoing
from ctxtui.curation.provider_rules import BINDING_BETA, rules_for
from ctxtui.offline.anthropic import validate
from ctxtui.offline.google import validate as validate_google
from ctxtui.offline.google.models import gemini
from ctxtui.offline.openai import validate_chat, validate_responses
from ctxtui.services.config.package_data import model_table
from ctxtui.tokens.models import RequestLimits
from tests.curation.conversations import context_of
from tests.curation.shaped import SHAPES, edits
from tests.offline.signing import sign_all

COUNT = 10_000 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 300


def google_refusals(body: Any) -> list[Any]:
    """What the offline provider refuses for the model that `body` names."""
    model = gemini(body["model"].removeprefix("models/"))
    assert model is not None
    return validate_google.refusals(body, model)


STRICT: dict[str, Any] = {
    "anthropic": validate.refusals,
    "openai_chat": validate_chat.refusals,
    "openai_responses": validate_responses.refusals,
    "google": google_refusals,
}


@pytest.mark.parametrize("dialect", sorted(SHAPES))
def test_no_sequence_of_edits_makes_a_request_that_is_refused(dialect: str) -> None:
    table, wrong = model_table(), []
    refused = 0
    for seed in range(COUNT):
        rng = Random(f"{dialect} {seed}")
        body = SHAPES[dialect](rng)
        if dialect == "anthropic":
            body = sign_all(body)
        before = {r.rule for r in STRICT[dialect](body)}
        assert not before, (seed, before)
        context, request = context_of(body, dialect)
        card = table.card(body["model"])
        log = edits(rng, context)
        applied = apply(context, log, rules_for(dialect, card))
        if applied.refused:
            refused += 1
            continue
        out = encode_outgoing(
            applied, request.skeleton, dialect=dialect, model=body["model"], limits=card.request_limits
        )
        strict = [f"{r.rule}: {r.message}" for r in STRICT[dialect](canonical.loads(out.body))]
        if strict or out.violations:
            wrong.append((seed, strict[:2], out.violations[:2]))
    assert not wrong, f"{len(wrong)} of {COUNT}: {wrong[:8]}"
    assert refused < COUNT / 10


def test_thinking_that_does_not_fit_may_be_left_to_the_provider_to_drop() -> None:
    table, left = model_table(), 0
    for seed in range(COUNT // 3):
        rng = Random(f"drop {seed}")
        body = SHAPES["anthropic"](rng)
        body = sign_all({**body, "model": "claude-opus-5-5"})
        context, request = context_of(body, "anthropic")
        rules = rules_for("anthropic", table.card(body["model"]), drops_blocks=True)
        applied = apply(context, edits(rng, context), rules)
        if applied.refused:
            continue
        out = encode_outgoing(
            applied, request.skeleton, dialect="anthropic", model=body["model"], limits=RequestLimits(prefill=False)
        )
        left += bool(applied.withheld)
        value = canonical.loads(out.body)
        betas = (BINDING_BETA,) if applied.withheld else ()
        assert [r.rule for r in validate.refusals(value, betas=betas)] == [], seed
        assert ("block_binding" in str(value.get("thinking"))) == bool(applied.withheld)
    assert left > COUNT // 12
