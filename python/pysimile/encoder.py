"""Texts to vectors."""

import json
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from . import _native
from ._errors import UsageError
from ._events import Bar, listener

Precision = Literal["float32", "int8", "uint8", "binary", "ubinary"]


class Encoder:
    """A sentence encoder.

    Args:
        model: a folder, a name of the Hugging Face hub such as "sentence-transformers/all-MiniLM-L6-v2" (found in its
            cache, else downloaded) or "simile-mini-3-static", which the package brings.
        precision: numbers of the matrix products: "fp32", "bf16" or "int8".
        prompts, default_prompt_name: texts that `prompt_name` stands for, beside those of the model.
        truncate_dim: numbers of each vector that are kept.

    Raises:
        InputError: the model cannot be found or read.

    An encoder may be used by several threads at once. It may be pickled: another process reads the model again.
    """

    def __init__(self, model: str, *, precision: str = "fp32", prompts: dict[str, str] | None = None,
                 default_prompt_name: str | None = None, truncate_dim: int | None = None, **ignored: Any):
        _refuse_unknown(ignored, {"device", "backend", "cache_folder", "trust_remote_code", "revision", "token",
                                  "local_files_only", "model_kwargs", "tokenizer_kwargs", "config_kwargs",
                                  "similarity_fn_name", "model_card_data", "modules"}, "Encoder")
        revision = ignored.get("revision")
        self._arguments = {"model": str(model) + (f"@{revision}" if revision else ""), "precision": precision,
                           "prompts": prompts, "default_prompt_name": default_prompt_name,
                           "truncate_dim": truncate_dim}
        self._native = _native.Encoder(self._arguments["model"], json.dumps({"precision": precision}), listener())
        self.prompts: dict[str, str] = {**self._native.prompts, **(prompts or {})}
        self.default_prompt_name = default_prompt_name
        self.truncate_dim = truncate_dim
        if default_prompt_name is not None:
            self._prompt(default_prompt_name)

    def encode(self, sentences: str | Sequence[str], prompt_name: str | None = None, prompt: str | None = None,
               batch_size: int = 32, show_progress_bar: bool | None = None,
               output_value: str = "sentence_embedding", precision: Precision = "float32",
               convert_to_numpy: bool = True, convert_to_tensor: bool = False, device: Any = None,
               normalize_embeddings: bool | None = None, truncate_dim: int | None = None, **ignored: Any) -> Any:
        """The vectors of texts, a float32 array [texts, dimension]; of a single text [dimension].

        Takes the arguments of `SentenceTransformer.encode`. `batch_size` and `device` have no effect: a text's vector
        does not depend on the texts beside it. `precision` other than "float32" quantizes as sentence-transformers
        does. `normalize_embeddings`: also where the model does not say so.

        Raises:
            UsageError: a prompt that the model does not have, an argument that is not supported.
            TypeError: something that is no text.
        """
        return self._encode(sentences, "", prompt_name, prompt, show_progress_bar, output_value, precision,
                            convert_to_tensor, normalize_embeddings, truncate_dim, ignored)

    def encode_query(self, sentences: str | Sequence[str], prompt_name: str | None = None, prompt: str | None = None,
                     batch_size: int = 32, show_progress_bar: bool | None = None,
                     output_value: str = "sentence_embedding", precision: Precision = "float32",
                     convert_to_numpy: bool = True, convert_to_tensor: bool = False, device: Any = None,
                     normalize_embeddings: bool | None = None, truncate_dim: int | None = None,
                     **ignored: Any) -> Any:
        """As `encode`, with the model's prompt "query" if it has one."""
        return self._encode(sentences, "query", prompt_name, prompt, show_progress_bar, output_value, precision,
                            convert_to_tensor, normalize_embeddings, truncate_dim, ignored)

    def encode_document(self, sentences: str | Sequence[str], prompt_name: str | None = None,
                        prompt: str | None = None, batch_size: int = 32, show_progress_bar: bool | None = None,
                        output_value: str = "sentence_embedding", precision: Precision = "float32",
                        convert_to_numpy: bool = True, convert_to_tensor: bool = False, device: Any = None,
                        normalize_embeddings: bool | None = None, truncate_dim: int | None = None,
                        **ignored: Any) -> Any:
        """As `encode`, with the first prompt there is of "document", "passage" and "corpus"."""
        return self._encode(sentences, "document", prompt_name, prompt, show_progress_bar, output_value, precision,
                            convert_to_tensor, normalize_embeddings, truncate_dim, ignored)

    def _encode(self, sentences, role, prompt_name, prompt, show_progress_bar, output_value, precision,
                convert_to_tensor, normalize_embeddings, truncate_dim, ignored):
        _refuse_unknown(ignored, {"pool", "chunk_size", "task"}, "encode")
        if output_value != "sentence_embedding":
            raise UsageError(f"encode: output_value {output_value!r} is not supported, only 'sentence_embedding'")
        options: dict[str, Any] = {}
        name = prompt_name if prompt_name is not None else (None if role else self.default_prompt_name)
        if prompt is not None:
            options["prompt"] = prompt
        elif name is not None:
            options["prompt"] = self._prompt(name)
        if normalize_embeddings:
            options["normalize"] = True
        dimensions = truncate_dim if truncate_dim is not None else self.truncate_dim
        if dimensions is not None:
            options["dimensions"] = min(int(dimensions), self._native.dimension)
        one = isinstance(sentences, str)
        texts = [sentences] if one else sentences if isinstance(sentences, list) else list(sentences)
        bar = Bar() if show_progress_bar else None
        vectors: Any = self._native.encode(texts, json.dumps(options), role, listener(bar))
        if precision != "float32":
            vectors = quantize(vectors, precision)
        if one:
            vectors = vectors[0]
        if convert_to_tensor:
            import torch
            return torch.from_numpy(vectors)
        return vectors

    def _prompt(self, name: str) -> str:
        if name not in self.prompts:
            raise UsageError(f"the model has no prompt '{name}'; it has {', '.join(self.prompts) or 'none'}")
        return self.prompts[name]

    def similarity(self, left: Any, right: Any) -> np.ndarray:
        """How alike the vectors `left` [n, D] and `right` [m, D] are, as the model compares them: [n, m]."""
        a, b = (np.atleast_2d(np.asarray(x, dtype=np.float32)) for x in (left, right))
        name = self._native.similarity
        if name in ("euclidean", "manhattan"):
            order = 2 if name == "euclidean" else 1
            return -np.stack([np.linalg.norm(b - row, ord=order, axis=1) for row in a])
        if name == "cosine":
            a, b = (x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12) for x in (a, b))
        return a @ b.T

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """The token ids of texts, special tokens included, cut at `max_seq_length`."""
        return self._native.tokenize(list(texts))

    def get_sentence_embedding_dimension(self) -> int:
        """D, the length of a vector."""
        return self.truncate_dim or self._native.dimension

    get_embedding_dimension = get_sentence_embedding_dimension

    def get_max_seq_length(self) -> int:
        """The most tokens of a text that are read, special tokens included."""
        return self._native.max_length

    max_seq_length = property(get_max_seq_length)
    similarity_fn_name = property(lambda self: self._native.similarity)
    device = "cpu"  # sentence-transformers calls it so

    @property
    def model(self) -> str:
        """The folder of the model."""
        return self._native.folder

    def __getstate__(self):
        return self._arguments

    def __setstate__(self, arguments):
        self.__init__(**arguments)

    def __repr__(self):
        return f"Encoder({self._arguments['model']!r})"


def quantize(vectors: np.ndarray, precision: Precision) -> np.ndarray:
    """Vectors in fewer bits, as `sentence_transformers.quantize_embeddings` makes them without calibration: signs,
    eight to a byte ("binary", "ubinary"), or each dimension's range in 256 steps ("int8", "uint8")."""
    if precision in ("binary", "ubinary"):
        bits = np.packbits(vectors > 0, axis=-1)
        return bits if precision == "ubinary" else (bits.astype(np.int16) - 128).astype(np.int8)
    if precision not in ("int8", "uint8"):
        raise UsageError(f"precision: expected float32, int8, uint8, binary or ubinary, found {precision!r}")
    low, high = vectors.min(axis=0), vectors.max(axis=0)
    steps = (vectors - low) / np.maximum((high - low) / 255, 1e-30)
    return steps.astype(np.uint8) if precision == "uint8" else (steps - 128).astype(np.int8)


def _refuse_unknown(given: dict[str, Any], known: set[str], what: str) -> None:
    for name in given:
        if name not in known:
            raise TypeError(f"{what}() got an unexpected argument {name!r}")
