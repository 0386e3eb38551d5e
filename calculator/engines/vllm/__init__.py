"""vLLM: how it stores each layer, groups layers over one pool of blocks, and fills that pool."""
