#pragma once

#include <string>
#include <vector>

#include "linkgain/base/environment.hpp"

namespace linkgain {

/// Open MPI 4.1 or 5, opened at run time, so that one program measures GPUs where there is none.
/// Its functions have MPI's own names, less the prefix: MPI_Allreduce() is allreduce(). Their types
/// are those of the interface that libmpi.so.40 stands for: a handle is an object's address.
class MpiLibrary {
  struct CommObject;
  struct DatatypeObject;
  struct OpObject;
  struct RequestObject;
  struct InfoObject;
  struct VariableObject;
  struct StatusObject;

  /// The address of a function or an object, as whatever pointer it is to be.
  struct Symbol {
    void* address;
    template <typename Pointee>
    operator Pointee*() const {
      return reinterpret_cast<Pointee*>(address);
    }
  };

  // Before the symbols, which are found in it.
  void* library_;

  Symbol find(const char* symbol) const;

 public:
  using Comm = CommObject*;
  using Datatype = DatatypeObject*;
  using Op = OpObject*;
  using Request = RequestObject*;
  using Info = InfoObject*;
  using Variable = VariableObject*;
  using Status = StatusObject;

  static constexpr int kSuccess = 0;
  static constexpr int kThreadSingle = 0;
  static constexpr int kThreadFunneled = 1;
  static constexpr int kCommTypeShared = 0;
  static constexpr int kProcNull = -2;
  static constexpr int kLongestVersion = 256;
  static constexpr Status* kStatusIgnore = nullptr;
  static void* in_place() { return reinterpret_cast<void*>(1); }

  /// Opens the first of `names` (file names or paths, as dlopen() takes them) that can be opened,
  /// for good. Throws MachineError where there is none, or where it lacks a symbol.
  explicit MpiLibrary(const std::vector<std::string>& names);

  Comm comm_world = find("ompi_mpi_comm_world");
  Comm comm_null = find("ompi_mpi_comm_null");
  Info info_null = find("ompi_mpi_info_null");
  Request request_null = find("ompi_request_null");
  Datatype datatype_null = find("ompi_mpi_datatype_null");
  Datatype byte = find("ompi_mpi_byte");
  Datatype int8 = find("ompi_mpi_int8_t");
  Datatype uint8 = find("ompi_mpi_uint8_t");
  Datatype int32 = find("ompi_mpi_int32_t");
  Datatype uint32 = find("ompi_mpi_uint32_t");
  Datatype int64 = find("ompi_mpi_int64_t");
  Datatype uint64 = find("ompi_mpi_uint64_t");
  Datatype float32 = find("ompi_mpi_float");
  Datatype float64 = find("ompi_mpi_double");
  Op sum = find("ompi_mpi_op_sum");
  Op prod = find("ompi_mpi_op_prod");
  Op min = find("ompi_mpi_op_min");
  Op max = find("ompi_mpi_op_max");

  int (*init_thread)(int* argc, char*** argv, int required,
                     int* provided) = find("MPI_Init_thread");
  int (*finalize)() = find("MPI_Finalize");
  int (*abort)(Comm, int status) = find("MPI_Abort");
  int (*get_library_version)(char* text, int* length) = find("MPI_Get_library_version");
  double (*wtime)() = find("MPI_Wtime");

  int (*comm_rank)(Comm, int* rank) = find("MPI_Comm_rank");
  int (*comm_size)(Comm, int* size) = find("MPI_Comm_size");
  int (*comm_dup)(Comm, Comm* copy) = find("MPI_Comm_dup");
  int (*comm_split_type)(Comm, int type, int key, Info, Comm* part) = find("MPI_Comm_split_type");
  int (*comm_free)(Comm*) = find("MPI_Comm_free");

  int (*send)(const void*, int count, Datatype, int receiver, int tag, Comm) = find("MPI_Send");
  int (*recv)(void*, int count, Datatype, int sender, int tag, Comm, Status*) = find("MPI_Recv");
  int (*sendrecv)(const void*, int count, Datatype, int receiver, int tag, void*,
                  int received_count, Datatype, int sender, int received_tag, Comm,
                  Status*) = find("MPI_Sendrecv");
  int (*test)(Request*, int* is_done, Status*) = find("MPI_Test");
  int (*wait)(Request*, Status*) = find("MPI_Wait");

  using Exchange = int (*)(const void* input, int count, Datatype, void* output, int output_count,
                           Datatype, Comm);
  using Rooted = int (*)(const void* input, int count, Datatype, void* output, int output_count,
                         Datatype, int root, Comm);
  using Reducing = int (*)(const void* input, void* output, int count, Datatype, Op, Comm);
  using StartedReducing = int (*)(const void* input, void* output, int count, Datatype, Op, Comm,
                                  Request*);
  int (*barrier)(Comm) = find("MPI_Barrier");
  int (*bcast)(void*, int count, Datatype, int root, Comm) = find("MPI_Bcast");
  int (*ibcast)(void*, int count, Datatype, int root, Comm, Request*) = find("MPI_Ibcast");
  Exchange allgather = find("MPI_Allgather");
  Exchange alltoall = find("MPI_Alltoall");
  int (*iallgather)(const void* input, int count, Datatype, void* output, int output_count,
                    Datatype, Comm, Request*) = find("MPI_Iallgather");
  Rooted gather = find("MPI_Gather");
  Rooted scatter = find("MPI_Scatter");
  int (*gatherv)(const void* input, int count, Datatype, void* output, const int* output_counts,
                 const int* offsets, Datatype, int root, Comm) = find("MPI_Gatherv");
  Reducing allreduce = find("MPI_Allreduce");
  Reducing reduce_scatter_block = find("MPI_Reduce_scatter_block");
  int (*reduce)(const void* input, void* output, int count, Datatype, Op, int root,
                Comm) = find("MPI_Reduce");
  StartedReducing iallreduce = find("MPI_Iallreduce");
  StartedReducing ireduce_scatter_block = find("MPI_Ireduce_scatter_block");

  int (*t_init_thread)(int required, int* provided) = find("MPI_T_init_thread");
  int (*t_finalize)() = find("MPI_T_finalize");
  int (*t_cvar_get_index)(const char* name, int* index) = find("MPI_T_cvar_get_index");
  int (*t_cvar_handle_alloc)(int index, void* object, Variable*,
                             int* count) = find("MPI_T_cvar_handle_alloc");
  int (*t_cvar_handle_free)(Variable*) = find("MPI_T_cvar_handle_free");
  int (*t_cvar_read)(Variable, void* value) = find("MPI_T_cvar_read");
};

/// Returns Open MPI's library in the order in which it is to be tried: that of the mpirun on PATH,
/// where it is in a folder of its own, then by the loader's own search.
std::vector<std::string> mpi_files(const Environment& environment);

/// Returns the process's Open MPI, opened by the first call. Thread-safe. Throws MachineError where
/// it cannot be opened; the next call tries again.
const MpiLibrary& mpi();

/// Returns "Open MPI v4.1.6"; empty where mpi() throws.
std::string mpi_version();

}  // namespace linkgain
