"""The window of a model by its hub: asked only where the user says so, without any key."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import ProxyHandler, Request, build_opener

from ctxtui import __version__
from ctxtui.core.errors import BadConfig, CtxtuiError, NotFound
from ctxtui.providers.endpoint import is_loopback
from ctxtui.services.project.model_files import CONFIG, told_window

HUB: Final = "https://huggingface.co"
VARIABLE: Final = "HF_ENDPOINT"
"""The variable of the environment that names another hub, as the hub's own client reads it."""
_NAME: Final = re.compile(r"[\w.-]+/[\w.-]+\Z", re.ASCII)
_SECONDS: Final = 20.0
_MOST: Final = 1 << 20
"""Bytes of an answer."""


def hub_window(model: str, env: Mapping[str, str]) -> tuple[int, str]:
    """The window of `model` (``owner/name``) in tokens as its ``config.json`` on the hub tells it, and the address that
    was asked. Raises `BadConfig` for what names no model there, `NotFound`, `Unreadable`, `CtxtuiError`."""
    if not _NAME.match(model):
        raise BadConfig(f"{model!r} names no model of a hub", place="--hub", way_out="write OWNER/NAME")
    base = env.get(VARIABLE, "").strip().rstrip("/") or HUB
    if urlsplit(base).scheme not in ("http", "https"):
        raise BadConfig(f"{base} is no address", place=VARIABLE, way_out=f"such as {HUB}")
    url = f"{base}/{quote(model)}/resolve/main/{CONFIG}"
    opener = build_opener(ProxyHandler({})) if is_loopback(base) else build_opener()
    try:
        with opener.open(Request(url, headers={"user-agent": f"ctxtui/{__version__}"}), timeout=_SECONDS) as answer:
            data = answer.read(_MOST + 1)
    except HTTPError as error:
        error.close()
        if error.code == 404:
            raise NotFound(f"the hub has no {CONFIG} of {model}", place=url) from error
        why = "it is gated; no key of yours is sent" if error.code in (401, 403) else f"it answers {error.code}"
        raise CtxtuiError(f"the hub gives no {CONFIG} of {model}: {why}", place=url, way_out=_SET) from error
    except (URLError, OSError) as error:
        reason = getattr(error, "reason", error)
        raise CtxtuiError(f"the hub does not answer: {reason}", place=url, way_out=_SET) from error
    try:
        if len(data) > _MOST:
            raise ValueError("it is too large")
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise CtxtuiError(f"what the hub gives is no {CONFIG}: {error}", place=url, way_out=_SET) from error
    return told_window(found, url), url


_SET: Final = "set context_size in the setting models"
