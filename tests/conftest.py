"""Settings that all tests share."""

from hypothesis import HealthCheck, settings

from tidelog.values.kernel import load_compiler

# A slow machine must not fail a test: no test asserts time, neither its own nor Hypothesis'.
settings.register_profile("tidelog", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tidelog")

# Tests have little data, and yet the compiled kernels are what most of them are about.
load_compiler()
