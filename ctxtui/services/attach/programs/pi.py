"""pi."""

from __future__ import annotations

from typing import Final

from ctxtui.services.attach.program import Env, Program


def _closed(env: Env) -> str:
    return "pi takes its models' addresses from ~/.pi/agent/models.json alone"


PROGRAM: Final = Program(name="pi", commands=frozenset({"pi"}), closed=_closed)
