// SPDX-License-Identifier: MIT
/*
 * The public driver library, the datastore and what collective libraries ask (ndl/ndl.h,
 * nrt/nds/neuron_ds.h, nrt/nec.h), as a program of those headers and libnrt.so.1 alone has them:
 * test_nrt_ndl emu:INSTANCE, or in a guest test_nrt_ndl node INSTANCE. The oracles are C over what
 * was written, and the public tables of routing ids.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../check_main.h"
#include "hal.h"
#include "neuron/hw/udma.h"
#include "nrt_api.h"
#include "nrt_client.h"
#include "testmodel.h"

static const char *machine, *instance;
static bool node;
static ndl_device_t *dev;

static bool is(const char *name)
{
	return !strncmp(instance, name, strlen(name));
}

static void setup(void)
{
	ndl_device_init_param_t params = { .initialize_device = true };

	ck_assert_int_eq(nrtx_machine_set(machine), NRT_SUCCESS);
	ck_assert_int_eq(ndl_open_device(0, &params, &dev), 0);
}

static void teardown(void)
{
	ck_assert_int_eq(ndl_close_device(dev), 0);
}

START_TEST(devices)
{
	static const struct {
		const char *instance;
		int devices;
		uint8_t type;
		unsigned int links;
		uint64_t memory;
	} known[] = {
		{ "inf1.6xlarge", 4, 1, 1, 4ull << 30 },
		{ "trn1.32xlarge", 16, 2, 4, 16ull << 30 },
		{ "trn2.48xlarge", 16, 3, 4, 24ull << 30 },
	};
	int index[64], n = ndl_available_devices(index, 64);
	uint32_t arch, revision, domain, bus, min, max, id;
	uint8_t slot, func;
	ndl_version_info_t v;
	unsigned int k = 0;

	while (!is(known[k].instance))
		k++;
	ck_assert_int_eq(n, known[k].devices);
	ck_assert_int_eq(ndl_available_devices(index, 2), 2);
	ck_assert_int_eq(index[1], 1);
	ck_assert_uint_eq(dev->device_index, 0);
	ck_assert_uint_eq(dev->device_type, known[k].type);
	ck_assert_uint_eq(dev->connected_device_count, known[k].links);
	ck_assert_uint_eq(dev->hbm_size, known[k].memory);
	ck_assert(1ull << dev->shift_hbm_size >= dev->hbm_size);
	ck_assert(1ull << (dev->shift_hbm_size - 1) < dev->hbm_size);
	ck_assert_uint_eq(dev->hbm_va_cnt, 0);
	ck_assert_uint_gt(dev->csr_size[0], 0);
	ck_assert_int_eq(ndl_get_board_info(&arch, &revision), 0);
	ck_assert_uint_eq(arch, known[k].type);
	ck_assert_int_eq(ndl_get_version(&v), 0);
	ck_assert_uint_ge(v.driver_major_version, 2);
	ck_assert_uint_eq(v.library_major_version, 1);
	ck_assert_int_eq(ndl_get_compatible_version(&min, &max), 0);
	ck_assert_uint_le(min, max);
	ck_assert_int_eq(ndl_get_device_bdf_ext(1, &domain, &bus, &slot, &func), 0);
	ck_assert_int_eq(ndl_get_device_bdf_ext(63, &domain, &bus, &slot, &func), -ENODEV);
	ck_assert_int_eq(ndl_get_host_device_id(dev, &id), 0);
	ck_assert_uint_eq(id, 0);
	ck_assert(ndl_feature_supported(-1, NEURON_DRIVER_FEATURE_MEM_ALLOC64));
	ck_assert(!ndl_feature_supported(-1, 1ull << 60));
}
END_TEST

/* The order in which public drivers number the chips of a torus */
START_TEST(routes)
{
	static const uint32_t trainium[] = { 0, 2, 6, 4 }, trainium2[] = { 0, 8, 9, 1 };
	const uint32_t *known = is("trn1") ? trainium : trainium2;
	uint32_t map[64], count = 64, few = 3;
	int n = nec_get_device_count(NULL, 0), peers = 0;

	ck_assert_int_eq(ndl_get_host_device_id_to_rid_map(&count, map), 0);
	ck_assert_uint_eq(count, (uint32_t)n);
	for (uint32_t i = 0; i < 4; i++)
		ck_assert_uint_eq(map[i], is("inf1") ? i : known[i]);
	ck_assert_int_eq(ndl_get_host_device_id_to_rid_map(&few, map), 0);
	ck_assert_uint_eq(few, 3);
	for (int i = 0; i < n; i++) {
		ck_assert_int_eq(nec_mla_idx_to_rid(0, i), (int)map[i]);
		ck_assert_int_eq(nec_rid_to_mla_idx(0, (int)map[i]), i);
	}
	ck_assert_int_eq(nec_mla_idx_to_rid(0, n), -1);
	ck_assert_int_eq(nec_mla_idx_to_rid(-1, 0), -1);
	ck_assert_int_eq(nec_rid_to_mla_idx(0, -5), -1);

	/* who is behind a port has this one behind one of its own */
	for (int port = 0; port < 6; port++) {
		int peer = nec_get_peer_mla_idx(0, 0, port), back = 0;

		if (peer == NEC_UNKNOWN_MLA_DEV)
			continue;
		peers++;
		for (int p = 0; p < 6; p++)
			back += nec_get_peer_mla_idx(0, peer, p) == 0;
		ck_assert_int_ge(back, 1);
	}
	ck_assert_int_eq(peers, dev->connected_device_count);
	ck_assert_int_eq(nec_get_peer_mla_idx(0, 0, -1), NEC_UNKNOWN_MLA_DEV);
	ck_assert_int_eq(nec_get_peer_mla_idx(0, n, 0), NEC_UNKNOWN_MLA_DEV);
}
END_TEST

