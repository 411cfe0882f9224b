"""A model writes a summary: whom to ask, the request, the answer. Nothing is sent before `written` is called."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from ctxtui.agent.conversation import ConversationStart, begin, resume
from ctxtui.agent.runner import send_once
from ctxtui.core.block import HEADER
from ctxtui.core.block_content import read
from ctxtui.core.errors import CtxtuiError, ProviderError
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.usage import Usage
from ctxtui.curation.apply.applied import sent_items
from ctxtui.curation.context import Context, is_call
from ctxtui.curation.legality.legality import check
from ctxtui.curation.legality.request_check import RequestRefused
from ctxtui.curation.summary_request import SYSTEM, external_request, request_in_context
from ctxtui.providers.sdk_client import SdkLine
from ctxtui.services.chat.chat_model import ChatModel, ModelChoice
from ctxtui.services.chat.model_choice import NAMES, choose, makers, params_for
from ctxtui.services.chat.offline_provider import start
from ctxtui.services.config.config import Config
from ctxtui.services.editing.edited_context import Ready

_WORDS: Final = frozenset({"text", "output_text"})


class SummaryPart(Struct, frozen=True):
    """What is to be summarized: the blocks at `positions` of `context`, under the headings `sections`, with the
    literals `keep` word for word, in about `length` tokens (0: as long as it takes)."""

    context: Context
    positions: Sequence[int]
    sections: Sequence[str] = ()
    keep: Sequence[str] = ()
    length: int = 0


class Summary(Struct, frozen=True):
    """What `model` wrote, and what it was charged for."""

    text: str
    model: str
    usage: Usage | None = None


def wish_for(name: str) -> ModelChoice:
    """The wish for a model as a user names it: ``MODEL``, or ``PROVIDER:MODEL``. Its maker is asked where that is
    plain from the name, whatever provider the settings name for chats."""
    provider, colon, model = name.partition(":")
    if colon and provider in NAMES:
        return ModelChoice(provider, model)
    return ModelChoice(next(iter(makers(name)), "") if name else "", name)


async def partner_for(wish: ModelChoice, config: Config) -> ChatModel:
    """Whom the summary is asked of. Raises `NotFound` where there is neither key nor server."""
    return await choose(wish, config, os.environ)


def request(partner: ChatModel, config: Config, part: SummaryPart, own: Ready | None = None) -> bytes:
    """The body that asks `partner` for a summary of `part`: of it alone, or (with `own`, the context as it would leave)
    as the agent itself is asked, behind everything that it knows.

    Raises `CtxtuiError` where the agent's context cannot be sent to it."""
    dialect, params = partner.endpoint.dialect, params_for(partner, config.settings)
    if own is None:
        # Nothing of it is read again: writing it to the cache would only cost.
        bare = {key: value for key, value in params.items() if key != "cache_control"}
        talk = begin(Tree(), ConversationStart(dialect, bare, (), SYSTEM))
        talk.add_user_message(external_request(part.context, part.positions, part.sections, part.keep, part.length))
        return talk.draft().body
    if own.applied.refused:
        raise RequestRefused(own.applied.refused, way_out="revert the edit")
    if own.context.dialect != dialect:
        raise CtxtuiError(f"the context is in {own.form}, {partner.endpoint.name} speaks another dialect")
    tree = Tree()
    talk = resume(tree, tree.extend(ROOT, sent_items(own.applied)), dialect, params)
    if talk.open_calls():
        raise CtxtuiError("the context ends with a call that has no result", way_out="`m` asks a model from outside")
    talk.add_user_message(request_in_context(part.context, part.positions, part.sections, part.keep, part.length))
    body = talk.draft().body
    violations = check(dialect, body)
    if violations:
        first = violations[0]
        raise RequestRefused(f"the provider would refuse the context: {first.message}", place=first.path)
    return body


async def written(partner: ChatModel, body: bytes) -> Summary:
    """Send the request; what the model wrote. Raises `ProviderError`."""
    ends = None
    if partner.is_offline:
        partner, ends = await start(partner)
    line = SdkLine(partner.endpoint)
    try:
        response = await send_once(line, partner.endpoint.dialect, body)
    finally:
        await line.close()
        if ends is not None:
            await ends()
    said = [read(item.block).text for item in response.items if item.block.kind in _WORDS]
    text = "\n\n".join(words.strip() for words in said if words.strip())
    if response.stop_reason in ("max_tokens", "length", "max_output_tokens"):
        raise ProviderError(f"{partner.model} ran into the limit of its answer", way_out="raise answer_tokens")
    if any(is_call(item.block.kind) for item in response.items):
        raise ProviderError(f"{partner.model} called a tool instead", way_out="ask again, or a model from outside")
    if not text:
        kinds = sorted({item.block.kind for item in response.items if item.block.kind != HEADER})
        raise ProviderError(f"{partner.model} answered with {', '.join(kinds) or 'nothing'}, not with words")
    return Summary(text, response.model or partner.model, response.billed)
