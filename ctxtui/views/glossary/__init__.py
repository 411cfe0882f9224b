"""What the words, signs and figures of the screens mean: the glossary, where they stand, and the sums behind them."""