START_TEST(collective_library)
{
	int array[64], host[2] = { 0, 1 }, peer, can = 7;
	uint32_t size = 0, domain, bus, word = 0;
	uint8_t slot, func;
	nec_version_info_t version;

	ck_assert_int_gt(nec_get_device_count(array, 64), 1);
	ck_assert_int_eq(array[1], 1);
	ck_assert_int_eq(nec_get_device_pci_bdf(0, &domain, &bus, &slot, &func), 0);
	ck_assert_int_eq(nec_get_device_pci_bdf(0, NULL, &bus, &slot, &func), -EINVAL);
	ck_assert_int_eq(nec_get_virtual_core_size(&size), NRT_SUCCESS);
	ck_assert_uint_eq(size, is("trn2") ? 2 : 1);
	ck_assert_int_eq(nec_get_virtual_core_size(NULL), NRT_INVALID);
	ck_assert_int_eq(nec_get_version_info(&version), NRT_SUCCESS);
	ck_assert_uint_eq(version.major, 2);
	ck_assert_int_eq(nec_get_version_info(NULL), NRT_INVALID);
	ck_assert(nec_is_mla_available(0, 3));
	ck_assert_int_eq(nec_build_port_and_rid_map(0, host, host, 2), NRT_SUCCESS);
	ck_assert(nec_is_mla_available(0, 1) && !nec_is_mla_available(0, 3));
	ck_assert_int_eq(nec_build_port_and_rid_map(0, NULL, host, 2), NRT_INVALID);
	ck_assert_int_eq(nec_build_port_and_rid_map(0, host, host, 65), NRT_INVALID);
	ck_assert_int_lt(nec_get_p2p_pod_peer_node(0, 0, 1, &peer), 0);
	ck_assert_int_eq(peer, -1);
	ck_assert_int_eq(nec_pod_node_can_access_peer_node(NEC_POD_TYPE_NONE, 0, 1, 1, 1, &can), 0);
	ck_assert_int_eq(can, 1);
	ck_assert_int_eq(nec_pod_node_can_access_peer_node(NEC_POD_TYPE_P2P, 0, 1, 1, 1, &can),
			 NRT_INVALID);
	nec_inc_semaphore(&word, 3);
	ck_assert_uint_eq(word, 3);
	nec_inc_semaphore(NULL, 3);
	ck_assert_uint_eq(nec_get_dynamic_send_size_bytes(NULL, 4, 0, 2), 0);
	nec_set_recv_size_bytes(NULL, 1, 4, 0, 2);
	nec_ndl_printk(NULL, 1, 0);
}
END_TEST

