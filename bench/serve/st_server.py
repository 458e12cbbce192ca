# SPDX-License-Identifier: Apache-2.0
"""A server of sentence-transformers as people write it: one route, FastAPI and uvicorn.

usage: st_server.py MODEL PORT THREADS
"""
import sys
import threading

import torch
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from sentence_transformers import SentenceTransformer

torch.set_num_threads(int(sys.argv[3]))
model = SentenceTransformer(sys.argv[1], device="cpu")
app = FastAPI()
one_at_a_time = threading.Lock()  # two forward passes at once are slower than one after the other


class Texts(BaseModel):
    inputs: list[str]


@app.post("/embed")
def embed(texts: Texts):
    with one_at_a_time:
        return model.encode(texts.inputs, normalize_embeddings=True, show_progress_bar=False).tolist()


uvicorn.run(app, port=int(sys.argv[2]), log_level="warning")
