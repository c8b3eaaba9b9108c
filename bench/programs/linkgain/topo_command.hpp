#pragma once

namespace linkgain {

struct TopoOptions {
  bool json = false;
};

/// `linkgain topo`: prints the machine's devices and the ways between them. Returns the exit code.
/// Throws MachineError where there is no GPU, with --json after the document.
int topo_command(const TopoOptions& options);

}  // namespace linkgain
