"""Why facts hold or do not, which changes broke something, and what to take back."""
