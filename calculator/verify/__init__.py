"""Predictions held against real tensors, real model code and a cache at work; torch lives here.

torch and transformers are imported inside functions, and run in a child process (`child.py`):
neither the server nor `import calculator` ever loads them.
"""
