#pragma once

namespace linkgain {

struct DoctorOptions {
  bool json = false;
  bool load = false;  ///< put the GPUs to work and look at their PCIe links and clocks meanwhile
  bool color = true;
};

/// `linkgain doctor`: checks this machine and prints what it found. Returns the exit code.
int doctor_command(const DoctorOptions& options);

}  // namespace linkgain
