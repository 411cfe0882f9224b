"""A recorded session's answers, as the offline provider plays them."""

from __future__ import annotations

from ctxtui.core.session import MAIN, Session
from ctxtui.offline.playback import Playback


def playback_of(session: Session, thread: str = MAIN) -> Playback:
    """The answers of `thread`, call by call; a call whose answer was not recorded is left out."""
    tree = session.tree
    return Playback(
        [
            (tree.items(call.sent_head), tree.items(call.response_head, call.sent_head), call.stop_reason)
            for call in session.thread_calls(thread)
            if call.response_head != call.sent_head and tree.holds(call.response_head, call.sent_head)
        ]
    )
