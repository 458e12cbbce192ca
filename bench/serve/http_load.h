// SPDX-License-Identifier: Apache-2.0
// Many connections to one server from one thread, which checks every answer.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

struct LoadRequest {
  std::string bytes;          // as they are sent, headers included
  std::string answer;         // what the body of the right answer begins with
  std::vector<float> vector;  // or, of a server that writes numbers otherwise, its first vector
};

struct LoadPlan {
  int port = 0;
  int connections = 64;  // most of them
  double seconds = 10;
  double rate = 0;  // requests per second that are begun, answered or not; 0: one after the other
  int pid = 0;      // of the server, whose memory is looked at; 0: of none
  // Above 0: answers are compared with `vector`, number by number, the first answer to each request
  // alone, so that reading them takes no time from the server.
  double tolerance = 0;
};

struct LoadResult {
  std::map<int, int64_t> statuses;
  int64_t begun = 0, wrong = 0, broken = 0;  // broken: a connection that ended within a request
  int64_t not_begun = 0;                     // due, but every connection was busy
  double answers_per_second = 0;             // of status 200, without the first fifth of the time
  double seconds = 0;
  // Seconds from when a request was due to its answer, of status 200.
  std::vector<double> latencies;
  std::vector<int64_t> resident;  // bytes of the server, each second
};

// Sends the requests in turn, from the first again after the last.
LoadResult run_load(const std::vector<LoadRequest>& requests, const LoadPlan& plan);
