"""What epochs cost: small and large changes against recomputing, memory, growth."""
