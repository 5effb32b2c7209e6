"""Clients of a cluster: what they say to it, and how they find and follow the leader."""
