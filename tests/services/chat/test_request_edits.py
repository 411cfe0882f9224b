"""What leaves under applied edits is the context as it is by now."""

from __future__ import annotations

from ctxtui.agent.conversation import ConversationStart, begin
from ctxtui.core.canonical import dumps
from ctxtui.core.edit import make
from ctxtui.core.edit_kinds import DROP
from ctxtui.core.tree import Tree
from ctxtui.curation.context import Context
from ctxtui.curation.legality.legality import check
from ctxtui.services.chat.request_edits import RequestEditor
from ctxtui.services.config.package_data import model_table
from ctxtui.services.editing.overlay import ThreadEdits
from ctxtui.wire.registry import DIALECTS
from tests.services.chatting import MODEL


def test_a_context_that_grew_after_its_edits_leaves_whole_but_for_what_they_take_out() -> None:
    talk = begin(Tree(), ConversationStart("anthropic", {"model": MODEL, "max_tokens": 9}))
    overlay = ThreadEdits()
    talk.editor = RequestEditor(talk.tree, lambda: overlay, model_table().card(MODEL))
    wanted = []
    for number, words in enumerate(("one", "two", "three")):
        talk.add_user_message(f"question {words}")
        body = talk.draft().body
        wanted.append(f"question {words}".encode())
        assert [one in body for one in wanted] == [number == 0, *[True] * number]
        assert check("anthropic", body) == []
        talk.add_answer(DIALECTS["anthropic"].decode_response(dumps({"content": [{"type": "text", "text": "ok"}]})))
        if not number:
            context = Context(talk.tree, talk.head)
            first = next(n for n, item in enumerate(context.items) if wanted[0] in item.block.body)
            overlay.stage_all([make(DROP, [context.target(first)])])
            overlay.apply()
