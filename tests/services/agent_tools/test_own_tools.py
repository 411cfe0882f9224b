"""The user's own tools: their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxtui.agent.child import OwnTool
from ctxtui.agent.tools.memory_tools import MemoryFolder, memory_tools
from ctxtui.agent.tools.registry import TOOLS
from ctxtui.agent.tools.workspace import Workspace
from ctxtui.core.errors import BadConfig
from ctxtui.services.agent_tools.own_tools import own_tools


def test_no_own_tool_has_the_name_of_one_of_ctxtui(tmp_path: Path) -> None:
    memory = memory_tools(MemoryFolder(Workspace(tmp_path), 100, len))
    assert len(memory) == 4
    for name in (tool.name for tool in (*TOOLS, *memory)):
        with pytest.raises(BadConfig, match=f"there is a tool {name} of ctxtui already"):
            own_tools(more=[OwnTool(name=name, description="Mine.", run=lambda given, caller: "", asks=False)])
