"""Takes request bodies apart into blocks and skeleton, and builds them again byte for byte."""
