"""Prices staged edits over the next requests, and finds later blocks that quote removed text."""
