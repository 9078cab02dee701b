"""An identity provider, forged tokens and a clock, for scripts/test-identity."""
