"""What is known of a request before it leaves: what it will come to, and which edits are in force by then."""
