"""Growth of a context over its calls: phases, the time to a limit, threads and forks."""
