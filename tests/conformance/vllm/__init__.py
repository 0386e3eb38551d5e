"""Our vLLM engine held against vLLM's own planner, run once by hand and recorded."""
