"""The empty page: nothing but the charts, as static figures."""

import streamlit as st
from figures import figures

for number, figure in enumerate(figures()):
    st.plotly_chart(figure, theme=None, config={"displayModeBar": False}, key=str(number))