START_TEST(memory)
{
	static uint8_t there[3 << 20], back[sizeof(there)];
	uint64_t one, two, host, pa, size, offset, found;
	struct neuron_ioctl_mem_chunk_info chunks[64];
	nrt_tensor_batch_op_t ops[2];
	neuron_memcpy_batch_t batch;
	uint32_t n = 64, none = 0;
	int wait = NEURON_DMA_H2T_CTX_HANDLE_NONE;
	uint8_t *va;
	int device, hbm;

	for (size_t i = 0; i < sizeof(there); i++)
		there[i] = (uint8_t)(i * 13 + i / 241);
	ck_assert_int_eq(ndl_memory_alloc(dev, sizeof(there), 4096, 0, 0, 0, 0,
					  NEURON_MEMALLOC_TYPE_TENSORS_DEVICE, &one),
			 0);
	ck_assert_int_eq(ndl_memory_alloc(dev, sizeof(there), 4096, 0, 0, 0, 1,
					  NEURON_MEMALLOC_TYPE_TENSORS_DEVICE, &two),
			 0);
	ck_assert_int_eq(ndl_memory_alloc(dev, 4096, 0, 1, 0, 0, 0, NEURON_MEMALLOC_TYPE_MISC_HOST,
					  &host),
			 0);
	ck_assert_uint_ne(one, two);
	ck_assert_int_eq(ndl_memory_buf_copyin(one, there, 0, sizeof(there)), 0);
	ck_assert_int_eq(ndl_memory_copy(one, two, 4096, 0, sizeof(there) - 4096), 0);
	ck_assert_int_eq(ndl_memory_copy_as(one, two, 0, sizeof(there) - 4096, 4096, 0, &wait), 0);
	ck_assert_int_eq(ndl_memory_copy_as_wait(two, wait), 0);
	ck_assert_int_eq(ndl_memory_buf_zerocopyout(two, back, 0, sizeof(back), -1), 0);
	ck_assert_mem_eq(back, there + 4096, sizeof(there) - 4096);
	ck_assert_mem_eq(back + sizeof(there) - 4096, there, 4096);

	/* a mapping shows what was copied, and where it is */
	ck_assert_int_eq(ndl_memory_map(two, (void **)&va), 0);
	ck_assert_mem_eq(va, back, sizeof(back));
	ck_assert_int_eq(ndl_get_va_placement(va + 100, &device, &hbm), 0);
	ck_assert_int_eq(device, 0);
	ck_assert_int_eq(hbm, 0);
	ck_assert_int_eq(ndl_get_va_placement(there, &device, &hbm), -ENOENT);
	ck_assert_int_eq(ndl_memset(two, 10, 0x5a, 20), 0);
	ck_assert_uint_eq(va[9], back[9]);
	ck_assert_uint_eq(va[10], 0x5a);
	ck_assert_uint_eq(va[29], 0x5a);
	ck_assert_uint_eq(va[30], back[30]);

	ops[0] = (nrt_tensor_batch_op_t){ 0, 16, there + 99 };
	ops[1] = (nrt_tensor_batch_op_t){ 64, 8, there };
	batch = (neuron_memcpy_batch_t){
		.mem_handle = two, .mem_handle_offset = 8, .ops_ptr = ops, .num_ops = 2
	};
	ck_assert_int_eq(ndl_memory_buf_batch_copy(&batch, 1, 0, -1), 0);
	ck_assert_mem_eq(va + 8, there + 99, 16);
	ck_assert_mem_eq(va + 72, there, 8);
	ck_assert_int_eq(ndl_memory_unmap(two), 0);
	ck_assert_int_eq(ndl_memory_unmap(two), -EINVAL);

	ck_assert_int_eq(ndl_memory_get_pa(two, &pa), 0);
	ck_assert_int_eq(ndl_mem_get_mc_mmap_info(dev, pa + 5, &offset, &size, &found), 0);
	ck_assert_uint_eq(found, two);
	ck_assert_uint_eq(size, sizeof(there));
	ck_assert_int_eq(ndl_dump_device_allocation_info(dev, 0, chunks, &n), 0);
	ck_assert_uint_ge(n, 2);
	for (uint32_t i = 0, seen = 0; i < n; i++) {
		seen += chunks[i].pa == pa;
		ck_assert(i + 1 < n || seen == 1);
	}
	ck_assert_int_eq(ndl_dump_device_allocation_info(dev, 0, NULL, &none), -EAGAIN);
	ck_assert_uint_eq(none, n);

	ck_assert_int_eq(ndl_mmap_bar_region(dev, NEURON_DM_BLOCK_TPB, 0,
					     NEURON_DM_RESOURCE_SEMAPHORE, (void **)&va, &size),
			 -ENOTSUP);
	ck_assert_int_eq(ndl_mmap_bar_region(dev, 7, 0, 0, (void **)&va, &size), -EINVAL);

	/* handles that are gone, or never were */
	ck_assert_int_eq(ndl_memory_free(two), 0);
	ck_assert_int_eq(ndl_memory_free(two), -EINVAL);
	ck_assert_int_eq(ndl_memory_get_pa(two, &pa), -EINVAL);
	ck_assert_int_eq(ndl_memory_buf_copyin(two, there, 0, 1), -EINVAL);
	ck_assert_int_eq(ndl_memory_copy(one, two, 0, 0, 1), -EINVAL);
	ck_assert_int_eq(ndl_memory_free(0), -EINVAL);
	ck_assert_int_eq(ndl_memory_free(UINT64_MAX), -EINVAL);
	ck_assert_int_eq(ndl_memory_map(one ^ 1ull << 40, (void **)&va), -EINVAL);
	ck_assert_int_eq(ndl_memory_buf_copyin(one, there, sizeof(there), 1), -EINVAL);
	ck_assert_int_eq(ndl_memory_buf_copyin(one, NULL, 0, 1), -EINVAL);
	ck_assert_int_eq(ndl_memory_buf_copyout(one, there, UINT64_MAX, 2), -EINVAL);
	batch.mem_handle = one;
	batch.mem_handle_offset = UINT64_MAX - 3;
	ck_assert_int_eq(ndl_memory_buf_batch_copy(&batch, 1, 0, -1), -EINVAL);
	ck_assert_int_eq(ndl_memory_buf_batch_copy(&batch, 1, 2, -1), -EINVAL);
	ck_assert_int_eq(ndl_memory_alloc(dev, 64, 0, 0, 0, 0, 99, 0, &two), -EINVAL);
	ck_assert_int_eq(ndl_memory_alloc(dev, 64, 0, 0, 0, 0, 0, 20, &two), -EINVAL);
	ck_assert_int_eq(ndl_memory_alloc(dev, 64, 0, 0, 77, 0, 0, 0, &two), -EINVAL);
	ck_assert_int_eq(ndl_memory_copy_as(one, one, 0, 0, 1, 0, NULL), -EINVAL);
	/* the host's chunk and the first one are the device's to free */
	(void)host;
}
END_TEST

START_TEST(whole_memory)
{
	ndl_device_init_param_t params = { .initialize_device = true, .map_hbm = true };
	uint64_t handle, pa;
	ndl_device_t *mapped;
	uint32_t word = 0xdecade;
	size_t size;
	char *va;

	ck_assert_int_eq(ndl_open_device(0, &params, &mapped), 0);
	if (!is("trn2")) { /* as their drivers: there is no view of a whole memory */
		ck_assert_uint_eq(mapped->hbm_va_cnt, 0);
		ck_assert_int_eq(ndl_get_hbm_va(mapped, 0, (void **)&va, &size), -EINVAL);
		ck_assert_int_eq(ndl_close_device(mapped), 0);
		return;
	}
	ck_assert_uint_eq(mapped->hbm_va_cnt, 4);
	ck_assert_int_eq(ndl_get_hbm_va(mapped, 1, (void **)&va, &size), 0);
	ck_assert_ptr_eq(va, mapped->hbm_va[1]);
	ck_assert_uint_eq(size, mapped->hbm_size);
	ck_assert_int_eq(ndl_get_hbm_va(mapped, 4, (void **)&va, &size), -ENOENT);
	ck_assert_int_eq(ndl_get_hbm_va(mapped, -1, (void **)&va, &size), -EINVAL);
	ck_assert_int_eq(ndl_memory_alloc(mapped, 4096, 0, 0, 1, 0, 0, 9, &handle), 0);
	ck_assert_int_eq(ndl_memory_get_pa(handle, &pa), 0);
	ck_assert_int_eq(ndl_memory_buf_copyin(handle, &word, 12, 4), 0);
	ck_assert_mem_eq((char *)mapped->hbm_va[1] + (pa - mapped->hbm_offset[1]) + 12, &word, 4);
	ck_assert_int_eq(ndl_close_device(mapped), 0);
	ck_assert_int_eq(ndl_memory_free(handle), -EINVAL);
}
END_TEST

