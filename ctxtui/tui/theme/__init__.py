"""Palette, glyphs, paint."""
