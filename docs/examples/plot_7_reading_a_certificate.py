"""
Reading a certificate
=====================

What is proved follows from the numbers in the file alone; with the data at hand exact values are computed again.
"""

import tempfile
from pathlib import Path

from bestleaf import BestLeafSelector, Certificate, verify
from bestleaf.datasets import load_linear
from bestleaf.plotting import plot_intervals

X, y = load_linear(return_X_y=True)
selector = BestLeafSelector(epsilon=0.005, delta=0.1, scale=False, random_state=0).fit(X, y)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "found.json"
    selector.certificate_.save(path)
    certificate = Certificate.load(path)
print(verify(certificate, X, y))

# %%
# A number changed by hand is noticed:

certificate.content["leaves"][0]["upper"] = 0.5
print(verify(certificate))

# %%
# The intervals of the leading leaves:

plot_intervals(selector.certificate_)