START_TEST(cores)
{
	struct neuron_uuid mine = { { 1, 2, 3 } }, other = { { 9 } };
	struct neuron_app_info *apps;
	uint64_t bitmap[8], started;
	uint32_t value, request, state, free_cores;
	ndl_copy_buf_t *buf, *again;
	struct neuron_dma_eng_state eng;
	uint64_t nq, handle;
	uint8_t ok = 7;
	size_t n;
	void *va;

	ck_assert_int_eq(ndl_nc_semaphore_write(dev, 1, 5, 40), 0);
	ck_assert_int_eq(ndl_nc_semaphore_increment(dev, 1, 5, 3), 0);
	ck_assert_int_eq(ndl_nc_semaphore_decrement(dev, 1, 5, 1), 0);
	ck_assert_int_eq(ndl_nc_semaphore_read(dev, 1, 5, &value), 0);
	ck_assert_uint_eq(value, 42);
	ck_assert_int_eq(ndl_nc_event_set(dev, 0, 3, 1), 0);
	ck_assert_int_eq(ndl_nc_event_get(dev, 0, 3, &value), 0);
	ck_assert_uint_eq(value, 1);
	ck_assert_int_eq(ndl_nc_semaphore_read(dev, -1, 5, &value), -EINVAL);
	ck_assert_int_eq(ndl_nc_semaphore_read(dev, 99, 5, &value), -EINVAL);
	ck_assert_int_eq(ndl_nc_semaphore_read(dev, 0, 100000, &value), -EINVAL);
	ck_assert_int_eq(ndl_nc_event_get(dev, 0, 3, NULL), -EINVAL);

	ck_assert_int_eq(ndl_crwl_writer_enter(dev, 0, mine), 0);
	ck_assert_int_eq(ndl_crwl_writer_downgrade(dev, 0, mine), 0);
	ck_assert_int_lt(ndl_crwl_reader_enter(dev, 0, other), 0);
	ck_assert_int_eq(ndl_crwl_reader_exit(dev, 0, mine), 0);
	ck_assert_int_eq(ndl_crwl_nc_range_mark(2, 1, 3, &free_cores, bitmap, sizeof(bitmap)), 0);
	ck_assert_uint_eq(bitmap[0], 6);
	ck_assert_int_eq(ndl_crwl_nc_range_mark(2, 1, 3, &free_cores, bitmap, sizeof(bitmap)),
			 -EBUSY);
	ck_assert_uint_eq(free_cores, 1);
	bitmap[0] = 6;
	ck_assert_int_eq(ndl_crwl_nc_range_unmark(bitmap, sizeof(bitmap)), 0);
	ck_assert_int_eq(ndl_crwl_nc_range_mark(3, 1, 3, &free_cores, bitmap, sizeof(bitmap)), 0);
	ck_assert_uint_eq(bitmap[0], 14);
	ck_assert_int_eq(ndl_crwl_nc_range_unmark(bitmap, sizeof(bitmap)), 0);
	ck_assert_int_eq(ndl_crwl_nc_range_mark(1, 0, 700, &free_cores, bitmap, 64), -EINVAL);
	ck_assert_int_eq(ndl_crwl_nc_range_mark(1, 0, 1, &free_cores, NULL, 64), -EINVAL);
	ck_assert_int_eq(ndl_crwl_nc_range_unmark(NULL, 8), -EINVAL);

	ck_assert_int_eq(ndl_notification_init(dev, 1, NQ_DEV_TYPE_NEURON_CORE, NQ_TYPE_ERROR, 0,
					       4096, true, 0, 0, &nq),
			 0);
	ck_assert_int_eq(ndl_notification_map(nq, &va), 0);
	ck_assert_ptr_nonnull(va);
	ck_assert_int_eq(ndl_notification_get_size(nq, &value), 0);
	ck_assert_uint_eq(value, 4096);
	ck_assert_int_eq(ndl_notification_get_mem_handle(nq, &handle), 1);
	ck_assert_int_eq(ndl_notification_destroy(nq), 0);
	ck_assert_int_eq(ndl_notification_destroy(nq), -EINVAL);
	ck_assert_int_eq(ndl_notification_map(nq, &va), -EINVAL);
	ck_assert_int_eq(ndl_notification_get_size(nq, &value), 1);
	ck_assert_int_eq(ndl_notification_init(dev, 1, NQ_DEV_TYPE_TOPSP, 0, 0, 4096, true, 0, 0,
					       &nq),
			 -ENOTSUP);
	ck_assert_int_eq(ndl_notification_init(dev, 1, 0, 3, 0, 100, true, 0, 0, &nq), -EINVAL);
	ck_assert_int_eq(ndl_notification_init(dev, 99, 0, 3, 0, 4096, true, 0, 0, &nq), -EINVAL);

	ck_assert_int_eq(ndl_nc_init_set_state(dev, 0, NEURON_CINIT_STATE_STARTED, &state), 0);
	ck_assert_uint_eq(state, NEURON_CINIT_STATE_STARTED);
	ck_assert_int_eq(ndl_nc_model_started_count(dev, 0, &started), 0);
	ck_assert_int_eq(ndl_reset_ncs(0, 1, &request), 0);
	ck_assert_int_eq(ndl_ready_ncs(0, request, &ok), 0);
	ck_assert_uint_eq(ok, 1);
	ck_assert_int_eq(ndl_reset_ncs(33, 1, &request), -ENODEV);
	ck_assert_int_eq(ndl_get_all_apps_info(dev, &apps, &n, APP_INFO_ALL), 0);
	free(apps);
	ck_assert_int_eq(ndl_dma_eng_get_state(0, 0, &eng), 0);
	ck_assert_uint_gt(eng.max_queues, 0);
	ck_assert_int_eq(ndl_dma_eng_get_state(5000, 0, &eng), -ENODEV);
	ck_assert_int_eq(ndl_dma_eng_get_state(0, 5000, &eng), -EINVAL);
	ck_assert_int_eq(ndl_get_copy_buf(dev, 1, &buf), 0);
	memset(buf->mmap_va, 0x11, NDL_COPY_BUF_SIZE);
	ck_assert_int_eq(ndl_get_copy_buf(dev, 1, &again), 0);
	ck_assert_ptr_eq(again, buf);
	ck_assert_int_eq(ndl_get_copy_buf(dev, 99, &again), -EINVAL);
}
END_TEST

