"""A thread's context as a transcript records it."""

from __future__ import annotations

from ctxtui.core.call import Call
from ctxtui.core.tree import Tree
from ctxtui.transcripts.kit import messages
from ctxtui.transcripts.kit.dialogue import Dialogue
from ctxtui.transcripts.kit.messages import make_message


def test_a_title_is_a_persons_text_and_no_result_or_reminder() -> None:
    dialogue = Dialogue(Tree())
    dialogue.add(make_message("user", "Be brief.", mark="meta"))
    dialogue.add(make_message("user", messages.image("image/png", "AAAA")))
    dialogue.add_call(make_message("assistant", messages.tool_use("c1", "read", {})), Call("", ""))
    dialogue.add(make_message("user", messages.tool_result("c1", "price = 5")))
    dialogue.add(make_message("user", "What is it?"))
    assert dialogue.title == "What is it?"
