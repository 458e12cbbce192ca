// SPDX-License-Identifier: Apache-2.0
// The place of this process among those that train together, from the launcher's environment
// variables, and the address at which others reach its machine.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace simile {

struct ProcessPlace {
  int64_t rank = 0, size = 1;  // rank 0 writes files and speaks
  int64_t local_rank = 0;      // among those of its machine
  std::string address;         // where rank 0 is reached
  int64_t port = 0;
};

// The value of an environment variable; nothing where it is not set.
using Variable = std::function<std::optional<std::string>(const std::string& name)>;

// A variable of the process's own environment.
std::optional<std::string> environment_variable(const std::string& name);

// torchrun's RANK, WORLD_SIZE and LOCAL_RANK; else mpirun's OMPI_COMM_WORLD_RANK, ..._SIZE and
// ..._LOCAL_RANK; else those of a step of srun, SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_LOCALID.
// MASTER_ADDR and MASTER_PORT apply to all launchers; without them the address is that of the first
// machine in SLURM_STEP_NODELIST, or 127.0.0.1 where mpirun started all on one machine, and the
// port 29500, with srun 29500 + job mod 1000. Where torchrun keeps MASTER_PORT to itself
// (TORCHELASTIC_USE_AGENT_STORE) it is the one after. Nothing where no such program started this
// one, or it started one process. Errors (kUsage): numbers that are none or do not fit each other,
// no address.
std::optional<ProcessPlace> find_process_place(const Variable& variable);

// The first machine of a list as Slurm writes it: "node[07-09,12],gpu1" is node07.
std::string first_machine(const std::string& list);

// The numeric address from which this machine sends to `host`, a name or a numeric address: others
// of that network reach it there. IPv4 where the host has both, as all machines must choose alike.
// If that is the loopback (on a machine whose own name means it), the address of the first
// interface in use that is not; the loopback if there is no other, or if `host` is the loopback in
// digits. Empty where the host is not known or not reached. Sends nothing but a question to a name
// server.
std::string own_address_towards(const std::string& host);

}  // namespace simile
