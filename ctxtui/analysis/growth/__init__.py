"""How a context grows over its calls: phases, the way to a limit, threads and forks."""
