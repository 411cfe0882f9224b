"""Analysis of a recorded session: the figures of each call, forecasts of its input, and their audit."""
