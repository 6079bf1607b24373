"""Write the golden files anew, all of them or those named: ``python tests/golden/record.py [CASE ...]``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

HERE = Path(__file__).parent
if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))

from golden.listed import CASES  # noqa: E402


def written(value: Any, depth: int = 0) -> str:
    """Return JSON with one entry of an object a line, and lists in one line unless they hold objects."""
    inside, outside = " " * (depth + 1), " " * depth
    if isinstance(value, dict) and value:
        parts = (f"{inside}{json.dumps(name)}: {written(one, depth + 1)}" for name, one in value.items())
        return "{\n" + ",\n".join(parts) + f"\n{outside}}}"
    if isinstance(value, list) and any(isinstance(one, dict) for one in value):
        return "[\n" + ",\n".join(inside + written(one, depth + 1) for one in value) + f"\n{outside}]"
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def main(names: list[str]) -> None:
    """Run the cases named and write their files; without names run all, and remove the files of no case."""
    if strange := sorted(set(names) - set(CASES)):
        sys.exit(f"case must be one of {', '.join(CASES)}, got {strange[0]}")
    for name in names or CASES:
        begun = perf_counter()
        text = written(CASES[name].record()) + "\n"
        (HERE / f"{name}.json").write_text(text, encoding="utf-8")
        print(f"{name}: {len(text):,} bytes, {perf_counter() - begun:.2f} s", flush=True)
    if not names:
        for file in HERE.glob("*.json"):
            if file.stem not in CASES:
                file.unlink()


if __name__ == "__main__":
    main(sys.argv[1:])
