# Makes the files that the case files speak of, in the current folder; PROGRAM and M (a model) are set.
set -euo pipefail
simile() { "$PROGRAM" "$@" --quiet; }

# Good ones.
printf 'hello world\nthe quick brown fox\n' >texts.txt
printf 'id\ttext\na\tthe quick brown fox\nb\thello there\nc\tworld of text\n' >corpus.tsv
printf 'id\ttext\n1\tbrown fox\n2\thello\n' >queries.tsv
printf 'query_id\tdoc_id\trelevance\n1\ta\t1\n2\tb\t1\n' >qrels.tsv
printf 'sentence1\tsentence2\tscore\nhello\thello there\t5\nhello\tworld\t1\nfox\tthe fox\t4\nbrown\tworld\t0\n' >pairs.tsv
printf 'sentence\tlabel\nhello\tgood\nworld\tbad\nfox\tgood\nthe fox\tbad\n' >classes.tsv
printf 'hello\tthe quick brown fox\n' >two.txt
cat >train.yaml <<'Y'
name: trial
model: ""
architecture: {layers: 1, hidden: 16, heads: 2, intermediate: 16, positions: 32}
tokenizer: vocab.txt
stages:
  objectives: {data: {path: pairs.tsv, score_scale: 5}, loss: mse, batch_size: 2}
  steps: 1
  learning_rate: 1e-3
  selection: {metric: dev.spearman, every_steps: 1, keep: last}
evaluations: {name: dev, task: sts, data: pairs.tsv, score_scale: 5}
Y
cat >tune.yaml <<'Y'
recipe: train.yaml
tune: {space: {stages.*.learning_rate: {low: 1e-4, high: 1e-2, scale: log}}}
Y
cat >pretrain.yaml <<'Y'
name: words
architecture: {layers: 1, hidden: 16, heads: 2, intermediate: 16, positions: 32}
tokenizer: vocab.txt
corpus: [texts.txt]
max_length: 16
batch_tokens: 64
steps: 1
Y
printf 'tasks: {name: dev, task: sts, data: pairs.tsv}\n' >task.yaml
simile convert --model "$M" --output model --precision fp32 2>/dev/null
simile convert --model "$M" --output rounded --precision fp16 2>/dev/null
cp model/vocab.txt .
simile index build --model model --index index --corpus corpus.tsv

# Tables with a fault.
: >empty.txt
: >empty.tsv
printf '\n\n\n' >blank.txt
printf 'sentence1\tsentence2\tscore\n' >header.tsv
printf 'sentence1\tsentence2\tscore\nhello\thello\n' >short.tsv
printf 'sentence1\tsentence2\tscore\nhello\thello\t1\t2\n' >long.tsv
printf 'sentence1\tsentence2\tscore\nhello\thello\tmuch\n' >word.tsv
printf 'sentence1\tsentence2\tscore\nhello\thello\tnan\nfox\tfox\t1\n' >nan.tsv
printf 'sentence1\tsentence2\tscore\nhello\thello\t1e999\n' >huge.tsv
printf 'sentence1\tsentence2\tscore\nhello\thello\t0,5\nfox\tworld\t0,1\n' >comma.tsv
printf 'sentence1;sentence2;score\nhello;hello;1\n' >semicolon.csv
printf 'sentence1,sentence2,score\n"hello,hello,1\n' >quote.csv
printf 'sentence1\tsentence2\tscore\n"say ""hello"""\tfox\t1\nfox\tfox\t2\n' >pandas.tsv
printf 'sentence1\tsentence1\tscore\nhello\thello\t1\n' >twice.tsv
printf 'sentence1\tsentence2\tscore\rhello\thello\t1\rfox\tfox\t2\r' >cr.tsv
printf 'sentence1\tsentence2\tscore\nhel\xfflo\thello\t1\n' >latin.tsv
printf 'sentence1\tsentence2\tscore\nhello\t\t1\nfox\tfox\t2\n' >emptytext.tsv
printf 'sentence1\tsentence2\tscore\nhello\tworld\t1\nfox\tthe fox\t1\n' >equal.tsv
printf 'anchor\tpositive\nhello\thello there\nfox\tthe fox\n' >anchors.tsv
iconv -f UTF-8 -t UTF-16 pairs.tsv >utf16.tsv
printf 'a\0b\tc\n' >nul.tsv
printf '{"sentence1": "a", "sentence2": "b", "score": 1}\n{"sentence1": "a"\n' >cut.jsonl
printf '{"sentence1": null, "sentence2": "b", "score": 1}\n' >null.jsonl
printf '{"sentence1": 5, "sentence2": "b", "score": 1}\n' >number.jsonl
printf '{"sentence1": "a", "sentence1": "x", "sentence2": "b", "score": 1}\n' >again.jsonl
printf '[1, 2]\n' >list.jsonl
printf 'hello\xff\n' >latin.txt
printf 'not compressed\n' >false.txt.gz
head -c 12 <(printf 'hello\n' | gzip -n) >cut.txt.gz
printf 'sentence\tlabel\nhello\tgood\nworld\tgood\n' >oneclass.tsv
printf 'id\ttext\na\tfox\na\thello\n' >sameid.tsv
printf 'id\ttext\na\t\nb\thello\n' >emptydoc.tsv
printf 'text\nhello\n' >noid.tsv
printf 'id\tbody\na\thello\n' >notext.tsv
printf 'query_id\tdoc_id\trelevance\n1\tz\t1\n' >unknown.qrels.tsv
printf 'query_id\tdoc_id\trelevance\n1\ta\tyes\n' >word.qrels.tsv
printf '1 0 a\n' >short.qrels
printf '1 Q0 a 1 x run\n' >word.run
printf '1 Q0 a 1 0.5 run\n1 Q0 a 2 0.4 run\n' >again.run
printf '1 Q0 a 1 0.5 run\n' >good.run
printf '1 0 a 1\n' >good.qrels

