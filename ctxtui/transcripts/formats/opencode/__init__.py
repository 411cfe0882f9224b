"""Reads OpenCode's sessions and exports, and writes sessions to be imported."""
