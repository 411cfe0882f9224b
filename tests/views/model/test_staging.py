"""What edits put in is drawn once: not again in a call that was sent under them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from ctxtui.core.call import Call
from ctxtui.core.edit import make
from ctxtui.core.edit_kinds import SUMMARIZE
from ctxtui.core.tree import ROOT
from ctxtui.core.usage import Usage
from ctxtui.curation.apply.apply import apply
from ctxtui.views.model.staging import Staging
from tests.curation.conversations import context_of


def test_what_was_sent_already_is_not_coming() -> None:
    talk = [{"role": role, "content": f"{role} {n}"} for n in range(4) for role in ("user", "assistant")]
    body = {"model": "claude-sonnet-5-5", "max_tokens": 9, "messages": [*talk, {"role": "user", "content": "go on"}]}
    context, _ = context_of(body, "anthropic")
    wanted = make(SUMMARIZE, context.targets([3, 5]), {"text": "what was said"}, author="keep_rounds")
    applied = apply(context, [wanted])
    tree = context.tree
    sent = tree.extend(ROOT, [one.item for one in applied.items])

    def staging(sent_head: int) -> Staging:
        call = SimpleNamespace(raw_head=context.head, sent_head=sent_head, is_edited=sent_head != context.head)
        scene: Any = SimpleNamespace(call=call, session=SimpleNamespace(tree=tree))
        return Staging(cast(Any, scene), applied, lambda block: 1)

    before, after = staging(context.head), staging(sent)
    assert [new.edit.id for new in before.unsent_inserts] == [wanted.id] == [new.edit.id for new in before.inserted]
    assert after.unsent_inserts == () and [new.edit.id for new in after.inserted] == [wanted.id]


@pytest.mark.parametrize(
    ("provider", "usage", "cached"),
    [
        ("openai", Usage(fresh=200, cache_read=1_024), 1_224),
        ("openai", Usage(fresh=1_224), 0),
        ("anthropic", Usage(fresh=200, cache_read=1_024), 1_024),
        ("anthropic", Usage(fresh=4, cache_read=1_024, write_5m=196), 1_220),
    ],
)
def test_an_automatic_cache_holds_the_input_though_no_write_is_reported(
    provider: str, usage: Usage, cached: int
) -> None:
    scene: Any = SimpleNamespace(call=Call("c1", "main", provider=provider, usage=usage))
    assert Staging(scene, cast(Any, None), lambda block: 1).cached == cached
