"""The glossary of words, signs and figures, their positions on the screen, and their sums."""
