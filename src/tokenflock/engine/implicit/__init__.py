"""Implicit steps on the sphere: runs over long times."""
