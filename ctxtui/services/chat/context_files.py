"""Files of a chat's context: attached to a message, and memory.

Files are attached by ``@path``; with ``files = "auto"``, the chat's first message also gets files of the project that
are relevant to it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath
from typing import Final

from msgspec import Struct

from ctxtui.agent.memory_place import MemoryPlace
from ctxtui.agent.tools.memory_tools import MemoryFolder, memory_tools
from ctxtui.agent.tools.tool import Tool
from ctxtui.agent.tools.workspace import Workspace
from ctxtui.core import block
from ctxtui.core.canonical import Json
from ctxtui.core.errors import BadConfig, CtxtuiError
from ctxtui.core.session import Session
from ctxtui.core.tree import ROOT
from ctxtui.pricing.rates import find_rates
from ctxtui.project.budget import group_files
from ctxtui.project.named import find_relevant
from ctxtui.project.selection import Selection, select
from ctxtui.services.chat.chat_model import ChatModel, charges_nothing
from ctxtui.services.chat.context_window import usable_tokens_of
from ctxtui.services.config.config import Config
from ctxtui.services.config.package_data import model_table
from ctxtui.services.counting.books import cache_rules
from ctxtui.services.counting.counting import Counter
from ctxtui.services.counting.pricing import prices_for
from ctxtui.services.project.attachments import AttachedFile, list_missing_files, read_attachments
from ctxtui.services.project.instructions import NAMES, find_top, read_instructions
from ctxtui.services.project.progress import ReadingProgress
from ctxtui.services.project.report import Meter, count_project, loading_thresholds
from ctxtui.tokens.models import ModelCard
from ctxtui.wire.grammar import ANTHROPIC, CHAT, RESPONSES
from ctxtui.wire.speech import Attachment

AUTO: Final = "auto"
RELEVANT: Final = "relevant"
_ANTHROPIC_MARKER: Final[Mapping[str, Json]] = {"cache_control": {"type": "ephemeral"}}
_OPENAI_MARKER: Final[Mapping[str, Json]] = {"prompt_cache_breakpoint": {"mode": "explicit"}}


class MessageContent(Struct, frozen=True):
    """Content to send with a message; `note` tells the user which files are attached ("": none)."""

    attached: tuple[Attachment, ...] = ()
    memory: MemoryPlace | None = None
    note: str = ""


class ContextFiles:
    """The context files of the chat in `cwd`. Methods that read or count files are for a worker thread."""

    def __init__(self, config: Config, cwd: Path) -> None:
        self._config = config
        self._settings = config.settings
        self._cwd = cwd
        self.counter: Counter | None = None
        """Counts tokens; None until `meter` is used."""
        self.progress = ReadingProgress()
        self._chat_model: ChatModel | None = None
        self._memory_folder: MemoryFolder | None = None
        self._folder = _configured_folder(config, cwd)

    def set_model(self, chat_model: ChatModel) -> None:
        self._chat_model = chat_model

    @property
    def card(self) -> ModelCard:
        return model_table().card(self._chat_model.model if self._chat_model is not None else "")

    @property
    def meter(self) -> Meter:
        """Counts tokens with the chat model's tokenizer."""
        self.counter = self.counter or Counter()
        return Meter(self.card, self.counter)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The memory tools; none without the setting `memory`.

        Creates the folder; raises `CtxtuiError` if that fails.
        """
        memory = self._open_memory()
        return memory_tools(memory) if memory is not None else ()

    def _open_memory(self) -> MemoryFolder | None:
        if self._folder is None:
            return None
        if self._memory_folder is None:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                folder_name = str(self._folder)
                raise CtxtuiError(
                    f"the memory folder cannot be created: {error.strerror}", place=folder_name
                ) from error
            count = lambda text: self.meter.text(text)  # noqa: E731 - the model may have changed by then
            self._memory_folder = MemoryFolder(Workspace(self._folder), self._settings.memory_tokens, count)
        return self._memory_folder

    @property
    def usable_tokens(self) -> int:
        """Usable tokens of the model's window; 0 if it is unknown."""
        return usable_tokens_of(self._chat_model, self._settings) if self._chat_model is not None else 0

    def available_tokens(self, used: int) -> int:
        """Tokens available for files if `used` are in use, at least 1; 0 if the window is unknown."""
        usable = self.usable_tokens
        return max(1, round((usable - used) * self._settings.files_share)) if usable else 0

    def read_named(self, text: str, used: int) -> tuple[AttachedFile, ...]:
        """Read the files that the message `text` names, with `used` tokens in the context already.

        Raises `NotAttached`.
        """
        return read_attachments(text, self._cwd, self.meter, self.available_tokens(used))

    def missing_paths(self, text: str) -> list[str]:
        """Paths that a message names and that do not exist."""
        return list_missing_files(text, self._cwd)

    def price(self, tokens: int) -> float | None:
        """Price in USD of `tokens` of input; None if it is unknown or nothing is charged."""
        chat_model = self._chat_model
        if chat_model is None:
            return None
        rates = find_rates(
            chat_model.model, chat_model.endpoint.name, length=max(1, tokens), table=prices_for(self._settings)
        )
        usd = tokens * rates.fresh if rates is not None else None
        return None if charges_nothing(chat_model, usd) else usd

    def content_for(self, text: str, session: Session, head: int) -> MessageContent:
        """Collect the content to send with the user's message `text` after the context `head`.

        Raises `NotAttached`.
        """
        memory = self.memory_for(text)
        has_user_text = any(item.place.role == "user" for item in session.tree.items(head))
        auto = not has_user_text and self._settings.files == AUTO
        if not auto and "@" not in text:
            return MessageContent(memory=memory)
        meter, used = self.meter, self.used_tokens(session, head)
        used += meter.text(text) + sum(meter.texts(memory.texts) if memory is not None and not has_user_text else ())
        named = self.read_named(text, used)
        attached = [file.attached for file in named]
        notes = [f"{len(named):,} named file{'' if len(named) == 1 else 's'}"] if named else []
        if auto:
            chosen = self.select_files(text, used + sum(file.tokens for file in named), {file.name for file in named})
            attached += [Attachment(block.text(file.text), "file") for file in chosen.chosen]
            notes.append(describe_selection(chosen))
        return MessageContent(tuple(attached), memory, "; ".join(notes))

    def used_tokens(self, session: Session, head: int) -> int:
        """The tokens in use at `head`.

        They are those of the last reported call on the path, and of the blocks after it.
        """
        tree, reported_usage = session.tree, {}
        for call in session.calls.values():
            if call.usage is not None:
                reported_usage[call.response_head or call.raw_head] = call.usage
        end = next((node for node in reversed(tree.path(head)) if node in reported_usage), ROOT)
        usage, meter = reported_usage.get(end), self.meter
        reported = usage.input + usage.output if usage is not None else 0
        return reported + sum(meter.block(item.block) for item in tree.items(head, end))

    def select_files(self, task: str, used: int, exclude: set[str]) -> Selection:
        """Select project files for `task`, except memory and `exclude`, with `used` tokens in use."""
        project = count_project(self._cwd, self.meter, self.progress)
        excluded = exclude | self.memory_paths(file.path for file in project.files)
        files = [file for file in project.files if file.path not in excluded]
        limits = loading_thresholds(self._settings)
        return select(files, task, self.available_tokens(used) or project.tokens, limits, self.meter.text)

    def memory_paths(self, paths: Iterable[str]) -> set[str]:
        """The `paths` (from the chat's folder) that are memory or instructions for agents."""
        root, folder = self._cwd.resolve(), self._folder
        memory = folder.relative_to(root) if folder is not None and root in folder.parents else None
        from_top, instructions = root.relative_to(find_top(root)), self._read_instructions()
        return {
            path
            for path in paths
            if PurePath(path).name in NAMES
            or (from_top / path).as_posix() in instructions
            or (memory is not None and memory in PurePath(path).parents)
        }

    def memory_for(self, text: str) -> MemoryPlace | None:
        """The memory for the message `text`.

        None without a configured memory folder and without instructions.
        """
        settings, folder = self._settings, self._folder
        memory = self._open_memory() if folder is not None and folder.is_dir() else None
        instructions = self._read_instructions()
        if folder is None and not instructions:
            return None
        memory_texts = memory.texts() if memory is not None else {}
        if settings.memory_files == RELEVANT:
            memory_texts = {name: memory_texts[name] for name in find_relevant(memory_texts, text)}
        texts = [_render_file("instructions", path, content) for path, content in instructions.items()]
        texts += [_render_file("memory", name, content) for name, content in memory_texts.items()]
        chat_model = self._chat_model
        binds = chat_model is not None and chat_model.endpoint.dialect == ANTHROPIC and self.card.binds_thinking
        at_start = settings.memory_place == "start"
        # `binds`: a thinking block of such a model is refused once anything before it changed, as memory may.
        return MemoryPlace(tuple(texts), at_start, self._memory_marker(), binds, stable=len(instructions))

    def _read_instructions(self) -> dict[str, str]:
        return read_instructions(self._cwd) if self._settings.instructions else {}

    def _memory_marker(self) -> Mapping[str, Json] | None:
        """The member that asks the provider to cache up to memory; None if it takes none."""
        chat_model = self._chat_model
        if chat_model is None:
            return None
        if chat_model.endpoint.dialect == ANTHROPIC:
            return _ANTHROPIC_MARKER
        if chat_model.endpoint.name == "openai" and chat_model.endpoint.dialect in (CHAT, RESPONSES):
            rules = cache_rules().for_model(self.card, "openai")
            return _OPENAI_MARKER if rules.mechanism.takes_breakpoints else None
        return None


def describe_selection(chosen: Selection) -> str:
    """Describe a selection in one line.

    For example ``13 files of the project, 23,886 tokens: named 1 whole, related 12 whole``.
    """
    parts = [f"{why} {number:,} {form}" for why, form, number, _ in group_files(chosen)]
    omitted = f"; {len(chosen.left_out):,} left out" if chosen.left_out else ""
    count = len(chosen.chosen)
    head = f"{count:,} file{'' if count == 1 else 's'} of the project, {chosen.tokens:,} tokens"
    return f"{head}: {', '.join(parts)}{omitted}" if parts else f"{head}{omitted}"


def _render_file(kind: str, name: str, text: str) -> str:
    return f'<{kind} path="{name}">\n{text.rstrip()}\n</{kind}>'


def _configured_folder(config: Config, cwd: Path) -> Path | None:
    name = config.settings.memory
    if not name:
        return None
    place = (cwd / Path(os.path.expanduser(name))).resolve()
    if place.exists() and not place.is_dir():
        raise BadConfig(f"memory must be a folder: {place} is a file", place="memory", way_out="name a folder")
    return place
