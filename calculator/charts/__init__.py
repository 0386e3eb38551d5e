"""A footprint or a capacity → pictures of it: figures, a bar's segments, the rows of a ladder."""
