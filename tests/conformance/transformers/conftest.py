"""Nothing in here is a test or holds a doctest; the modules need torch, which may be missing."""

collect_ignore_glob = ["*.py"]
