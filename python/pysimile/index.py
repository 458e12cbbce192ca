"""Documents to be found by meaning and by words."""

import datetime
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _native
from ._errors import UsageError
from ._events import Bar, listener, logger
from ._values import PLAIN, describe, is_missing, plain, texts_of, to_json

BLOCK = 4096  # documents handed over at a time


@dataclass
class Hit:
    """A document that was found; `score` is what hits are ordered by, best first."""

    id: str
    score: float
    text: str | None = None
    title: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    vector_score: float | None = None
    lexical_score: float | None = None
    details: dict[str, Any] = field(default_factory=dict)  # passage, marks, explanation: what was asked for


class Index:
    """An index of documents, in a folder. Use `create` or `open`.

    An index that was opened may be searched by several threads while another changes it; a search sees a change whole
    or not at all. Changes are durable when the call returns.
    """

    def __init__(self, native: Any, path: str):
        self._native = native
        self.path = path

    @classmethod
    def create(cls, path: str, *, model: str, rerank_model: str | None = None, show_progress_bar: bool = False,
               **options: Any) -> "Index":
        """A new index, which readers do not see before `commit`. Options are those of `simile index build`: `mode`,
        `vectors` ("fp32", "fp16", "int8"), `language`, `passage_tokens`, `approximate`, `overwrite` and so on.
        `rerank_model`: as in `open`.

        Raises:
            UsageError: something is at `path` and not `overwrite`; an option that does not exist.
            InputError: the model cannot be found or read.
        """
        options["rerank_model"] = rerank_model and str(rerank_model)
        native = _native.Index.create(str(path), str(model), to_json(_given(options)),
                                      listener(Bar() if show_progress_bar else None))
        return cls(native, str(path))

    @classmethod
    def open(cls, path: str, *, precision: str | None = None, rerank_model: str | None = None) -> "Index":
        """An index that is there. Raises InputError if it is none, or is damaged.

        Args:
            rerank_model: a model that reads query and text together (a cross-encoder), for searches with `rerank`.
        """
        options = to_json(_given({"precision": precision, "rerank_model": rerank_model and str(rerank_model)}))
        return cls(_native.Index.open(str(path), options, listener()), str(path))

    def add(self, documents: Iterable[Any], *, show_progress_bar: bool = False) -> int:
        """Adds documents in place of those with the same ids and returns how many replaced one.

        Each is a mapping with `id`, `text` and, if there are, `title` and `metadata` (texts, numbers, truth values,
        dates or lists of these; None and NaN count as missing). A table of pandas, polars or Arrow may take the place of
        the mappings; its other columns are metadata. Each 4,096 documents are one change.

        Raises:
            TypeError: something that is no document, or metadata of another type; the error names document and column.
        """
        replaced = count = 0
        blank = []
        for block in _blocks(_rows(documents)):
            replaced += self._native.add(to_json({"documents": block}),
                                         listener(Bar() if show_progress_bar else None))[1]
            count += len(block)
            blank += [one["id"] for one in block if not (one.get("title", "") + one["text"]).strip()]
        if blank:
            logger.warning(f"{len(blank)} of {count} documents have no text (the first: \"{blank[0]}\") and were indexed "
                           "so; leave them out")
        return replaced

    def add_file(self, path: str, *, show_progress_bar: bool = False) -> int:
        """Adds the documents of a .tsv, .csv or .jsonl table; returns how many there were."""
        return self._native.add_file(str(path), listener(Bar() if show_progress_bar else None))[0]

    def delete(self, ids: str | Sequence[str] | None = None, *, filter: str | None = None) -> int:
        """Removes documents by ids, or all whose metadata fit `filter`; returns how many there were."""
        if (ids is None) == (filter is None):
            raise UsageError("delete: give ids or a filter")
        if filter is not None:
            return self._native.remove_matching(filter, False)
        return self._native.remove(texts_of(ids, "delete")[0])

    def commit(self, *, show_progress_bar: bool = False) -> None:
        """Completes a new index. Nothing to do for one that was opened."""
        self._native.commit(listener(Bar() if show_progress_bar else None))

    def search(self, query: str | Sequence[str] | None = None, k: int = 10, *, filter: str | None = None,
               mode: str | None = None, vector: Any = None, **options: Any) -> list[Hit] | list[list[Hit]]:
        """The best `k` documents for a query, or a list of such lists for several.

        Args:
            filter: a condition on metadata, as "year >= 2020 and lang in (en, de)".
            mode: "vector", "lexical" or "hybrid"; by default as the index says.
            vector: vectors in place of the texts, or beside them, [dimension] or [queries, dimension].
            options: those of `simile search`: `offset`, `min_similarity`, `rerank`, `exact`, `explain`, `marks`,
                `hybrid_weight`, `like` and so on. `rerank=True` needs an index opened with `rerank_model`.

        Raises:
            UsageError: an option or a filter that cannot be used, or a query without text.
        """
        one = query is None or isinstance(query, str)
        rows = None
        if vector is not None:
            rows = np.ascontiguousarray(vector, dtype=np.float32)
            one = one and rows.ndim == 1
            rows = np.atleast_2d(rows)
        results = self.request(query=query, top_k=k, filter=filter, mode=mode, vectors=rows, **options)["results"]
        hits = [[_hit(found) for found in result["hits"]] for result in results]
        return hits[0] if one else hits

    def request(self, *, vectors: np.ndarray | None = None, **members: Any) -> dict[str, Any]:
        """A search with the members of the server's POST /search (docs/server.md), and its whole reply: hits, counts,
        facets, warnings."""
        query = members.get("query")
        given = _given(members)
        if query is not None:
            given["query"] = texts_of(query, "search")[0]
            for place, one in enumerate(given["query"]):
                if isinstance(one, str) and not one.strip():
                    raise UsageError(f"search: query {place} is an empty text; leave it out")
        return json.loads(self._native.search(to_json(given), vectors, listener()))

    def documents(self, filter: str | None = None, *, text: bool = True) -> Iterator[dict[str, Any]]:
        """The documents in the order of adding, read a thousand at a time."""
        request: dict[str, Any] = {"limit": 1000, "text": text}
        if filter is not None:
            request["filter"] = filter
        while True:
            page = json.loads(self._native.list(to_json(request)))
            yield from page["documents"]
            if not page.get("cursor"):
                return
            request["cursor"] = page["cursor"]

    def count(self, filter: str | None = None) -> int:
        """How many documents there are, or fit the filter."""
        if filter is None:
            return self._native.size()
        request = {"limit": 1, "filter": filter, "count": True}
        return json.loads(self._native.list(to_json(request)))["count"]

    __len__ = count

    @property
    def model(self) -> str:
        """The folder of the model whose vectors it holds."""
        return self._native.model

    def __enter__(self) -> "Index":
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            self.commit()


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _hit(found: dict[str, Any]) -> Hit:
    known = {name: found.pop(name) for name in ("id", "score", "text", "title", "metadata", "vector_score",
                                                "lexical_score") if found.get(name) is not None}
    return Hit(**known, details=found)


