"""Former names of `policy_context`, which policy plug-ins may still import."""

from __future__ import annotations

import warnings

from ctxtui.core.deprecation import describe_rename
from ctxtui.curation.policies.policy_context import PolicyContext, Settings, make_edit

warnings.warn(describe_rename(__name__, "ctxtui.api"), DeprecationWarning, stacklevel=2)

edit = make_edit

__all__ = ["PolicyContext", "Settings", "edit"]
