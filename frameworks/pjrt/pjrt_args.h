/* SPDX-License-Identifier: MIT */
/*
 * What each function of the PJRT C API takes: its size as callers give it, its last field, its
 * fields in order. tests/data/pjrt/layouts.txt has the offsets once more, from the public record.
 */
#ifndef PJRT_ARGS_H
#define PJRT_ARGS_H

#include "pjrt_api.h"

PJRT_ARGS(Error_Destroy, 24, error, PJRT_Error *error;);
PJRT_ARGS(Error_Message, 40, message_size, PJRT_Error *error; const char *message;
	  size_t message_size;);
PJRT_ARGS(Error_GetCode, 28, code, PJRT_Error *error; PJRT_Error_Code code;);
PJRT_ARGS(Plugin_Initialize, 16, extension_start, );
PJRT_ARGS(Plugin_Attributes, 32, num_attributes, const PJRT_NamedValue *attributes;
	  size_t num_attributes;);
PJRT_ARGS(Event_Destroy, 24, event, PJRT_Event *event;);
PJRT_ARGS(Event_IsReady, 25, is_ready, PJRT_Event *event; bool is_ready;);
PJRT_ARGS(Event_Error, 24, event, PJRT_Event *event;);
PJRT_ARGS(Event_Await, 24, event, PJRT_Event *event;);
PJRT_ARGS(Event_OnReady, 40, user_arg, PJRT_Event *event; PJRT_Event_OnReadyCallback callback;
	  void *user_arg;);
PJRT_ARGS(Client_Create, 88, kv_try_get_user_arg, const PJRT_NamedValue *create_options;
	  size_t num_options; void *kv_get_callback; void *kv_get_user_arg; void *kv_put_callback;
	  void *kv_put_user_arg; PJRT_Client * client; void *kv_try_get_callback;
	  void *kv_try_get_user_arg;);
PJRT_ARGS(Client_Destroy, 24, client, PJRT_Client *client;);
PJRT_ARGS(Client_PlatformName, 40, platform_name_size, PJRT_Client *client;
	  const char *platform_name; size_t platform_name_size;);
PJRT_ARGS(Client_ProcessIndex, 28, process_index, PJRT_Client *client; int process_index;);
PJRT_ARGS(Client_PlatformVersion, 40, platform_version_size, PJRT_Client *client;
	  const char *platform_version; size_t platform_version_size;);
PJRT_ARGS(Client_Devices, 40, num_devices, PJRT_Client *client; PJRT_Device *const *devices;
	  size_t num_devices;);
PJRT_ARGS(Client_AddressableDevices, 40, num_addressable_devices, PJRT_Client *client;
	  PJRT_Device *const *addressable_devices; size_t num_addressable_devices;);
PJRT_ARGS(Client_LookupDevice, 40, device, PJRT_Client *client; int id; PJRT_Device * device;);
PJRT_ARGS(Client_LookupAddressableDevice, 40, addressable_device, PJRT_Client *client;
	  int local_hardware_id; PJRT_Device * addressable_device;);
PJRT_ARGS(Client_AddressableMemories, 40, num_addressable_memories, PJRT_Client *client;
	  PJRT_Memory *const *addressable_memories; size_t num_addressable_memories;);
PJRT_ARGS(Client_Compile, 56, executable, PJRT_Client *client; const PJRT_Program *program;
	  const char *compile_options; size_t compile_options_size;
	  PJRT_LoadedExecutable * executable;);
PJRT_ARGS(Client_DefaultDeviceAssignment, 48, default_assignment, PJRT_Client *client;
	  int num_replicas; int num_partitions; size_t default_assignment_size;
	  int *default_assignment;);
PJRT_ARGS(Client_BufferFromHostBuffer, 120, buffer, PJRT_Client *client; const void *data;
	  PJRT_Buffer_Type type; const int64_t *dims; size_t num_dims; const int64_t *byte_strides;
	  size_t num_byte_strides; PJRT_HostBufferSemantics host_buffer_semantics;
	  PJRT_Device * device; PJRT_Memory * memory; PJRT_Buffer_MemoryLayout * device_layout;
	  PJRT_Event * done_with_host_buffer; PJRT_Buffer * buffer;);
