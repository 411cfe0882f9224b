"""The kind of a file (source, test ...) by path and size, and whether it is private."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Final

SOURCE, TESTS, DOCUMENTATION, CONFIGURATION, DATA, GENERATED, MEDIA = (
    "source", "tests", "documentation", "configuration", "data", "generated", "media",
)  # fmt: skip
KINDS: Final = (SOURCE, TESTS, DOCUMENTATION, CONFIGURATION, DATA, GENERATED, MEDIA)
"""In display order.

`GENERATED`: lock files, generated code, SVG, snapshots and source maps. `MEDIA`: files that are not text, which
`kind_of` never returns.
"""

_SOURCE: Final = frozenset(
    ".py .pyi .js .mjs .cjs .jsx .ts .mts .cts .tsx .go .rs .java .c .h .cc .cpp .cxx .hpp .hh .cs .fs .kt .kts .swift "
    ".m .mm .rb .php .pl .pm .lua .r .jl .scala .clj .cljs .ex .exs .erl .hs .ml .mli .elm .dart .zig .nim .v .sol .sh "
    ".bash .zsh .fish .ps1 .bat .sql .proto .graphql .vue .svelte .astro .css .scss .sass .less .html .htm .tcl .el "
    ".lisp .asm .s .cu .cmake .gradle .groovy .tf .nix".split()
)
"""Extensions of source files; `_DOCUMENTATION`, `_CONFIGURATION` and `_DATA` are those of other kinds."""
_DOCUMENTATION: Final = frozenset(".md .markdown .rst .txt .adoc .org .tex".split())
_CONFIGURATION: Final = frozenset(".toml .yaml .yml .ini .cfg .conf .json .json5 .jsonc .xml .properties .mod".split())
_DATA: Final = frozenset(".csv .tsv .jsonl .ndjson .log .sum .geojson .dat".split())
_LOCKS: Final = frozenset(
    "package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock poetry.lock uv.lock pdm.lock "
    "pipfile.lock cargo.lock go.sum gemfile.lock composer.lock flake.lock packages.lock.json".split()
)
_BUILT: Final = re.compile(r"\.min\.(?:js|css)$|\.(?:map|snap|svg)$|_pb2?(?:_grpc)?\.py$|\.pb\.go$|\.generated\.")
_PLAIN: Final = frozenset("makefile dockerfile containerfile justfile rakefile gemfile procfile jenkinsfile".split())
"""Source files without an extension."""
_TEST_NAME: Final = re.compile(r"^(?:(?i:test_.+|.+_spec|.+\.spec|conftest|(?:.+[-_.])?tests?)|.*[A-Za-z0-9]Tests?)$")
"""Without extension; ``Test`` that ends a word needs its capital: not ``latest``."""
_TEST_FOLDERS: Final = frozenset({"test", "tests", "__tests__", "spec", "specs", "testing"})
_SECRET: Final = re.compile(r"^(?:id_[a-z0-9]+|.*\.(?:pem|key|p12|pfx|jks|keystore)|credentials.*|secrets?\..*)$")
"""The name of a file that may hold a key or a secret."""
_LEGAL: Final = re.compile(r"^(?:licen[cs]e|notice|copying|authors)\b")
_REQUIREMENTS: Final = re.compile(r"^(?:requirements|constraints).*\.txt$|^cmakelists\.txt$")
"""Text files that are configuration."""
_LARGE_JSON_CHARS: Final = 50_000
"""Characters above which a JSON or XML file counts as data."""


def kind_of(path: str, characters: int = 0) -> str:
    """The kind of a text file by its `path` (with ``/``) and its number of `characters`.

    Only source files can be `TESTS`. Without an extension a file counts as source, with an unknown one as data.
    """
    lower_path = PurePosixPath(path.lower())
    name, extension = lower_path.name, lower_path.suffix
    if name in _LOCKS or _BUILT.search(name):
        return GENERATED
    if extension in _SOURCE or name in _PLAIN:
        is_test = (
            bool(_TEST_FOLDERS & set(lower_path.parts[:-1])) or _TEST_NAME.match(PurePosixPath(path).stem) is not None
        )
        return TESTS if is_test else SOURCE
    # Legal texts count as data, which is not loaded by default.
    if _LEGAL.match(name):
        return DATA
    if extension in _DOCUMENTATION or name in ("readme", "changelog", "contributing"):
        return CONFIGURATION if _REQUIREMENTS.match(name) else DOCUMENTATION
    if extension in _DATA or (extension in (".json", ".xml") and characters > _LARGE_JSON_CHARS):
        return DATA
    if extension in _CONFIGURATION or name.startswith("."):
        return CONFIGURATION
    return DATA if extension else SOURCE


def is_private(path: str) -> bool:
    """Whether a file is hidden or, judged by its name, may hold a secret.

    It is hidden if a part of its relative `path` begins with a dot.
    """
    lower_path = PurePosixPath(path.lower())
    return any(part.startswith(".") for part in lower_path.parts) or _SECRET.match(lower_path.name) is not None
