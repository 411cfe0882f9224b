"""What the blocks of a recorded context come to, call by call."""

from __future__ import annotations

from random import Random

import pytest
from msgspec.structs import replace

from ctxtui.analysis.lab.shared_context import SharedContext
from ctxtui.services.config.settings import Settings
from ctxtui.services.lab.experiment import lab_inputs_of_session
from tests.analysis.lab.recordings import COUNTER, grown
from tests.curation.shaped import SHAPES


@pytest.mark.parametrize("seed", range(12))
def test_thinking_that_a_new_turn_takes_out_is_what_its_blocks_come_to_less(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = grown(SHAPES["anthropic"](Random(seed)), "anthropic", Random(seed))
    book = lab_inputs_of_session(session, COUNTER, Settings()).book
    card = book.card
    monkeypatch.setattr(book, "card", lambda model: replace(card(model), strips_thinking=True))
    shared, before, known = SharedContext(book), 0, list[int]()
    for call in session.calls.values():
        context = shared.context
        if shared.move_to(call) is not context:
            before, known = 0, []
        sizes = shared.sizes(call.model)
        now = [sizes.tokens_at(position) for position in range(len(known))]
        assert sizes.stripped_tokens(before, range(len(known))) == sum(known) - sum(now)
        before, known = (
            sizes.person_position,
            [sizes.tokens_at(position) for position in range(len(shared.move_to(call)))],
        )
