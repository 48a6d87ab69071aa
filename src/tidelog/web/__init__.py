"""The web explorer: a session in the browser."""
