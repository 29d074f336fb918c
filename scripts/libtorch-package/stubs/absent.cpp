/**
 * Stands in for the libraries that this package leaves out, although Debian's libtorch is linked with them: MPI,
 * InfiniBand, NUMA, and an HTTP server for torch's elastic launcher. No function of libtorch-node reaches them. What
 * C++ code reaches answers as those libraries do on a machine without such hardware, or throws; nothing pretends to
 * work.
 */
#include <cstdio>
#include <cstring>
#include <stdexcept>

#define EXPORTED __attribute__((visibility("default")))

namespace {
constexpr int kMpiErrOther = 16;  // MPI_ERR_OTHER of Open MPI
constexpr const char* kNoMpi = "this libtorch is built without MPI: use the backend gloo";
}  // namespace

extern "C" {
// MPI: initialisation fails, and libtorch throws the text of MPI_Error_string.
EXPORTED int MPI_Error_string(int, char* text, int* length) {
  *length = std::snprintf(text, 256, "%s", kNoMpi);
  return 0;
}
EXPORTED int MPI_Initialized(int* flag) {
  *flag = 0;
  return 0;
}
EXPORTED int MPIX_Query_cuda_support() { return 0; }
#define MPI_FAILS(name) \
  EXPORTED int name() { return kMpiErrOther; }
MPI_FAILS(MPI_Init)
MPI_FAILS(MPI_Init_thread)
MPI_FAILS(MPI_Abort)
MPI_FAILS(MPI_Allgather)
MPI_FAILS(MPI_Allreduce)
MPI_FAILS(MPI_Alltoall)
MPI_FAILS(MPI_Alltoallv)
MPI_FAILS(MPI_Barrier)
MPI_FAILS(MPI_Bcast)
MPI_FAILS(MPI_Comm_create)
MPI_FAILS(MPI_Comm_dup)
MPI_FAILS(MPI_Comm_free)
MPI_FAILS(MPI_Comm_group)
MPI_FAILS(MPI_Comm_rank)
MPI_FAILS(MPI_Comm_size)
MPI_FAILS(MPI_Finalize)
MPI_FAILS(MPI_Gather)
MPI_FAILS(MPI_Group_free)
MPI_FAILS(MPI_Group_incl)
MPI_FAILS(MPI_Irecv)
MPI_FAILS(MPI_Isend)
MPI_FAILS(MPI_Reduce)
MPI_FAILS(MPI_Scatter)
MPI_FAILS(MPI_Test)
MPI_FAILS(MPI_Wait)
// Open MPI's constants are addresses of these objects; only libmpi itself would read them.
#define MPI_OBJECT(name) EXPORTED char name[1024] = {};
MPI_OBJECT(ompi_mpi_byte)
MPI_OBJECT(ompi_mpi_char)
MPI_OBJECT(ompi_mpi_comm_null)
MPI_OBJECT(ompi_mpi_comm_world)
MPI_OBJECT(ompi_mpi_double)
MPI_OBJECT(ompi_mpi_float)
MPI_OBJECT(ompi_mpi_int)
MPI_OBJECT(ompi_mpi_long)
MPI_OBJECT(ompi_mpi_op_max)
MPI_OBJECT(ompi_mpi_op_min)
MPI_OBJECT(ompi_mpi_op_prod)
MPI_OBJECT(ompi_mpi_op_sum)
MPI_OBJECT(ompi_mpi_short)
MPI_OBJECT(ompi_mpi_unsigned_char)
MPI_OBJECT(ompi_mpi_unsigned_long)
MPI_OBJECT(ompi_request_null)

// InfiniBand: a machine without such a device. gloo's constructor of such a device then throws.
EXPORTED void* ibv_get_device_list(int* count) {
  if (count != nullptr) *count = 0;
  static void* none[1] = {nullptr};
  return none;
}
EXPORTED void ibv_free_device_list(void*) {}
EXPORTED const char* ibv_wc_status_str(int) { return "this libtorch is built without InfiniBand"; }
#define IBV_NULL(name) \
  EXPORTED void* name() { return nullptr; }
#define IBV_FAILS(name) \
  EXPORTED int name() { return -1; }
IBV_NULL(ibv_alloc_pd)
IBV_NULL(ibv_create_comp_channel)
IBV_NULL(ibv_create_cq)
IBV_NULL(ibv_create_qp)
IBV_NULL(ibv_open_device)
IBV_NULL(ibv_reg_mr)
IBV_FAILS(ibv_ack_cq_events)
IBV_FAILS(ibv_close_device)
IBV_FAILS(ibv_dealloc_pd)
IBV_FAILS(ibv_dereg_mr)
IBV_FAILS(ibv_destroy_comp_channel)
IBV_FAILS(ibv_destroy_cq)
IBV_FAILS(ibv_destroy_qp)
IBV_FAILS(ibv_get_cq_event)
IBV_FAILS(ibv_modify_qp)
IBV_FAILS(ibv_query_device)
IBV_FAILS(ibv_query_gid)
IBV_FAILS(ibv_query_port)

// NUMA: numa_available() is -1 on kernels without it, and c10 then calls nothing else.
EXPORTED int numa_available() { return -1; }
EXPORTED int numa_max_node() { return 0; }
EXPORTED int numa_node_of_cpu(int) { return -1; }
EXPORTED int numa_num_configured_nodes() { return 1; }
EXPORTED void* numa_allocate_nodemask() { return nullptr; }
EXPORTED void* numa_bitmask_setbit(void* mask, unsigned) { return mask; }
EXPORTED void numa_bitmask_free(void*) {}
EXPORTED void numa_bind(void*) {}
EXPORTED long get_mempolicy() { return -1; }
EXPORTED long mbind() { return -1; }
}

// cpp-httplib's server, of which libtorch uses these members: the constructor throws, so no other is reached.
#define HTTP_ABSENT(number, name)                                                                    \
  EXPORTED void absentHttp##number() __asm__(name);                                                  \
  void absentHttp##number() {                                                                        \
    throw std::runtime_error("this libtorch is built without an HTTP server for torch.distributed"); \
  }
HTTP_ABSENT(0, "_ZN7httplib6ServerC1Ev")
HTTP_ABSENT(1, "_ZN7httplib6Server12bind_to_portERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEii")
HTTP_ABSENT(2, "_ZN7httplib6Server17listen_after_bindEv")
HTTP_ABSENT(3, "_ZN7httplib6Server18set_address_familyEi")
HTTP_ABSENT(4, "_ZN7httplib6Server22set_keep_alive_timeoutEl")
HTTP_ABSENT(5, "_ZN7httplib6Server24set_keep_alive_max_countEm")
HTTP_ABSENT(
    6,
    "_ZN7httplib6Server3GetERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESt8functionIFvRKNS_7RequestERNS_"
    "8ResponseEEE")
HTTP_ABSENT(7,
            "_ZN7httplib6Server4PostERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESt8functionIFvRKNS_"
            "7RequestERNS_8ResponseEEE")
HTTP_ABSENT(8, "_ZN7httplib6Server4stopEv")
HTTP_ABSENT(9, "_ZN7httplib8Response11set_contentEONSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEERKS6_")
EXPORTED void absentServerEnd() __asm__("_ZN7httplib6ServerD1Ev");
void absentServerEnd() {}
