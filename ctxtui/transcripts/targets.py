"""The tools that sessions are written back for, so that they resume them with an edited context."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from ctxtui.transcripts.kit.resume import ResumedFile, ResumeOrder, ResumeTarget, Translation


def _target(name: str, source: str, module: str, command: str, *, beside: bool = True, key: str = "") -> ResumeTarget:
    def write(order: ResumeOrder) -> ResumedFile:
        # A writer costs nothing until a file is wanted of it.
        made: ResumedFile = import_module(f"ctxtui.transcripts.formats.{module}").resume(order)
        return made

    return ResumeTarget(name, source, write, command, beside, key)


TARGETS: Final[dict[str, ResumeTarget]] = {
    target.name: target
    for target in (
        _target("claude-code", "claude code", "claude_code.resume", "claude --resume {id}", key="l"),
        _target("codex", "codex", "codex.resume", "codex resume {id}", key="x"),
        _target(
            "opencode",
            "opencode",
            "opencode.resume",
            "opencode import {file} && opencode --session {id}",
            beside=False,
        ),
        _target(
            "aider",
            "aider",
            "aider.resume",
            "aider --restore-chat-history --chat-history-file {file}",
            beside=False,
        ),
        _target("pi", "pi", "pi.resume", "pi --session {file}", beside=False),
    )
}
"""By the name of the form."""


def translation_of(form: str) -> Translation:
    """How any recording's context becomes a session of the tool of `form`, a target that has a key."""
    module = TARGETS[form].source.replace(" ", "_")
    made: Translation = import_module(f"ctxtui.transcripts.formats.{module}.resume").TRANSLATION
    return made


def target_of(source: str) -> ResumeTarget | None:
    """The target whose tool makes recordings of the format `source`; None where there is none."""
    return next((target for target in TARGETS.values() if target.source == source), None)