/* A copy by hand: rings of the caller's, as the public driver's users build them */
START_TEST(queue)
{
	enum { COUNT = 32, ENG = 4, QID = 3, LAST = 100 };
	uint64_t tx, rx, src, dst, src_pa, dst_pa;
	struct ndl_queue_init_batch *batch = calloc(1, sizeof(*batch));
	struct neuron_dma_queue_state t, r;
	const struct timespec ms = { .tv_nsec = 1000000 };
	uint8_t there[64], back[64] = { 0 }, desc[16], copy[16];

	ck_assert_int_eq(ndl_memory_alloc(dev, 4096, 0, 1, 0, 0, 0, 17, &tx), 0);
	ck_assert_int_eq(ndl_memory_alloc(dev, 4096, 0, 1, 0, 0, 0, 17, &rx), 0);
	ck_assert_int_eq(ndl_memory_alloc(dev, 4096, 0, 0, 0, 0, 0, 9, &src), 0);
	ck_assert_int_eq(ndl_memory_alloc(dev, 4096, 0, 0, 0, 0, 0, 9, &dst), 0);
	ck_assert_int_eq(ndl_memory_get_pa(src, &src_pa), 0);
	ck_assert_int_eq(ndl_memory_get_pa(dst, &dst_pa), 0);
	for (int i = 0; i < 64; i++)
		there[i] = (uint8_t)(i + 100);
	ck_assert_int_eq(ndl_memory_buf_copyin(src, there, 0, 64), 0);

	batch->count = 1;
	batch->entries[0] = (struct ndl_queue_init){ ENG, QID, COUNT, COUNT, tx, rx, 0, 0 };
	ck_assert_int_eq(ndl_dma_queue_init_batch(0, batch), 0);
	nhal_desc_tx(desc, src_pa, 64, 1, NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST);
	ck_assert_int_eq(ndl_dma_copy_descriptors(tx, desc, 0, 1, NEURON_DMA_QUEUE_TYPE_TX), 0);
	ck_assert_int_eq(
		ndl_dma_descriptor_copyout(0, ENG, QID, NEURON_DMA_QUEUE_TYPE_TX, 0, 1, copy), 0);
	ck_assert_mem_eq(copy, desc, sizeof(desc));
	nhal_desc_rx(desc, dst_pa, 64, 1);
	ck_assert_int_eq(ndl_dma_copy_descriptors(rx, desc, 0, 1, NEURON_DMA_QUEUE_TYPE_RX), 0);
	ck_assert_int_eq(ndl_dma_queue_copy_start(0, ENG, QID, 1, 1), 0);
	for (int i = 0; i < CHECK_WAIT_MS && back[63] != there[63]; i++) {
		ck_assert_int_eq(ndl_memory_buf_copyout(dst, back, 0, 64), 0);
		nanosleep(&ms, NULL);
	}
	ck_assert_mem_eq(back, there, 64);
	ck_assert_int_eq(ndl_dma_queue_get_state(0, ENG, QID, &t, &r), 0);
	ck_assert_uint_eq(t.length, COUNT);
	ck_assert_int_eq(ndl_dma_ack_completed_desc(0, ENG, QID, 1), 0);
	ck_assert_int_eq(ndl_dma_queue_release(0, ENG, QID), 0);

	ck_assert_int_eq(ndl_dma_queue_init(0, ENG, QID, COUNT, COUNT, tx, rx, src, 0), -ENOTSUP);
	ck_assert_int_eq(ndl_dma_queue_init(0, ENG, QID, COUNT, COUNT, 12345, rx, 0, 0), -EINVAL);
	ck_assert_int_eq(ndl_dma_queue_init(0, 5000, QID, COUNT, COUNT, tx, rx, 0, 0), -EINVAL);
	ck_assert_int_eq(ndl_dma_queue_init(40, ENG, QID, COUNT, COUNT, tx, rx, 0, 0), -ENODEV);
	ck_assert_int_eq(ndl_dma_queue_init_batch(0, NULL), -EINVAL);
	batch->count = LAST * LAST;
	ck_assert_int_eq(ndl_dma_queue_init_batch(0, batch), -E2BIG);
	ck_assert_int_eq(ndl_dma_copy_descriptors(12345, desc, 0, 1, NEURON_DMA_QUEUE_TYPE_TX),
			 -EINVAL);
	ck_assert_int_eq(ndl_dma_copy_descriptors(tx, NULL, 0, 1, NEURON_DMA_QUEUE_TYPE_TX),
			 -EINVAL);
	ck_assert_int_eq(ndl_h2t_dma_queue_free(dev, 0, 1), -ENOTSUP);
	free(batch);
}
END_TEST

