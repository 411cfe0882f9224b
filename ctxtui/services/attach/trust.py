"""Whom a program trusts that is led by a forward proxy: whom it trusted before, and the authority of this run."""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final

_USUAL: Final = ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS")
"""Variables that name certificates, whatever the program's own are."""


def trusted(env: Mapping[str, str], variables: Sequence[str]) -> bytes:
    """The certificates that count on this machine and those that `env` names by `variables`, in PEM."""
    found = list(_named(env, (*variables, *_USUAL)))
    system = _system()
    return b"\n".join([*found, *([system] if system else [])])


def _named(env: Mapping[str, str], variables: Sequence[str]) -> Iterator[bytes]:
    for path in dict.fromkeys(env[name] for name in variables if env.get(name)):
        with suppress(OSError):
            yield Path(path).read_bytes()


def _system() -> bytes:
    paths = ssl.get_default_verify_paths()
    for path in (paths.openssl_cafile, "/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/cert.pem"):
        with suppress(OSError):
            return Path(path).read_bytes()
    context = ssl.create_default_context()
    own = "".join(map(ssl.DER_cert_to_PEM_cert, context.get_ca_certs(binary_form=True))).encode()
    if not own and find_spec("certifi") is not None:
        import certifi

        return Path(certifi.where()).read_bytes()
    return own


def written(certificates: bytes) -> Path:
    """A file of certificates for the time of a run, for its owner alone: they are public, no key is among them."""
    number, name = tempfile.mkstemp(prefix="ctxtui-trusted-", suffix=".pem")
    with os.fdopen(number, "wb") as file:
        file.write(certificates)
    return Path(name)
