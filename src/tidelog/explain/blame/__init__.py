"""Which changes of an epoch are to blame for faults, and the fewest to take back."""
