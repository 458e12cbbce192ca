# Makes an index of vectors that ray_encode.py or spark_encode.py wrote (Parquet with id, text, vector):
#   python3 import_vectors.py vectors/ index MODEL
import json
import subprocess
import sys
import tempfile

import numpy as np
import pyarrow.dataset

from pysimile import program

vectors, index, model = sys.argv[1:]
table = pyarrow.dataset.dataset(vectors)
with tempfile.TemporaryDirectory(dir=".") as folder:
    path = f"{folder}/vectors.npy"
    array, row = None, 0
    with open(f"{folder}/vectors.jsonl", "w", encoding="utf-8") as documents:
        for batch in table.to_batches(columns=["id", "text", "vector"]):
            numbers = batch.column("vector").flatten().to_numpy(zero_copy_only=False).reshape(batch.num_rows, -1)
            if array is None and batch.num_rows > 0:
                array = np.lib.format.open_memmap(path, "w+", np.float32, (table.count_rows(), numbers.shape[1]))
            if batch.num_rows > 0:
                array[row:row + batch.num_rows] = numbers
                row += batch.num_rows
            for one, text in zip(batch.column("id").to_pylist(), batch.column("text").to_pylist(), strict=True):
                documents.write(json.dumps({"id": str(one), "text": text}, ensure_ascii=False) + "\n")
    array.flush()
    subprocess.run([program(), "index", "import", "--index", index, "--from", path, "--model", model], check=True)
