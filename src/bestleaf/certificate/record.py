"""The certificate as an object: numbers and words that can be shown and saved as JSON."""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Sequence
from html import escape
from pathlib import Path

from bestleaf.certificate import claims as words
from bestleaf.certificate.claims import counted
from bestleaf.certificate.path import ALL, new_data_in_words, optimism, path_html, path_in_line
from bestleaf.certificate.schema import FORMAT, FORMAT_VERSION, Content, Json
from bestleaf.certificate.searched import label_of_all, searched
from bestleaf.files import write_atomically

LARGEST = 200 * 10**6  # bytes of a file that is read
BELOW_0 = (  # scores that may be negative; as values they count as 0 then
    "r2",
    "explained_variance",
    "matthews_corrcoef",
    "d2_absolute_error_score",
    "d2_brier_score",
    "d2_log_loss_score",
)


WITHOUT_PROOF = {  # why there is no proof about new rows
    "groups": "because rows of the same group are not independent",
    "weights": "because the rows are weighted",
    "classes": "because there are held-out rows of a class that the search has not seen",
    "scoring": "because there is no proof for this score",
    "size": "because there are too many rows to list them",
}


class Certificate:
    """What a search found, what it proved and what that follows from.

    Attributes
    ----------
    content : dict
        All of it, in numbers, texts, lists and dictionaries only, as `to_json` writes it.
    samples, warmup_samples, exact_evaluations : int
        Samples drawn, how many of them were drawn in the warm-up, and exact values computed.
    gap : float
        How much better than the answer another one may be on the rows of the search.
    search_gap : float
        The same for the answer by these rows alone. It differs from `gap` where left-out rows decided for another
        subset; `settled` says that it is at most epsilon.
    known_gap, looked_at : float, int
        `search_gap` among the leaves that were looked at, and how many these are.
    reason : str
        Why the search ended: ``"settled"``, or the budget that was spent.
    features, score : list of str, float
        Names of the selected features (None if no features were selected), and the exact value or its lower bound.
    path, optimism : list of dict, float
        The subset of each size with its score on left-out rows, and the value of the answer minus its left-out score;
        None if left-out rows decided nothing.
    all_features : dict
        Value and left-out score of all features together, as far as they are known.
    claims, not_claimed : tuple of str
        What is proved, and what is not.
    leaves : list of dict
        Every leaf of the final graph, with its interval and the numbers it follows from.

    Examples
    --------
    >>> from bestleaf import best_leaf, problems, verify
    >>> found = best_leaf(problems.paper_lattice(), epsilon=0.2, delta=0.1, seed=0).certificate
    >>> bool(verify(found))
    True
    """

    def __init__(self, content: Content, *, from_file: bool = False) -> None:
        self.content = content
        self.from_file = from_file  # a file must have a checksum

    samples = property(lambda self: self.content["cost"]["samples"])
    warmup_samples = property(lambda self: self.content["cost"]["warmup_samples"])
    exact_evaluations = property(lambda self: self.content["cost"]["exact_evaluations"])
    seconds = property(lambda self: self.content["cost"]["seconds"])
    reason = property(lambda self: self.content["reason"])
    gap = property(lambda self: self.content["gap"])
    search_gap = property(lambda self: searched(self.content).gap)
    known_gap = property(lambda self: searched(self.content).known_gap)
    looked_at = property(lambda self: self.content.get("looked_at", len(self.content["leaves"])))
    epsilon = property(lambda self: self.content["search"]["epsilon"])
    delta = property(lambda self: self.content["search"]["delta"])
    bound = property(lambda self: self.content["search"]["bound"])
    seed = property(lambda self: self.content["search"]["seed"])
    leaves = property(lambda self: self.content["leaves"])
    features = property(lambda self: self.content["features"])
    score = property(lambda self: self.content["lower"])
    claims = property(lambda self: tuple(claim["text"] for claim in self.content["claims"]))
    not_claimed = property(lambda self: tuple(self.content["not_claimed"]))
    settled = property(lambda self: words.is_settled(self.content))  # may be true if a budget ended the search

    @property
    def path(self) -> list[Content] | None:
        """The subset of each size with its score on left-out rows; None if left-out rows decided nothing."""
        new_data = self.content.get("new_data")
        return None if new_data is None else list(new_data["path"])

    @property
    def optimism(self) -> float | None:
        """The value of the answer on these rows minus its left-out score; None if that is not known."""
        new_data = self.content.get("new_data")
        return None if new_data is None else optimism(new_data)

    @property
    def all_features(self) -> dict[str, float | None] | None:
        """Value and left-out score of all features together, as far as they are known; None if this is no selection."""
        content = self.content
        if content["data"] is None:
            return None
        row = {} if self.path is None else next((one for one in self.path if one["family"] == ALL), {})
        return {"value": row.get("training", content["data"].get("all_features")), "left_out": row.get("left_out")}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Certificate) and self.content == other.content

    __hash__ = None  # type: ignore[assignment]

    def answer_in_words(self) -> str:
        """Return the answer with its value; of a feature selection, in two lines."""
        content, data = self.content, self.content["data"]
        label, low, high = content["graph"]["labels"][content["answer"]], content["lower"], content["upper"]
        value = f"value {low:.4f}" if low == high else f"value between {low:.4f} and {high:.4f}"
        if data is None:
            exactly = ", exactly" if low == high else ""
            if "plan" in content:
                first = words.in_line(str(label), 200) if content["answer"] else None
                return f"{words.plan_in_words(len(content['plan']), first)}, mean {value}{exactly}."
            grew = content["search"]["expansion"] is not None
            among = f" a{words.examined(content)[1:]}" if grew else ""
            return f"Best {content['search']['task']}{among}: {words.in_line(str(label), 200)}, {value}{exactly}."
        names, chosen = words.unit_names(data), sorted(label[:-1], key=lambda unit: data["groups"][unit])
        listed = words.first_of([names[unit] for unit in chosen])
        selected = f"Selected {len(chosen)} of {counted(len(data['groups']), 'feature')}: {listed}."
        return f"{selected}\n{value.capitalize()}: {objective_in_words(data)}."

    def all_features_in_words(self) -> str | None:
        """Return the value of all features together; None if it is not known, and where the path shows their score."""
        content, data = self.content, self.content["data"]
        value = None if data is None else data.get("all_features")
        if value is None or content.get("new_data") is not None or words.has_all_features(content):
            return None
        every = f"With all {counted(len(label_of_all(data)) - 1, 'feature')} the value is {value:.4f}"
        if content["lower"] < content["upper"]:
            return f"{every}."
        better = content["lower"] - value
        how = f"{'better' if better > 0 else 'worse'} by {abs(better):.4f}" if better else "as good"
        return f"{every}: the answer is {how}."

    def new_data_in_words(self) -> list[str]:
        """Return what left-out rows say of the answer, as lines; none if they decided nothing."""
        return [] if self.content.get("new_data") is None else new_data_in_words(self.content)

    def unseen_in_words(self) -> str | None:
        """Return the score of held-out rows; None if there is none."""
        unseen = self.content.get("unseen")
        if unseen is None:
            return None
        kept = "handed in for a test" if unseen["given"] else "kept from the search"
        by = (self.content.get("new_data") or {}).get("scoring")  # another score than that of the values
        every = unseen["parts"][0]["all_features"]
        scores = f"{f'{by} ' if by else ''}{unseen['score']:.4f}"
        scores += f"; all features {every:.4f}, difference {unseen['score'] - every:+.4f}"
        text = f"On {counted(unseen['rows'], 'row')} {kept}: {scores}."
        return text + (
            f" This is an estimate without proof, {WITHOUT_PROOF[unseen['unproved']]}." if "unproved" in unseen else ""
        )

    def precision_in_words(self) -> str | None:
        """Return one sentence if the proof is finer than the rows allow to tell; None otherwise."""
        data, search = self.content["data"], self.content["search"]
        error = None if data is None else data.get("standard_error")
        if error is None or error <= search["epsilon"]:
            return None
        return (
            f"The proof is finer than the data: on other rows of the same kind the value would differ by about "
            f"{error:.4f} (standard error), more than epsilon {search['epsilon']:g}."
        )

    def cost_in_words(self) -> str:
        """Return what the search took, why it ended and how it was run."""
        content, search = self.content, self.content["search"]
        cost = counted(self.samples, "sample" if content["data"] is None else "rollout")
        how = f"bound {search['bound']}, stopping {search['stopping']}"
        if self.warmup_samples:
            cost += f" ({self.warmup_samples:,} of them to warm up)"
        if self.exact_evaluations:
            cost += f" and {words.counted(self.exact_evaluations, 'exact value')}"
        return f"{cost} in {self.seconds:.2f} s ({self.reason}; {how})."

    def summary(self) -> str:
        """Return everything a reader must know, in words."""
        path = None if self.path is None else path_in_line(self.content)
        about_rows = [*self.new_data_in_words(), path, self.unseen_in_words(), self.precision_in_words()]
        found = [self.answer_in_words(), self.all_features_in_words(), *about_rows, self.cost_in_words(), *self.claims]
        return "\n".join([*filter(None, found), *(f"Not claimed: {text}" for text in self.not_claimed)])

    __str__ = summary

    def _repr_html_(self) -> str:
        first, *rest = self.summary().splitlines()
        path = "" if self.path is None else path_html(self.content)
        return f"<p><b>{escape(first)}</b></p>{path}" + "".join(f"<p>{escape(text)}</p>" for text in rest)

    def __repr__(self) -> str:
        first = self.answer_in_words().splitlines()[0]
        return f"Certificate({first!r}, reason={self.reason!r}, leaves={len(self.leaves)})"

    def to_json(self) -> str:
        """Return the certificate as text, with a checksum of all of it."""
        return json.dumps({**self.content, "checksum": checksum(self.content)}, indent=1, allow_nan=False)

    def add_to_report(self, *, repeat: str | None = None, notes: Sequence[str] = ()) -> None:
        """Note for the page how the search is repeated, and what was done to the table; no claim rests on it."""
        if repeat is not None:
            self.content["report"]["repeat"] = repeat
        if notes:
            self.content["report"]["notes"] = list(notes)

    def save(self, path: str | Path) -> None:
        """Write the certificate to a file, whole or not at all."""
        write_atomically(Path(path), self.to_json() + "\n")

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Return the certificate that a text holds. It is not checked: use `verify`."""
        try:
            content = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"this is not a certificate: no JSON ({words.in_line(str(error), 200)})") from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            if isinstance(content, dict) and content.get("format") == "bestleaf linear subsets":
                instead = "search again with guarantee='exhaustive' and a linear estimator"
                raise ValueError(f"this is a file of best_linear_subset, which bestleaf has no longer: {instead}")
            raise ValueError("this is not a certificate of bestleaf")
        version = content.get("format_version")
        if version != FORMAT_VERSION:
            old = ", of an older bestleaf: search again" if version in (1, 2) else ""
            got = f"got format version {version!r:.40}{old}"
            raise ValueError(f"the certificate must have format version {FORMAT_VERSION}, {got}")
        return cls(content, from_file=True)

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Return the certificate in a file."""
        kind = Path(path).stat().st_mode
        if not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):
            raise ValueError(f"{path} must be a file to be read, got a device or a pipe")
        with open(path, "rb") as file:
            text = file.read(LARGEST + 1)  # whatever size the system says it has
        if len(text) > LARGEST:
            raise ValueError(f"{path} must have at most {LARGEST // 10**6} MB to be read, got more")
        try:
            return cls.from_json(text.decode())
        except UnicodeDecodeError:
            raise ValueError(f"{path} is not a certificate: no text") from None
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None


