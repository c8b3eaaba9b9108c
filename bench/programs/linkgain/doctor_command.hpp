#pragma once

namespace linkgain {

struct DoctorOptions {
  bool json = false;
  bool load = false;  ///< copy between host and GPUs and look at the PCIe links meanwhile
  bool color = true;
};

/// `linkgain doctor`: checks this machine and prints what it found. Returns the exit code.
int doctor_command(const DoctorOptions& options);

}  // namespace linkgain
