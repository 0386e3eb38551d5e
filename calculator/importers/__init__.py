"""Descriptions of models that others wrote → ModelSpec, and ModelSpec → preset."""
