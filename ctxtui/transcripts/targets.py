"""Tools that ctxtui writes sessions for, so that they resume with an edited context."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from ctxtui.transcripts.kit.resume import ResumeTarget, Translation
from ctxtui.transcripts.registry import lazy_import

TARGETS: Final[dict[str, ResumeTarget]] = {
    target.name: target
    for target in (
        ResumeTarget(
            "claude-code", "claude code", lazy_import("claude_code.resume", "resume"), "claude --resume {id}", key="l"
        ),
        ResumeTarget("codex", "codex", lazy_import("codex.resume", "resume"), "codex resume {id}", key="x"),
        ResumeTarget(
            "opencode",
            "opencode",
            lazy_import("opencode.resume", "resume"),
            "opencode import {file} && opencode --session {id}",
            beside=False,
        ),
        ResumeTarget(
            "aider",
            "aider",
            lazy_import("aider.resume", "resume"),
            "aider --restore-chat-history --chat-history-file {file}",
            beside=False,
        ),
        ResumeTarget(
            "cline",
            "cline",
            lazy_import("cline.resume", "resume"),
            "cline --id {id}",
            own_folder=1,
            reads=("{id}.json", "{id}.compaction.json"),
        ),
        ResumeTarget(
            "copilot-cli",
            "copilot cli",
            lazy_import("copilot_cli.resume", "resume"),
            "copilot --resume={id}",
            own_folder=1,
            reads=("workspace.yaml",),
        ),
        ResumeTarget("pi", "pi", lazy_import("pi.resume", "resume"), "pi --session {file}", beside=False),
        ResumeTarget(
            "goose",
            "goose",
            lazy_import("goose.resume", "resume"),
            "goose session import {file} && goose session --resume --name {id}",
            beside=False,
        ),
        ResumeTarget("qwen-code", "qwen code", lazy_import("qwen_code.resume", "resume"), "qwen --resume {id}"),
        ResumeTarget(
            "kimi-code",
            "kimi code",
            lazy_import("kimi_code.resume", "resume"),
            "kimi --session {id}",
            own_folder=3,
            reads=("../../state.json", "blobs/*"),
        ),
        ResumeTarget("continue-cli", "continue cli", lazy_import("continue_cli.resume", "resume"), "cn --fork {id}"),
    )
}
"""Resume targets by the name of their export format (``ctxtui export --to NAME``)."""


def load_translation(form: str) -> Translation:
    """Load the translation of any recording's context to a session of the target `form`.

    Only targets with a `key` have one.
    """
    module = TARGETS[form].source.replace(" ", "_")
    translation: Translation = import_module(f"ctxtui.transcripts.formats.{module}.resume").TRANSLATION
    return translation


def find_target(source: str) -> ResumeTarget | None:
    """Find the target whose tool writes recordings of the format `source`."""
    return next((target for target in TARGETS.values() if target.source == source), None)