PJRT_ARGS(DeviceDescription_Id, 28, id, PJRT_DeviceDescription *device_description; int id;);
PJRT_ARGS(DeviceDescription_ProcessIndex, 28, process_index,
	  PJRT_DeviceDescription *device_description;
	  int process_index;);
PJRT_ARGS(DeviceDescription_Attributes, 40, attributes, PJRT_DeviceDescription *device_description;
	  size_t num_attributes; const PJRT_NamedValue *attributes;);
PJRT_ARGS(DeviceDescription_Kind, 40, device_kind_size, PJRT_DeviceDescription *device_description;
	  const char *device_kind; size_t device_kind_size;);
PJRT_ARGS(DeviceDescription_DebugString, 40, debug_string_size,
	  PJRT_DeviceDescription *device_description;
	  const char *debug_string; size_t debug_string_size;);
PJRT_ARGS(DeviceDescription_ToString, 40, to_string_size,
	  PJRT_DeviceDescription *device_description;
	  const char *to_string; size_t to_string_size;);
PJRT_ARGS(Device_GetDescription, 32, device_description, PJRT_Device *device;
	  PJRT_DeviceDescription * device_description;);
PJRT_ARGS(Device_IsAddressable, 25, is_addressable, PJRT_Device *device; bool is_addressable;);
PJRT_ARGS(Device_LocalHardwareId, 28, local_hardware_id, PJRT_Device *device;
	  int local_hardware_id;);
PJRT_ARGS(Device_AddressableMemories, 40, num_memories, PJRT_Device *device;
	  PJRT_Memory *const *memories; size_t num_memories;);
PJRT_ARGS(Device_DefaultMemory, 32, memory, PJRT_Device *device; PJRT_Memory * memory;);
PJRT_ARGS(Device_MemoryStats, 201, peak_allocated_bytes_is_set, PJRT_Device *device;
	  int64_t bytes_in_use; int64_t peak_bytes_in_use; bool peak_bytes_in_use_is_set;
	  int64_t num_allocs; bool num_allocs_is_set; int64_t largest_alloc_size;
	  bool largest_alloc_size_is_set; int64_t bytes_limit; bool bytes_limit_is_set;
	  int64_t bytes_reserved; bool bytes_reserved_is_set; int64_t peak_bytes_reserved;
	  bool peak_bytes_reserved_is_set; int64_t bytes_reservable_limit;
	  bool bytes_reservable_limit_is_set; int64_t largest_free_block_bytes;
	  bool largest_free_block_bytes_is_set; int64_t pool_bytes; bool pool_bytes_is_set;
	  int64_t peak_pool_bytes; bool peak_pool_bytes_is_set; int64_t peak_allocated_bytes;
	  bool peak_allocated_bytes_is_set;);
PJRT_ARGS(Memory_Id, 28, id, PJRT_Memory *memory; int id;);
PJRT_ARGS(Memory_Kind, 40, kind_size, PJRT_Memory *memory; const char *kind; size_t kind_size;);
PJRT_ARGS(Memory_DebugString, 40, debug_string_size, PJRT_Memory *memory; const char *debug_string;
	  size_t debug_string_size;);
PJRT_ARGS(Memory_ToString, 40, to_string_size, PJRT_Memory *memory; const char *to_string;
	  size_t to_string_size;);
PJRT_ARGS(Memory_AddressableByDevices, 40, num_devices, PJRT_Memory *memory;
	  PJRT_Device *const *devices; size_t num_devices;);
PJRT_ARGS(Executable_Destroy, 24, executable, PJRT_Executable *executable;);
PJRT_ARGS(Executable_Name, 40, executable_name_size, PJRT_Executable *executable;
	  const char *executable_name; size_t executable_name_size;);
PJRT_ARGS(Executable_NumReplicas, 32, num_replicas, PJRT_Executable *executable;
	  size_t num_replicas;);
PJRT_ARGS(Executable_NumPartitions, 32, num_partitions, PJRT_Executable *executable;
	  size_t num_partitions;);
