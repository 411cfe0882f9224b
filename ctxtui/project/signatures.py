"""A file without its bodies: imports, types, constants and signatures, for one that is too long to be read whole.

Python, JavaScript, TypeScript, Go, Rust, Java and C are read with tree-sitter, everything else in outline.
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
    """A language of tree-sitter: the `package` of its grammar and the `function` there that gives it.

    Kinds of nodes: `whole` are kept as they stand (imports, types, constants), `functions` up to their body,
    `containers` with what is in their body, `wrappers` are looked into (an export, a decorator).
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
"""By the end of a file's name."""


_LINES: Final = 12
"""Lines of a constant or type that are kept."""
_PREFIXES: Final = frozenset({"export_statement", "ambient_declaration", "decorated_definition"})
"""Wrappers that stand before what they wrap, and belong to it."""
_DEEP: Final = 12
"""Containers in one another that are looked into."""
LEFT_OUT: Final = " …"
"""Stands where a body was."""


def signatures(path: str, text: str) -> str:
    """What of the file at `path` says how it is used; "" where nothing does."""
    grammar = GRAMMARS.get(PurePosixPath(path).suffix.lower())
    if grammar is None:
        return outline(path, text)
    source = text.encode("utf-8", "replace")
    lines = list(_of(_parser(grammar).parse(source).root_node, source, grammar, 0))
    return "\n".join(lines) or outline(path, text)


@cache
def _parser(grammar: CodeGrammar) -> Parser:
    # Imported here: few runs look into files, and by name, since grammars have no types.
    from tree_sitter import Language, Parser

    return Parser(Language(getattr(import_module(grammar.package), grammar.function)()))


def _of(parent: Node, source: bytes, grammar: CodeGrammar, depth: int) -> Iterator[str]:
    for node in parent.named_children:
        yield from _one(node, node.start_byte, source, grammar, depth)


def _one(node: Node, start: int, source: bytes, grammar: CodeGrammar, depth: int) -> Iterator[str]:
    """The lines of one node; `start` is where it begins with what is wrapped round it (an export, decorators)."""
    body = node.child_by_field_name("body")
    if node.type in grammar.functions:
        yield _source_of(source, start, body.start_byte if body is not None else node.end_byte) + (
            LEFT_OUT if body else ""
        )
    elif node.type in grammar.containers and depth < _DEEP:
        if body is None:
            yield _source_of(source, start, node.end_byte)
            return
        inside = list(_of(body, source, grammar, depth + 1))
        yield _source_of(source, start, body.start_byte) + ("" if inside else LEFT_OUT)
        yield from inside
    elif node.type in grammar.wrappers:
        for one in node.named_children:
            yield from _one(one, start if node.type in _PREFIXES else one.start_byte, source, grammar, depth)
    elif node.type in grammar.whole and not _is_detail(node, source, grammar, depth):
        yield _shortened(node, start, source)


def _is_detail(node: Node, source: bytes, grammar: CodeGrammar, depth: int) -> bool:
    """Whether an assignment in Python is neither a constant nor a typed member."""
    if grammar is not PYTHON or node.type != "assignment":
        return False
    left = node.child_by_field_name("left")
    name = source[left.start_byte : left.end_byte] if left is not None else b""
    return not (name.isupper() or node.child_by_field_name("type") is not None or (depth == 0 and name == b"__all__"))


def _shortened(node: Node, start: int, source: bytes) -> str:
    """A declaration; of a function that a constant holds, what stands before its body."""
    body = next((b for b in map(_body_of_value, node.named_children) if b is not None), None)
    if body is not None:
        return _source_of(source, start, body.start_byte) + LEFT_OUT
    lines = _source_of(source, start, node.end_byte).split("\n")
    return cut("\n".join(lines[:_LINES])) + (LEFT_OUT if len(lines) > _LINES else "")


def _body_of_value(declarator: Node) -> Node | None:
    value = declarator.child_by_field_name("value")
    body = value.child_by_field_name("body") if value is not None else None
    return body if body is not None and body.type == "statement_block" else None


def _source_of(source: bytes, start: int, end: int) -> str:
    """The text from `start`, with the blanks that stand before it in its line."""
    line = source.rfind(b"\n", 0, start) + 1
    lead = source[line:start]
    text = source[start:end].decode("utf-8", "replace").rstrip()
    return (lead.decode("utf-8", "replace") if not lead.strip() else "") + text


# In outline, in whatever language it is: headings, keys, lines that declare something

_WIDE: Final = 200
_MOST: Final = 200
"""Lines of an outline."""
_FIRST: Final = 20
"""Lines of a file of which nothing else can be said."""
_HEADING: Final = re.compile(r"^(#{1,6} .+|[=~*-]{4,}$)")
_SECTION: Final = re.compile(r"^(\[.+\]|[A-Za-z_][\w.-]*\s*[:=])")
_KEY: Final = re.compile(r"""^ {0,4}"[^"]+"\s*:""")
_DECLARES: Final = re.compile(
    r"^\s*(?:(?:pub|public|private|protected|internal|static|abstract|final|export|async|virtual|override|open|data|"
    r"sealed|local|default|inline|extern|const)\s+)*"
    r"(?:package|module|namespace|import|require|using|use|include|class|struct|enum|union|interface|trait|protocol|"
    r"object|record|type|typealias|def|defn|defmodule|func|fun|fn|function|sub|proc|procedure|let|val|var|const|macro|"
    r"impl|extension|CREATE|create|ALTER|service|rpc|message)\b.*"
)
_FORMS: Final = {
    **dict.fromkeys((".md", ".rst", ".markdown"), _HEADING),
    **dict.fromkeys((".toml", ".ini", ".cfg", ".yaml", ".yml"), _SECTION),
    ".json": _KEY,
}


def outline(path: str, text: str) -> str:
    """The lines of the file at `path` that say what is in it, at most 200; its first ones where none does."""
    form = _FORMS.get(PurePosixPath(path).suffix.lower(), _DECLARES)
    lines = text.splitlines()
    found = [cut(line.rstrip()) for line in lines if form.match(line)][:_MOST]
    return "\n".join(found or [cut(line) for line in lines[:_FIRST]])


def cut(text: str) -> str:
    """`text` with no line longer than 200 characters."""
    return "\n".join(line if len(line) <= _WIDE else line[: _WIDE - 1] + "…" for line in text.split("\n"))
