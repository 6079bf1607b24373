"""
Reading a certificate
=====================

What is proved follows from the numbers in the file alone. With the data, `verify` also computes all exact values again.
"""

import tempfile
from pathlib import Path

from msgspec.structs import replace

from bestleaf import BestLeafSelector, Certificate, NeighbourVotes, verify
from bestleaf.paper import load_linear
from bestleaf.report import figure

X, y = load_linear(return_X_y=True)
votes = NeighbourVotes(scale=False)
selector = BestLeafSelector(votes, choose="training", epsilon=0.005, delta=0.1, random_state=0).fit(X, y)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "found.json"
    selector.certificate_.save(path)
    certificate = Certificate.load(path)
print(verify(certificate, X, y))

# %%
# `verify` notices a number that was changed by hand:

first, *others = certificate.search.leaves
leaves = (replace(first, upper=0.5), *others)
print(verify(replace(certificate, search=replace(certificate.search, leaves=leaves), checksum=None)))

# %%
# The intervals of the answer and its closest rivals:

figure(selector, "intervals")
