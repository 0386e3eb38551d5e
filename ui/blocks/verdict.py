"""An answer → the tag, the sentence, the muted line, and what can be copied of it."""

from __future__ import annotations

from functools import lru_cache

import streamlit as st

from calculator.explain import sizes, subject
from calculator.verdict import TAGS, limits_text, verdict_sentence
from ui import pasted
from ui.answer import Answer
from ui.link import link_query, page_url
from ui.markup import MUTED, STRONG, esc, marked, unmarked

CLASSES = {"fits": "fits", "marginal": "marginal", "does-not-fit": "not"}
NO_DEVICE = "Choose a device, or type its memory, to see whether it fits."


def sentence(shown: Answer) -> str:
    """The sentence with its figures marked."""
    size, same = sizes(shown.fp.num_bytes)
    figures = STRONG.format(size) + (" " + MUTED.format(f"({same})") if same else "")
    if shown.found:
        verdict = verdict_sentence(shown.found, strong=STRONG)
    else:
        verdict = shown.problem or NO_DEVICE
    whose = subject(shown.fp)
    if whose.startswith("a "):
        whose = f"A{whose[1:]}"
    return f"{whose}: {figures}. {verdict}"


def show_copies(shown: Answer, options: dict[str, str]) -> None:
    """What can be copied; it lies at the right end of the line below it, which is the tag's."""
    with st.popover(
        "Copy", type="tertiary", icon=":material/content_copy:", key="copy", on_change="rerun"
    ) as copy:
        for label, text in copies(shown, options).items() if copy.open else ():
            st.caption(label)
            st.code(text, language=None, wrap_lines=True)


def no_copies() -> None:
    """Keeps their place: a sentence has to replace the one before, or both stand there a while."""
    if not st.context.is_embedded:
        st.empty()


def tag(shown: Answer) -> str:
    """The verdict in a word, with its glyph."""
    text = TAGS[shown.found.verdict] if shown.found else "No verdict"
    kind = CLASSES[shown.found.verdict] if shown.found else "plain"
    return f'<span class="tag {kind}" role="status">{esc(text)}</span>'


@lru_cache(maxsize=128)
def html(shown: Answer) -> str:
    """The sentence and the muted line below it."""
    limits = limits_text(shown.found, strong=STRONG) if shown.found else ""
    under = f'<p class="under">{marked(limits)}</p>' if limits else ""
    said = marked(sentence(shown))
    if shown.found and (device := shown.found.budget.device):  # a device's name stays on one line
        name = esc(device.name)
        said = said.replace(name, name.replace(" ", "\N{NO-BREAK SPACE}"))
    return f'<h1 class="sentence">{said}</h1>{under}'


def copies(shown: Answer, options: dict[str, str]) -> dict[str, str]:
    """What the popover offers: sentence, link, command, a row of a table."""
    name = options["model"]
    brought = pasted.text_of(name)
    in_link = not brought or pasted.link_code(brought)
    command = shown.asked.command("capacity" if shown.found else "estimate")
    file = pasted.file_name(name) if brought else name
    return {
        "Sentence": unmarked(sentence(shown)),
        "Link" if in_link else "Link, without the model, whose text is too long": (
            f"{page_url()}?{link_query(options, shown.found)}"
        ),
        pasted.COMMANDS.get(name, "Command"): command.replace(name, file),
        "Markdown row": markdown_row(shown),
    }


def markdown_row(shown: Answer) -> str:
    fp = shown.fp
    key, value = fp.dtypes
    types = key if key == value else f"{key}/{value}"
    cells = [
        fp.model.name,
        f"{fp.request.longest:,} × {fp.request.num_sequences:,}",
        types,
        fp.engine.engine,
        f"{fp.num_bytes:,} B",
        sizes(fp.num_bytes)[0],
        TAGS[shown.found.verdict] if shown.found else "–",
    ]
    return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"
