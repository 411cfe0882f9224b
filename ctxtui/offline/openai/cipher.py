"""Encrypted reasoning of the Responses API, opaque to the client (facts §4).

The offline provider's cipher only encodes the text and adds a checksum to detect changes.
"""

from __future__ import annotations

import base64
import binascii
from hashlib import blake2b
from typing import Final

from ctxtui.core.canonical import Json

_MARK: Final = b"ctxtui offline\0"
_SEAL_BYTES: Final = 12
_MIN_FOREIGN_BYTES: Final = 24


def encrypt(text: str) -> str:
    body = text.encode("utf-8", "surrogatepass")
    return base64.b64encode(_MARK + blake2b(body, digest_size=_SEAL_BYTES).digest() + body).decode()


def decrypt(cipher: str) -> str:
    """Decode `cipher`, changed or not; "" if it is not ours."""
    raw = _decode_base64(cipher)
    return (
        raw[len(_MARK) + _SEAL_BYTES :].decode("utf-8", "replace") if raw is not None and raw.startswith(_MARK) else ""
    )


def _decode_base64(cipher: str) -> bytes | None:
    try:
        # OpenAI's is URL-safe, with or without padding.
        return base64.b64decode(cipher.replace("-", "+").replace("_", "/") + "=" * (-len(cipher) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def was_changed(cipher: Json) -> bool:
    """Whether `cipher` is one of ours that was changed.

    False for others, which cannot be checked.
    """
    raw = _decode_base64(cipher) if isinstance(cipher, str) else None
    return raw is not None and raw.startswith(_MARK) and not is_acceptable(cipher)


def is_acceptable(cipher: Json) -> bool:
    """Whether `cipher` is unchanged if ours, or plausible (base64 of some length) if not."""
    raw = _decode_base64(cipher) if isinstance(cipher, str) else None
    if raw is None:
        return False
    if not raw.startswith(_MARK):
        return len(raw) >= _MIN_FOREIGN_BYTES
    seal, body = raw[len(_MARK) : len(_MARK) + _SEAL_BYTES], raw[len(_MARK) + _SEAL_BYTES :]
    return seal == blake2b(body, digest_size=_SEAL_BYTES).digest()
