"""The catalogue lists everything there is, filters it, and leads to Plan."""

from calculator.catalog import presets
from calculator.devices import devices
from tests.ui.pages import markup, opened, plain


def catalogue():
    page = opened()
    page.switch_page("views/catalogue.py").run()
    return page


def test_every_model_and_device_is_listed_with_a_link():
    text = markup(catalogue())
    for model in presets():
        assert f"model={model.id}&amp;" in text
    for device in devices():
        assert f"device={device.id}&amp;" in text


def test_a_row_says_layers_heads_and_bytes_a_token():
    text = plain(markup(catalogue()))
    assert f"{len(presets())} models and {len(devices())} devices" in text
    assert "Llama-3-8B" in text
    assert "131,072" in text


def test_the_filter_reads_names_and_kinds():
    page = catalogue()
    page.text_input(key="filter_models").set_value("gemma sliding").run()
    text = markup(page)
    assert "Gemma-3-27B" in text
    assert "Llama-3-8B<" not in text
    page.text_input(key="filter_models").set_value("no such model").run()
    assert "No preset matches" in markup(page)


def test_a_row_says_when_the_published_configuration_was_not_read():
    page = catalogue()
    assert markup(page).count(">†</span>") == sum(bool(m.read_from) for m in presets())
    assert "† The published configuration was not read" in plain(markup(page))
    page.text_input(key="filter_models").set_value("edited copy llama-3").run()
    assert "Llama-3-8B<" in markup(page)
    assert "Gemma-3-27B" not in markup(page)
