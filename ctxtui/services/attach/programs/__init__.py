"""One module for each program that needs more than variables to be routed to a relay."""
