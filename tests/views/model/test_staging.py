"""What edits put in is drawn once: not again in a call that was sent under them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from ctxtui.core.edit import make
from ctxtui.core.edit_kinds import SUMMARIZE
from ctxtui.core.tree import ROOT
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
        call = SimpleNamespace(raw_head=context.head, sent_head=sent_head)
        scene: Any = SimpleNamespace(call=call, session=SimpleNamespace(tree=tree))
        return Staging(cast(Any, scene), applied, lambda block: 1)

    before, after = staging(context.head), staging(sent)
    assert [new.edit.id for new in before.unsent_inserts] == [wanted.id] == [new.edit.id for new in before.inserted]
    assert after.unsent_inserts == () and [new.edit.id for new in after.inserted] == [wanted.id]
