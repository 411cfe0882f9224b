"""Widgets: they take frozen view-models, post messages upward, and know neither the app nor each other."""
