/* SPDX-License-Identifier: MIT */
/*
 * The PJRT C API as frameworks call it: handles, enumerations and the structs that several
 * functions share. Names, values and layouts are the public interface's (major 0, minor 112,
 * x86-64); the arguments of each function are in pjrt_args.h, the functions in order in
 * pjrt_functions.h.
 *
 * Each struct says in its first field how much of it its caller knows, which is the offset behind
 * the last field without padding; what lies behind that is neither read nor written (table.c).
 */
#ifndef PJRT_API_H
#define PJRT_API_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The last minor whose structs are all here */
#define PJRT_MAJOR 0
#define PJRT_MINOR 112

typedef struct PJRT_Error PJRT_Error;
typedef struct PJRT_Event PJRT_Event;
typedef struct PJRT_Client PJRT_Client;
typedef struct PJRT_Device PJRT_Device;
typedef struct PJRT_DeviceDescription PJRT_DeviceDescription;
typedef struct PJRT_Memory PJRT_Memory;
typedef struct PJRT_Buffer PJRT_Buffer;
typedef struct PJRT_Executable PJRT_Executable;
typedef struct PJRT_LoadedExecutable PJRT_LoadedExecutable;
typedef struct PJRT_TopologyDescription PJRT_TopologyDescription;
typedef struct PJRT_ExecuteContext PJRT_ExecuteContext;
typedef struct PJRT_CopyToDeviceStream PJRT_CopyToDeviceStream;
typedef struct PJRT_AsyncHostToDeviceTransferManager PJRT_AsyncHostToDeviceTransferManager;
typedef struct PJRT_FulfillAliasBufferCallback PJRT_FulfillAliasBufferCallback;
typedef struct PJRT_Layouts_MemoryLayout PJRT_Layouts_MemoryLayout;

typedef enum {
	PJRT_Error_Code_OK = 0,
	PJRT_Error_Code_CANCELLED = 1,
	PJRT_Error_Code_UNKNOWN = 2,
	PJRT_Error_Code_INVALID_ARGUMENT = 3,
	PJRT_Error_Code_DEADLINE_EXCEEDED = 4,
	PJRT_Error_Code_NOT_FOUND = 5,
	PJRT_Error_Code_ALREADY_EXISTS = 6,
	PJRT_Error_Code_PERMISSION_DENIED = 7,
	PJRT_Error_Code_RESOURCE_EXHAUSTED = 8,
	PJRT_Error_Code_FAILED_PRECONDITION = 9,
	PJRT_Error_Code_ABORTED = 10,
	PJRT_Error_Code_OUT_OF_RANGE = 11,
	PJRT_Error_Code_UNIMPLEMENTED = 12,
	PJRT_Error_Code_INTERNAL = 13,
	PJRT_Error_Code_UNAVAILABLE = 14,
	PJRT_Error_Code_DATA_LOSS = 15,
	PJRT_Error_Code_UNAUTHENTICATED = 16,
} PJRT_Error_Code;

/* Types of elements; not the numbers of XLA's PrimitiveType: types.c has both */
typedef enum {
	PJRT_Buffer_Type_INVALID = 0,
	PJRT_Buffer_Type_PRED = 1,
	PJRT_Buffer_Type_S8 = 2,
	PJRT_Buffer_Type_S16 = 3,
	PJRT_Buffer_Type_S32 = 4,
	PJRT_Buffer_Type_S64 = 5,
	PJRT_Buffer_Type_U8 = 6,
	PJRT_Buffer_Type_U16 = 7,
	PJRT_Buffer_Type_U32 = 8,
	PJRT_Buffer_Type_U64 = 9,
	PJRT_Buffer_Type_F16 = 10,
	PJRT_Buffer_Type_F32 = 11,
	PJRT_Buffer_Type_F64 = 12,
	PJRT_Buffer_Type_BF16 = 13,
	PJRT_Buffer_Type_C64 = 14,
	PJRT_Buffer_Type_C128 = 15,
	PJRT_Buffer_Type_F8E5M2 = 16,
	PJRT_Buffer_Type_F8E4M3FN = 17,
	PJRT_Buffer_Type_F8E4M3B11FNUZ = 18,
	PJRT_Buffer_Type_F8E5M2FNUZ = 19,
	PJRT_Buffer_Type_F8E4M3FNUZ = 20,
	PJRT_Buffer_Type_S4 = 21,
	PJRT_Buffer_Type_U4 = 22,
	PJRT_Buffer_Type_TOKEN = 23,
	PJRT_Buffer_Type_S2 = 24,
	PJRT_Buffer_Type_U2 = 25,
	PJRT_Buffer_Type_F8E4M3 = 26,
	PJRT_Buffer_Type_F8E3M4 = 27,
	PJRT_Buffer_Type_F8E8M0FNU = 28,
	PJRT_Buffer_Type_F4E2M1FN = 29,
	PJRT_Buffer_Type_S1 = 30,
	PJRT_Buffer_Type_U1 = 31,
} PJRT_Buffer_Type;

