"""Catalogue: every preset and device with its figures and where they come from."""

import streamlit as st

from ui.blocks import catalogue
from ui.guard import guarded
from ui.scenario import chosen


@guarded
def show() -> None:
    options = chosen()
    catalogue.show_heading()
    catalogue.show_models(options)
    st.space("medium")
    catalogue.show_devices(options)


show()
