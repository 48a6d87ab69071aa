"""Rules as relational algebra."""
