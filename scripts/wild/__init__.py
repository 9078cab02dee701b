"""The parts of scripts/test-wild."""
