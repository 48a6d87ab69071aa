"""What evaluations take, as engines write it: per stratum, rule, iteration and operator."""
