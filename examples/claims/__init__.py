"""What the documents claim and single commands show, on the samples and on small files."""
