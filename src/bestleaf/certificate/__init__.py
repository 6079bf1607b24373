"""What has been proved: the answer, every leaf's interval, the reason it stopped; `verify` recomputes all of it.

All but `build`, and `verify_data` where values are computed again, imports numpy and nothing of the search.
"""

from bestleaf.certificate.record import Certificate
from bestleaf.certificate.verify import Verdict, verify

__all__ = ["Certificate", "Verdict", "verify"]