PJRT_ARGS(Executable_NumOutputs, 32, num_outputs, PJRT_Executable *executable; size_t num_outputs;);
PJRT_ARGS(Executable_SizeOfGeneratedCodeInBytes, 32, size_in_bytes, PJRT_Executable *executable;
	  int64_t size_in_bytes;);
PJRT_ARGS(Executable_GetCostAnalysis, 40, properties, PJRT_Executable *executable;
	  size_t num_properties; const PJRT_NamedValue *properties;);
PJRT_ARGS(Executable_OutputMemoryKinds, 48, memory_kind_sizes, PJRT_Executable *executable;
	  size_t num_outputs; const char *const *memory_kinds; const size_t *memory_kind_sizes;);
PJRT_ARGS(Executable_OptimizedProgram, 32, program, PJRT_Executable *executable;
	  PJRT_Program * program;);
PJRT_ARGS(Executable_Serialize, 56, serialized_executable_deleter, PJRT_Executable *executable;
	  const char *serialized_bytes; size_t serialized_bytes_size; void *serialized_executable;
	  void (*serialized_executable_deleter)(void *););
PJRT_ARGS(LoadedExecutable_Destroy, 24, executable, PJRT_LoadedExecutable *executable;);
PJRT_ARGS(LoadedExecutable_GetExecutable, 32, executable, PJRT_LoadedExecutable *loaded_executable;
	  PJRT_Executable * executable;);
PJRT_ARGS(LoadedExecutable_AddressableDevices, 40, num_addressable_devices,
	  PJRT_LoadedExecutable *executable;
	  PJRT_Device *const *addressable_devices; size_t num_addressable_devices;);
PJRT_ARGS(LoadedExecutable_Delete, 24, executable, PJRT_LoadedExecutable *executable;);
PJRT_ARGS(LoadedExecutable_IsDeleted, 25, is_deleted, PJRT_LoadedExecutable *executable;
	  bool is_deleted;);
PJRT_ARGS(LoadedExecutable_Execute, 80, execute_device, PJRT_LoadedExecutable *executable;
	  const PJRT_ExecuteOptions *options; PJRT_Buffer *const *const *argument_lists;
	  size_t num_devices; size_t num_args; PJRT_Buffer * *const *output_lists;
	  PJRT_Event * *device_complete_events; PJRT_Device * execute_device;);
PJRT_ARGS(Executable_DeserializeAndLoad, 72, load_options, PJRT_Client *client;
	  const char *serialized_executable; size_t serialized_executable_size;
	  PJRT_LoadedExecutable * loaded_executable;
	  const char *overridden_serialized_compile_options;
	  size_t overridden_serialized_compile_options_size; const char *load_options;);
PJRT_ARGS(LoadedExecutable_Fingerprint, 40, executable_fingerprint_size,
	  PJRT_LoadedExecutable *executable;
	  const char *executable_fingerprint; size_t executable_fingerprint_size;);
PJRT_ARGS(Buffer_Destroy, 24, buffer, PJRT_Buffer *buffer;);
PJRT_ARGS(Buffer_ElementType, 28, type, PJRT_Buffer *buffer; PJRT_Buffer_Type type;);
PJRT_ARGS(Buffer_Dimensions, 40, num_dims, PJRT_Buffer *buffer; const int64_t *dims;
	  size_t num_dims;);
PJRT_ARGS(Buffer_UnpaddedDimensions, 40, num_dims, PJRT_Buffer *buffer;
	  const int64_t *unpadded_dims; size_t num_dims;);
PJRT_ARGS(Buffer_DynamicDimensionIndices, 40, num_dynamic_dims, PJRT_Buffer *buffer;
	  const size_t *dynamic_dim_indices; size_t num_dynamic_dims;);
PJRT_ARGS(Buffer_GetMemoryLayout, 104, layout, PJRT_Buffer *buffer;
	  PJRT_Buffer_MemoryLayout layout;);
PJRT_ARGS(Buffer_OnDeviceSizeInBytes, 32, on_device_size_in_bytes, PJRT_Buffer *buffer;
	  size_t on_device_size_in_bytes;);
