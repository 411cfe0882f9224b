"""The policies of a profile at work in a chat: before each request they propose, and where they are armed they act."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ctxtui.core.block import HEADER, Block
from ctxtui.core.errors import NotFound
from ctxtui.curation.context import IMAGES, Context
from ctxtui.curation.policies.policy import run_all
from ctxtui.curation.policies.profile import Profile, parse_profile
from ctxtui.curation.policies.situation import PolicyContext
from ctxtui.curation.provider_rules import rules_for
from ctxtui.services.editing.overlay import ThreadEdits
from ctxtui.tokens.models import ModelCard

IMAGE: Final = 1_500
"""Tokens that an image is taken for. Sizes here only decide when a policy acts; no screen shows them."""


def profile_at(path: str, cwd: Path) -> Profile | None:
    """The profile that the setting names; None where it names none. Raises `NotFound`, `BadConfig`."""
    if not path:
        return None
    file = cwd / Path(path).expanduser()
    if not file.is_file():
        raise NotFound("no such profile", place=str(file), way_out="see the setting profile")
    return parse_profile(file.read_text(encoding="utf-8", errors="replace"), str(file))


def act(profile: Profile, context: Context, overlay: ThreadEdits, card: ModelCard, usable_share: float) -> None:
    """Stage what the policies propose for `context`, and apply it where they are armed. What the user has staged stays
    staged; what a policy did and the user took back stays back."""
    sizes = {n: about(item.block) for n, item in enumerate(context.items)}
    usable = round((card.window or 0) * usable_share)
    rules = rules_for(context.dialect, card)
    made = run_all(profile.steps, PolicyContext(context, tuple(overlay.log), sizes.__getitem__, about, usable, rules))
    if made:
        staged = overlay.stage_all(made)
        if profile.armed:
            overlay.apply(edit.id for edit in staged)


def about(block: Block) -> int:
    """About how many tokens a block has: four characters each."""
    if block.kind == HEADER:
        return 0
    return IMAGE if block.kind in IMAGES else 1 + len(block.body) // 4
