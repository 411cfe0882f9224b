"""What providers refuse, checks, repairs."""
