"""Analysis of a recorded session: figures of each call, forecasts of its input, their audit."""