START_TEST(absent)
{
	char text[] = "a line";
	uint32_t type, size, state;
	int node;

	ck_assert_int_eq(ndl_pod_info(&type, &size), 0);
	ck_assert_uint_eq(type, NEURON_POD_TYPE_NONE);
	ck_assert_uint_eq(size, 0);
	ck_assert_int_eq(ndl_pod_election_state(&state), 0);
	ck_assert_uint_eq(state, NEURON_POD_E_STATE_SINGLE_NODE);
	ck_assert_int_eq(ndl_pod_mapping_info(&node), 0);
	ck_assert_int_eq(node, -1);
	ck_assert_int_eq(ndl_pod_ctrl(NEURON_NPE_POD_CTRL_REQ_POD, 0, 1, &state), 0);
	ck_assert_uint_eq(state, NEURON_POD_E_STATE_SINGLE_NODE);
	ck_assert_int_eq(ndl_pod_ctrl(9, 0, 1, &state), -EINVAL);
	ck_assert_int_eq(ndl_set_performance_profile(dev, 1), -ENOTSUP);
	ck_assert_int_eq(ndl_enable_throttling_notifications(dev, true), -ENOTSUP);
	ck_assert_int_eq(ndl_metrics_ctrl(dev, NEURON_METRICS_MODE_PERIODIC_ENABLE), -ENOTSUP);
	ck_assert_int_eq(ndl_printk(text, sizeof(text), 0), 0);
	ck_assert_int_eq(ndl_printk(text, sizeof(text) - 1, 0), -1);
	ck_assert_int_eq(errno, EBADMSG);
	ck_assert_int_eq(ndl_printk(text, 100000, 0), -1);
	ck_assert_int_eq(errno, EFAULT);
	ck_assert_int_eq(ndl_open_device(0, NULL, NULL), -EINVAL);
	ck_assert_int_eq(ndl_close_device(NULL), -EINVAL);
	ck_assert_int_eq(ndl_close_device((ndl_device_t *)text), -EINVAL);
	ck_assert_int_eq(ndl_bar_read((ndl_device_t *)text, 0, NULL, 1, NULL), -EINVAL);
	ck_assert_int_eq(ndl_memory_alloc(NULL, 64, 0, 0, 0, 0, 0, 0, NULL), -EINVAL);
}
END_TEST

/* The datastore: the process's own, and what libnrt puts there for monitors */
START_TEST(datastore)
{
	const nmetric_version_t version = { .major_ver = 2, .minor_ver = 1, .build_num = 7 };
	nds_instance_t *nds, *same;
	nds_obj_handle_t *models, info, obj;
	struct testmodel t;
	struct client cl;
	uint64_t value, before;
	size_t n, size;
	void *neff;

	setenv("NEURON_PROCESS_TAG", "a tag", 1);
	ck_assert_int_eq(nrt_init(NRT_FRAMEWORK_TYPE_PYTORCH, "2.1.7", "1.0"), NRT_SUCCESS);
	ck_assert_int_eq(nds_open(dev, 0, &nds), 0);
	ck_assert_int_eq(nds_open(dev, getpid(), &same), 0);
	value = 5;
	ck_assert_int_eq(nds_set_nc_counter(nds, 1, 7, &value), 0);
	ck_assert_int_eq(nds_increment_nc_counter(nds, 1, 7, 10), 0);
	ck_assert_int_eq(nds_decrement_nc_counter(nds, 1, 7, 1), 0);
	ck_assert_int_eq(nds_get_nc_counter(same, 1, 7, &value), 0);
	ck_assert_uint_eq(value, 14);
	/* cores and counters behind the first sections are places of their own */
	for (int nc = 0; nc < 16; nc += 5) {
		for (uint32_t k = 30; k < NDS_TOTAL_NC_COUNTER_COUNT; k += 16) {
			value = (uint64_t)nc * 1000 + k;
			ck_assert_int_eq(nds_set_nc_counter(nds, nc, k, &value), 0);
		}
	}
	for (int nc = 0; nc < 16; nc += 5) {
		for (uint32_t k = 30; k < NDS_TOTAL_NC_COUNTER_COUNT; k += 16) {
			ck_assert_int_eq(nds_get_nc_counter(same, nc, k, &value), 0);
			ck_assert_uint_eq(value, (uint64_t)nc * 1000 + k);
		}
	}
	ck_assert_int_eq(nds_or_nd_counter(nds, NDS_ND_COUNTER_FEATURE_BITMAP, 1), 0);
	ck_assert_int_eq(nds_get_nd_counter(nds, NDS_ND_COUNTER_FEATURE_BITMAP, &value), 0);
	ck_assert_uint_eq(value, 2);
	ck_assert_int_eq(nds_get_nd_counter(nds, NDS_ND_COUNTER_FRAMEWORK_VERSION, &value), 0);
	ck_assert_uint_eq(value, version.all);

	/* a reader of a pid does not write; bad numbers and closed instances are refused */
	ck_assert_int_eq(nds_set_nc_counter(same, 1, 7, &value), -EACCES);
	ck_assert_int_eq(nds_increment_nd_counter(same, 1, 7), -EACCES);
	ck_assert_int_eq(nds_get_nc_counter(nds, -1, 0, &value), -EINVAL);
	ck_assert_int_eq(nds_get_nc_counter(nds, 16, 0, &value), -EINVAL);
	ck_assert_int_eq(nds_get_nc_counter(nds, 0, 95, &value), -EINVAL);
	ck_assert_int_eq(nds_get_nc_counter(nds, 0, 0, NULL), -EINVAL);
	ck_assert_int_eq(nds_get_nd_counter(nds, 31, &value), -EINVAL);
	ck_assert_int_eq(nds_or_nd_counter(nds, 3, 64), -EINVAL);
	ck_assert_int_ne(nds_open(dev, 1, &same), 0);
	ck_assert_int_ne(nds_open(dev, -1, &same), 0);
	ck_assert_int_ne(nds_open(NULL, 0, &same), 0);

	/* the process */
	info = nds_read_process_info(nds);
	ck_assert_ptr_nonnull(info);
	ck_assert_int_eq(nds_obj_handle_to_process_info(info)->framework_type,
			 NRT_FRAMEWORK_TYPE_PYTORCH);
	ck_assert_str_eq(nds_obj_handle_to_process_info(info)->tag, "a tag");
	ck_assert_uint_eq(nds_obj_handle_to_process_info(info)->framework_version.build, 7);
	ck_assert_uint_eq(nds_obj_handle_to_process_info(info)->runtime_version.major, 2);
	ck_assert_ptr_null(nds_obj_handle_to_model_node_info(info));
	ck_assert_int_eq(nds_obj_delete(info), 0);
	ck_assert_int_eq(nds_obj_delete(info), -EINVAL);
	ck_assert_ptr_null(nds_obj_handle_to_process_info(info));
	info = nds_read_process_info_ext(nds);
	ck_assert_str_eq(nds_obj_handle_to_process_info_ext(info)->tag, "a tag");
	ck_assert_int_eq(nds_obj_delete(info), 0);

	/* a model that is loaded, what it executes, and that it is gone */
	testmodel_add(&t, 16);
	neff = testmodel_write(&t, &size);
	testmodel_free(&t);
	client_load(&cl, neff, size, 0, NRT_TENSOR_PLACEMENT_DEVICE, 0);
	ck_assert_int_eq(nds_read_all_model_nodes(nds, &models, &n), 0);
	ck_assert_uint_eq(n, 1);
	ck_assert_uint_eq(nds_obj_handle_to_model_node_info(models[0])->nc_index, 0);
	ck_assert_uint_gt(nds_obj_handle_to_model_node_mem_usage(models[0])
				  ->model_mem_usage[1][NDS_DMA_MEM_USAGE_SLOT_CODE]
				  .total_size,
			  0);
	ck_assert_int_eq(nds_obj_delete(models[0]), 0);
	free(models);
	ck_assert_int_eq(nds_get_nc_counter(nds, 0, NDS_NC_COUNTER_INFER_COMPLETED, &before), 0);
	ck_assert_int_eq(client_run(&cl), NRT_SUCCESS);
	ck_assert_int_eq(nds_get_nc_counter(nds, 0, NDS_NC_COUNTER_INFER_COMPLETED, &value), 0);
	ck_assert_uint_eq(value, before + 1);
	client_free(&cl);
	ck_assert_int_eq(nds_read_all_model_nodes(nds, &models, &n), 0);
	ck_assert_uint_eq(n, 0);
	free(models);

	/* objects of the program's own, up to the room that there is */
	obj = nds_obj_new(nds, OBJECT_TYPE_MODEL_NODE_INFO);
	strcpy(nds_obj_handle_to_model_node_info(obj)->name, "mine");
	ck_assert_int_eq(nds_obj_commit(obj), 0);
	ck_assert_int_eq(nds_read_all_model_nodes(nds, &models, &n), 0);
	ck_assert_uint_eq(n, 1);
	ck_assert_str_eq(nds_obj_handle_to_model_node_info(models[0])->name, "mine");
	ck_assert_int_eq(nds_obj_delete(models[0]), 0);
	free(models);
	ck_assert_int_eq(nds_obj_delete(obj), 0);
	ck_assert_int_eq(nds_read_all_model_nodes(nds, &models, &n), 0);
	ck_assert_uint_eq(n, 0);
	free(models);
	n = 0;
	while ((obj = nds_obj_new(nds, OBJECT_TYPE_MODEL_NODE_INFO)) && !nds_obj_commit(obj))
		ck_assert_uint_lt(++n, 1000);
	ck_assert_uint_ge(n, 32);
	ck_assert_ptr_null(nds_obj_new(nds, 3));
	ck_assert_ptr_null(nds_obj_new(NULL, 0));
	ck_assert_int_eq(nds_obj_commit(&n), -EINVAL);
	ck_assert_int_eq(nds_close(nds), 0);
	ck_assert_int_eq(nds_close(nds), -EINVAL);
	ck_assert_int_eq(nds_get_nc_counter(nds, 0, 0, &value), -EINVAL);
	nrt_close();
}
END_TEST

