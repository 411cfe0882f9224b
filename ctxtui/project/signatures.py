"""A file without bodies: imports, types, constants and signatures.

Python, JavaScript, TypeScript, Go, Rust, Java and C are parsed with tree-sitter if it is installed (the extra
``code``), everything else is outlined.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


class CodeGrammar(Struct, frozen=True):
    """A language of tree-sitter: its `package`, the `function` in it, and kinds of nodes.

    - `whole`: kept up to `_MAX_DECLARATION_LINES` (imports, types, constants), without bodies of functions in them.
      Python's assignments to other names are left out.
    - `functions`: kept up to their body.
    - `containers`: kept with the signatures in their body (classes).
    - `wrappers`: only what they contain is kept (an export, a decorator).
    """

    package: str
    whole: frozenset[str]
    functions: frozenset[str]
    function: str = "language"
    containers: frozenset[str] = frozenset()
    wrappers: frozenset[str] = frozenset()


def _script(package: str, function: str = "language") -> CodeGrammar:
    return CodeGrammar(
        package, function=function, whole=_WHOLE, functions=_FUNCTIONS, containers=_CLASSES, wrappers=_EXPORTS
    )


_WHOLE: Final = _words(
    "import_statement lexical_declaration variable_declaration field_definition public_field_definition "
    "type_alias_declaration function_signature method_signature abstract_method_signature property_signature "
    "enum_declaration"
)
_FUNCTIONS: Final = _words("function_declaration generator_function_declaration method_definition")
_CLASSES: Final = _words("class_declaration abstract_class_declaration interface_declaration module internal_module")
_EXPORTS: Final = _words("export_statement ambient_declaration expression_statement")

PYTHON: Final = CodeGrammar(
    "tree_sitter_python",
    whole=_words("import_statement import_from_statement future_import_statement assignment type_alias_statement"),
    functions=_words("function_definition"),
    containers=_words("class_definition"),
    wrappers=_words("decorated_definition expression_statement"),
)
JAVASCRIPT: Final = _script("tree_sitter_javascript")
TYPESCRIPT: Final = _script("tree_sitter_typescript", "language_typescript")
TSX: Final = _script("tree_sitter_typescript", "language_tsx")
GO: Final = CodeGrammar(
    "tree_sitter_go",
    whole=_words("package_clause import_declaration const_declaration var_declaration type_declaration"),
    functions=_words("function_declaration method_declaration"),
)
RUST: Final = CodeGrammar(
    "tree_sitter_rust",
    whole=_words(
        "use_declaration struct_item enum_item union_item type_item const_item static_item function_signature_item "
        "extern_crate_declaration associated_type"
    ),
    functions=_words("function_item macro_definition"),
    containers=_words("impl_item trait_item mod_item"),
)
JAVA: Final = CodeGrammar(
    "tree_sitter_java",
    whole=_words("package_declaration import_declaration field_declaration constant_declaration enum_declaration"),
    functions=_words("method_declaration constructor_declaration"),
    containers=_words("class_declaration interface_declaration record_declaration"),
)
C: Final = CodeGrammar(
    "tree_sitter_c",
    whole=_words(
        "preproc_include preproc_def preproc_function_def declaration type_definition struct_specifier "
        "enum_specifier union_specifier"
    ),
    functions=_words("function_definition"),
    wrappers=_words("preproc_ifdef preproc_if preproc_else linkage_specification declaration_list"),
)

GRAMMARS: Final[dict[str, CodeGrammar]] = {
    **dict.fromkeys((".py", ".pyi"), PYTHON),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), JAVASCRIPT),
    **dict.fromkeys((".ts", ".mts", ".cts"), TYPESCRIPT),
    ".tsx": TSX,
    ".go": GO,
    ".rs": RUST,
    ".java": JAVA,
    ".c": C,
    ".h": C,
}


_MAX_DECLARATION_LINES: Final = 12
"""Maximum lines of an import, a constant or a type."""
_PREFIXES: Final = frozenset({"export_statement", "ambient_declaration", "decorated_definition"})
"""Wrappers whose text precedes the wrapped node and belongs to it."""
_MAX_DEPTH: Final = 12
"""Maximum nesting of containers; deeper ones are left out."""
LEFT_OUT: Final = " …"
"""Replaces a body, and the rest of a long declaration."""


def extract_signatures(path: str, text: str) -> str:
    """The declarations in the file at `path`.

    For other languages, and for files without declarations, it is the outline (`make_outline`).
    """
    grammar = _grammar_for(path)
    parser = None if grammar is None else _parser(grammar)
    if grammar is None or parser is None:
        return make_outline(path, text)
    source = text.encode("utf-8", "replace")
    lines = list(_children_lines(parser.parse(source).root_node, source, grammar, 0))
    return "\n".join(lines) or make_outline(path, text)


def lacks_parser(path: str) -> bool:
    """Whether the file at `path` is outlined only because no parser for it is installed."""
    grammar = _grammar_for(path)
    return grammar is not None and _parser(grammar) is None


def _grammar_for(path: str) -> CodeGrammar | None:
    return GRAMMARS.get(PurePosixPath(path).suffix.lower())


@cache
def _parser(grammar: CodeGrammar) -> Parser | None:
    try:
        # Imported here: few runs read files; by name, since grammars have no types.
        from tree_sitter import Language, Parser

        language = import_module(grammar.package)
    except ModuleNotFoundError:
        return None
    return Parser(Language(getattr(language, grammar.function)()))


def _children_lines(parent: Node, source: bytes, grammar: CodeGrammar, depth: int) -> Iterator[str]:
    for node in parent.named_children:
        yield from _node_lines(node, node.start_byte, source, grammar, depth)


def _node_lines(node: Node, start: int, source: bytes, grammar: CodeGrammar, depth: int) -> Iterator[str]:
    """The lines of one node; `start` is the start including its wrapper (an export, decorators)."""
    body = node.child_by_field_name("body")
    if node.type in grammar.functions:
        yield _source_of(source, start, body.start_byte if body is not None else node.end_byte) + (
            LEFT_OUT if body else ""
        )
    elif node.type in grammar.containers and depth < _MAX_DEPTH:
        if body is None:
            yield _source_of(source, start, node.end_byte)
            return
        inside = list(_children_lines(body, source, grammar, depth + 1))
        yield _source_of(source, start, body.start_byte) + ("" if inside else LEFT_OUT)
        yield from inside
    elif node.type in grammar.wrappers:
        for child in node.named_children:
            yield from _node_lines(child, start if node.type in _PREFIXES else child.start_byte, source, grammar, depth)
    elif node.type in grammar.whole and not _is_detail(node, source, grammar, depth):
        yield _shorten(node, start, source)


def _is_detail(node: Node, source: bytes, grammar: CodeGrammar, depth: int) -> bool:
    """Whether a Python assignment is no constant, has no type, and is not ``__all__``."""
    if grammar is not PYTHON or node.type != "assignment":
        return False
    left = node.child_by_field_name("left")
    name = source[left.start_byte : left.end_byte] if left is not None else b""
    return not (name.isupper() or node.child_by_field_name("type") is not None or (depth == 0 and name == b"__all__"))


def _shorten(node: Node, start: int, source: bytes) -> str:
    """A declaration; for a function in a constant, the text before its body."""
    body = next((b for b in map(_body_of_value, node.named_children) if b is not None), None)
    if body is not None:
        return _source_of(source, start, body.start_byte) + LEFT_OUT
    lines = _source_of(source, start, node.end_byte).split("\n")
    return cut_lines("\n".join(lines[:_MAX_DECLARATION_LINES])) + (
        LEFT_OUT if len(lines) > _MAX_DECLARATION_LINES else ""
    )


def _body_of_value(declarator: Node) -> Node | None:
    value = declarator.child_by_field_name("value")
    body = value.child_by_field_name("body") if value is not None else None
    return body if body is not None and body.type == "statement_block" else None


def _source_of(source: bytes, start: int, end: int) -> str:
    """The text from `start` to `end`, with the indentation of its first line."""
    line = source.rfind(b"\n", 0, start) + 1
    lead = source[line:start]
    text = source[start:end].decode("utf-8", "replace").rstrip()
    return (lead.decode("utf-8", "replace") if not lead.strip() else "") + text


# Outlines, in any language: headings, keys, lines that declare something

_MAX_LINE_CHARS: Final = 200
_MAX_OUTLINE_LINES: Final = 200
_HEAD_LINES: Final = 20
"""Lines shown of a file without an outline."""
# Lines of an outline: headings; sections and keys of configuration; keys of JSON; declarations.
_HEADING: Final = re.compile(r"^#{1,6} .+")
_UNDERLINE: Final = re.compile(r"""^[=~*^"'-]{4,}$""")
"""The line under a heading."""
_SECTION: Final = re.compile(r"^(\[.+\]|[A-Za-z_][\w.-]*\s*[:=])")
_KEY: Final = re.compile(r"""^ {0,4}"[^"]+"\s*:""")
_DECLARATION: Final = re.compile(
    r"^\s*(?:(?:pub|public|private|protected|internal|static|abstract|final|export|async|virtual|override|open|data|"
    r"sealed|local|default|inline|extern|const)\s+)*"
    r"(?:package|module|namespace|import|require|using|use|include|class|struct|enum|union|interface|trait|protocol|"
    r"object|record|type|typealias|def|defn|defmodule|func|fun|fn|function|sub|proc|procedure|let|val|var|const|macro|"
    r"impl|extension|CREATE|create|ALTER|service|rpc|message)\b.*"
)
_OUTLINE_PATTERNS: Final = {
    **dict.fromkeys((".md", ".rst", ".markdown"), _HEADING),
    **dict.fromkeys((".toml", ".ini", ".cfg", ".yaml", ".yml"), _SECTION),
    ".json": _KEY,
}


def make_outline(path: str, text: str) -> str:
    """The headings, keys or declarations of the file at `path`, at most 200 lines.

    Without any, its first 20 lines.
    """
    pattern = _OUTLINE_PATTERNS.get(PurePosixPath(path).suffix.lower(), _DECLARATION)
    lines = text.splitlines()
    following = [*lines[1:], ""] if pattern is _HEADING else [""] * len(lines)
    outline = [
        cut_lines(line.rstrip())
        for line, next_line in zip(lines, following, strict=True)
        if pattern.match(line) or (_UNDERLINE.match(next_line) and line.strip() and not _UNDERLINE.match(line))
    ][:_MAX_OUTLINE_LINES]
    return "\n".join(outline or [cut_lines(line) for line in lines[:_HEAD_LINES]])


def cut_lines(text: str) -> str:
    return "\n".join(
        line if len(line) <= _MAX_LINE_CHARS else line[: _MAX_LINE_CHARS - 1] + "…" for line in text.split("\n")
    )
