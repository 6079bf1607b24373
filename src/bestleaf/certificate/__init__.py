"""Certificates: what a search found and proved, and `verify`, which checks all of it again.

These modules import numpy and nothing of the search. There are two exceptions: `build` makes certificates, and
`verify_data` computes values again if it is given the data.
"""

from bestleaf.certificate.record import Certificate
from bestleaf.certificate.verify import Verdict, verify

__all__ = ["Certificate", "Verdict", "verify"]