/* libnrt and the driver library agree about memory and devices. */
START_TEST(runtime)
{
	nrt_tensor_device_allocation_info_t info;
	uint32_t map[64], count = 64, id, word = 0xabcd;
	nrt_vnc_memory_stats_t before, after;
	nrt_tensor_t *tensor;
	size_t size, out;
	int device, hbm, fd;
	char *va, bdf[13];

	ck_assert_int_eq(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
	ck_assert_int_eq(nrt_get_vnc_memory_stats(0, &before, sizeof(before), &out), NRT_SUCCESS);
	ck_assert_int_eq(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 8192, "t", &tensor),
			 NRT_SUCCESS);
	ck_assert_int_eq(nrt_get_vnc_memory_stats(0, &after, sizeof(after), &out), NRT_SUCCESS);
	ck_assert_uint_eq(out, sizeof(after));
	ck_assert_uint_eq(after.bytes_used, before.bytes_used + 8192);
	ck_assert_int_eq(nrt_tensor_write(tensor, &word, 0, 4), NRT_SUCCESS);
	va = nrt_tensor_get_va(tensor);
	ck_assert_ptr_nonnull(va);
	ck_assert_int_eq(nrt_tensor_get_device_allocation_info(tensor, &info), NRT_SUCCESS);
	ck_assert_int_eq(ndl_get_va_placement(va, &device, &hbm), 0);
	ck_assert_int_eq(device, 0);
	ck_assert_int_eq(hbm, info.hbm_index);
	ck_assert_int_eq(nrt_host_device_id_get(0, &id), NRT_SUCCESS);
	ck_assert_uint_eq(id, 0);
	ck_assert_int_eq(nrt_host_device_id_get(64, &id), NRT_INVALID);
	ck_assert_int_eq(nrt_host_device_id_get(-1, &id), NRT_INVALID);
	ck_assert_int_eq(nrt_host_device_id_rid_map_get(&count, map), NRT_SUCCESS);
	ck_assert_int_eq((int)count, nec_get_device_count(NULL, 0));
	ck_assert_int_eq(nrt_host_device_id_rid_map_get(NULL, map), NRT_INVALID);
	if (!is("trn2")) {
		ck_assert_int_eq(nrt_get_hbm_mmap_va(0, 0, (void **)&va, &size), NRT_INVALID);
	} else {
		ck_assert_int_eq(nrt_get_hbm_mmap_va(0, info.hbm_index, (void **)&va, &size),
				 NRT_SUCCESS);
		ck_assert_mem_eq(va + (info.physical_address - dev->hbm_offset[info.hbm_index]),
				 &word, 4);
	}
	ck_assert_int_eq(nrt_get_hbm_mmap_va(0, 4, (void **)&va, &size), NRT_INVALID_HANDLE);
	ck_assert_int_eq(nrt_get_hbm_mmap_va(63, 0, (void **)&va, &size), NRT_INVALID);
	ck_assert_int_eq(nrt_get_hbm_mmap_va(0, 0, NULL, &size), NRT_INVALID);
	if (node) { /* a dma-buf of device memory, from its first byte on */
		va = nrt_tensor_get_va(tensor);
		ck_assert_int_eq(nrt_get_dmabuf_fd((uintptr_t)va, 8192, &fd), NRT_SUCCESS);
		close(fd);
	} else {
		ck_assert_int_eq(nrt_get_dmabuf_fd((uintptr_t)va, 4096, &fd), NRT_INVALID);
	}
	ck_assert_int_eq(nrt_get_dmabuf_fd(0x1000, 4096, &fd), NRT_INVALID);
	ck_assert_int_eq(nrt_get_dmabuf_fd((uintptr_t)va, 4096, NULL), NRT_INVALID);
	out = sizeof(bdf);
	ck_assert_int_eq(nrt_get_attached_efa_bdf(tensor, bdf, &out), NRT_FAILURE);
	ck_assert_int_eq(nrt_get_attached_efa_bdf(NULL, bdf, &out), NRT_INVALID);
	nrt_tensor_free(&tensor);
	nrt_close();
}
END_TEST