PJRT_ARGS(Buffer_Device, 32, device, PJRT_Buffer *buffer; PJRT_Device * device;);
PJRT_ARGS(Buffer_Memory, 32, memory, PJRT_Buffer *buffer; PJRT_Memory * memory;);
PJRT_ARGS(Buffer_Delete, 24, buffer, PJRT_Buffer *buffer;);
PJRT_ARGS(Buffer_IsDeleted, 25, is_deleted, PJRT_Buffer *buffer; bool is_deleted;);
PJRT_ARGS(Buffer_CopyToDevice, 40, dst_buffer, PJRT_Buffer *buffer; PJRT_Device * dst_device;
	  PJRT_Buffer * dst_buffer;);
PJRT_ARGS(Buffer_ToHostBuffer, 56, event, PJRT_Buffer *src; PJRT_Buffer_MemoryLayout * host_layout;
	  void *dst; size_t dst_size; PJRT_Event * event;);
PJRT_ARGS(Buffer_IsOnCpu, 25, is_on_cpu, PJRT_Buffer *buffer; bool is_on_cpu;);
PJRT_ARGS(Buffer_ReadyEvent, 32, event, PJRT_Buffer *buffer; PJRT_Event * event;);
PJRT_ARGS(Buffer_UnsafePointer, 32, buffer_pointer, PJRT_Buffer *buffer; uintptr_t buffer_pointer;);
PJRT_ARGS(Buffer_IncreaseExternalReferenceCount, 24, buffer, PJRT_Buffer *buffer;);
PJRT_ARGS(Buffer_DecreaseExternalReferenceCount, 24, buffer, PJRT_Buffer *buffer;);
PJRT_ARGS(Buffer_OpaqueDeviceMemoryDataPointer, 32, device_memory_ptr, PJRT_Buffer *buffer;
	  void *device_memory_ptr;);
PJRT_ARGS(CopyToDeviceStream_Destroy, 24, stream, PJRT_CopyToDeviceStream *stream;);
PJRT_ARGS(CopyToDeviceStream_AddChunk, 40, transfer_complete, PJRT_CopyToDeviceStream *stream;
	  PJRT_Chunk * chunk; PJRT_Event * transfer_complete;);
PJRT_ARGS(CopyToDeviceStream_TotalBytes, 32, total_bytes, PJRT_CopyToDeviceStream *stream;
	  int64_t total_bytes;);
PJRT_ARGS(CopyToDeviceStream_GranuleSize, 32, granule_size_in_bytes,
	  PJRT_CopyToDeviceStream *stream;
	  int64_t granule_size_in_bytes;);
PJRT_ARGS(CopyToDeviceStream_CurrentBytes, 32, current_bytes, PJRT_CopyToDeviceStream *stream;
	  int64_t current_bytes;);
PJRT_ARGS(TopologyDescription_Create, 56, topology, const char *topology_name;
	  size_t topology_name_size; const PJRT_NamedValue *create_options; size_t num_options;
	  PJRT_TopologyDescription * topology;);
PJRT_ARGS(TopologyDescription_Destroy, 24, topology, PJRT_TopologyDescription *topology;);
PJRT_ARGS(TopologyDescription_PlatformName, 40, platform_name_size,
	  PJRT_TopologyDescription *topology;
	  const char *platform_name; size_t platform_name_size;);
PJRT_ARGS(TopologyDescription_PlatformVersion, 40, platform_version_size,
	  PJRT_TopologyDescription *topology;
	  const char *platform_version; size_t platform_version_size;);
PJRT_ARGS(TopologyDescription_GetDeviceDescriptions, 40, num_descriptions,
	  PJRT_TopologyDescription *topology;
	  PJRT_DeviceDescription *const *descriptions; size_t num_descriptions;);
PJRT_ARGS(TopologyDescription_Serialize, 56, serialized_topology_deleter,
	  PJRT_TopologyDescription *topology;
	  const char *serialized_bytes; size_t serialized_bytes_size; void *serialized_topology;
	  void (*serialized_topology_deleter)(void *););
PJRT_ARGS(TopologyDescription_Attributes, 40, num_attributes, PJRT_TopologyDescription *topology;
	  const PJRT_NamedValue *attributes; size_t num_attributes;);