def _rows(documents: Any) -> Iterator[dict[str, Any]]:
    """The documents of a table, or of mappings, as the native module reads them."""
    if hasattr(documents, "to_pylist"):  # Arrow
        rows = documents.to_pylist()
    elif hasattr(documents, "iter_rows"):  # polars
        rows = documents.iter_rows(named=True)
    elif hasattr(documents, "to_dict") and hasattr(documents, "columns"):  # pandas
        rows = documents.to_dict(orient="records")
    elif isinstance(documents, (str, bytes, Mapping)):
        raise TypeError(f"add: expected a list of documents or a table, found {describe(documents)}; put one document "
                        "into a list")
    else:
        for place, document in enumerate(documents):
            yield _document(document, place)
        return
    for place, row in enumerate(rows):
        metadata = {name: value for name, value in row.items() if name not in ("id", "text", "title")}
        yield _document({**{name: row[name] for name in ("id", "text", "title") if name in row}, "metadata": metadata},
                        place)


def _document(given: Any, place: int) -> dict[str, Any]:
    """A document with the values of JSON, and without those that are missing."""
    if not isinstance(given, Mapping):
        raise TypeError(f"add: document {place}: expected a mapping with id and text, found {describe(given)}")

    def where(what: str) -> str:
        return f"add: document {place} ({given.get('id')!r}): {what}"

    document = {key: value for key, value in given.items() if type(value) is str or not is_missing(value)}
    if isinstance(document.get("id"), (int, float, np.generic, datetime.date)):
        document["id"] = str(plain(document["id"]))
    for key in ("id", "text"):
        if key not in document:
            raise UsageError(where(f"'{key}' is missing; expected a text"))
    for key, value in document.items():
        if key == "metadata":
            if not isinstance(value, Mapping):
                raise TypeError(where(f"'metadata': expected a mapping, found {describe(value)}"))
            read = ((str(column), one if type(one) in PLAIN else plain(one, where(f"metadata '{column}': ")))
                    for column, one in value.items())
            document[key] = {column: one for column, one in read if one is not None}
        elif key not in ("id", "text", "title"):
            raise UsageError(where(f"unknown key '{key}'; expected id, text, title and metadata, which takes the others"))
        elif not isinstance(value, str):
            raise TypeError(where(f"'{key}': expected a text, found {describe(value)}"))
    return document


def _blocks(rows: Iterable[Any]) -> Iterator[list[Any]]:
    block = []
    for row in rows:
        block.append(row)
        if len(block) == BLOCK:
            yield block
            block = []
    if block:
        yield block
