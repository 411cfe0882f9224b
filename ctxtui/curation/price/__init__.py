"""Prices staged edits over the next requests, and finds quotes of removed text."""
