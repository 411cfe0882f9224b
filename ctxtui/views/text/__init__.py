"""Parts of lines: styled spans, cells, numbers, bars, text that is safe to draw."""
