"""What would help an open session: policies searched and priced, in this process or in one of its own."""
