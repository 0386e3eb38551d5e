"""Model descriptions of others → ModelSpec: Hugging Face configurations, and presets written from them."""
