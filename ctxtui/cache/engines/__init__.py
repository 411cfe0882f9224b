"""One module for each way in which providers cache, behind the simulator's protocol."""
