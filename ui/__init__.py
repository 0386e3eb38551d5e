"""The page: Streamlit only. Widgets → options, options → calculator, results → blocks."""
