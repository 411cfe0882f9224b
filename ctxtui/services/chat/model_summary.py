"""Have a model write a summary: choice of model, request, answer."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from ctxtui.agent.conversation import ConversationStart, begin, resume
from ctxtui.agent.runner import LIMIT_REASONS, send_once
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
from ctxtui.providers.sdk_client import SdkClient
from ctxtui.services.chat.chat_model import ChatModel, ModelChoice
from ctxtui.services.chat.model_choice import NAMES, choose_model, params_for, providers_of
from ctxtui.services.chat.offline_provider import start_offline
from ctxtui.services.config.config import Config
from ctxtui.services.editing.edited_context import EditedContext

TEXT_KINDS: Final = frozenset({"text", "output_text"})
"""Kinds of blocks whose text is the summary."""


class SummaryPart(Struct, frozen=True):
    """The part of a context to summarize.

    `sections` are the headings (empty: the default ones), `keep` are literals to quote verbatim, `length` is in tokens
    (0: no limit).
    """

    context: Context
    positions: Sequence[int]
    sections: Sequence[str] = ()
    keep: Sequence[str] = ()
    length: int = 0


class Summary(Struct, frozen=True):
    """A summary, the `model` that wrote it, and its usage."""

    text: str
    model: str
    usage: Usage | None = None


def parse_choice(name: str) -> ModelChoice:
    """Parse a model's name, typed or recorded: ``MODEL``, or ``PROVIDER:MODEL``.

    Without PROVIDER, the provider that the model is named after (claude-…: Anthropic) has priority over the settings;
    if it is named after none, the settings decide.
    """
    provider, colon, model = name.partition(":")
    if colon and provider in NAMES:
        return ModelChoice(provider, model)
    return ModelChoice(next(iter(providers_of(name)), "") if name else "", name)


async def choose_named_model(choice: ModelChoice, config: Config) -> ChatModel:
    return await choose_model(choice, config, os.environ)


def build_request(
    chat_model: ChatModel, config: Config, part: SummaryPart, agent_context: EditedContext | None = None
) -> bytes:
    """Build the request for a summary of `part`.

    It is appended to what the agent would send next (`agent_context`); with None it is alone. Raises `CtxtuiError` if
    the agent's context cannot be sent to this model.
    """
    dialect, params = chat_model.endpoint.dialect, params_for(chat_model, config.settings)
    if agent_context is None:
        # It will not be read again, so writing it to the cache would be a waste.
        uncached = {key: value for key, value in params.items() if key != "cache_control"}
        conversation = begin(Tree(), ConversationStart(dialect, uncached, (), SYSTEM))
        conversation.add_user_message(
            external_request(part.context, part.positions, part.sections, part.keep, part.length)
        )
        return conversation.draft().body
    if agent_context.applied.refused:
        raise RequestRefused(agent_context.applied.refused, way_out="revert the edit")
    if agent_context.context.dialect != dialect:
        raise CtxtuiError(
            f"the context is in the dialect {agent_context.form}; {chat_model.endpoint.name} needs another dialect"
        )
    tree = Tree()
    conversation = resume(tree, tree.extend(ROOT, sent_items(agent_context.applied)), dialect, params)
    if conversation.open_calls():
        raise CtxtuiError("a call in the context has no result", way_out="`m` uses another model")
    conversation.add_user_message(
        request_in_context(part.context, part.positions, part.sections, part.keep, part.length)
    )
    body = conversation.draft().body
    violations = check(dialect, body)
    if violations:
        first = violations[0]
        raise RequestRefused(f"the provider would refuse the context: {first.message}", place=first.path)
    return body


async def write_summary(chat_model: ChatModel, body: bytes) -> Summary:
    """Send the request and return the summary.

    Raises `ProviderError`, also if the answer reached its limit, calls a tool or has no text.
    """
    close_offline = None
    if chat_model.is_offline:
        chat_model, close_offline = await start_offline(chat_model)
    client = SdkClient(chat_model.endpoint)
    try:
        response = await send_once(client, chat_model.endpoint.dialect, body)
    finally:
        await client.close()
        if close_offline is not None:
            await close_offline()
    texts = [read(item.block).text for item in response.items if item.block.kind in TEXT_KINDS]
    text = "\n\n".join(part.strip() for part in texts if part.strip())
    if response.stop_reason == "model_context_window_exceeded":
        raise ProviderError(f"{chat_model.model} filled its context window", way_out="summarize fewer blocks")
    if response.stop_reason in LIMIT_REASONS:
        raise ProviderError(
            f"{chat_model.model} reached its answer limit",
            way_out="raise answer_tokens, or use a model with a larger answer limit",
        )

    if any(is_call(item.block.kind) for item in response.items):
        raise ProviderError(f"{chat_model.model} called a tool instead", way_out="try again, or use another model")
    if not text:
        kinds = sorted({item.block.kind for item in response.items if item.block.kind != HEADER})
        raise ProviderError(f"{chat_model.model} answered with {', '.join(kinds) or 'nothing'}, not with text")
    return Summary(text, response.model or chat_model.model, response.billed)
