"""Rules that label parts of a block's text, and the tokens of those parts."""
