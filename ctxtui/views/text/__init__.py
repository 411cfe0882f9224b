"""What lines are made of: styled spans, cells, numbers, bars, text that is safe to draw."""
