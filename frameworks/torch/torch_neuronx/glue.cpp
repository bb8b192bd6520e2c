// SPDX-License-Identifier: MIT
/*
 * What PyTorch takes of a device from C++ alone: how many there are and which one is current,
 * streams and events, its allocator with storages that grow and shrink, pinned memory, generators.
 * Built for the torch that is installed (glue.py); all it does it asks of libneurontorch, and of
 * PyTorch's CPU for random numbers. Operators return when they are done, so a stream has nothing to
 * wait for, and an event is reached once it is recorded.
 */
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <torch/csrc/profiler/stubs/base.h>
#include <torch/library.h>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <mutex>

#include "neuron_torch.h"

namespace
{

constexpr auto NEURON = c10::DeviceType::PrivateUse1;

// What Python says of the machine
struct Machine {
	bool (*available)();
	int (*count)();
	int (*ready)(); // begins to use the chips; 0: they are in use, 1: they cannot be, 2:
			// another process has them
	void (*memory)(int device, uint64_t *free, uint64_t *total);
} machine;

thread_local c10::DeviceIndex current;

int count()
{
	static std::atomic<int> found; // of an available machine it stays

	if (!found)
		found = machine.count();
	return found;
}

void begin()
{
	static std::atomic<pid_t> begun; // the process that uses them
	int why;

	if (begun == getpid())
		return;
	why = machine.ready();
	TORCH_CHECK(why != 2, "Cannot re-initialize Neuron in forked subprocess. "
			      "To use Neuron with multiprocessing, you must use the 'spawn' "
			      "start method");
	TORCH_CHECK(!why, "no Neuron device can be used");
	begun = getpid();
}

void put_back(void *block)
{
	nt_block_give(block);
}

c10::DataPtr take(int32_t device, size_t bytes, c10::Device where)
{
	void *base, *block;
	NRT_STATUS status;

	if (!bytes)
		return { nullptr, nullptr, [](void *) {}, where };
	begin();
	status = nt_block_take(device, bytes, &base, &block);
	TORCH_CHECK_WITH(OutOfMemoryError, status != NRT_RESOURCE, where,
			 " is out of memory: ", bytes, " bytes were asked for");
	TORCH_CHECK(!status, where, ": ", bytes, " bytes: status ", int(status), " of the runtime");
	return { base, block, put_back, where };
}

struct DeviceMemory final : c10::DeviceAllocator {
	c10::DataPtr allocate(size_t bytes) override
	{
		return take(current, bytes, { NEURON, current });
	}
	c10::DeleterFnPtr raw_deleter() const override
	{
		return nullptr;
	}
	void copy_data(void *to, const void *from, size_t bytes) const override
	{
		default_copy_data(to, from, bytes);
	}
	bool initialized() override
	{
		return true;
	}
	void emptyCache(c10::MempoolId_t) override
	{
		nt_empty_cache();
	}
	void recordStream(const c10::DataPtr &, c10::Stream) override
	{
	}
	void resetAccumulatedStats(c10::DeviceIndex) override
	{
	}
	void resetPeakStats(c10::DeviceIndex device) override
	{
		nt_reset_peaks(device);
	}
	std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) override
	{
		uint64_t free = 0, total = 0;

		begin();
		machine.memory(device, &free, &total);
		return { free, total };
	}
	c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override
	{
		c10::CachingDeviceAllocator::DeviceStats found;
		struct nt_statistics have = {};
		auto set = [](auto &stat, uint64_t now, uint64_t peak) {
			stat[0].current = static_cast<int64_t>(now);
			stat[0].peak = static_cast<int64_t>(peak);
		};

		nt_statistics(device, &have);
		set(found.allocated_bytes, have.allocated, have.allocated_peak);
		set(found.active_bytes, have.allocated, have.allocated_peak);
		set(found.reserved_bytes, have.reserved, have.reserved_peak);
		found.num_alloc_retries = static_cast<int64_t>(have.retries);
		found.num_ooms = static_cast<int64_t>(have.failures);
		return found;
	}
} device_memory;

