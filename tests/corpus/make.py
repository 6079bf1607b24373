"""Write the corpus anew, genuine and forged certificates: `PYTHONPATH=tests python tests/corpus/make.py`."""

from __future__ import annotations

import json
import random
import re
import warnings
from pathlib import Path

import test_forgeries
from bestleaf.proof.check import check
from forging import strengthened, twin, whole
from test_certificate_page import KINDS, sealed_in_lines

HERE = Path(__file__).parent
LARGEST = 40_000  # bytes of a file


def main() -> None:
    """Write one small certificate of every kind, and for every forger the first forgery of them that is refused."""
    warnings.simplefilter("ignore")
    genuine = [one for made in KINDS for one in made(0)]
    contents = [(one, whole(one.certificate)) for one in genuine]
    small = [(one, content) for one, content in contents if len(json.dumps(content)) < LARGEST]
    for one, content in small:
        name = re.sub(r"\W+", "_", one.name).strip("_")
        (HERE / f"genuine_{name}.json").write_text(sealed_in_lines(content))
    reasons = {}
    for forger in test_forgeries.FORGERS:
        rng = random.Random(0)
        for _ in range(2000):
            one, content = rng.choice(small)
            forged = twin(content)
            try:
                excuse = forger(forged, rng)
            except test_forgeries.UnfitError:
                continue
            if excuse is not test_forgeries.WRITTEN_BY_HAND:
                test_forgeries.rewritten(forged)
            report = check(forged)
            if not report.holds and strengthened(content, forged):
                (HERE / f"forged_{forger.__name__}.json").write_text(sealed_in_lines(forged))
                reasons[forger.__name__] = report.reason
                break
    (HERE / "reasons.json").write_text(json.dumps(reasons, indent=1) + "\n")


if __name__ == "__main__":
    main()
