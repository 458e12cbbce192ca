# Encodes a Parquet file of texts (column "text") with Spark; each task reads the model once, and a failed one is done again:
#   pip install pysimile pyspark pyarrow && python3 spark_encode.py texts.parquet vectors/ MODEL
import os
import sys

import pyarrow
from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, FloatType, StructField, StructType

texts, vectors, model = sys.argv[1:]


def encode(batches):
    from pysimile import Encoder, set_threads

    set_threads(1)
    encoder = Encoder(model)
    for batch in batches:
        rows = encoder.encode(batch.column("text").to_pylist())
        numbers = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(rows.ravel()), rows.shape[1])
        lists = numbers.cast(pyarrow.list_(pyarrow.float32()))
        yield pyarrow.RecordBatch.from_arrays([*batch.columns, lists], [*batch.schema.names, "vector"])


os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
spark = SparkSession.builder.appName("encode").getOrCreate()
table = spark.read.parquet(texts)
schema = StructType([*table.schema.fields, StructField("vector", ArrayType(FloatType()))])
table.mapInArrow(encode, schema).write.mode("overwrite").parquet(vectors)
