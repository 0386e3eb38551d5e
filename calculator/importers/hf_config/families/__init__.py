"""How each family of architectures writes down its layers: one small function a family."""
