#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "program.hpp"

namespace linkgain::test {

/// A folder like the kernel's /sys with the PCI devices and RDMA devices of a made-up machine.
class FakeSys {
 public:
  FakeSys() { std::filesystem::create_directories(root() / "bus/pci/devices"); }

  std::filesystem::path root() const { return scratch_.path(); }

  void write(const std::filesystem::path& file, const std::string& text) const {
    std::filesystem::create_directories((root() / file).parent_path());
    std::ofstream(root() / file) << text << '\n';
  }

  /// Adds a device at "pci0000:00/0000:00:01.0/0000:01:00.0": root complex, bridges, device.
  void add_device(const std::string& place, int numa_node, const std::string& cpus) const {
    const std::filesystem::path folder = std::filesystem::path("devices") / place;
    write(folder / "numa_node", std::to_string(numa_node));
    write(folder / "local_cpulist", cpus);
    const std::string id = folder.filename();
    std::filesystem::create_directory_symlink(root() / folder, root() / "bus/pci/devices" / id);
  }

  /// Gives a device, or a bridge, that was added before a link: its lanes now and at most, and the
  /// rate of each.
  void add_link(const std::string& place, const std::string& width, const std::string& most_width,
                const std::string& most_speed) const {
    const std::filesystem::path folder = std::filesystem::path("devices") / place;
    write(folder / "current_link_width", width);
    write(folder / "max_link_width", most_width);
    write(folder / "max_link_speed", most_speed);
  }

  /// Adds an RDMA device of the device at `place`, which was added before.
  void add_rdma(const std::string& name, const std::string& place) const {
    const std::filesystem::path folder = root() / "class/infiniband" / name;
    std::filesystem::create_directories(folder);
    std::filesystem::create_directory_symlink(root() / "devices" / place, folder / "device");
  }

 private:
  test::ScratchFolder scratch_;
};

}  // namespace linkgain::test
