"""What of a program's syntax tree is a signature, by language: one record for each grammar."""

from __future__ import annotations

from typing import Final

from msgspec import Struct


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
    ".py": PYTHON,
    ".pyi": PYTHON,
    ".js": JAVASCRIPT,
    ".mjs": JAVASCRIPT,
    ".cjs": JAVASCRIPT,
    ".jsx": JAVASCRIPT,
    ".ts": TYPESCRIPT,
    ".mts": TYPESCRIPT,
    ".cts": TYPESCRIPT,
    ".tsx": TSX,
    ".go": GO,
    ".rs": RUST,
    ".java": JAVA,
    ".c": C,
    ".h": C,
}
"""By the end of a file's name."""
