"""Settings that all tests share."""

from hypothesis import HealthCheck, settings

# A slow machine must not fail a test: no test asserts time, neither its own nor Hypothesis'.
settings.register_profile("tidelog", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tidelog")
