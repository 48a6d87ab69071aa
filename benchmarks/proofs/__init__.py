"""What proofs cost, with and without anybody asking."""
