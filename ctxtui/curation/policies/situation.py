"""Former names of `policy_context`, which policy plug-ins may still import."""

from __future__ import annotations

from ctxtui.curation.policies.policy_context import PolicyContext, Settings, make_edit

edit = make_edit

__all__ = ["PolicyContext", "Settings", "edit"]
