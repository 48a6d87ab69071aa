"""Profiles as people read them: put together, written, compared, drawn, and what to conclude from them."""
