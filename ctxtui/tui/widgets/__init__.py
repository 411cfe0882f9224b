"""Widgets for every screen: rows, panes, boards, the key line. They import no screen."""
