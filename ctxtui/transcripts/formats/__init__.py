"""One module or package for each recording format."""
