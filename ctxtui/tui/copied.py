"""Blocks that the user copied, kept by the app for every session that it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctxtui.curation.transplant import CopiedBlocks


class KeepsCopiedBlocks:
    """Base of an app that keeps the blocks copied last, to be put into any session."""

    copied_blocks: CopiedBlocks | None = None
