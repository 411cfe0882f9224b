"""Risks in a context: secrets, files that hold logins, dangerous commands, instructions inside results of tools."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from ctxtui.core.block import HEADER, TOOL, Block
from ctxtui.core.block_content import BlockContent, arguments_value, read
from ctxtui.core.canonical import Json
from ctxtui.curation.context import is_call
from ctxtui.curation.mask_rules import Level, MaskingRules
from ctxtui.curation.masking import Masker

SECRET: Final = "secret in the context"
FILE: Final = "sensitive file read"
COMMAND: Final = "dangerous command run"
INSTRUCTIONS: Final = "instructions in ingested text"

_PATHS: Final = ("file_path", "path", "notebook_path", "filename", "file", "absolute_path", "uri")
_COMMANDS: Final = ("command", "cmd", "script", "commandLine", "command_line", "CommandLine")
_LOOKS: Final = re.compile(r"(?i)(?:^|[._/-]|\b)(?:read|view|cat|open|get|show|bash|shell|exec|run|terminal|command)")
"""Names of tools that bring the content of a file into the context."""
_WRITES: Final = re.compile(r"(?i)write|edit|create|patch|replace|delete|remove|glob|list|search|find")
_WORD: Final = re.compile(r"""[^\s"'`;|&<>()=]+""")
_STATEMENT: Final = re.compile(r"[\n;|&]+|\$\(|`")
_BEFORE_PROGRAMS: Final = frozenset({"sudo", "env", "command", "exec", "time", "bash", "sh", "zsh", "-c", "-lc"})
_LONGEST_COMMAND: Final = 20_000
"""Characters of a command line that are searched."""
_ORIGIN_CHARS: Final = 80
_NO_SECRETS: Final = frozenset({"random text", "cookie", "signature in a url", "password hash"})
"""Masks that are right for copies that leave the machine, but wrong too often for an alarm."""
_PLACEHOLDER: Final = re.compile(r"(?i)placeholder|changeme|redacted|dummy|xxxx|your[-_]|<[^>]*>|\*{3}|\.\.\.")
"""Parts of values that only say where a secret would be."""
_TRIVIAL: Final = re.compile(
    r"(?i)(?:\w{0,20}:)?(?:pass(?:word|wd)?|secret|postgres|root|admin|guest|user|test|\d{1,4})"
)
"""Logins of examples and of databases on one's own machine."""


class GuardRule(Struct, frozen=True):
    """A pattern, the `name` of what it finds, and the `source` that documents the risk."""

    name: str
    pattern: re.Pattern[str]
    source: str = ""


class GuardRules(Struct, frozen=True):
    """Rules for paths (`files`), command lines (`commands`) and texts (`instructions`), and those of secrets.

    `readers` are the programs that print a file named on their command line.
    """

    files: tuple[GuardRule, ...] = ()
    commands: tuple[GuardRule, ...] = ()
    instructions: tuple[GuardRule, ...] = ()
    readers: frozenset[str] = frozenset()
    masks: MaskingRules = MaskingRules(())


class Risk(NamedTuple):
    """One risk in a block: its `kind` (`SECRET`, `FILE`, ...) and what it is (``api key``). Never the secret itself."""

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
        self._known: dict[tuple[str, bool], tuple[Risk, ...]] = {}

    def risks(self, block: Block, *, ingested: bool = False) -> tuple[Risk, ...]:
        """The risks of `block`, each kind of thing once; `ingested`: a tool brought its text."""
        key = block.digest, ingested
        if key not in self._known:
            self._known[key] = tuple(dict.fromkeys(self._risks(block, ingested)))
        return self._known[key]

    def _risks(self, block: Block, ingested: bool) -> Iterator[Risk]:
        if block.kind in (HEADER, TOOL):
            return
        content = read(block)
        yield from (Risk(SECRET, name) for name in self.secrets(block, content))
        if is_call(block.kind):
            commands = command_lines(content)
            yield from (Risk(COMMAND, name) for name in _names(self._rules.commands, commands))
            yield from (Risk(FILE, name) for name in _names(self._rules.files, self._read_paths(content, commands)))
        elif ingested:
            yield from (Risk(INSTRUCTIONS, name) for name in _names(self._rules.instructions, [content.text]))

    def secrets(self, block: Block, content: BlockContent) -> list[str]:
        """The names of the secrets in `block`, less placeholders."""
        text = "\n".join((content.text, content.arguments))
        found = self._masker.secrets_in(text)
        return [
            name
            for name, secret in found
            if name not in _NO_SECRETS and not _PLACEHOLDER.search(secret) and not _TRIVIAL.fullmatch(secret)
        ]

    def masked(self, block: Block) -> Block:
        """`block` with a mask in the place of each secret."""
        return self._masker.mask_block(block)

    def without_instructions(self, text: str) -> str:
        """`text` with a note in the place of each sentence that speaks to the model."""
        for rule in self._rules.instructions:
            text = rule.pattern.sub("[instruction removed]", text)
        return text

    def origin(self, content: BlockContent) -> str:
        """Describe a call on one line, masked: ``Bash cat .env``."""
        about = next(iter([*command_lines(content), *_paths(content)]), "")
        line = self._masker.mask_line(" ".join(about.split()))
        return f"{content.name} {line if len(line) <= _ORIGIN_CHARS else line[: _ORIGIN_CHARS - 1] + '…'}".strip()

    def _read_paths(self, content: BlockContent, commands: Sequence[str]) -> Iterator[str]:
        """Paths whose content the call brings into the context."""
        if _LOOKS.search(content.name) and not _WRITES.search(content.name):
            yield from _paths(content)
        for line in commands:
            for statement in _STATEMENT.split(line):
                words = _WORD.findall(statement)
                while words and ("=" in words[0] or words[0] in _BEFORE_PROGRAMS):
                    words = words[1:]
                if words and words[0].rpartition("/")[2] in self._rules.readers:
                    yield from (word.replace("~", "/~", 1) if word.startswith("~") else word for word in words[1:])


def command_lines(content: BlockContent) -> list[str]:
    """The command lines that a call of a shell tool runs."""
    given = arguments_value(content)
    if not isinstance(given, dict):
        return []
    lines = (_line(given[key]) for key in _COMMANDS if key in given)
    return [line[:_LONGEST_COMMAND] for line in lines if line]


def _line(value: Json) -> str:
    if isinstance(value, list):
        return " ".join(word for word in value if isinstance(word, str))
    return value if isinstance(value, str) else ""


def _paths(content: BlockContent) -> list[str]:
    given = arguments_value(content)
    if not isinstance(given, dict):
        return []
    return [str(given[key]).replace("\\", "/") for key in _PATHS if isinstance(given.get(key), str)]


def _names(rules: Sequence[GuardRule], texts: Sequence[str] | Iterator[str]) -> Iterator[str]:
    for text in texts:
        yield from (rule.name for rule in rules if rule.pattern.search(text))
