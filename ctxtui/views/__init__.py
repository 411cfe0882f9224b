"""Frozen view-models, built by functions; all that a widget or a JSON document shows."""