PJRT_ARGS(Compile, 64, executable, PJRT_TopologyDescription *topology; const PJRT_Program *program;
	  const char *compile_options; size_t compile_options_size; PJRT_Client * client;
	  PJRT_Executable * executable;);
PJRT_ARGS(Executable_OutputElementTypes, 40, num_output_types, PJRT_Executable *executable;
	  const PJRT_Buffer_Type *output_types; size_t num_output_types;);
PJRT_ARGS(Executable_OutputDimensions, 48, dim_sizes, PJRT_Executable *executable;
	  size_t num_outputs; const int64_t *dims; const size_t *dim_sizes;);
PJRT_ARGS(Buffer_CopyToMemory, 40, dst_buffer, PJRT_Buffer *buffer; PJRT_Memory * dst_memory;
	  PJRT_Buffer * dst_buffer;);
PJRT_ARGS(Client_CreateViewOfDeviceBuffer, 112, memory, PJRT_Client *client;
	  void *device_buffer_ptr; const int64_t *dims; size_t num_dims;
	  PJRT_Buffer_Type element_type; PJRT_Buffer_MemoryLayout * layout; PJRT_Device * device;
	  void (*on_delete_callback)(void *device_buffer_ptr, void *user_arg);
	  void *on_delete_callback_arg; intptr_t stream; PJRT_Buffer * buffer;
	  PJRT_Memory * memory;);
PJRT_ARGS(Executable_Fingerprint, 40, executable_fingerprint_size, PJRT_Executable *executable;
	  const char *executable_fingerprint; size_t executable_fingerprint_size;);
PJRT_ARGS(Client_TopologyDescription, 32, topology, PJRT_Client *client;
	  PJRT_TopologyDescription * topology;);
PJRT_ARGS(Executable_GetCompiledMemoryStats, 144, peak_unpadded_heap_bytes,
	  PJRT_Executable *executable;
	  int64_t generated_code_size_in_bytes; int64_t argument_size_in_bytes;
	  int64_t output_size_in_bytes; int64_t alias_size_in_bytes; int64_t temp_size_in_bytes;
	  int64_t host_generated_code_size_in_bytes; int64_t host_argument_size_in_bytes;
	  int64_t host_output_size_in_bytes; int64_t host_alias_size_in_bytes;
	  int64_t host_temp_size_in_bytes; int64_t peak_memory_in_bytes;
	  int64_t total_size_in_bytes; int64_t total_allocation_bytes;
	  int64_t indefinite_allocations; int64_t peak_unpadded_heap_bytes;);
PJRT_ARGS(Memory_Kind_Id, 28, kind_id, PJRT_Memory *memory; int kind_id;);
PJRT_ARGS(ExecuteContext_Create, 24, context, PJRT_ExecuteContext *context;);
PJRT_ARGS(ExecuteContext_Destroy, 24, context, PJRT_ExecuteContext *context;);
PJRT_ARGS(Buffer_CopyRawToHost, 56, event, PJRT_Buffer *buffer; void *dst; int64_t offset;
	  int64_t transfer_size; PJRT_Event * event;);
PJRT_ARGS(AsyncHostToDeviceTransferManager_Destroy, 24, transfer_manager,
	  PJRT_AsyncHostToDeviceTransferManager *transfer_manager;);
PJRT_ARGS(AsyncHostToDeviceTransferManager_TransferData, 72, done_with_h2d_transfer,
	  PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
	  int buffer_index; const void *data; int64_t offset; int64_t transfer_size;
	  bool is_last_transfer; PJRT_Event * done_with_h2d_transfer;);
PJRT_ARGS(Client_CreateBuffersForAsyncHostToDevice, 72, transfer_manager, PJRT_Client *client;
	  const PJRT_ShapeSpec *shape_specs; size_t num_shape_specs;
	  PJRT_Buffer_MemoryLayout *const *device_layouts; size_t num_device_layouts;
	  PJRT_Memory * memory; PJRT_AsyncHostToDeviceTransferManager * transfer_manager;);