typedef enum {
	PJRT_HostBufferSemantics_kImmutableOnlyDuringCall = 0,
	PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes = 1,
	PJRT_HostBufferSemantics_kImmutableZeroCopy = 2,
	PJRT_HostBufferSemantics_kMutableZeroCopy = 3,
} PJRT_HostBufferSemantics;

typedef enum {
	PJRT_Buffer_MemoryLayout_Type_Tiled = 0,
	PJRT_Buffer_MemoryLayout_Type_Strides = 1,
} PJRT_Buffer_MemoryLayout_Type;

typedef enum {
	PJRT_NamedValue_kString = 0,
	PJRT_NamedValue_kInt64 = 1,
	PJRT_NamedValue_kInt64List = 2,
	PJRT_NamedValue_kFloat = 3,
	PJRT_NamedValue_kBool = 4,
} PJRT_NamedValue_Type;

typedef enum {
	PJRT_Extension_Type_Profiler = 1,
	PJRT_Extension_Type_Layouts = 4,
	PJRT_Extension_Type_Shardings = 19,
} PJRT_Extension_Type;

typedef struct PJRT_Extension_Base {
	size_t struct_size;
	PJRT_Extension_Type type;
	struct PJRT_Extension_Base *next;
} PJRT_Extension_Base;

/* The bytes of a struct up to the end of its last field */
#define PJRT_SIZE(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

