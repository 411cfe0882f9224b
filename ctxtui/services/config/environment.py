"""Selects the environment variables that the agent's commands and MCP servers get."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Final

_NAMES: Final = frozenset(
    # The user and the terminal
    "HOME LOGNAME USER SHELL PATH TERM COLORTERM LANG LANGUAGE TZ COLUMNS LINES CI "
    # Locations and versions of tools
    "VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV PYENV_ROOT PYENV_VERSION PYTHONPATH PYTHONHASHSEED PYTHONUNBUFFERED "
    "PYTHONDONTWRITEBYTECODE NVM_DIR NVM_BIN FNM_DIR VOLTA_HOME NODE_ENV NODE_PATH BUN_INSTALL DENO_INSTALL CARGO_HOME "
    "RUSTUP_HOME RUSTUP_TOOLCHAIN RUST_BACKTRACE GOPATH GOROOT JAVA_HOME SDKMAN_DIR RBENV_ROOT RBENV_VERSION GEM_PATH "
    "ASDF_DIR ASDF_DATA_DIR MISE_DATA_DIR ANDROID_HOME "
    # Compilers
    "CC CXX CFLAGS CXXFLAGS CPPFLAGS LDFLAGS CPATH LIBRARY_PATH LD_LIBRARY_PATH PKG_CONFIG_PATH "
    # Certificates
    "SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS GIT_SSL_CAINFO".split()
)
"""Variables that are passed on, with ``LC_*``: useful to common tools and known to hold no secret."""


def passed_variables(env: Mapping[str, str], further: str = "") -> dict[str, str]:
    """Select the variables of `env` for another program.

    They are those known to hold no secret, and `further`: names or patterns separated by spaces.
    """
    patterns = ("LC_*", *further.split())
    return {
        name: value
        for name, value in env.items()
        if name in _NAMES or any(fnmatchcase(name, pattern) for pattern in patterns)
    }