PJRT_ARGS(AsyncHostToDeviceTransferManager_RetrieveBuffer, 40, buffer_out,
	  PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
	  int buffer_index; PJRT_Buffer * buffer_out;);
PJRT_ARGS(AsyncHostToDeviceTransferManager_Device, 32, device_out,
	  PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
	  PJRT_Device * device_out;);
PJRT_ARGS(AsyncHostToDeviceTransferManager_BufferCount, 32, buffer_count,
	  PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
	  size_t buffer_count;);
PJRT_ARGS(AsyncHostToDeviceTransferManager_BufferSize, 40, buffer_size,
	  PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
	  int buffer_index; size_t buffer_size;);
PJRT_ARGS(AsyncHostToDeviceTransferManager_SetBufferError, 48, error_message_size,
	  PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
	  int buffer_index; PJRT_Error_Code error_code; const char *error_message;
	  size_t error_message_size;);
PJRT_ARGS(AsyncHostToDeviceTransferManager_AddMetadata, 40, num_metadata,
	  PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
	  const PJRT_NamedValue *transfer_metadata; size_t num_metadata;);
PJRT_ARGS(Client_DmaMap, 40, size, PJRT_Client *client; const void *data; size_t size;);
PJRT_ARGS(Client_DmaUnmap, 32, data, PJRT_Client *client; const void *data;);
PJRT_ARGS(Client_CreateUninitializedBuffer, 80, buffer, PJRT_Client *client;
	  const int64_t *shape_dims; size_t shape_num_dims; PJRT_Buffer_Type shape_element_type;
	  PJRT_Buffer_MemoryLayout * shape_layout; PJRT_Device * device; PJRT_Memory * memory;
	  PJRT_Buffer * buffer;);
PJRT_ARGS(Client_UpdateGlobalProcessInfo, 40, num_process_infos, PJRT_Client *client;
	  const void *process_infos; size_t num_process_infos;);
PJRT_ARGS(TopologyDescription_Deserialize, 40, topology, const char *serialized_topology;
	  size_t serialized_topology_size; PJRT_TopologyDescription * topology;);
PJRT_ARGS(Client_CreateAliasBuffer, 80, fulfill_alias_buffer_cb, PJRT_Client *client;
	  PJRT_Memory * memory; const int64_t *shape_dims; size_t shape_num_dims;
	  PJRT_Buffer_Type shape_element_type; PJRT_Buffer_MemoryLayout * shape_layout;
	  PJRT_Buffer * alias_buffer; PJRT_FulfillAliasBufferCallback * fulfill_alias_buffer_cb;);
PJRT_ARGS(Client_FulfillAliasBuffer, 64, fulfill_alias_buffer_cb, PJRT_Client *client;
	  PJRT_Buffer * buffer; PJRT_Error_Code status_code; const char *error_message;
	  size_t error_message_size; PJRT_FulfillAliasBufferCallback * fulfill_alias_buffer_cb;);
PJRT_ARGS(LoadedExecutable_GetDeviceAssignment, 56, serialized_device_assignment_deleter,
	  PJRT_LoadedExecutable *executable;
	  const char *serialized_bytes; size_t serialized_bytes_size;
	  void *serialized_device_assignment;
	  void (*serialized_device_assignment_deleter)(void *););
PJRT_ARGS(Client_CreateErrorBuffer, 112, num_payload, PJRT_Client *client;
	  PJRT_Error_Code error_code; const char *error_message; size_t error_message_size;
	  const int64_t *shape_dims; size_t shape_num_dims; PJRT_Buffer_Type shape_element_type;
	  PJRT_Buffer_MemoryLayout * shape_layout; PJRT_Memory * memory; PJRT_Buffer * buffer;
	  const char *payload; size_t num_payload;);
PJRT_ARGS(AsyncHostToDeviceTransferManager_TransferLiteral, 80, done_with_h2d_transfer,
	  PJRT_AsyncHostToDeviceTransferManager *transfer_manager;
	  int buffer_index; const void *data; const int64_t *shape_dims; size_t shape_num_dims;
	  PJRT_Buffer_Type shape_element_type; PJRT_Buffer_MemoryLayout * shape_layout;
	  PJRT_Event * done_with_h2d_transfer;);
