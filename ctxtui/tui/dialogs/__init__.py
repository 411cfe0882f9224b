"""Dialogs over any screen: help, explanations, tips, command palette, find, text editor."""