# Recipes and task files with a fault.
printf 'name: [\n' >cut.yaml
printf 'nmae: x\n' >key.yaml
printf '\tname: x\n' >tab.yaml
printf 'name: a\nname: b\n' >doubled.yaml
printf -- '- 1\n- 2\n' >list.yaml
: >empty.yaml
printf 'tasks: {name: dev, task: stss, data: pairs.tsv}\n' >kind.task.yaml
printf 'tasks: {name: dev, task: sts}\n' >nodata.task.yaml
printf 'tasks: []\n' >none.task.yaml
printf '{"tasks": {"name": "dev", "task": "sts", "data": "pairs.tsv"}' >cut.task.json
sed 's/name: trial/name: "..\/..\/evil"/' train.yaml >evil.yaml

# Model folders with a fault.
broken() { cp -r model "$1"; }
mkdir nomodel
broken noconfig && rm noconfig/config.json
broken noweights && rm noweights/model.safetensors
broken novocab && rm novocab/vocab.txt
broken badconfig && printf '{' >badconfig/config.json
broken wordconfig && sed -i 's/"hidden_size": [0-9]*/"hidden_size": "many"/' wordconfig/config.json
broken wide && sed -i 's/"hidden_size": [0-9]*/"hidden_size": 64/' wide/config.json
broken deep && sed -i 's/"num_hidden_layers": [0-9]*/"num_hidden_layers": 9/' deep/config.json
broken heads && sed -i 's/"num_attention_heads": [0-9]*/"num_attention_heads": 5/' heads/config.json
broken family && sed -i 's/"model_type": "[a-z]*"/"model_type": "gpt9"/' family/config.json
broken cutweights && truncate -s 1000 cutweights/model.safetensors
broken emptyweights && : >emptyweights/model.safetensors
broken header && printf '\xff\xff\xff\xff\xff\xff\xff\x7f' | dd of=header/model.safetensors conv=notrunc status=none
broken badmodules && printf '[{"idx": 0, "type": "x.Unknown", "path": ""}]' >badmodules/modules.json
broken shortvocab && head -n 5 model/vocab.txt >shortvocab/vocab.txt
broken badtokenizer && printf '{"model": 5}' >badtokenizer/tokenizer.json
broken pointer && rm pointer/checksums.json &&
  printf 'version https://git-lfs.github.com/spec/v1\noid sha256:53aa\nsize 9086\n' >pointer/model.safetensors
mkdir adapter gguf above && : >adapter/adapter_config.json && : >gguf/model-q8_0.gguf
cp -r model above/kept
broken onnx && rm onnx/model.safetensors && : >onnx/model.onnx
broken decoder && rm decoder/checksums.json &&
  printf '{"model_type": "llama", "architectures": ["LlamaForCausalLM"]}' >decoder/config.json
broken cross && rm cross/checksums.json cross/modules.json &&
  sed -i '0,/{/s//{"id2label": {"0": "LABEL_0"},/; s/BertModel/BertForSequenceClassification/' cross/config.json

# Indexes with a fault.
mkdir noindex
spoiled() { cp -r index "$1"; }
spoiled nomanifest && rm nomanifest/manifest.json
spoiled badmanifest && printf '{' >badmanifest/manifest.json
