"""LangChain's Embeddings and VectorStore over Simile. Needs `langchain-core`."""

import uuid
from collections.abc import Iterable
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from ._errors import InputError
from ._filters import condition
from .encoder import Encoder
from .index import Index


class SimileEmbeddings(Embeddings):
    """The vectors of a model, with its prompts for queries and documents."""

    def __init__(self, model: str, **options: Any):
        self.encoder = Encoder(model, **options)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.encoder.encode_document(texts).tolist()

    def embed_query(self, text: str) -> list[float]:
        return self.encoder.encode_query(text).tolist()


class SimileVectorStore(VectorStore):
    """An index as a vector store. It embeds by its own model, and searches as it says, by default by vectors and words.

    `filter` of searches is a dict of metadata, or a condition as text ("year >= 2020 or lang = en"). In a dict a value
    must be equal: {"lang": "en"}; a list has one that is: {"lang": ["en", "de"]}; a dict tests: {"year": {"$gte": 2020}}
    ($eq, $ne, $gt, $gte, $lt, $lte, $in, $nin).
    """

    def __init__(self, index: Index):
        self.index = index

    @classmethod
    def from_texts(cls, texts: list[str], embedding: Embeddings | None = None,
                   metadatas: list[dict] | None = None, *, path: str, ids: list[str] | None = None,
                   **options: Any) -> "SimileVectorStore":
        """A new index in the folder `path`, of the model, precision and dimensions of `embedding`, a SimileEmbeddings, or
        of `model`. Raises UsageError if the embedding has prompts of its own, which an index cannot have."""
        if isinstance(embedding, SimileEmbeddings) and "model" not in options:
            options = {"model": embedding.encoder.model, **embedding.encoder.program_options(), **options}
        with Index.create(path, **options) as index:
            store = cls(index)
            store.add_texts(texts, metadatas, ids=ids)
        return store

    @property
    def embeddings(self) -> SimileEmbeddings:
        return SimileEmbeddings(self.index.model)

    def add_texts(self, texts: Iterable[str], metadatas: list[dict] | None = None, *, ids: list[str] | None = None,
                  **_: Any) -> list[str]:
        texts = list(texts)
        ids = [one or str(uuid.uuid4()) for one in ids or [""] * len(texts)]
        self.index.add({"id": one, "text": text, "metadata": metadata}
                       for one, text, metadata in zip(ids, texts, metadatas or [{}] * len(texts), strict=True))
        return ids

    def delete(self, ids: list[str] | None = None, **_: Any) -> bool:
        try:
            return bool(ids) and self.index.delete(ids) == len(ids)
        except InputError:  # one of them is not there, and nothing was removed
            return False

    def get_by_ids(self, ids: Any) -> list[Document]:
        wanted = set(ids)
        return [Document(id=one["id"], page_content=one["text"], metadata=one.get("metadata", {}))
                for one in self.index.documents() if one["id"] in wanted]

    def similarity_search_with_score(self, query: str, k: int = 4, filter: Any = None,
                                     **options: Any) -> list[tuple[Document, float]]:
        hits = self.index.search(query, k, filter=condition(filter), **options)
        return [(Document(id=hit.id, page_content=hit.text, metadata=hit.metadata), hit.score) for hit in hits]

    def similarity_search(self, query: str, k: int = 4, **options: Any) -> list[Document]:
        return [document for document, _ in self.similarity_search_with_score(query, k, **options)]

    def similarity_search_by_vector(self, embedding: list[float], k: int = 4, filter: Any = None,
                                    **_: Any) -> list[Document]:
        hits = self.index.search(vector=embedding, k=k, filter=condition(filter))
        return [Document(id=hit.id, page_content=hit.text, metadata=hit.metadata) for hit in hits]

    def _select_relevance_score_fn(self) -> Any:
        return lambda score: score  # already 0 to 1, up to rounding
