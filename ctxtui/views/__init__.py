"""What screens and commands show, as frozen values and styled text, made without a terminal."""
