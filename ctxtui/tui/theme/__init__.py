"""Colours and glyphs for every kind of terminal, and painting of styled text."""
