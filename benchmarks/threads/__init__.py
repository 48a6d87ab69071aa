"""How much of an evaluation several threads can share."""
