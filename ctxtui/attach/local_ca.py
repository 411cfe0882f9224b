"""Certificates for one run: of an authority, and of each intercepted host.

Keys are only in memory.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_VALIDITY: Final = timedelta(days=365)
"""Longer than a run: certificates are not renewed."""
_CLOCK_TOLERANCE: Final = timedelta(hours=1)
"""Start of validity before now, for clocks that are behind."""
AUTHORITY_NAME: Final = "ctxtui, this run only"


class LocalAuthority:
    """A certificate authority of this run. A program has to trust its `certificate` (PEM)."""

    def __init__(self, name: str = AUTHORITY_NAME) -> None:
        self._name = name
        self._key = ec.generate_private_key(ec.SECP256R1())
        builder = self._new_builder(name, self._key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        usage = x509.KeyUsage(
            digital_signature=False,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=True,
            crl_sign=True,
            encipher_only=False,
            decipher_only=False,
        )
        self.certificate = self._sign(builder.add_extension(usage, critical=True)).public_bytes(Encoding.PEM)
        self._contexts: dict[str, ssl.SSLContext] = {}

    def context(self, host: str) -> ssl.SSLContext:
        """A server context with a certificate for `host`; made once."""
        context = self._contexts.get(host)
        if context is None:
            context = self._contexts[host] = self._make_context(host)
        return context

    def _make_context(self, host: str) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._new_builder(host[:64], key.public_key())
        builder = builder.add_extension(x509.SubjectAlternativeName([_subject_alternative_name(host)]), critical=False)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        certificate = self._sign(builder.add_extension(identifier, critical=False)).public_bytes(Encoding.PEM)
        secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(["http/1.1"])
        with _as_path(certificate) as certificate_path, _as_path(secret) as key_path:
            context.load_cert_chain(certificate_path, key_path)
        return context

    def _new_builder(self, subject: str, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(_common_name(subject))
            .issuer_name(_common_name(self._name))
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _CLOCK_TOLERANCE)
            .not_valid_after(now + _VALIDITY)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        )

    def _sign(self, builder: x509.CertificateBuilder) -> x509.Certificate:
        return builder.sign(self._key, SHA256())


def _common_name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _subject_alternative_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


@contextmanager
def _as_path(data: bytes) -> Iterator[str]:
    """A pipe's path from which `data` can be read once, so that it never reaches a disk."""
    read_end, write_end = os.pipe()
    try:
        try:
            # A certificate or a key fits into a pipe.
            os.write(write_end, data)
        finally:
            os.close(write_end)
        yield f"/dev/fd/{read_end}"
    finally:
        os.close(read_end)
