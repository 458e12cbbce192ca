# Code written for sentence-transformers, with one line changed: python3 drop_in.py [MODEL]
import sys

# from sentence_transformers import SentenceTransformer
from pysimile import Encoder as SentenceTransformer

model = SentenceTransformer(sys.argv[1] if len(sys.argv) > 1 else "simile-mini-3-static")
sentences = ["The weather is lovely today.", "It is so sunny outside!", "He drove to the stadium."]
embeddings = model.encode(sentences, normalize_embeddings=True)
print(embeddings.shape)
print(model.similarity(embeddings, embeddings).round(2))
