"""Asks a model hub for a model's context window: only on request, and without credentials."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from http.client import HTTPException
from typing import Final
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import ProxyHandler, Request, build_opener

from ctxtui import __version__
from ctxtui.core.errors import BadConfig, CtxtuiError, NotFound
from ctxtui.providers.endpoint import is_loopback
from ctxtui.services.project.model_files import CONFIG, config_window

HUB: Final = "https://huggingface.co"
VARIABLE: Final = "HF_ENDPOINT"
"""Names another hub, as for the hub's own client."""
_NAME: Final = re.compile(r"[\w.-]+/[\w.-]+\Z", re.ASCII)
_TIMEOUT: Final = 20.0
_MAX_BYTES: Final = 1 << 20


def hub_window(model: str, env: Mapping[str, str]) -> tuple[int, str]:
    """Fetch the context window of `model` from its ``config.json`` on the hub.

    The model is ``owner/name``. Returns tokens and the URL. Raises `BadConfig` for a malformed name, `NotFound`,
    `Unreadable`, `CtxtuiError`.
    """
    if not _NAME.match(model):
        raise BadConfig(f"{model!r} is not a model of a hub", place="--hub", way_out="write OWNER/NAME")
    base = env.get(VARIABLE, "").strip().rstrip("/") or HUB
    if not base.startswith(("http://", "https://")):
        raise BadConfig(f"{base} is not an address", place=VARIABLE, way_out=f"such as {HUB}")
    url = f"{base}/{quote(model)}/resolve/main/{CONFIG}"
    opener = build_opener(ProxyHandler({})) if is_loopback(base) else build_opener()
    try:
        with opener.open(Request(url, headers={"user-agent": f"ctxtui/{__version__}"}), timeout=_TIMEOUT) as response:
            data = response.read(_MAX_BYTES + 1)
    except HTTPError as error:
        error.close()
        if error.code == 404:
            raise NotFound(f"the hub has no {CONFIG} of {model}", place=url) from error
        # The hub also answers 401 for a model that does not exist.
        without_key = "there is no such public model, and no key of yours is sent"
        why = without_key if error.code in (401, 403) else f"it answers {error.code}"
        raise CtxtuiError(f"the hub gives no {CONFIG} of {model}: {why}", place=url, way_out=_WAY_OUT) from error
    except (OSError, ValueError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise CtxtuiError(f"the hub does not answer: {reason}", place=url, way_out=_WAY_OUT) from error
    try:
        if len(data) > _MAX_BYTES:
            raise ValueError("it is too large")
        config = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise CtxtuiError(f"the hub's answer is not a valid {CONFIG}: {error}", place=url, way_out=_WAY_OUT) from error
    return config_window(config, url), url


_WAY_OUT: Final = "set context_size in the setting models"
