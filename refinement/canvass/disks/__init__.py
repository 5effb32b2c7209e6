"""Aeron's files of a member, read without Aeron, and what they say together. Start at `verdict`."""
