# Encodes a Parquet file of texts (column "text") with Ray Data; each worker reads the model once, and a killed worker's
# blocks are done again:
#   pip install pysimile "ray[data]" && python3 ray_encode.py texts.parquet vectors/ MODEL WORKERS
# `simile index import --from vectors.npy` takes the vectors; see docs/python.md.
import sys

import ray

from pysimile import Encoder, set_threads

texts, vectors, model, workers = sys.argv[1:]


class Worker:
    def __init__(self):
        set_threads(1)
        self.encoder = Encoder(model)

    def __call__(self, batch):
        batch["vector"] = self.encoder.encode(list(batch["text"]))
        return batch


ray.init(log_to_driver=False)
# Half a processor is set aside for each, so that reading and writing find room on a small machine.
data = ray.data.read_parquet(texts).map_batches(Worker, batch_size=4096, concurrency=int(workers), num_cpus=0.5)
data.write_parquet(vectors)
