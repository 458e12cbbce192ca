"""LlamaIndex's embedding and vector store over Simile. Needs `llama-index-core`."""

from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.schema import BaseNode, MetadataMode, TextNode
from llama_index.core.vector_stores.types import (BasePydanticVectorStore, FilterCondition, MetadataFilters,
                                                  VectorStoreQuery, VectorStoreQueryMode, VectorStoreQueryResult)

from ._errors import UsageError
from ._filters import test
from .encoder import Encoder
from .index import Index

MODES = {VectorStoreQueryMode.DEFAULT: "vector", VectorStoreQueryMode.HYBRID: "hybrid",
         VectorStoreQueryMode.TEXT_SEARCH: "lexical"}
OPERATORS = {"==": "=", "!=": "!=", ">": ">", ">=": ">=", "<": "<", "<=": "<=", "in": "in", "nin": "not in"}


class SimileEmbedding(BaseEmbedding):
    """The vectors of a model, with its prompts for queries and documents."""

    _encoder: Encoder = PrivateAttr()

    def __init__(self, model: str, precision: str = "fp32", **options: Any):
        super().__init__(model_name=model, **options)
        self._encoder = Encoder(model, precision=precision)

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._encoder.encode_document(texts).tolist()

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._encoder.encode_query(query).tolist()

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


class SimileVectorStore(BasePydanticVectorStore):
    """An index as a vector store. The index embeds the nodes' texts by its own model; give the same one, as
    SimileEmbedding, to LlamaIndex."""

    stores_text: bool = True
    flat_metadata: bool = True
    _index: Index = PrivateAttr()

    def __init__(self, index: Index, **options: Any):
        super().__init__(**options)
        self._index = index

    @property
    def client(self) -> Index:
        return self._index

    def add(self, nodes: list[BaseNode], **_: Any) -> list[str]:
        self._index.add({"id": node.node_id, "text": node.get_content(MetadataMode.NONE),
                         "metadata": {**node.metadata, "ref_doc_id": node.ref_doc_id or ""}} for node in nodes)
        return [node.node_id for node in nodes]

    def delete(self, ref_doc_id: str, **_: Any) -> None:
        self._index.delete(filter=test("ref_doc_id", "=", ref_doc_id))

    def delete_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None,
                     **_: Any) -> None:
        if node_ids:
            if filters is not None:
                raise UsageError("delete_nodes: give node_ids or filters, not both")
            self._index.delete(node_ids)
        else:
            self._index.delete(filter=condition(filters))

    def query(self, query: VectorStoreQuery, **_: Any) -> VectorStoreQueryResult:
        """Raises UsageError for a mode or a filter that Simile does not have, and for `node_ids`."""
        if query.mode not in MODES:
            raise UsageError(f"query: mode '{query.mode.value}' is not supported, only "
                             f"{', '.join(known.value for known in MODES)}")
        if query.node_ids:
            raise UsageError("query: node_ids are not supported; give doc_ids, or filters on metadata")
        mode = MODES[query.mode]
        vector = query.query_embedding if mode != "lexical" else None
        text = query.query_str if mode != "vector" else None
        filters = [condition(query.filters), test("ref_doc_id", "in", query.doc_ids) if query.doc_ids else None]
        hits = self._index.search(
            text, (mode == "hybrid" and query.hybrid_top_k) or query.similarity_top_k, vector=vector, mode=mode,
            hybrid_weight=query.alpha if mode == "hybrid" else None,
            filter=" and ".join(f"({one})" for one in filters if one) or None)
        nodes = [TextNode(id_=hit.id, text=hit.text, metadata=hit.metadata) for hit in hits]
        return VectorStoreQueryResult(nodes=nodes, similarities=[hit.score for hit in hits],
                                      ids=[hit.id for hit in hits])


def condition(filters: MetadataFilters | None) -> str | None:
    """LlamaIndex's filters as a condition of Simile; None if there is no filter in them."""
    parts = []
    for one in filters.filters if filters is not None else []:
        if isinstance(one, MetadataFilters):
            inner = condition(one)
            parts += [f"({inner})"] if inner else []
        elif one.operator.value in OPERATORS:
            parts.append(test(one.key, OPERATORS[one.operator.value], one.value))
        else:
            raise UsageError(f"filter '{one.operator.value}' is not supported, only {', '.join(OPERATORS)}")
    if not parts:
        return None
    if filters.condition == FilterCondition.NOT:  # none of them
        return f"not ({' or '.join(parts)})"
    return (" or " if filters.condition == FilterCondition.OR else " and ").join(parts)
