"""Our transformers engine held against transformers' own model code, type by type."""