struct PinnedMemory final : c10::Allocator {
	c10::DataPtr allocate(size_t bytes) override
	{
		return take(NT_HOST, bytes, c10::Device(c10::DeviceType::CPU));
	}
	c10::DeleterFnPtr raw_deleter() const override
	{
		return nullptr;
	}
	void copy_data(void *to, const void *from, size_t bytes) const override
	{
		default_copy_data(to, from, bytes);
	}
} pinned_memory;

// Random numbers are the host's: a generator of the device has the state of one of the CPU's
struct NeuronGenerator final : at::CPUGeneratorImpl {
	explicit NeuronGenerator(c10::DeviceIndex device)
	{
		device_ = c10::Device(NEURON, device);
		key_set_ = c10::DispatchKeySet(c10::DispatchKey::PrivateUse1);
	}
};

struct Hooks final : at::PrivateUse1HooksInterface {
	bool isBuilt() const override
	{
		return true;
	}
	bool isAvailable() const override
	{
		return machine.available();
	}
	bool hasPrimaryContext(c10::DeviceIndex) const override
	{
		return true;
	}
	c10::DeviceIndex deviceCount() const override
	{
		return static_cast<c10::DeviceIndex>(count());
	}
	c10::DeviceIndex getCurrentDevice() const override
	{
		return current;
	}
	void setCurrentDevice(c10::DeviceIndex device) const override
	{
		TORCH_CHECK(device >= 0 && device < count(), "neuron:", int(device),
			    ": this process has the NeuronCores 0 to ", count() - 1);
		current = device;
	}
	c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override
	{
		auto before = current;

		setCurrentDevice(device);
		return before;
	}
	c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override
	{
		return device < 0 ? current : exchangeDevice(device);
	}
	bool isPinnedPtr(const void *data) const override
	{
		return nt_is_pinned(data);
	}
	c10::Allocator *getPinnedMemoryAllocator() const override
	{
		return &pinned_memory;
	}
	c10::Device getDeviceFromPtr(void *) const override
	{
		return { NEURON, current };
	}
	const at::Generator &getDefaultGenerator(c10::DeviceIndex device) const override
	{
		static std::mutex lock;
		static std::deque<at::Generator> made; // whose elements stay where they are
		std::lock_guard held(lock);

		while (made.size() <= static_cast<size_t>(std::max<int>(device, 0)))
			made.push_back(at::make_generator<NeuronGenerator>(
				static_cast<c10::DeviceIndex>(made.size())));
		return made[static_cast<size_t>(std::max<int>(device, 0))];
	}
	at::Generator getNewGenerator(c10::DeviceIndex device) const override
	{
		return at::make_generator<NeuronGenerator>(device < 0 ? current : device);
	}
	void resizePrivateUse1Bytes(const c10::Storage &storage, size_t bytes) const override
	{
		auto *impl = storage.unsafeGetStorageImpl();
		auto made = take(impl->device().index(), bytes, impl->device());
		size_t kept = std::min(bytes, impl->nbytes());

		if (kept)
			memcpy(made.get(), impl->data(), kept); // both are mapped
		impl->set_data_ptr_noswap(std::move(made));
		impl->set_nbytes(bytes);
	}
};

struct Guard final : c10::impl::DeviceGuardImplInterface {
	using Time = std::chrono::steady_clock::time_point;

	c10::DeviceType type() const override
	{
		return NEURON;
	}
	c10::Device exchangeDevice(c10::Device device) const override
	{
		c10::Device before(NEURON, current);

		current = device.index();
		return before;
	}
	c10::Device getDevice() const override
	{
		return { NEURON, current };
	}
	void setDevice(c10::Device device) const override
	{
		current = device.index();
	}
	void uncheckedSetDevice(c10::Device device) const noexcept override
	{
		current = device.index();
	}
	c10::Stream getStream(c10::Device device) const override
	{
		return c10::Stream(c10::Stream::DEFAULT, device);
	}
	c10::Stream getDefaultStream(c10::Device device) const override
	{
		return getStream(device);
	}
	c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override
	{
		return getStream(device);
	}
	c10::Stream getNewStream(c10::Device device, int) const override
	{
		return getStream(device);
	}
	c10::Stream exchangeStream(c10::Stream stream) const override
	{
		return getStream(stream.device());
	}
	c10::DeviceIndex deviceCount() const noexcept override
	{
		return static_cast<c10::DeviceIndex>(count());
	}
	bool queryStream(const c10::Stream &) const override
	{
		return true;
	}
	void synchronizeStream(const c10::Stream &) const override
	{
	}
	void synchronizeDevice(c10::DeviceIndex) const override
	{
	}
	void record(void **event, const c10::Stream &, c10::DeviceIndex,
		    c10::EventFlag) const override
	{
		if (!*event)
			*event = new Time;
		*static_cast<Time *>(*event) = std::chrono::steady_clock::now();
	}
	void block(void *, const c10::Stream &) const override
	{
	}
	bool queryEvent(void *) const override
	{
		return true;
	}
	void synchronizeEvent(void *) const override
	{
	}
	void destroyEvent(void *event, c10::DeviceIndex) const noexcept override
	{
		delete static_cast<Time *>(event);
	}
	double elapsedTime(void *first, void *last, c10::DeviceIndex) const override
	{
		TORCH_CHECK(first && last,
			    "Both events must be recorded before calculating elapsed time.");
		return std::chrono::duration<double, std::milli>(*static_cast<Time *>(last) -
								 *static_cast<Time *>(first))
			.count();
	}
};