PJRT_ARGS(Buffer_CopyRawToHostFuture, 64, future_ready_callback, PJRT_Buffer *buffer;
	  int64_t offset; int64_t transfer_size; PJRT_Event * event; void *callback_data;
	  void (*future_ready_callback)(PJRT_Buffer_CopyRawToHostFuture_Callback_Args *););
PJRT_ARGS(Device_PoisonExecution, 72, num_payload, PJRT_Device *device; int launch_id;
	  PJRT_Error_Code error_code; const char *error_message; size_t error_message_size;
	  bool poisoned; const char *payload; size_t num_payload;);
PJRT_ARGS(Device_CreateAsyncTrackingEvent, 48, event, PJRT_Device *device; const char *description;
	  size_t description_size; void *event;);
PJRT_ARGS(AsyncTrackingEvent_Destroy, 24, event, void *event;);
PJRT_ARGS(Executable_GetCompileOptions, 56, serialized_compile_options_deleter,
	  PJRT_Executable *executable;
	  const char *serialized_bytes; size_t serialized_bytes_size;
	  void *serialized_compile_options; void (*serialized_compile_options_deleter)(void *););
PJRT_ARGS(Buffer_DonateWithControlDependency, 48, out_buffer, PJRT_Buffer *buffer;
	  void *callback_data;
	  void (*dependency_ready_callback)(PJRT_Buffer_DonateWithControlDependency_Callback_Args *);
	  PJRT_Buffer * out_buffer;);
PJRT_ARGS(Event_Create, 24, event, PJRT_Event *event;);
PJRT_ARGS(Event_Set, 48, error_message_size, PJRT_Event *event; PJRT_Error_Code error_code;
	  const char *error_message; size_t error_message_size;);
PJRT_ARGS(Device_GetAttributes, 56, attributes_deleter, PJRT_Device *device;
	  const PJRT_NamedValue *attributes; size_t num_attributes; void *device_attributes;
	  void (*attributes_deleter)(void *););
PJRT_ARGS(Client_Load, 56, loaded_executable, PJRT_Client *client; PJRT_Executable * executable;
	  const char *compile_options; size_t compile_options_size;
	  PJRT_LoadedExecutable * loaded_executable;);
PJRT_ARGS(LoadedExecutable_AddressableDeviceLogicalIds, 40, num_addressable_device_logical_ids,
	  PJRT_LoadedExecutable *executable;
	  const PJRT_LogicalDeviceIds *addressable_device_logical_ids;
	  size_t num_addressable_device_logical_ids;);
PJRT_ARGS(Buffer_Bitcast, 64, out_buffer, PJRT_Buffer *buffer; PJRT_Buffer_Type element_type;
	  const int64_t *dims; size_t num_dims; PJRT_Buffer_MemoryLayout * device_layout;
	  PJRT_Buffer * out_buffer;);
PJRT_ARGS(Error_ForEachPayload, 40, user_arg, PJRT_Error *error; PJRT_Error_PayloadVisitor visitor;
	  void *user_arg;);
PJRT_ARGS(TopologyDescription_Fingerprint, 32, fingerprint, PJRT_TopologyDescription *topology;
	  uint64_t fingerprint;);
PJRT_ARGS(Executable_ParameterMemoryKinds, 48, memory_kind_sizes, PJRT_Executable *executable;
	  size_t num_parameters; const char *const *memory_kinds; const size_t *memory_kind_sizes;);
PJRT_ARGS(Device_ClearMemoryStats, 24, device, PJRT_Device *device;);
PJRT_ARGS(TopologyDescription_MakeCanonicalShapeForMemorySpace, 88, serialized_shape_deleter,
	  PJRT_TopologyDescription *topology;
	  int memory_space_kind_id; const int64_t *dims; size_t num_dims;
	  PJRT_Buffer_Type element_type; PJRT_Buffer_MemoryLayout * layout;
	  const char *serialized_shape; size_t serialized_shape_size;
	  void (*serialized_shape_deleter)(void *););
PJRT_ARGS(TopologyDescription_GetMemorySpaceKindIds, 40, num_memory_space_kind_ids,
	  PJRT_TopologyDescription *topology;
	  const int *memory_space_kind_ids; size_t num_memory_space_kind_ids;);

