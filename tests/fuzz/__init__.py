"""Damaged configurations: each must give an answer or an error of ours, soon."""