def _once(pairs: list[tuple[str, Json]]) -> Content:
    """Return a JSON object; refuse a name that is there twice, because programs read that differently."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a part is written twice")
    return found


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def checksum(content: Content) -> str:
    """Return the SHA-256 of everything but the checksum; it does not depend on the layout of the file."""
    kept = {name: value for name, value in content.items() if name != "checksum"}
    return hashlib.sha256(json.dumps(kept, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def objective_in_words(data: Content) -> str:
    """Return what the value of a subset is."""
    objective = data["objective"]
    if objective.get("kind") == "estimator":
        return estimator_in_words(objective)
    numbers = {name: data[name] for name in ("classes", "queries", "rows")}
    numbers |= {name: objective.get(name) for name in ("reference_rows", "query_rows")}
    about_rows = {name: bool(objective.get(name)) for name in ("grouped", "weighted")}
    return neighbours_in_words(n_neighbors=objective["n_neighbors"], **about_rows, **numbers)


def neighbours_in_words(
    *,
    classes: int,
    n_neighbors: int,
    queries: int,
    rows: int,
    reference_rows: int | None = None,
    query_rows: int | None = None,
    grouped: bool = False,
    weighted: bool = False,
) -> str:
    """Return how the votes of nearest neighbours are scored (0 classes: real targets), and on which rows.

    A value is computed on a fixed set of `queries` rows. Neighbours are searched among all rows. If there are
    `query_rows`, however, only these are ranked, and neighbours are searched among the `reference_rows`, which are
    other rows. If rows are `grouped`, the neighbours are of other groups; if they are `weighted`, a pair counts the
    product of its weights.
    """
    kind = {0: "concordance index", 2: "AUC"}.get(classes, f"mean one-against-rest AUC ({classes} classes)")
    votes = f"the votes of {n_neighbors} nearest neighbours{' from other groups' * grouped}"
    weights = ", rows weighted" * weighted
    if reference_rows is not None and query_rows is not None:
        others = rows - reference_rows
        where = "" if query_rows == others else f"a fixed random part of {query_rows:,} of "
        where = f"{where}the other {others:,} examples"
        return f"{kind} of {votes} in a fixed reference of {reference_rows:,} examples, on {where}{weights}"
    where = f"all {rows:,} examples"
    if queries < rows:
        why = "computing it on all would take too long; neighbours are searched among all"
        where = f"a fixed random subsample of {queries:,} of the {rows:,} examples ({why})"
    return f"leave-{'one-group' if grouped else 'one'}-out {kind} of {votes} on {where}{weights}"


def estimator_in_words(settings: Content) -> str:
    """Return what the score of an estimator on a subset is."""
    how = f"{settings['splits']} fixed splits"
    clipped = ", each at least 0" if settings["scoring"] in BELOW_0 else ""
    weighted = "weighted " if settings["weighted"] else ""
    return f"mean {weighted}{settings['scoring']} of {settings['name']} on {how}{clipped}"
