"""How much faster a cache makes generation, and that it grows with length: ratios of one run.

    python benchmarks/generation.py [--threads N]

Exit status 1 if 512 prompt tokens and 256 new ones are not at least 10 × faster, or a longer text
gains less than a shorter one.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from calculator.cli.text import table
from calculator.verify.demonstration import projected_tokens
from calculator.verify.generation import (
    generate_no_cache,
    generate_with_cache,
    random_prompt,
)
from calculator.verify.reference_model import Shape, decoder

LENGTHS = ((32, 16), (128, 64), (512, 256))
GOAL = 10.0


def main(threads: int) -> int:
    import torch

    torch.set_num_threads(threads)
    model = decoder(Shape())
    generate_no_cache(model, random_prompt(model, 32, 0), 4)
    speedups, rows = [], []
    for prompt_tokens, new_tokens in LENGTHS:
        prompt = random_prompt(model, prompt_tokens, 0)
        cached = generate_with_cache(model, prompt, new_tokens)
        uncached = generate_no_cache(model, prompt, new_tokens)
        assert cached.tokens.tolist() == uncached.tokens.tolist()
        speedups.append(uncached.total_s / cached.total_s)
        once, again = projected_tokens(prompt_tokens, new_tokens)
        rows.append([
            f"{prompt_tokens} + {new_tokens}", f"{cached.total_s:.2f}", f"{uncached.total_s:.2f}",
            f"{speedups[-1]:.1f}", f"{again / once:.0f}",
        ])  # fmt: skip
    head = ["prompt + new", "with cache s", "without s", "speed-up", "projections saved"]
    print(table(head, rows))
    grows = speedups == sorted(speedups)
    holds = speedups[-1] >= GOAL and grows
    print(
        f"\nAt least {GOAL:.0f} × at the longest, growing with length: {'yes' if holds else 'NO'}"
    )
    return 0 if holds else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    sys.exit(main(parser.parse_args().threads))
