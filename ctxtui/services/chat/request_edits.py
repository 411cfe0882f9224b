"""Applies the user's edits and the policies of a profile to a chat's requests."""

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
from ctxtui.curation.policies.policy_context import PolicyContext
from ctxtui.curation.policies.profile import Profile
from ctxtui.curation.provider_rules import rules_for
from ctxtui.services.config.config import Config
from ctxtui.services.config.policy_registry import load_profile
from ctxtui.services.editing.overlay import ThreadEdits
from ctxtui.tokens.models import ModelCard
from ctxtui.wire.request import Request

IMAGE_TOKENS: Final = 1_500
"""Estimated tokens of an image. Sizes here only decide when a policy acts; no screen shows them."""


class RequestEditor(Struct, eq=False):
    """Builds the request body for a context of `tree` under the edits that `overlay` returns.

    First the policies of `profile` run, with a target of `usable` tokens (0: unknown).
    """

    tree: Tree
    overlay: Callable[[], ThreadEdits | None]
    card: ModelCard
    profile: Profile | None = None
    usable: int = 0
    context: Context | None = None

    def external_content(self) -> dict[str, str]:
        """The content that the applied edits moved out of the conversation, by name."""
        overlay, context = self.overlay(), self.context
        if overlay is None or context is None:
            return {}
        return externalized_content(context, overlay.applied)

    def __call__(self, head: int, skeleton: Skeleton) -> bytes | None:
        """Build the body under the applied edits; None without any.

        Raises `CtxtuiError` if they are refused.
        """
        overlay = self.overlay()
        if overlay is None or not (overlay.applied or self.profile):
            return None
        params = Request((), skeleton).params
        if self.context is None:
            self.context = Context(self.tree, head, skeleton.dialect, params)
        self.context = self.context.grow_to(head)
        if self.profile is not None:
            run_policies(self.profile, self.context, overlay, self.card, self.usable)
        if not overlay.applied:
            return None
        applied = apply(self.context, overlay.applied, rules_for(skeleton.dialect, self.card))
        model = str(params.get("model", ""))
        limits = self.card.request_limits
        body = encode_outgoing(applied, skeleton, dialect=skeleton.dialect, model=model, limits=limits)
        if body.violations:
            first = body.violations[0]
            raise RequestRefused(
                f"after the edits, {model} would refuse the request: {first.message}", place=first.path
            )
        return body.body


def chat_profile(config: Config, cwd: Path) -> Profile | None:
    """The profile of the settings; None without one. An armed one applies what its policies propose."""
    if not config.settings.profile:
        return None
    profile = load_profile(config.settings.profile, cwd)
    # A project's profile may only propose; policies act only on the user's own setting.
    return replace(profile, armed=False) if profile is not None and config.from_project("profile") else profile


def run_policies(profile: Profile, context: Context, overlay: ThreadEdits, card: ModelCard, usable: int) -> None:
    """Stage the policies' proposals for `context`, and apply them if the profile is armed.

    `usable` is the policies' target in tokens (0: unknown). The user's staged edits stay staged.
    """
    sizes = {n: _estimate_block_tokens(item.block) for n, item in enumerate(context.items)}
    rules = rules_for(context.dialect, card)
    proposals = run_all(
        profile.steps,
        PolicyContext(
            context=context,
            log=tuple(overlay.log),
            tokens=sizes.__getitem__,
            count=_estimate_block_tokens,
            usable=usable,
            rules=rules,
        ),
    )
    if proposals:
        staged = overlay.stage_all(proposals)
        if profile.armed:
            overlay.apply(edit.id for edit in staged)


def _estimate_block_tokens(block: Block) -> int:
    if block.kind == HEADER:
        return 0
    return IMAGE_TOKENS if block.kind in IMAGES else 1 + len(block.body) // 4
