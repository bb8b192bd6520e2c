// SPDX-License-Identifier: MIT
/* Answers about DMA engines, queues and notification queues. */
#include "answers.h"

#include <sys/mman.h>

#define RING 64
#define ENG 0
#define QID 3

static void engines(int fd)
{
	struct neuron_dma_eng_state st = { 0 };
	struct neuron_ioctl_dma_eng_init init = { ENG };
	struct neuron_ioctl_dma_eng_set_state set = { ENG, 2 };
	struct neuron_ioctl_dma_eng_get_state get = { ENG, &st };

	SAY(fd, DMA_ENG_INIT, "", &init);
	SAY(fd, DMA_ENG_SET_STATE, "normal", &set);
	ASK(fd, DMA_ENG_GET_STATE, "", &get);
	field("max", st.max_queues), field("queues", st.num_queues);
	field("tx", st.tx_state), field("rx", st.rx_state), end();
}

/* A descriptor by the public layout, written out here on purpose */
static void desc(uint32_t *d, bool is_tx, uint64_t addr, uint32_t len)
{
	d[0] = (len & 0xffff) | 1 << 24 | (is_tx ? 0x0c000000 : 0);
	d[1] = is_tx ? 0x01080003 : 0;
	d[2] = (uint32_t)addr;
	d[3] = (uint32_t)(addr >> 32);
}

static void state(int fd, const char *what, uint32_t eng, uint32_t qid)
{
	struct neuron_dma_queue_state ts = { 0 }, rs = { 0 };
	struct neuron_ioctl_dma_queue_get_state st = { eng, qid, &ts, &rs };

	ASK(fd, DMA_QUEUE_GET_STATE, what, &st);
	field("tx status", ts.sw_status), field("length", ts.length);
	field("rx status", rs.sw_status), field("length", rs.length), end();
}

/* The marker byte of the copy arrives: the queue works on another thread */
static bool arrives(const volatile uint8_t *p, uint8_t value)
{
	for (unsigned int i = 0; i < 100000; i++) {
		if (*p == value)
			return true;
		usleep(10);
	}
	return false;
}

static void queue(int fd, bool host_rings)
{
	const char *what = host_rings ? "rings in host memory" : "rings in device memory";
	uint64_t src, dst, tx, rx;
	uint32_t t[4], r[4], back[4] = { 0 };
	uint8_t data[4096], *d;
	struct neuron_ioctl_dma_queue_init init;
	struct neuron_ioctl_dma_copy_descriptors c;
	struct neuron_ioctl_dma_copy_descriptors64 c64;
	struct neuron_ioctl_dma_queue_copy_start start = { ENG, QID, 1, 1 };
	struct neuron_ioctl_dma_descriptor_copyout copyout = { ENG, QID, 0, 0, 1, back };
	struct neuron_ioctl_dma_ack_completed ack = { ENG, QID, 1 };
	struct neuron_ioctl_dma_queue_release rel = { ENG, QID };

	chunk(fd, true, 4096, 0, &src), chunk(fd, true, 4096, 0, &dst);
	chunk(fd, host_rings, 4096, 0, &tx), chunk(fd, host_rings, 4096, 0, &rx);
	d = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)chunk_pa(fd, dst));
	pattern(data, sizeof(data), 8);
	data[4095] = 0x77;
	copy_in(fd, src, data, 0, 4096);
	init = (struct neuron_ioctl_dma_queue_init){ ENG, QID, RING, RING, tx, rx, 0, 0 };
	SAY(fd, DMA_QUEUE_INIT, what, &init);
	desc(t, true, chunk_pa(fd, src), 4096);
	desc(r, false, chunk_pa(fd, dst), 4096);
	c = (struct neuron_ioctl_dma_copy_descriptors){ tx, t, 1, 0, NEURON_DMA_QUEUE_TX };
	SAY(fd, DMA_COPY_DESCRIPTORS, what, &c);
	c64 = (struct neuron_ioctl_dma_copy_descriptors64){ rx, r, 1, 0, NEURON_DMA_QUEUE_RX };
	SAY(fd, DMA_COPY_DESCRIPTORS64, what, &c64);
	SAY(fd, DMA_QUEUE_COPY_START, what, &start);
	printf("DMA_QUEUE_COPY_START %s: the data arrives = %d", what, arrives(d + 4095, 0x77));
	field("same", !memcmp(d, data, 4096)), end();
	state(fd, what, ENG, QID);
	ASK(fd, DMA_DESCRIPTOR_COPYOUT, what, &copyout);
	field("same", !memcmp(back, t, 16)), end();
	SAY(fd, DMA_ACK_COMPLETED, what, &ack);
	SAY(fd, DMA_QUEUE_RELEASE, what, &rel);
	munmap(d, 4096);
	chunk_free(fd, src), chunk_free(fd, dst), chunk_free(fd, tx), chunk_free(fd, rx);
}

static void batch(int fd)
{
	static struct neuron_ioctl_dma_queue_init_batch b;
	uint64_t tx, rx;

	chunk(fd, false, 4096, 0, &tx), chunk(fd, false, 4096, 0, &rx);
	b.count = 2;
	b.entries[0] = (struct neuron_ioctl_dma_queue_init){ ENG, 5, RING, RING, tx, rx, 0, 0 };
	b.entries[1] = (struct neuron_ioctl_dma_queue_init){ ENG, 6, RING, RING, tx, rx, 0, 0 };
	SAY(fd, DMA_QUEUE_INIT_BATCH, "two", &b);
	state(fd, "of the second", ENG, 6);
}

static void notifications(int fd)
{
	struct neuron_ioctl_notifications_init_v1 v1 = { 0, 1, 2, 8192, 0 };
	struct neuron_ioctl_notifications_init_v2 v2 = { 1, 0, 3, 0, 16384, 1, 0, 0, 0, 0 };
	struct neuron_ioctl_notifications_init_with_realloc_v2 re = { 1, 0, 3, 0, 32768, 1,
								      0, 0, 1, 0, 0 };
	struct neuron_ioctl_notifications_destroy destroy = { 0 };
	uint64_t first;
	void *p;

	ASK(fd, NOTIFICATIONS_INIT_V1, "host memory", &v1);
	field("window", (v1.mmap_offset & chip->window.mask) == chip->window.host), end();
	p = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, (off_t)v1.mmap_offset);
	printf("mmap notification queue = %d\n", p == MAP_FAILED ? -errno : 0);
	if (p != MAP_FAILED)
		munmap(p, 8192);
	first = v1.mmap_offset;
	ASK(fd, NOTIFICATIONS_INIT_V1, "again", &v1);
	field("same", v1.mmap_offset == first), end();
	ASK(fd, NOTIFICATIONS_INIT_V2, "host memory", &v2);
	field("handle", v2.mem_handle != 0), end();
	v2 = (struct neuron_ioctl_notifications_init_v2){ 1, 0, 1, 1, 4096, 0, 1, 0, 0, 0 };
	ASK(fd, NOTIFICATIONS_INIT_V2, "device memory", &v2);
	field("offset", (long long)v2.mmap_offset), end();
	ASK(fd, NOTIFICATIONS_INIT_WITH_REALLOC_V2, "larger", &re);
	field("handle", re.mem_handle != 0), end();
	SAY(fd, NOTIFICATIONS_DESTROY_V1, "", &destroy);
}

void answers_queues(int fd)
{
	engines(fd);
	queue(fd, false);
	queue(fd, true);
	batch(fd);
	state(fd, "of the driver's own", chip->copy[0].engine, chip->copy[0].queue);
	notifications(fd);
}
