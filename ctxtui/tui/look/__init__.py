"""The visual vocabulary on Textual: palette, glyphs, painting of spans, rules, panes and the key line."""
