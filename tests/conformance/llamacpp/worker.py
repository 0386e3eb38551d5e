"""One GGUF file, then cases line by line on standard input → a result a line on standard output.

A process of its own, because a failed assertion in llama.cpp ends the process it happens in.
"""

from __future__ import annotations

import json
import sys

from tests.conformance.llamacpp.native import LlamaCppLibrary, Refused, path_of_library


def main(path: str) -> None:
    library_path = path_of_library()
    assert library_path is not None
    library = LlamaCppLibrary(library_path)
    model = library.model(path)
    for line in sys.stdin:
        try:
            num_bytes = library.cache_bytes(model, json.loads(line))
            answer: dict[str, object] = {"num_bytes": num_bytes, "log": library.cache_lines()}
        except Refused as refusal:
            answer = {"refused": str(refusal)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
