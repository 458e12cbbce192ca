"""A model for mteb (MTEB benchmark). Needs `mteb`.

    import mteb
    from pysimile.mteb import SimileModel
    mteb.evaluate(SimileModel("sentence-transformers/all-MiniLM-L6-v2"), mteb.get_tasks(tasks=["STSBenchmark"]))
"""

from typing import Any

import numpy as np
from mteb.models import ModelMeta
from mteb.types import PromptType

from .encoder import Encoder


class SimileModel:
    """Answers mteb's protocol of encoders, with the model's prompts for queries and documents."""

    def __init__(self, model: str, **options: Any):
        self.encoder = Encoder(model, **options)
        self.mteb_model_meta = ModelMeta.create_empty(
            {"name": model if model.count("/") == 1 else f"local/{model.rstrip('/').rsplit('/', 1)[-1]}",
             "embed_dim": self.encoder.get_sentence_embedding_dimension(),
             "max_tokens": self.encoder.max_seq_length, "framework": [], "loader": None})

    def encode(self, inputs: Any, *, task_metadata: Any = None, hf_split: str = "", hf_subset: str = "",
               prompt_type: PromptType | None = None, **_: Any) -> np.ndarray:
        texts = [text for batch in inputs for text in batch["text"]]
        if prompt_type == PromptType.query:
            return self.encoder.encode_query(texts)
        if prompt_type == PromptType.document:
            return self.encoder.encode_document(texts)
        return self.encoder.encode(texts)

    def similarity(self, left: Any, right: Any) -> Any:
        import torch
        return torch.from_numpy(self.encoder.similarity(left, right))

    def similarity_pairwise(self, left: Any, right: Any) -> Any:
        import torch
        return torch.from_numpy(self.encoder.similarity_pairwise(left, right))
