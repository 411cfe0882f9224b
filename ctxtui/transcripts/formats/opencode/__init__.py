"""Reads OpenCode's sessions and exports, and writes sessions to be imported.

The sessions are rows of its database or of its storage's files.
"""
