"""Dialogs over any screen: help, explanations, tips, the command palette, find, the text editor."""
