"""Colours and glyphs for every kind of terminal, and how styled text is painted."""
