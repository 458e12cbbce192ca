"""LlamaIndex's embedding and vector store over Simile. Needs `llama-index-core`."""

from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.schema import BaseNode, MetadataMode, TextNode
from llama_index.core.vector_stores.types import (BasePydanticVectorStore, FilterCondition, MetadataFilters,
                                                  VectorStoreQuery, VectorStoreQueryMode, VectorStoreQueryResult)

from ._filters import literal, quoted
from .encoder import Encoder
from .index import Index

MODES = {VectorStoreQueryMode.DEFAULT: "vector", VectorStoreQueryMode.HYBRID: "hybrid",
         VectorStoreQueryMode.TEXT_SEARCH: "lexical"}
OPERATORS = {"==": "=", "!=": "!=", ">": ">", ">=": ">=", "<": "<", "<=": "<="}


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
        self._index.delete(filter=f"ref_doc_id = {literal(ref_doc_id)}")

    def delete_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None,
                     **_: Any) -> None:
        if node_ids:
            self._index.delete(node_ids)
        else:
            self._index.delete(filter=condition(filters))

    def query(self, query: VectorStoreQuery, **_: Any) -> VectorStoreQueryResult:
        mode = MODES[query.mode]
        vector = query.query_embedding if mode != "lexical" else None
        text = query.query_str if mode != "vector" else None
        hits = self._index.search(text, query.similarity_top_k, vector=vector, mode=mode,
                                  filter=condition(query.filters))
        nodes = [TextNode(id_=hit.id, text=hit.text, metadata=hit.metadata) for hit in hits]
        return VectorStoreQueryResult(nodes=nodes, similarities=[hit.score for hit in hits],
                                      ids=[hit.id for hit in hits])


def condition(filters: MetadataFilters | None) -> str | None:
    """LlamaIndex's filters as a condition of Simile."""
    if filters is None or not filters.filters:
        return None
    parts = []
    for one in filters.filters:
        if isinstance(one, MetadataFilters):
            parts.append(f"({condition(one)})")
        elif one.operator.value in ("in", "nin"):
            values = ", ".join(literal(value) for value in one.value)
            parts.append(f"{quoted(one.key)} {'not in' if one.operator.value == 'nin' else 'in'} ({values})")
        elif one.operator.value in OPERATORS:
            parts.append(f"{quoted(one.key)} {OPERATORS[one.operator.value]} {literal(one.value)}")
        else:
            raise ValueError(f"filter '{one.operator.value}' is not supported, only {', '.join(OPERATORS)}, in, nin")
    return (" or " if filters.condition == FilterCondition.OR else " and ").join(parts)
