"""Clustered services: what an application is, and the agent that feeds it the log."""