/* The extension for layouts (version 4) */
PJRT_ARGS(Layouts_MemoryLayout_Destroy, 24, layout, PJRT_Layouts_MemoryLayout *layout;);
PJRT_ARGS(Layouts_MemoryLayout_Serialize, 56, serialized_layout_deleter,
	  PJRT_Layouts_MemoryLayout *layout;
	  const char *serialized_bytes; size_t serialized_bytes_size; void *serialized_layout;
	  void (*serialized_layout_deleter)(void *););
PJRT_ARGS(Layouts_PJRT_Client_GetDefaultLayout, 56, layout, PJRT_Client *client;
	  PJRT_Buffer_Type type; const int64_t *dims; size_t num_dims;
	  PJRT_Layouts_MemoryLayout * layout;);
PJRT_ARGS(Layouts_PJRT_Buffer_MemoryLayout, 32, layout, PJRT_Buffer *buffer;
	  PJRT_Layouts_MemoryLayout * layout;);
PJRT_ARGS(Layouts_PJRT_Topology_GetDefaultLayout, 56, layout,
	  PJRT_TopologyDescription *topology_description;
	  PJRT_Buffer_Type type; const int64_t *dims; size_t num_dims;
	  PJRT_Layouts_MemoryLayout * layout;);
PJRT_ARGS(Layouts_PJRT_Executable_GetOutputLayouts, 40, layouts, PJRT_Executable *executable;
	  size_t num_outputs; PJRT_Layouts_MemoryLayout *const *layouts;);
PJRT_ARGS(Layouts_PJRT_Executable_GetParameterLayouts, 40, layouts, PJRT_Executable *executable;
	  size_t num_parameters; PJRT_Layouts_MemoryLayout *const *layouts;);

/* The extension's functions in order */
#define PJRT_LAYOUTS_FUNCTIONS(X)                 \
	X(Layouts_MemoryLayout_Destroy)           \
	X(Layouts_MemoryLayout_Serialize)         \
	X(Layouts_PJRT_Client_GetDefaultLayout)   \
	X(Layouts_PJRT_Buffer_MemoryLayout)       \
	X(Layouts_PJRT_Topology_GetDefaultLayout) \
	X(Layouts_PJRT_Executable_GetOutputLayouts) X(Layouts_PJRT_Executable_GetParameterLayouts)

typedef struct PJRT_Layouts_Extension {
	PJRT_Extension_Base base;
#define PJRT_FUNCTION(name) PJRT_Error *(*PJRT_##name)(PJRT_##name##_Args * args);
	PJRT_LAYOUTS_FUNCTIONS(PJRT_FUNCTION)
#undef PJRT_FUNCTION
} PJRT_Layouts_Extension;
static_assert(sizeof(PJRT_Layouts_Extension) == 80, "seven functions");

/* The extension for shardings: serialized OpShardings, or NULL for none */
PJRT_ARGS(Shardings_PJRT_Executable_ParameterShardings, 48, sharding_sizes,
	  PJRT_Executable *executable;
	  size_t num_parameters; const char *const *shardings; const size_t *sharding_sizes;);
PJRT_ARGS(Shardings_PJRT_Executable_OutputShardings, 48, sharding_sizes,
	  PJRT_Executable *executable;
	  size_t num_outputs; const char *const *shardings; const size_t *sharding_sizes;);

#define PJRT_SHARDINGS_FUNCTIONS(X)                     \
	X(Shardings_PJRT_Executable_ParameterShardings) \
	X(Shardings_PJRT_Executable_OutputShardings)

typedef struct PJRT_Shardings_Extension {
	PJRT_Extension_Base base;
#define PJRT_FUNCTION(name) PJRT_Error *(*PJRT_##name)(PJRT_##name##_Args * args);
	PJRT_SHARDINGS_FUNCTIONS(PJRT_FUNCTION)
#undef PJRT_FUNCTION
} PJRT_Shardings_Extension;
static_assert(sizeof(PJRT_Shardings_Extension) == 40, "two functions");

#endif
