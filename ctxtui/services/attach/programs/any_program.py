"""Everything that asks with an SDK, with litellm, or by the variables of one: llm, aider, mini-swe-agent, a script."""

from __future__ import annotations

from typing import Final

from ctxtui.services.attach.program import Program

LLM: Final = Program(name="llm", commands=frozenset({"llm"}))
AIDER: Final = Program(name="aider", commands=frozenset({"aider"}))
MINI_SWE_AGENT: Final = Program(name="mini-swe-agent", commands=frozenset({"mini", "mini-swe-agent"}))
PROGRAM: Final = Program(name="any", commands=frozenset())
"""What is taken for a program that is not known."""