START_TEST(debug_streams)
{
	ndebug_stream_event_header_t header;
	int fd, other;
	void *payload;

	ck_assert_int_eq(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
	ck_assert_int_eq(nrt_debug_client_connect(0, &fd), NRT_SUCCESS);
	ck_assert_int_eq(nrt_debug_client_connect(0, &other), NRT_INVALID);
	ck_assert_int_eq(nrt_debug_client_connect(1, &other), NRT_SUCCESS);
	ck_assert_int_eq(nrt_debug_client_connect(-1, &other), NRT_INVALID);
	ck_assert_int_eq(nrt_debug_client_connect(1000, &other), NRT_INVALID);
	ck_assert_int_eq(nrt_debug_client_read_one_event(fd, &header, &payload), NRT_QUEUE_EMPTY);
	ck_assert_ptr_null(payload);
	ck_assert_int_eq(nrt_debug_client_read_one_event(fd, NULL, &payload), NRT_INVALID);
	nrt_debug_client_connect_close(fd);
	nrt_debug_client_connect_close(fd);
	nrt_debug_client_connect_close(-1);
	ck_assert_int_eq(nrt_debug_client_read_one_event(fd, &header, &payload),
			 NRT_INVALID_HANDLE);
	ck_assert_int_eq(nrt_debug_client_connect(0, &fd), NRT_SUCCESS);
	nrt_debug_client_connect_close(fd);
	nrt_debug_client_connect_close(other);
	nrt_close();
}
END_TEST

/* Groups of one, and what exists so that programs link */
START_TEST(groups)
{
	nrt_ucode_info ucode = { 0 };
	char in[8] = "1234567", out[8], text[64];
	int err = 0;

	ck_assert_int_eq(nrt_all_gather(0, 0, 1, 8, in, out), NRT_UNINITIALIZED);
	ck_assert_int_eq(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
	ck_assert_int_eq(nrt_all_gather(0, 0, 1, 8, in, out), NRT_SUCCESS);
	ck_assert_str_eq(out, in);
	ck_assert_int_eq(nrt_all_gather(0, 0, 2, 8, in, out), NRT_INVALID);
	ck_assert_int_eq(nrt_all_gather(0, 1, 1, 8, in, out), NRT_INVALID);
	ck_assert_int_eq(nrt_all_gather(0, 0, 1, 8, NULL, out), NRT_INVALID);
	ck_assert_int_eq(nrt_barrier(0, 0, 1), NRT_SUCCESS);
	ck_assert_int_eq(nrt_barrier(-1, 0, 1), NRT_INVALID);
	ck_assert_int_eq(nrt_barrier(0, 0, 0), NRT_INVALID);
	ck_assert_int_eq(nrt_build_global_comm(0, 0, 1), NRT_SUCCESS);
	ck_assert_int_eq(nrt_cc_global_comm_init(0, 0, 1), NRT_SUCCESS);
	ck_assert_int_eq(nrt_cc_global_comm_init(0, 1, 2), NRT_INVALID);
	ck_assert_int_eq(nrt_set_pool_eng_ucode(&ucode), NRT_INVALID);
	ck_assert_ptr_null(nrt_get_libnccl_net(&err, text, sizeof(text)));
	ck_assert_int_ne(err, 0);
	ck_assert_str_ne(text, "");
	ck_assert_ptr_null(nrt_get_libnccl_net(NULL, NULL, 0));
	nrt_close();
	ck_assert_int_eq(nrt_barrier(0, 0, 1), NRT_CLOSED);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *s = suite_create("nrt-ndl");
	TCase *tc = tcase_create("open");

	if (argc < 2)
		return 2;
	machine = argv[1];
	node = !strcmp(machine, "node");
	instance = argc > 2 ? argv[2] : machine + 4;
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, devices);
	tcase_add_test(tc, routes);
	tcase_add_test(tc, collective_library);
	tcase_add_test(tc, memory);
	tcase_add_test(tc, whole_memory);
	tcase_add_test(tc, cores);
	tcase_add_test(tc, queue);
	tcase_add_test(tc, absent);
	tcase_add_test(tc, datastore);
	tcase_add_test(tc, runtime);
	tcase_add_test(tc, debug_streams);
	tcase_add_test(tc, groups);
	suite_add_tcase(s, tc);
	return check_run(s);
}
