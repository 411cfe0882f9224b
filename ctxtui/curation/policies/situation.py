"""Former module of names for policy plug-ins; `ctxtui.api` has them (docs/versions.md)."""

from __future__ import annotations

import warnings

from ctxtui.core.deprecation import describe_rename
from ctxtui.curation.policies.policy_context import PolicyContext, Settings, make_edit

_CHANGES = "there `edit` is `make_edit`; `Settings`, a mapping, has no name"
warnings.warn(f"{describe_rename(__name__, 'ctxtui.api')} ({_CHANGES})", DeprecationWarning, stacklevel=2)

edit = make_edit

__all__ = ["PolicyContext", "Settings", "edit"]
