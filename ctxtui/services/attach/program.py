"""What ctxtui knows of a program that it is put around: how it is led to another address than its provider's."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

Env = Mapping[str, str]
Urls = Mapping[str, str]
"""Provider's name -> base URL."""


class Started(NamedTuple):
    """How a program is started: its arguments after the command, and variables beside those it has anyway."""

    arguments: list[str]
    env: dict[str, str]


class Door(Struct, frozen=True, kw_only=True):
    """A provider that a program asks: `name`, `usual` base URL, the `variables` that move it, the first one first. It
    is led there only `if_set`: where one of them is set, since the program is another one with it."""

    name: str
    usual: str
    variables: tuple[str, ...]
    if_set: bool = False

    def url(self, env: Env) -> str:
        """The base URL in force: what is set already is what a relay leads to."""
        return next((env[name] for name in self.variables if env.get(name)), self.usual)


ANTHROPIC: Final = Door(
    name="anthropic", usual="https://api.anthropic.com", variables=("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE")
)
OPENAI: Final = Door(name="openai", usual="https://api.openai.com/v1", variables=("OPENAI_BASE_URL", "OPENAI_API_BASE"))
GOOGLE: Final = Door(
    name="google", usual="https://generativelanguage.googleapis.com", variables=("GOOGLE_GEMINI_BASE_URL",)
)


class OwnMeans(Struct, frozen=True, kw_only=True):
    """What a program has beside variables: `told` gives base URLs that its own files set, which count more than
    variables; `lead` starts it so that it asks the given base URLs; `closed` says why it cannot be led anywhere, ""
    where it can."""

    told: Callable[[Env, str], Urls] | None = None
    lead: Callable[[Urls, Sequence[str], Env, str], Started] | None = None
    closed: Callable[[Env], str] | None = None


class Program(Struct, frozen=True, kw_only=True):
    """A program by the name of its `commands`, as its file in the registry says it. `certificates` are the variables by
    which it is told a file of certificates to trust, `own` what it has beside variables, `also` the base URLs of what
    it may ask as well and no base URL leads elsewhere."""

    name: str
    commands: frozenset[str]
    doors: tuple[Door, ...]
    certificates: tuple[str, ...] = ()
    own: OwnMeans = OwnMeans()
    also: tuple[str, ...] = ()

    def closed(self, env: Env) -> str:
        """Why it cannot be led anywhere, "" where it can."""
        return self.own.closed(env) if self.own.closed is not None else ""

    def upstreams(self, env: Env, cwd: str) -> Urls:
        """The base URLs that it would ask by itself in the directory `cwd`."""
        told = self.own.told(env, cwd) if self.own.told is not None else {}
        led = (door for door in self.doors if not door.if_set or any(env.get(name) for name in door.variables))
        return {door.name: door.url(env) for door in led} | dict(told)

    def lead(self, urls: Urls, arguments: Sequence[str], env: Env, cwd: str) -> Started:
        """How it is started so that it asks the base URLs `urls`."""
        if self.own.lead is not None:
            return self.own.lead(urls, arguments, env, cwd)
        moved = {name: urls[door.name] for door in self.doors if door.name in urls for name in door.variables}
        return Started(list(arguments), moved)

    def started(self, urls: Urls, arguments: Sequence[str], env: Env, cwd: str) -> Started:
        """The same, by itself and not through a proxy."""
        led = self.lead(urls, arguments, env, cwd)
        return Started(led.arguments, past_proxies(env) | led.env)

    def proxied(self, proxy: str, bundle: str, hosts: Collection[str], env: Env) -> dict[str, str]:
        """The variables by which it goes through the proxy at the URL `proxy` to `hosts`, and trusts the certificates
        of the file `bundle`."""
        told = env.get("no_proxy") or env.get("NO_PROXY", "")
        passing = [one for one in told.split(",") if one.strip() and not any(_covers(one.strip(), to) for to in hosts)]
        return {
            **dict.fromkeys(("HTTPS_PROXY", "https_proxy"), proxy),
            **dict.fromkeys(("no_proxy", "NO_PROXY"), ",".join(passing)),
            **dict.fromkeys(self.certificates, bundle),
        }


def _covers(entry: str, host: str) -> bool:
    """Whether an entry of ``NO_PROXY`` leaves out `host`."""
    name = entry.partition(":")[0].lstrip("*").lstrip(".").lower()
    return entry == "*" or (bool(name) and (host.lower() == name or host.lower().endswith(f".{name}")))


def past_proxies(env: Env) -> dict[str, str]:
    """The variables that keep requests to this machine from the proxy that `env` names; none where it names none."""
    if not any(env.get(name) or env.get(name.upper()) for name in ("http_proxy", "all_proxy")):
        return {}
    told = env.get("no_proxy") or env.get("NO_PROXY", "")
    every = [one for one in told.split(",") if one.strip()]
    here = [one for one in ("127.0.0.1", "localhost") if one not in map(str.strip, every)]
    return dict.fromkeys(("no_proxy", "NO_PROXY"), ",".join([*every, *here]))
