"""What has been proved: the answer, every leaf's interval, the reason it stopped; `verify` recomputes all of it."""

from bestleaf.certificate.record import Certificate
from bestleaf.certificate.verify import Verdict, verify

__all__ = ["Certificate", "Verdict", "verify"]
