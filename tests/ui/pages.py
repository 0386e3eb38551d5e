"""The page run by Streamlit's own test runner, without a browser."""

import html
import re
from pathlib import Path

from streamlit.testing.v1 import AppTest

MAIN = Path(__file__).parents[2] / "ui" / "main.py"


def opened(**query: str) -> AppTest:
    """The page as a link with these parameters opens it."""
    page = AppTest.from_file(MAIN, default_timeout=60)
    for name, value in query.items():
        page.query_params[name] = value
    return page.run()


def typed(page: AppTest, **values: str) -> AppTest:
    """The page after values were typed into its widgets."""
    for name, value in values.items():
        page.session_state[name] = value
    return page.run()


def bringing(page: AppTest) -> AppTest:
    """The page with the ways to bring a model opened."""
    page.session_state["bring"] = True
    return page.run()


def press(page: AppTest, label: str) -> AppTest:
    button = next(b for b in page.button if b.label == label)
    return button.click().run()


def markup(page: AppTest) -> str:
    """Everything the page drew as HTML, the style sheet aside."""
    bodies = [element.proto.body for element in page.get("html")]
    return "\n".join(body for body in bodies if not body.startswith("<style"))


def plain(text: str) -> str:
    """HTML as it reads: tags and entities gone, spaces that do not break like any other."""
    return html.unescape(re.sub("<[^>]+>", "", text)).replace("\N{NO-BREAK SPACE}", " ")


def sentence(page: AppTest) -> str:
    """The page's first heading."""
    return plain(re.findall(r"<h1[^>]*>(.*?)</h1>", markup(page))[0])


def tag(page: AppTest) -> str:
    return plain(re.findall(r'role="status">(.*?)</span>', markup(page))[0])
