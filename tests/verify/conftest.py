"""One thread for torch, where it is installed: other work goes on beside the tests."""

from importlib.util import find_spec


def pytest_configure():
    if find_spec("torch"):
        import torch

        torch.set_num_threads(1)
