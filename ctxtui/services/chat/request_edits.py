"""A chat's requests under the edits that the user applied, and those of a profile's policies: before each request they
propose, and where they are armed they act."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.core.block import HEADER, Block
from ctxtui.core.call import Skeleton
from ctxtui.core.tree import Tree
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.apply.references import externalized_content
from ctxtui.curation.context import IMAGES, Context
from ctxtui.curation.legality.request_check import RequestRefused, encode_outgoing
from ctxtui.curation.policies.policy import run_all
from ctxtui.curation.policies.profile import Profile
from ctxtui.curation.policies.situation import PolicyContext
from ctxtui.curation.provider_rules import rules_for
from ctxtui.services.config.config import Config
from ctxtui.services.config.policy_registry import profile_at
from ctxtui.services.editing.overlay import ThreadEdits
from ctxtui.tokens.models import ModelCard
from ctxtui.wire.request import Request

IMAGE: Final = 1_500
"""Tokens that an image is taken for. Sizes here only decide when a policy acts; no screen shows them."""


class Edited(Struct, eq=False):
    """Gives the body that leaves for a context of `tree`; `overlay` is asked for the edits each time. The policies of
    `profile` work before, towards `usable` tokens (0: not known). `context` is the one that was asked for last."""

    tree: Tree
    overlay: Callable[[], ThreadEdits | None]
    card: ModelCard
    profile: Profile | None = None
    usable: int = 0
    context: Context | None = None

    def outside(self) -> dict[str, str]:
        """What the applied edits put outside the conversation, by name; for a worker thread."""
        overlay, context = self.overlay(), self.context
        if overlay is None or context is None:
            return {}

        return externalized_content(context, overlay.applied)

    def __call__(self, head: int, skeleton: Skeleton) -> bytes | None:
        """The body under the applied edits; None where there are none. Raises `CtxtuiError` where they are refused."""
        overlay = self.overlay()
        if overlay is None or not (overlay.applied or self.profile):
            return None
        params = Request((), skeleton).params
        if self.context is None:
            self.context = Context(self.tree, head, skeleton.dialect, params)
        self.context = self.context.grow_to(head)
        if self.profile is not None:
            act(self.profile, self.context, overlay, self.card, self.usable)
        if not overlay.applied:
            return None
        applied = apply(self.context, overlay.applied, rules_for(skeleton.dialect, self.card))
        model = str(params.get("model", ""))
        made = encode_outgoing(
            applied,
            skeleton,
            dialect=skeleton.dialect,
            model=model,
            takes=self.card.request_limits,
        )
        if made.violations:
            first = made.violations[0]
            raise RequestRefused(f"the edits leave what {model} refuses: {first.message}", place=first.path)
        return made.body


def chat_profile(config: Config, cwd: Path) -> Profile | None:
    """The profile that the settings name for chats; None where they name none."""
    if not config.settings.profile:
        return None
    profile = profile_at(config.settings.profile, cwd)
    # What a folder brings along proposes; only its user's own word lets it act.
    return replace(profile, armed=False) if profile is not None and config.from_project("profile") else profile


def act(profile: Profile, context: Context, overlay: ThreadEdits, card: ModelCard, usable: int) -> None:
    """Stage what the policies propose for `context`, and apply it where they are armed. What the user has staged stays
    staged; what a policy did and the user took back stays back."""
    sizes = {n: about(item.block) for n, item in enumerate(context.items)}
    rules = rules_for(context.dialect, card)
    made = run_all(
        profile.steps,
        PolicyContext(
            context=context, log=tuple(overlay.log), tokens=sizes.__getitem__, count=about, usable=usable, rules=rules
        ),
    )
    if made:
        staged = overlay.stage_all(made)
        if profile.armed:
            overlay.apply(edit.id for edit in staged)


def about(block: Block) -> int:
    """About how many tokens a block has: four characters each."""
    if block.kind == HEADER:
        return 0
    return IMAGE if block.kind in IMAGES else 1 + len(block.body) // 4
