"""Files of a commit ↔ huggingface_hub's cache folder, so that other tools share them.

Read with the library; written in its documented layout, because its own download follows redirects
and other storage protocols wherever they lead:
https://huggingface.co/docs/huggingface_hub/guides/manage-cache
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

from calculator.importers.hub.client import Settings

_COMMIT = re.compile(r"[0-9a-f]{40}")


def cached_file(hub: Settings, name: str, revision: str, file: str) -> tuple[bytes, str] | None:
    """(a file's bytes, its commit) as cached, or None."""
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(name, file, cache_dir=hub.cache, revision=revision)
    if not isinstance(found, str):
        return None
    try:
        return Path(found).read_bytes(), _commit_in(found)
    except OSError:
        return None


def keep_file(hub: Settings, name: str, revision: str, commit: str, file: str, data: bytes) -> None:
    """Put a file of a commit into the cache; a cache that cannot be written is no error."""
    if not _COMMIT.fullmatch(commit):
        return
    folder = Path(hub.cache, f"models--{name.replace('/', '--')}")
    try:
        _write(folder.joinpath("snapshots", commit, file), data)
        if revision != commit:
            _write(folder.joinpath("refs", revision), commit.encode())
    except OSError:
        return


def _write(path: Path, data: bytes) -> None:
    """All or nothing: another process may be reading."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    os.replace(name, path)


def _commit_in(path: str) -> str:
    """…/snapshots/<commit>/config.json → <commit>"""
    parts = Path(path).parts
    return parts[parts.index("snapshots") + 1] if "snapshots" in parts else ""
