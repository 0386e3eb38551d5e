"""Our llama.cpp engine held against llama.cpp itself, which sizes a cache without allocating it."""
