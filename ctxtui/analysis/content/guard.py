"""Finds risks in blocks: secrets, login files, dangerous commands, injected instructions."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from ctxtui.core.block import HEADER, TOOL, Block
from ctxtui.core.block_content import BlockContent, read
from ctxtui.core.file_accesses import READ, find_touches, shell_command
from ctxtui.core.tool_calls import main_argument
from ctxtui.curation.context import is_call
from ctxtui.curation.mask_rules import Level, MaskingRules
from ctxtui.curation.masking import Masker

SECRET: Final = "secret in the context"
FILE: Final = "sensitive file read"
COMMAND: Final = "dangerous command run"
INSTRUCTIONS: Final = "instructions in ingested text"

_WORD: Final = re.compile(r"""[^\s"'`;|&<>()=]+""")
_STATEMENT: Final = re.compile(r"[\n;|&]+|\$\(|`")
"""Separators between the commands of a line."""
_BEFORE_PROGRAMS: Final = frozenset({"sudo", "env", "command", "exec", "time", "bash", "sh", "zsh", "-c", "-lc"})
"""Words before the program of a command."""
_MAX_COMMAND_CHARS: Final = 20_000
_MAX_ORIGIN_CHARS: Final = 80
_NO_ALARM: Final = frozenset({"random text", "cookie", "signature in a url", "password hash"})
"""Names of masks that are too often wrong for an alarm."""
_PLACEHOLDER: Final = re.compile(r"(?i)placeholder|changeme|redacted|dummy|xxxx|your[-_]|<[^>]*>|\*{3}|\.\.\.")
"""Parts of values that only say where a secret would be."""
_TRIVIAL: Final = re.compile(
    r"(?i)(?:\w{0,20}:)?(?:pass(?:word|wd)?|secret|postgres|root|admin|guest|user|test|\d{1,4})"
)
"""Logins of examples and of databases on one's own machine."""


class GuardRule(Struct, frozen=True):
    """A pattern, what it finds, and the source that documents the risk."""

    name: str
    pattern: re.Pattern[str]
    source: str = ""


class GuardRules(Struct, frozen=True):
    """Rules that find risks.

    - `files`: for paths; `commands`: for command lines; `instructions`: for texts.
    - `readers`: programs that print a file named on their command line.
    - `masks`: rules that find secrets.
    """

    files: tuple[GuardRule, ...] = ()
    commands: tuple[GuardRule, ...] = ()
    instructions: tuple[GuardRule, ...] = ()
    readers: frozenset[str] = frozenset()
    masks: MaskingRules = MaskingRules(())


class Risk(NamedTuple):
    """One risk in a block, of a `kind` (`SECRET`, `FILE`, ...).

    `what` describes it (``api key``) without the secret itself.
    """

    kind: str
    what: str


def parse_guard(text: str, masks: MaskingRules) -> GuardRules:
    """The rules in the TOML `text`, with the masks that find secrets."""
    data = tomllib.loads(text)

    def rules(table: str) -> tuple[GuardRule, ...]:
        return tuple(GuardRule(row["name"], re.compile(row["pattern"]), row["source"]) for row in data.get(table, ()))

    readers = frozenset(data.get("readers", {}).get("names", ()))
    return GuardRules(rules("files"), rules("commands"), rules("instructions"), readers, masks)


class Guard:
    """Finds the risks of blocks, each content once."""

    def __init__(self, rules: GuardRules) -> None:
        self._rules = rules
        self._masker = Masker(rules.masks, Level.SECRETS)
        self._risks_by_block: dict[tuple[str, bool], tuple[Risk, ...]] = {}

    def risks(self, block: Block, *, ingested: bool = False) -> tuple[Risk, ...]:
        """The risks of `block`, each kind of thing once; `ingested`: a tool brought its text."""
        key = block.digest, ingested
        if key not in self._risks_by_block:
            self._risks_by_block[key] = tuple(dict.fromkeys(self._find_risks(block, ingested)))
        return self._risks_by_block[key]

    def _find_risks(self, block: Block, ingested: bool) -> Iterator[Risk]:
        if block.kind in (HEADER, TOOL):
            return
        content = read(block)
        secrets = self.find_secrets("\n".join((content.text, content.arguments)))
        yield from (Risk(SECRET, name) for name, _ in secrets)
        if is_call(block.kind):
            command = shell_command(content)[:_MAX_COMMAND_CHARS]
            yield from (Risk(COMMAND, name) for name in _matching_names(self._rules.commands, [command]))
            read_paths = [touch.path for touch in find_touches(content) if touch.kind == READ]
            paths = [path.replace("\\", "/") for path in [*read_paths, *self._find_printed_files(command)]]
            yield from (Risk(FILE, name) for name in _matching_names(self._rules.files, paths))
        elif ingested:
            yield from (Risk(INSTRUCTIONS, name) for name in _matching_names(self._rules.instructions, [content.text]))

    def find_secrets(self, text: str) -> list[tuple[str, str]]:
        """The kind and the value of each secret in `text`, less placeholders and logins of examples."""
        return [
            (name, value)
            for name, value in self._masker.secrets_in(text)
            if name not in _NO_ALARM and not _PLACEHOLDER.search(value) and not _TRIVIAL.fullmatch(value)
        ]

    def redact(self, text: str) -> str:
        """`text` with the kind of each secret in its place: ``⟨api key⟩``; nothing else changes."""
        names = {value: name for name, value in self.find_secrets(text)}
        if not names:
            return text
        # In one pass, the longest first: one secret may be part of another.
        values = re.compile("|".join(map(re.escape, sorted(names, key=len, reverse=True))))
        return values.sub(lambda match: f"⟨{names[match.group()]}⟩", text)

    def mask_call(self, block: Block) -> Block:
        """A call with its secrets masked as ``ctxtui session scrub`` does."""
        return self._masker.mask_block(block)

    def remove_instructions(self, text: str) -> str:
        """`text` with a note in the place of each sentence that gives the model instructions."""
        for rule in self._rules.instructions:
            text = rule.pattern.sub("[instruction removed]", text)
        return text

    def describe_call(self, content: BlockContent) -> str:
        """A call on one line, redacted: ``Bash cat .env``."""
        line = " ".join(self.redact(main_argument(content)).split())
        return (
            f"{content.name} {line if len(line) <= _MAX_ORIGIN_CHARS else line[: _MAX_ORIGIN_CHARS - 1] + '…'}".strip()
        )

    def _find_printed_files(self, command: str) -> Iterator[str]:
        for statement in _STATEMENT.split(command):
            words = _WORD.findall(statement)
            while words and ("=" in words[0] or words[0] in _BEFORE_PROGRAMS):
                words = words[1:]
            if words and words[0].rpartition("/")[2] in self._rules.readers:
                yield from words[1:]


def _matching_names(rules: Sequence[GuardRule], texts: Sequence[str]) -> Iterator[str]:
    for text in texts:
        yield from (rule.name for rule in rules if rule.pattern.search(text))
