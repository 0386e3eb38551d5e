"""Blocks of the page: each shows one result, and computes nothing."""
