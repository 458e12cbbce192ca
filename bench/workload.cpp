// SPDX-License-Identifier: Apache-2.0
#include "bench/workload.h"

#include <cstring>
#include <sstream>

#include "simile/core/check.h"
#include "simile/core/file.h"

namespace simile::bench {

Workload read_workload(const std::string& folder, const std::string& name) {
  const std::string lengths_path = join_path(folder, "len_" + name + ".txt");
  const std::string ids_path = join_path(folder, "ids_" + name + ".bin");
  const std::string bytes = read_file(ids_path);
  std::istringstream lengths(read_file(lengths_path));
  Workload workload;
  size_t at = 0;
  for (int64_t length; lengths >> length;) {
    const size_t size = static_cast<size_t>(length) * sizeof(int32_t);
    SIMILE_CHECK(length >= 1 && size <= bytes.size() - at, ErrorKind::kInput,
                 "{}:{}: length {} does not fit {}", lengths_path, workload.size() + 1, length,
                 ids_path);
    std::vector<int32_t> ids(static_cast<size_t>(length));
    std::memcpy(ids.data(), bytes.data() + at, size);
    workload.push_back(std::move(ids));
    at += size;
  }
  SIMILE_CHECK(!workload.empty() && at == bytes.size(), ErrorKind::kInput,
               "{}: expected {} bytes as {} says, found {}; make both files anew", ids_path, at,
               lengths_path, bytes.size());
  return workload;
}

Workload take_batch(const Workload& workload, int64_t index, int64_t size) {
  const auto all = static_cast<int64_t>(workload.size());
  SIMILE_CHECK(size >= 1 && size <= all, ErrorKind::kInput,
               "{} sequences asked for, the workload has {}", size, all);
  const auto begin = workload.begin() + (index * size) % (all - size + 1);
  return Workload(begin, begin + size);
}

double forward_operations(const EncoderShape& shape, const Workload& sequences) {
  const auto H = static_cast<double>(shape.hidden), I = static_cast<double>(shape.intermediate);
  double sum = 0;
  for (const std::vector<int32_t>& ids : sequences) {
    const auto L = static_cast<double>(ids.size());
    sum += 2 * L * (4 * H * H + 2 * H * I) + 4 * L * L * H;
  }
  return sum * static_cast<double>(shape.layers);
}

}  // namespace simile::bench
