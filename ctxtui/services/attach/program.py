"""Programs that ctxtui can run behind a relay, and how their requests are routed to it.

The relay passes requests on to the provider and records them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct

Env = Mapping[str, str]
Urls = Mapping[str, str]
"""Provider's name -> base URL."""


def find_home(env: Env, variable: str, name: str) -> Path:
    """The folder in the variable `variable`, else `name` in the user's home folder."""
    return Path(os.path.expanduser(env.get(variable) or Path(env.get("HOME") or Path.home()) / name))


class Started(NamedTuple):
    """Arguments and extra variables to start a program with; `end` must be called after it."""

    arguments: list[str]
    env: dict[str, str]
    end: Callable[[], None] = lambda: None


class ProgramProvider(Struct, frozen=True, kw_only=True):
    """A provider that a program uses.

    - `variables`: override its base URL, `default`; the first that is set counts.
    - `if_set`: it is routed only if the user has set one of them, because setting one changes how the program works.
    - `paths`: paths that the program sends when ctxtui sets a variable -> the provider's own (``/messages`` ->
      ``/v1/messages``).
    """

    name: str
    default: str
    variables: tuple[str, ...]
    if_set: bool = False
    paths: Mapping[str, str] = {}

    def is_set(self, env: Env) -> bool:
        return any(env.get(name) for name in self.variables)

    def url(self, env: Env) -> str:
        return next((env[name] for name in self.variables if env.get(name)), self.default)


ANTHROPIC: Final = ProgramProvider(
    name="anthropic", default="https://api.anthropic.com", variables=("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE")
)
OPENAI: Final = ProgramProvider(
    name="openai", default="https://api.openai.com/v1", variables=("OPENAI_BASE_URL", "OPENAI_API_BASE")
)
GOOGLE: Final = ProgramProvider(
    name="google", default="https://generativelanguage.googleapis.com", variables=("GOOGLE_GEMINI_BASE_URL",)
)


class RoutingFunctions(Struct, frozen=True, kw_only=True):
    """Functions for a program that variables alone cannot route.

    - `configured_urls`: returns base URLs from its own files, which override variables.
    - `start`, `unroutable_reason`: as `Program.start_routed` and `Program.unroutable_reason`.
    """

    configured_urls: Callable[[Env, str], Urls] | None = None
    start: Callable[[Urls, Sequence[str], Env, str], Started] | None = None
    unroutable_reason: Callable[[Sequence[str], Env, str], str] | None = None


class Program(Struct, frozen=True, kw_only=True):
    """A program, described by a file of the registry.

    - `commands`: its command names; `clients`: its names in recordings.
    - `certificates`: variables that name a file of trusted certificates.
    - `also`: base URLs that it uses and that cannot be overridden.
    """

    name: str
    commands: frozenset[str]
    providers: tuple[ProgramProvider, ...]
    clients: frozenset[str] = frozenset()
    certificates: tuple[str, ...] = ()
    own: RoutingFunctions = RoutingFunctions()
    also: tuple[str, ...] = ()

    def unroutable_reason(self, arguments: Sequence[str], env: Env, cwd: str) -> str:
        """The reason why base URLs do not route it in the directory `cwd`; "" if they do."""
        return self.own.unroutable_reason(arguments, env, cwd) if self.own.unroutable_reason is not None else ""

    def upstreams(self, env: Env, cwd: str) -> Urls:
        """The base URLs that it uses by itself in the directory `cwd`, by provider."""
        own_urls = self.own.configured_urls(env, cwd) if self.own.configured_urls is not None else {}
        routed = (provider for provider in self.providers if not provider.if_set or provider.is_set(env))
        return {provider.name: provider.url(env) for provider in routed} | dict(own_urls)

    def paths(self, env: Env) -> Mapping[str, Mapping[str, str]]:
        """`ProgramProvider.paths` by provider, of those whose variables the user did not set."""
        return {provider.name: provider.paths for provider in self.providers if not provider.is_set(env)}

    def start_routed(self, urls: Urls, arguments: Sequence[str], env: Env, cwd: str) -> Started:
        """Arguments and variables that make it use the base URLs `urls`."""
        if self.own.start is not None:
            return self.own.start(urls, arguments, env, cwd)
        routed = (provider for provider in self.providers if provider.name in urls)
        variables = {name: urls[provider.name] for provider in routed for name in provider.variables}
        return Started(list(arguments), variables)

    def start_relayed(self, urls: Urls, arguments: Sequence[str], env: Env, cwd: str) -> Started:
        """Like `start_routed`, with variables that keep requests to the relay from a proxy."""
        start = self.start_routed(urls, arguments, env, cwd)
        return start._replace(env=bypass_proxies(env) | start.env)

    def proxy_variables(self, proxy: str, bundle: str, hosts: Collection[str], env: Env) -> dict[str, str]:
        """Variables that route requests to `hosts` through `proxy`, trusting the file `bundle`."""
        no_proxy = env.get("no_proxy") or env.get("NO_PROXY", "")
        entries = [
            entry
            for entry in no_proxy.split(",")
            if entry.strip() and not any(_covers(entry.strip(), host) for host in hosts)
        ]
        return {
            **dict.fromkeys(("HTTPS_PROXY", "https_proxy"), proxy),
            # Without it Node.js (22.21, 24) reads no proxy variable.
            "NODE_USE_ENV_PROXY": "1",
            **dict.fromkeys(("no_proxy", "NO_PROXY"), ",".join(entries)),
            **dict.fromkeys(self.certificates, bundle),
        }


def _covers(entry: str, host: str) -> bool:
    name = entry.partition(":")[0].lstrip("*").lstrip(".").lower()
    return entry == "*" or (bool(name) and (host.lower() == name or host.lower().endswith(f".{name}")))


def bypass_proxies(env: Env) -> dict[str, str]:
    """Variables that keep HTTP to this machine from the proxy in `env`; {} without one."""
    if not any(env.get(name) or env.get(name.upper()) for name in ("http_proxy", "all_proxy")):
        return {}
    no_proxy = env.get("no_proxy") or env.get("NO_PROXY", "")
    entries = [entry for entry in no_proxy.split(",") if entry.strip()]
    missing = [entry for entry in ("127.0.0.1", "localhost") if entry not in map(str.strip, entries)]
    return dict.fromkeys(("no_proxy", "NO_PROXY"), ",".join([*entries, *missing]))