// For autograd's profiler: operators return when they are done, so the host's clock has their times
struct Times final : torch::profiler::impl::ProfilerStubs {
	using Event = torch::profiler::impl::ProfilerVoidEventStub;

	void record(c10::DeviceIndex *device, Event *event, int64_t *cpu_ns) const override
	{
		auto now = std::chrono::steady_clock::now();

		if (device)
			*device = current;
		*event = std::make_shared<Guard::Time>(now);
		if (cpu_ns)
			*cpu_ns = std::chrono::nanoseconds(now.time_since_epoch()).count();
	}
	float elapsed(const Event *first, const Event *last) const override
	{
		auto from = static_cast<Guard::Time *>(first->get());
		auto to = static_cast<Guard::Time *>(last->get());

		return std::chrono::duration<float, std::micro>(*to - *from).count();
	}
	void mark(const char *) const override
	{
	}
	void rangePush(const char *) const override
	{
	}
	void rangePop() const override
	{
	}
	bool enabled() const override
	{
		return true;
	}
	void onEachDevice(std::function<void(int)> op) const override
	{
		for (int device = 0; device < count(); device++)
			op(device);
	}
	void synchronize() const override
	{
	}
};

c10::Device device_of(std::optional<c10::Device> device)
{
	c10::DeviceIndex index = device && device->has_index() ? device->index() : current;

	TORCH_CHECK(index < count(), "neuron:", int(index),
		    ": this process has the NeuronCores 0 to ", count() - 1);
	return { NEURON, index };
}

constexpr c10::DispatchKeySet KEYS(c10::DispatchKey::PrivateUse1);

at::Tensor empty(c10::IntArrayRef size, std::optional<c10::ScalarType> dtype,
		 std::optional<c10::Layout>, std::optional<c10::Device> device, std::optional<bool>,
		 std::optional<c10::MemoryFormat> format)
{
	c10::DeviceGuard guard(device_of(device));

	return at::detail::empty_generic(size, &device_memory, KEYS, c10::dtype_or_default(dtype),
					 format);
}

at::Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride,
			 std::optional<c10::ScalarType> dtype, std::optional<c10::Layout>,
			 std::optional<c10::Device> device, std::optional<bool>)
{
	c10::DeviceGuard guard(device_of(device));

	return at::detail::empty_strided_generic(size, stride, &device_memory, KEYS,
						 c10::dtype_or_default(dtype));
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library)
{
	library.impl("empty.memory_format", TORCH_FN(empty));
	library.impl("empty_strided", TORCH_FN(empty_strided));
}

} // namespace

extern "C" {
void neuron_glue_register(const Machine *said)
{
	static Hooks hooks;
	static Times times;

	machine = *said;
	at::RegisterPrivateUse1HooksInterface(&hooks);
	c10::SetAllocator(NEURON, &device_memory);
	torch::profiler::impl::registerPrivateUse1Methods(&times);
	static c10::impl::DeviceGuardImplRegistrar guard(NEURON, new Guard());
}

int neuron_glue_current(void)
{
	return current;
}

void neuron_glue_set_current(int device)
{
	current = static_cast<c10::DeviceIndex>(device);
}
}