/* A struct with the prefix that all have, its size as callers give it, and its last field */
#define PJRT_STRUCT(type, size, last, ...)            \
	typedef struct type {                         \
		size_t struct_size;                   \
		PJRT_Extension_Base *extension_start; \
		__VA_ARGS__                           \
	} type;                                       \
	enum { type##_SIZE = size };                  \
	static_assert(PJRT_SIZE(type, last) == size, #type)

/* The arguments of a function */
#define PJRT_ARGS(name, size, last, ...) PJRT_STRUCT(PJRT_##name##_Args, size, last, __VA_ARGS__)

PJRT_STRUCT(
	PJRT_NamedValue, 56, value_size, const char *name; size_t name_size;
	PJRT_NamedValue_Type type; union {
		const char *string_value;
		int64_t int64_value;
		const int64_t *int64_array_value;
		float float_value;
		bool bool_value;
	};
	size_t value_size;);

PJRT_STRUCT(PJRT_Program, 48, format_size, char *code; size_t code_size; const char *format;
	    size_t format_size;);

PJRT_STRUCT(PJRT_Buffer_MemoryLayout_Tiled, 56, num_tiles, const int64_t *minor_to_major;
	    size_t minor_to_major_size; const int64_t *tile_dims; const size_t *tile_dim_sizes;
	    size_t num_tiles;);

PJRT_STRUCT(PJRT_Buffer_MemoryLayout_Strides, 32, num_byte_strides, const int64_t *byte_strides;
	    size_t num_byte_strides;);

PJRT_STRUCT(
	PJRT_Buffer_MemoryLayout, 76, type,
	union {
		PJRT_Buffer_MemoryLayout_Tiled tiled;
		PJRT_Buffer_MemoryLayout_Strides strides;
	};
	PJRT_Buffer_MemoryLayout_Type type;);

PJRT_STRUCT(PJRT_ShapeSpec, 36, element_type, const int64_t *dims; size_t num_dims;
	    PJRT_Buffer_Type element_type;);

PJRT_STRUCT(PJRT_ExecuteOptions, 144, num_hlo_output_callbacks, void *send_callbacks;
	    void *recv_callbacks; size_t num_send_ops; size_t num_recv_ops; int launch_id;
	    const int64_t *non_donatable_input_indices; size_t num_non_donatable_input_indices;
	    PJRT_ExecuteContext * context; const char *call_location; size_t num_tasks;
	    int *task_ids; int64_t * incarnation_ids; void *multi_slice_config;
	    bool use_major_to_minor_data_layout_for_callbacks; void *hlo_output_callbacks;
	    size_t num_hlo_output_callbacks;);

/* These two have no struct_size. */
typedef struct PJRT_Chunk {
	void *data;
	size_t size;
	void (*deleter)(void *data, void *deleter_arg);
	void *deleter_arg;
} PJRT_Chunk;

typedef struct PJRT_LogicalDeviceIds {
	int replica;
	int partition;
} PJRT_LogicalDeviceIds;
static_assert(sizeof(PJRT_LogicalDeviceIds) == 8 && sizeof(PJRT_Chunk) == 32, "public layouts");

/* The error, or NULL, becomes the callee's */
typedef void (*PJRT_Event_OnReadyCallback)(PJRT_Error *error, void *user_arg);
typedef void (*PJRT_Error_PayloadVisitor)(const char *key, size_t key_size, const char *value,
					  size_t value_size, void *user_arg);

/* The callback of a transfer of raw bytes whose destination is known later */
typedef struct PJRT_Buffer_CopyRawToHostFuture_Callback_Args {
	size_t struct_size;
	void *callback_data;
	PJRT_Error_Code error_code;
	const char *error_message;
	size_t error_message_size;
	void *dst;
} PJRT_Buffer_CopyRawToHostFuture_Callback_Args;
static_assert(sizeof(PJRT_Buffer_CopyRawToHostFuture_Callback_Args) == 48, "public layout");

typedef struct PJRT_Buffer_DonateWithControlDependency_Callback_Args {
	size_t struct_size;
	void *callback_data;
	PJRT_Error_Code error_code;
	const char *error_message;
	size_t error_message_size;
} PJRT_Buffer_DonateWithControlDependency_Callback_Args;
static_assert(sizeof(PJRT_Buffer_DonateWithControlDependency_Callback_Args) == 40, "public layout");

/*
 * Errors and memories begin with a pointer to a table of functions, which frameworks call beside
 * those of PJRT_Api from minor 105 on.
 */
typedef struct PJRT_Error_FunctionTable {
	size_t struct_size;
	size_t instance_size;
	PJRT_Extension_Base *extension_start;
	void (*destroy)(PJRT_Error *error);
	void (*message)(const PJRT_Error *error, const char **message, size_t *message_size);
	PJRT_Error_Code (*get_code)(const PJRT_Error *error);
	void (*for_each_payload)(const PJRT_Error *error, PJRT_Error_PayloadVisitor visitor,
				 void *user_arg);
} PJRT_Error_FunctionTable;
static_assert(sizeof(PJRT_Error_FunctionTable) == 56, "public layout");

typedef struct PJRT_Memory_FunctionTable {
	size_t struct_size;
	PJRT_Extension_Base *extension_start;
	size_t instance_struct_size;
	/* what a framework keeps with a memory, by a key; the destructor is called at the end */
	void *(*get_user_data)(PJRT_Memory *memory, const void *key);
	void (*set_user_data)(PJRT_Memory *memory, const void *key, void *data,
			      void (*destructor)(void *data));
} PJRT_Memory_FunctionTable;
static_assert(sizeof(PJRT_Memory_FunctionTable) == 40, "public layout");

#include "pjrt_args.h"

typedef struct PJRT_Api_Version {
	size_t struct_size;
	PJRT_Extension_Base *extension_start;
	int major_version;
	int minor_version;
} PJRT_Api_Version;

/* Error_Destroy and Error_Message return nothing, which no caller minds that asks for a pointer. */
typedef struct PJRT_Api {
	size_t struct_size;
	PJRT_Extension_Base *extension_start;
	PJRT_Api_Version pjrt_api_version;
#define PJRT_FUNCTION(name) PJRT_Error *(*PJRT_##name)(PJRT_##name##_Args * args);
#include "pjrt_functions.h"
#undef PJRT_FUNCTION
} PJRT_Api;
static_assert(offsetof(PJRT_Api, pjrt_api_version) == 16 &&
		      offsetof(PJRT_Api, PJRT_Error_Destroy) == 40 && sizeof(PJRT_Api) == 1144,
	      "138 functions behind 40 bytes");

const PJRT_Api *GetPjrtApi(void);

#endif
