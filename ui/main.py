"""The entry script: page, navigation, and the inputs that all pages share."""

import sys
from pathlib import Path

import streamlit as st

HERE = Path(__file__).parent
# before the imports below: a browser that waits for them would draw a sidebar of another width
st.set_page_config(
    page_title="KV cache calculator",
    page_icon=str(HERE / "assets" / "icon.svg"),
    layout="wide",
    initial_sidebar_state=320,
)
if str(HERE.parent) not in sys.path:  # the page's own modules are imported as `ui`
    sys.path.insert(0, str(HERE.parent))

from ui import listener  # noqa: E402
from ui.guard import guarded  # noqa: E402
from ui.link import arrived, hold_across, read_link  # noqa: E402
from ui.markup import Html, esc, show  # noqa: E402
from ui.navigation import pages  # noqa: E402
from ui.pasted import keep_in_address  # noqa: E402
from ui.scenario import inputs  # noqa: E402
from ui.server import keep_imports_out_of_collections  # noqa: E402
from ui.theme import is_dark, picture, style_sheet  # noqa: E402

read_link()
st.html(Html(style_sheet()))
embedded = bool(st.context.is_embedded)
page = st.navigation(pages(), position="hidden" if embedded else "top")
hold_across(page.url_path)
if not embedded:
    st.logo(picture(f"logo-{'dark' if is_dark() else 'light'}.svg"), size="medium")
    with st.sidebar:
        guarded(inputs)()
if notes := st.session_state["link_notes"]:
    lines = "".join(f"<p>{esc(sentence)}</p>" for sentence in notes)
    show(f'<div class="notice" role="status">{lines}</div>')
keep_in_address()
page.run()
listener.listen()
arrived()
keep_imports_out_of_collections()
