"""Attacks on a server, and what they cost the others."""
