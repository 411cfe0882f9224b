"""What a sub-agent needs of the chat that starts it, without knowing how that is hosted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ctxtui.core.session import Session
from ctxtui.services.chat.chat_news import Tell
from ctxtui.services.chat.opening import OwnParts
from ctxtui.services.config.config import Config
from ctxtui.store.rows import Price

if TYPE_CHECKING:
    from ctxtui.agent.runner import Runner
    from ctxtui.curation.policies.profile import Profile
    from ctxtui.providers.sdk_client import SdkLine
    from ctxtui.services.agent_tools.agent_tools import AgentTools
    from ctxtui.services.chat.chat_model import ChatModel
    from ctxtui.services.chat.context_files import ContextFiles
    from ctxtui.store.writer import Writer


class ParentChat(Protocol):
    """A hosted chat as its sub-agents see it. What is None is there once the chat has begun."""

    config: Config
    cwd: Path
    files: ContextFiles
    line: SdkLine | None
    own: OwnParts
    partner: ChatModel | None
    price: Price
    profile: Callable[[int], Profile | None] | None
    runner: Runner | None
    session: Session
    tell: Tell
    tools: AgentTools | None
    writer: Writer | None

    @property
    def clock(self) -> Callable[[], float]:
        """Gives the time in Unix seconds."""

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The tools that the agent is offered."""

    async def recorded(self, seconds: float) -> bool:
        """Wait at most so long until everything up to now is in the file; whether it is."""

    def say(self, text: str) -> None:
        """Tell the user a line, which is not put on record."""
