"""What tests share: programs, oracles, random values, and what starts and ends things."""
