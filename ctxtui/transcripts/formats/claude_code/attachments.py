"""Converts Claude Code's attachments to items, and recognizes the client's own texts.

An attachment record holds the facts (a file's text, a reminder's list), not the sentences that the client builds from
them. The texts in it are shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ctxtui.core import block
from ctxtui.core.block import Block, Item, Place
from ctxtui.core.canonical import Json

MEMORY: Final = "memory"
META: Final = "meta"

_NAMED: Final = frozenset({"opened_file_in_ide", "compact_file_reference", "agent_mention", "plan_file_reference"})
"""Kinds from which the model reads only the name of a file or an agent, if they have no text."""
_MEMORIES: Final = ("memory", "memories", "claude_md", "instructions")
_NOT_SENT: Final = frozenset(
    "hook_success hook_cancelled hook_non_blocking_error hook_permission_decision hook_system_message "
    "command_permissions dynamic_skill already_read_file edited_image_file structured_output".split()
)
"""Kinds with text that the client does not send. A hook's success is sent at two events (below)."""
_SENT_HOOKS: Final = frozenset({"SessionStart", "UserPromptSubmit"})
"""Events at which the output of a successful hook is sent."""
_HEADING_KEYS: Final = ("path", "filePath", "filename", "displayPath", "planFilePath", "server", "uri")
_TEXT_KEYS: Final = (
    "content text prompt snippet message additionalContext planContent lines addedLines addedBlocks removedNames "
    "blockingError response systemMessage reason newDate style items memories skills files file cells source todos "
    "subject contents messages diagnostics hookSpecificOutput"
).split()
_FILES: Final = {"image": "image", "pdf": "document"}
_META_TEXT: Final = re.compile(
    r"\s*(?:<(?:local-command-|bash-std|system-reminder|task-notification|teammate-message)"
    r"|\[Request interrupted by user|Caveat: The messages below were generated)"
)
"""The start of a text that the client wrote."""
_MEMORY_TEXT: Final = re.compile(r"\s*<system-reminder>.{0,400}?# claudeMd", re.DOTALL)
"""The start of a text with memory files."""


_SYSTEM_KINDS: Final = frozenset(
    "environment model deferred_tools_delta agent_listing_delta skill_listing date total_tokens_reminder "
    "auto_mode".split()
)
"""Kinds sent in a system turn, for clients that do not record the role (facts §13.1)."""
_WRAPPED: Final = re.compile(r"\s*<system-reminder>\n(.*)\n</system-reminder>\s*", re.DOTALL)


def rendered_items(rendered: Json, kind: str, role: str) -> list[Item]:
    """Convert an attachment of `kind` in the form that the client recorded as sent.

    `role` is the recorded role ("" if none).
    """
    side = role or ("system" if kind in _SYSTEM_KINDS else "user")
    items = []
    for entry in rendered if isinstance(rendered, list) else []:
        content = entry.get("content") if isinstance(entry, dict) else None
        for part in content if isinstance(content, list) else [content]:
            if isinstance(part, str) and part.strip():
                bare = _WRAPPED.fullmatch(part) if side == "system" else None
                mark = "" if side == "system" else text_mark(part) or META
                items.append(Item(block.text(bare.group(1) if bare else part), Place("messages", side, mark)))
            elif isinstance(part, dict):
                items.append(Item(block.from_part(part), Place("messages", side, META if side == "user" else "")))
    return items


def text_mark(text: str) -> str:
    """Return the mark of a user text that the client wrote without ``isMeta``; "" for any other."""
    if not _META_TEXT.match(text):
        return ""
    return MEMORY if _MEMORY_TEXT.match(text) else META


def attachment_items(attachment: Json) -> list[Item]:
    """Convert an attachment to the items that the model reads; empty for a silent kind."""
    if not isinstance(attachment, dict):
        return []
    kind = str(attachment.get("type", ""))
    if kind in _NOT_SENT and not (kind == "hook_success" and str(attachment.get("hookEvent")) in _SENT_HOOKS):
        return []
    typed = attachment.get("commandMode") in (None, "prompt") and not attachment.get("isMeta")
    person = kind == "queued_command" and typed
    mark = "" if person else MEMORY if any(word in kind.lower() for word in _MEMORIES) else META
    place = Place("messages", "user", mark)
    items = [Item(image, place) for image in _iter_images(attachment)]
    words = _collect_texts(attachment)
    head = "" if person or not words else next((str(attachment[k]) for k in _HEADING_KEYS if attachment.get(k)), "")
    if kind in _NAMED and not words:
        words = [str(attachment[key]) for key in (*_HEADING_KEYS, "agentType") if attachment.get(key)][:1]
    if words:
        text = "\n".join([head, *words] if head and head not in words else words)
        items.append(Item(block.text(text), place))
    return items


def _collect_texts(value: Json) -> list[str]:
    return list(dict.fromkeys(text for text in _iter_texts(value) if text.strip()))


def _iter_texts(value: Json, deep: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif deep > 6:
        return
    elif isinstance(value, list):
        for item in value:
            yield from _iter_texts(item, deep + 1)
    elif isinstance(value, dict) and value.get("type") not in ("image", "base64"):
        for key, item in value.items():
            if key in _TEXT_KEYS or (deep and key in _HEADING_KEYS):
                yield from _iter_texts(item, deep + 1)


def _iter_images(value: Json, deep: int = 0) -> Iterator[Block]:
    if isinstance(value, list) and deep < 6:
        for item in value:
            yield from _iter_images(item, deep + 1)
    if not isinstance(value, dict) or deep > 6:
        return
    if value.get("type") in ("image", "document") and isinstance(value.get("source"), dict):
        yield block.from_part(value)
        return
    file = value.get("file")
    part = _FILES.get(str(value.get("type")))
    if part and isinstance(file, dict) and isinstance(file.get("base64"), str):
        kind = "application/pdf" if part == "document" else file.get("type")
        source = {"type": "base64", "media_type": kind if isinstance(kind, str) else "", "data": file["base64"]}
        yield block.make(part, {"type": part, "source": source})
        return
    for key in ("content", "prompt", "file", "images"):
        yield from _iter_images(value.get(key), deep + 1)
