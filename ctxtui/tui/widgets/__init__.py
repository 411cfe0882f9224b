"""Widgets that every screen may use: rows, panes, boards, the key line. They know no screen."""
