"""What a recorded session shows: the figures of each call, forecasts of its input, and their audit."""
