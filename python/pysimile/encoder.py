"""Texts to vectors."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from . import _native
from ._errors import UsageError
from ._events import Bar, listener
from ._values import texts_of, to_json

Precision = Literal["float32", "int8", "uint8", "binary", "ubinary"]
PRECISIONS = ("float32", "int8", "uint8", "binary", "ubinary")
SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")
PROMPTS = {"query": ("query",), "document": ("document", "passage", "corpus")}  # of a role, the first there is


class Encoder:
    """A sentence encoder.

    Args:
        model: a folder, a name of the Hugging Face hub such as "sentence-transformers/all-MiniLM-L6-v2" (found in its
            cache, else downloaded) or "simile-mini-3-static", which the package brings. Also `model_name_or_path`.
        precision: numbers of the matrix products: "fp32", "bf16" or "int8".
        prompts, default_prompt_name: texts that `prompt_name` stands for, beside those of the model.
        truncate_dim: numbers of each vector that are kept.
        similarity_fn_name: "cosine", "dot", "euclidean" or "manhattan"; by default as the model says.

    Other arguments of SentenceTransformer are accepted if they do not change the vectors.

    Raises:
        InputError: the model cannot be found or read.
        UsageError: an argument that would change the vectors and is not supported.

    An encoder may be used by several threads at once. It may be pickled: another process reads the model again.
    """

    device = "cpu"  # sentence-transformers calls it so

    def __init__(self, model: str | None = None, *, precision: str = "fp32", prompts: dict[str, str] | None = None,
                 default_prompt_name: str | None = None, truncate_dim: int | None = None,
                 similarity_fn_name: Any = None, revision: str | None = None, **ignored: Any):
        model = ignored.pop("model_name_or_path", model)
        _refuse(ignored, "Encoder",
                {"device", "cache_folder", "trust_remote_code", "token", "use_auth_token", "local_files_only",
                 "model_card_data"},
                {"modules": None, "backend": "torch", "model_kwargs": None, "processor_kwargs": None,
                 "tokenizer_kwargs": None, "config_kwargs": None})
        if model is None:
            raise TypeError("Encoder: expected a model, the path of a folder or a name")
        self._name = str(model) + (f"@{revision}" if revision else "")
        self.precision = precision
        self.default_prompt_name = default_prompt_name
        self.truncate_dim = truncate_dim
        self.similarity_fn_name = similarity_fn_name
        self._load()
        self.prompts: dict[str, str] = {**self._native.prompts, **(prompts or {})}
        if default_prompt_name is not None:
            self._prompt(default_prompt_name)

    def _load(self) -> None:
        self._native = _native.Encoder(self._name, to_json({"precision": self.precision}), listener())

    def encode(self, inputs: str | Sequence[str] | None = None, prompt_name: str | None = None,
               prompt: str | None = None, batch_size: int = 32, show_progress_bar: bool | None = None,
               output_value: str = "sentence_embedding", precision: Precision = "float32",
               convert_to_numpy: bool = True, convert_to_tensor: bool = False, device: Any = None,
               normalize_embeddings: bool | None = None, truncate_dim: int | None = None, **ignored: Any) -> Any:
        """The vectors of texts, a float32 array [texts, dimension]; of a single text [dimension].

        Takes the arguments of `SentenceTransformer.encode`, also `sentences` for `inputs`. `batch_size` and `device`
        have no effect: a text's vector does not depend on the texts beside it. `precision` other than "float32"
        quantizes as sentence-transformers does. `normalize_embeddings`: also where the model does not say so.

        Raises:
            UsageError: a prompt that the model does not have, an argument that is not supported.
            TypeError: something that is no text.
        """
        inputs = ignored.pop("sentences", inputs)
        _refuse(ignored, "encode", {"pool", "chunk_size", "task"}, {"processing_kwargs": None})
        if output_value != "sentence_embedding":
            raise UsageError(f"encode: output_value {output_value!r} is not supported, only 'sentence_embedding'")
        _check_precision(precision)
        options: dict[str, Any] = {}
        name = prompt_name if prompt_name is not None else self.default_prompt_name
        if prompt is not None:
            options["prompt"] = prompt
        elif name is not None:
            options["prompt"] = self._prompt(name)
        if normalize_embeddings:
            options["normalize"] = True
        dimensions = truncate_dim if truncate_dim is not None else self.truncate_dim
        if dimensions is not None:
            options["dimensions"] = min(int(dimensions), self._native.dimension)
        texts, one = texts_of(inputs, "encode")
        bar = Bar() if show_progress_bar else None
        vectors: Any = self._native.encode(texts, to_json(options), listener(bar))
        if precision is not None and precision != "float32":
            vectors = quantize(vectors, precision)
        if convert_to_tensor or not convert_to_numpy:
            import torch
            vectors = torch.from_numpy(vectors)
            if not convert_to_tensor:
                vectors = list(vectors)
        return vectors[0] if one else vectors

    def encode_query(self, inputs: str | Sequence[str] | None = None, prompt_name: str | None = None,
                     prompt: str | None = None, *arguments: Any, **others: Any) -> Any:
        """As `encode`, with the prompt "query" if there is one."""
        return self._encode_as("query", inputs, prompt_name, prompt, *arguments, **others)

    def encode_document(self, inputs: str | Sequence[str] | None = None, prompt_name: str | None = None,
                        prompt: str | None = None, *arguments: Any, **others: Any) -> Any:
        """As `encode`, with the first prompt there is of "document", "passage" and "corpus"."""
        return self._encode_as("document", inputs, prompt_name, prompt, *arguments, **others)

    def _encode_as(self, role, inputs, prompt_name, prompt, *arguments, **others):
        if prompt is None and prompt_name is None:  # without one, not the default prompt either
            prompt = next((self.prompts[name] for name in PROMPTS[role] if name in self.prompts), "")
        return self.encode(inputs, prompt_name, prompt, *arguments, **others)

    def _prompt(self, name: str) -> str:
        if name not in self.prompts:
            raise UsageError(f"the model has no prompt '{name}'; it has {', '.join(self.prompts) or 'none'}")
        return self.prompts[name]

    @property
    def similarity_fn_name(self) -> str:
        """How vectors are compared: "cosine", "dot", "euclidean" or "manhattan"."""
        return self._similarity or self._native.similarity

    @similarity_fn_name.setter
    def similarity_fn_name(self, name: Any) -> None:
        name = getattr(name, "value", name)  # sentence-transformers has an enum
        if name is not None and name not in SIMILARITIES:
            raise UsageError(f"similarity_fn_name: expected {', '.join(SIMILARITIES)}, found {name!r}")
        self._similarity = name

    def similarity(self, left: Any, right: Any) -> np.ndarray:
        """How alike the vectors `left` [n, D] and `right` [m, D] are, by `similarity_fn_name`: [n, m]."""
        a, b = (np.atleast_2d(np.asarray(x, dtype=np.float32)) for x in (left, right))
        name = self.similarity_fn_name
        if name in ("euclidean", "manhattan"):
            return np.stack([self.similarity_pairwise(row, b) for row in a])
        if name == "cosine":
            a, b = _normalized(a), _normalized(b)
        return a @ b.T

    def similarity_pairwise(self, left: Any, right: Any) -> np.ndarray:
        """How alike left[i] and right[i] are, by `similarity_fn_name`: [n]."""
        a, b = (np.asarray(x, dtype=np.float32) for x in (left, right))
        name = self.similarity_fn_name
        if name in ("euclidean", "manhattan"):
            return -np.linalg.norm(a - b, ord=2 if name == "euclidean" else 1, axis=-1)
        if name == "cosine":
            a, b = _normalized(a), _normalized(b)
        return (a * b).sum(axis=-1)

    def tokenize(self, texts: str | Sequence[str]) -> list[list[int]] | list[int]:
        """The token ids of texts, or of one, special tokens included, cut at `max_seq_length`."""
        texts, one = texts_of(texts, "tokenize")
        ids = self._native.tokenize(texts)
        return ids[0] if one else ids

    def get_sentence_embedding_dimension(self) -> int:
        """D, the length of a vector."""
        return min(self.truncate_dim or self._native.dimension, self._native.dimension)

    get_embedding_dimension = get_sentence_embedding_dimension

    def get_max_seq_length(self) -> int:
        """The most tokens of a text that are read, special tokens included."""
        return self._native.max_length

    @property
    def max_seq_length(self) -> int:
        """The most tokens of a text that are read, special tokens included. May be set."""
        return self._native.max_length

    @max_seq_length.setter
    def max_seq_length(self, tokens: int) -> None:
        self._native.max_length = int(tokens)

    @property
    def model(self) -> str:
        """The folder of the model."""
        return self._native.folder

    def program_options(self) -> dict[str, Any]:
        """What the program needs beside the folder `model` to make the same vectors: `precision` and `dimensions`.

        Raises:
            UsageError: the encoder has prompts, a similarity or a length limit that its model does not have.
        """
        own = {"prompts": self.prompts == self._native.prompts, "default_prompt_name": self.default_prompt_name is None,
               "similarity_fn_name": self.similarity_fn_name == self._native.similarity,
               "max_seq_length": self.max_seq_length == self._native.own_max_length}
        for name, is_own in own.items():
            if not is_own:
                raise UsageError(f"{self!r} has {name} {getattr(self, name)!r}, but the program and indexes use what the "
                                 "model's folder says; leave it out, or change the folder's files")
        options: dict[str, Any] = {} if self.precision == "fp32" else {"precision": self.precision}
        if self.get_embedding_dimension() != self._native.dimension:
            options["dimensions"] = self.get_embedding_dimension()
        return options

    def __getstate__(self):
        return {**self.__dict__, "_native": None}, self.max_seq_length

    def __setstate__(self, state):
        self.__dict__, length = state
        self._load()
        self.max_seq_length = length

    def __repr__(self):
        return f"Encoder({self._name!r})"


def quantize(vectors: np.ndarray, precision: Precision) -> np.ndarray:
    """Vectors in fewer bits, as `sentence_transformers.quantize_embeddings` makes them without calibration: signs,
    eight to a byte ("binary", "ubinary"), or each dimension's range in 256 steps ("int8", "uint8"), which takes two
    vectors or more."""
    _check_precision(precision)
    if precision in ("binary", "ubinary"):
        bits = np.packbits(vectors > 0, axis=-1)
        return bits if precision == "ubinary" else (bits.astype(np.int16) - 128).astype(np.int8)
    if precision not in ("int8", "uint8"):
        return vectors
    kind = np.int8 if precision == "int8" else np.uint8
    if len(vectors) == 0:
        return vectors.astype(kind)
    if len(vectors) == 1:
        raise UsageError(f"encode: precision {precision!r} divides each dimension's range over the texts and was given "
                         "one text; give two or more, or encode in float32")
    low = vectors.min(axis=0)
    step = (vectors.max(axis=0) - low) / 255
    step[step == 0] = 1
    steps = np.clip(np.floor((vectors - low) / step), 0, 255)
    return (steps + np.iinfo(kind).min).astype(kind)


def _check_precision(precision: Any) -> None:
    if precision is not None and precision not in PRECISIONS:
        raise UsageError(f"encode: precision: expected {', '.join(PRECISIONS)}, found {precision!r}")


def _normalized(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)


def _refuse(given: dict[str, Any], what: str, harmless: set[str], needed: dict[str, Any]) -> None:
    """Refuses what is neither harmless nor has the value in `needed`, or none, as other values would change vectors."""
    for name, value in given.items():
        if name in needed and value and value != needed[name]:
            raise UsageError(f"{what}: {name}={value!r} would change the vectors and is not supported; leave it out")
        if name not in harmless and name not in needed:
            raise TypeError(f"{what}() got an unexpected argument {name!r}")
