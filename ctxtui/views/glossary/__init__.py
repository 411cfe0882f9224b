"""The glossary of the screens' words, signs and figures, their positions, and the sums that explain figures."""
