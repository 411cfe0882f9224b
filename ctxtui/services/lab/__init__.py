"""Takes sessions into the lab: which variants, counted and priced how, here or in a child process."""
