// SPDX-License-Identifier: Apache-2.0
// Models of the Hugging Face hub, kept where its own clients keep them, so that what Python has
// downloaded is found here and the other way round:
//
//   CACHE/models--ORG--NAME/refs/REVISION             the commit that the revision means
//   CACHE/models--ORG--NAME/blobs/ETAG                a file's bytes; ETAG.incomplete while they come
//   CACHE/models--ORG--NAME/snapshots/COMMIT/FILE     a link to its blob
//
// ETAG is the file's SHA-256 (of large files) or Git's SHA-1 (of others), and is verified.
#pragma once

#include <optional>
#include <string>

#include "simile/core/error.h"
#include "simile/data/download.h"

namespace simile {

// "ORG/NAME", "NAME" or either with "@REVISION".
struct HubName {
  std::string repository;         // "sentence-transformers/all-MiniLM-L6-v2"
  std::string revision = "main";  // a branch, a tag or a commit

  std::string text() const;  // as a user types it
};

// None for a text that cannot be the name of a model on the hub.
std::optional<HubName> parse_hub_name(const std::string& name);

struct HubSettings {
  std::string endpoint = "https://huggingface.co";
  std::string cache;  // folder
  std::string token;  // empty: none
  bool is_offline = false;
};

// From HF_ENDPOINT; HF_HUB_CACHE, else HF_HOME/hub, else huggingface/hub in XDG_CACHE_HOME or
// ~/.cache; HF_TOKEN, else the file that HF_TOKEN_PATH names, else HF_HOME/token; HF_HUB_OFFLINE.
HubSettings hub_settings();

// The folder of a model that the cache holds, with its configuration and weights. Errors:
// ErrorKind::kInput if the cache holds only other files of the model.
std::optional<std::string> find_hub_model(const HubName& name, const HubSettings& settings);

// Fetches the missing files of a model that this program reads, one after the other, and returns
// the model's folder. An interruption leaves whole files and a part of one, and the next call
// continues there. Until all files are there, find_hub_model() finds the previous version.
//
// Progress in bytes of all files goes to `events`. Errors: ErrorKind::kInput for a model that does
// not exist, is private or gated, or holds nothing that can be read (GGUF files, an adapter, ONNX
// alone); ErrorKind::kFailed for a server that cannot be reached or breaks off; ErrorKind::kIo.
std::string fetch_hub_model(const HubName& name, const HubSettings& settings,
                            const DownloadOptions& options, EventSink& events);

}  // namespace simile
