"""Optional extras: what each is for, whether it is installed, and the error that names it."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Final, NamedTuple

from ctxtui.core.errors import NotFound

DISTRIBUTION: Final = "ctxtui-debugger"
"""Name on the package index, as in pyproject.toml. The index refuses `ctxtui`: it has a `ctx-tui`."""


class Extra(NamedTuple):
    """An extra of the distribution: the `module` that it brings, and its `use`."""

    module: str
    use: str


EXTRAS: Final = {
    "mcp": Extra("mcp", "MCP servers in chats and runs, `ctxtui mcp serve`"),
    "code": Extra("tree_sitter", "signatures of code files; without it, their outlines"),
    "forward": Extra("cryptography", "`ctxtui exec --forward`"),
    "keyring": Extra("keyring", "API keys in the system's keyring"),
    "parquet": Extra("pyarrow", "`ctxtui export --to parquet`"),
    "cluster": Extra("distributed", "`--cluster`"),
}
"""By name, as in pyproject.toml."""


def install_command(extra: str) -> str:
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def is_installed(extra: str) -> bool:
    """Whether the module of `extra` can be found; imports nothing."""
    return find_spec(EXTRAS[extra].module) is not None


def import_extra(extra: str, *submodules: str) -> ModuleType:
    """Import the module of `extra`, and `submodules` of it; takes most of a second for mcp.

    Raises `NotFound` with the command that installs it.
    """
    module = EXTRAS[extra].module
    try:
        for submodule in submodules:
            import_module(f"{module}.{submodule}")
        return import_module(module)
    except ModuleNotFoundError as error:
        raise NotFound(f"{error.name or module} is not installed", way_out=install_command(extra)) from error
