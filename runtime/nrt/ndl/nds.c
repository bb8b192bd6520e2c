/* SPDX-License-Identifier: MIT */
/*
 * The public functions of the datastore. Instances and objects are in lists, and what is in none of
 * them is refused, whatever the pointer.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt_ndl.h"
#include "rt_nds.h"

struct nds_instance {
	struct nds_instance *next;
	ndlx_device_t *dev;
	int pid;
	char *data;
	size_t size;
};

struct object {
	struct object *next;
	struct nds_instance *inst;
	int type;
	int node; /* its place; -1: not committed */
	bool committed;
	union {
		struct {
			nds_model_node_info_t info;
			nds_model_node_mem_usage_info_t usage;
		} model;
		nds_process_info_t process;
		nds_process_info_ext_t ext;
	};
};

/* rt_nds_lock, which the areas have, protects both lists too. */
static struct nds_instance *instances;
static struct object *objects;

/* The lock is held in these three. */
static bool known(const struct nds_instance *inst)
{
	const struct nds_instance *i;

	for (i = instances; i && i != inst; i = i->next)
		;
	return i;
}

static struct object *object_of(nds_obj_handle_t handle)
{
	struct object *o;

	for (o = objects; o && o != handle; o = o->next)
		;
	return o;
}

static void object_free(struct object *object)
{
	struct object **at = &objects;

	while (*at != object)
		at = &(*at)->next;
	*at = object->next;
	free(object);
}

int nds_open(ndl_device_t *device, pid_t pid, nds_instance_t **inst)
{
	ndlx_device_t *dev = rt_ndl_device(device);
	struct nds_instance *made;
	void *data;
	int ret;

	if (!dev || !inst || pid < 0)
		return -EINVAL;
	*inst = NULL;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->dev = dev;
	made->pid = pid;
	ret = ndlx_nds_open(dev, pid, &data, &made->size);
	if (!ret && made->size < NDS_ENTRY_SIZE) {
		ndlx_nds_close(dev, pid, data, made->size);
		ret = -EPROTO;
	}
	if (ret) {
		free(made);
		return ret;
	}
	made->data = data;
	pthread_mutex_lock(&rt_nds_lock);
	made->next = instances;
	instances = made;
	pthread_mutex_unlock(&rt_nds_lock);
	*inst = made;
	return 0;
}

int nds_close(nds_instance_t *inst)
{
	struct nds_instance **at;
	struct object *o, *next;
	int ret;

	pthread_mutex_lock(&rt_nds_lock);
	for (at = &instances; *at && *at != inst; at = &(*at)->next)
		;
	if (!*at) {
		pthread_mutex_unlock(&rt_nds_lock);
		return -EINVAL;
	}
	*at = inst->next;
	for (o = objects; o; o = next) {
		next = o->next;
		if (o->inst == inst)
			object_free(o);
	}
	pthread_mutex_unlock(&rt_nds_lock);
	ret = ndlx_nds_close(inst->dev, inst->pid, inst->data, inst->size);
	free(inst);
	return ret;
}

/* Counters */

enum op { GET, SET, ADD, SUB, OR };

static int count_at(struct nds_instance *inst, uint64_t offset, enum op op, uint64_t *value)
{
	uint64_t *at;
	int ret = 0;

	pthread_mutex_lock(&rt_nds_lock);
	if (!known(inst)) {
		ret = -EINVAL;
	} else if (op != GET && inst->pid) {
		ret = -EACCES;
	} else {
		at = (uint64_t *)(void *)(inst->data + offset);
		if (op == GET)
			*value = __atomic_load_n(at, __ATOMIC_RELAXED);
		else if (op == SET)
			__atomic_store_n(at, *value, __ATOMIC_RELAXED);
		else if (op == OR)
			__atomic_fetch_or(at, *value, __ATOMIC_RELAXED);
		else
			__atomic_fetch_add(at, op == ADD ? *value : -*value, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&rt_nds_lock);
	return ret;
}

static int count_nc(struct nds_instance *inst, int nc, uint32_t counter, enum op op,
		    uint64_t *value)
{
	const int cores = NDS_MAX_NEURONCORE_COUNT + NDS_EXT_MAX_NEURONCORE_COUNT;

	if (!value || nc < 0 || nc >= cores || counter >= NDS_TOTAL_NC_COUNTER_COUNT)
		return -EINVAL;
	return count_at(inst, NDS_NC_OFFSET((unsigned int)nc, counter), op, value);
}

static int count_nd(struct nds_instance *inst, uint32_t counter, enum op op, uint64_t *value)
{
	if (!value || counter >= NDS_ND_COUNTER_COUNT)
		return -EINVAL;
	return count_at(inst, NDS_ND_OFFSET(counter), op, value);
}

int nds_increment_nc_counter(nds_instance_t *inst, int pnc_index, uint32_t counter_index,
			     uint64_t increment)
{
	return count_nc(inst, pnc_index, counter_index, ADD, &increment);
}

int nds_decrement_nc_counter(nds_instance_t *inst, int pnc_index, uint32_t counter_index,
			     uint64_t decrement)
{
	return count_nc(inst, pnc_index, counter_index, SUB, &decrement);
}

int nds_get_nc_counter(nds_instance_t *inst, int pnc_index, uint32_t counter_index, uint64_t *value)
{
	return count_nc(inst, pnc_index, counter_index, GET, value);
}

int nds_set_nc_counter(nds_instance_t *inst, int pnc_index, uint32_t counter_index, uint64_t *value)
{
	return count_nc(inst, pnc_index, counter_index, SET, value);
}

int nds_increment_nd_counter(nds_instance_t *inst, uint32_t counter_index, uint64_t increment)
{
	return count_nd(inst, counter_index, ADD, &increment);
}

int nds_decrement_nd_counter(nds_instance_t *inst, uint32_t counter_index, uint64_t decrement)
{
	return count_nd(inst, counter_index, SUB, &decrement);
}

int nds_or_nd_counter(nds_instance_t *inst, uint32_t counter_index, uint64_t bit_index)
{
	uint64_t bit = bit_index < 64 ? 1ull << bit_index : 0;

	return bit ? count_nd(inst, counter_index, OR, &bit) : -EINVAL;
}

int nds_get_nd_counter(nds_instance_t *inst, uint32_t counter_index, uint64_t *value)
{
	return count_nd(inst, counter_index, GET, value);
}

int nds_set_nd_counter(nds_instance_t *inst, uint32_t counter_index, uint64_t *value)
{
	return count_nd(inst, counter_index, SET, value);
}

/* Objects */

static struct object *object_new(struct nds_instance *inst, int type)
{
	struct object *object = calloc(1, sizeof(*object));

	if (!object)
		return NULL;
	object->inst = inst;
	object->type = type;
	object->node = -1;
	object->next = objects;
	objects = object;
	return object;
}

nds_obj_handle_t nds_obj_new(nds_instance_t *inst, int type)
{
	struct object *object = NULL;

	pthread_mutex_lock(&rt_nds_lock);
	if (known(inst) && type >= OBJECT_TYPE_MODEL_NODE_INFO &&
	    type <= OBJECT_TYPE_PROCESS_INFO_EXT)
		object = object_new(inst, type);
	pthread_mutex_unlock(&rt_nds_lock);
	return object;
}

static int commit(struct object *object, struct rt_nds_area *area)
{
	area->magic = RT_NDS_MAGIC;
	if (object->type == OBJECT_TYPE_PROCESS_INFO) {
		area->process = object->process;
		__atomic_store_n(&area->process_there, 1, __ATOMIC_RELEASE);
		return 0;
	}
	if (object->type == OBJECT_TYPE_PROCESS_INFO_EXT) {
		area->ext = object->ext;
		__atomic_store_n(&area->ext_there, 1, __ATOMIC_RELEASE);
		return 0;
	}
	if (object->node < 0)
		object->node = rt_nds_node_take(area);
	if (object->node < 0)
		return -ENOSPC;
	area->node[object->node].info = object->model.info;
	area->node[object->node].usage = object->model.usage;
	__atomic_store_n(&area->node[object->node].there, RT_NDS_THERE, __ATOMIC_RELEASE);
	return 0;
}

int nds_obj_commit(nds_obj_handle_t obj)
{
	struct object *object;
	int ret = -EINVAL;

	pthread_mutex_lock(&rt_nds_lock);
	object = object_of(obj);
	if (object)
		ret = object->inst->pid ? -EACCES : commit(object, rt_nds_area(object->inst->data));
	if (!ret)
		object->committed = true;
	pthread_mutex_unlock(&rt_nds_lock);
	return ret;
}

static void withdraw(const struct object *object, struct rt_nds_area *area)
{
	uint32_t *there = object->type == OBJECT_TYPE_PROCESS_INFO	 ? &area->process_there
			  : object->type == OBJECT_TYPE_PROCESS_INFO_EXT ? &area->ext_there
									 : NULL;

	if (object->node >= 0)
		there = &area->node[object->node].there;
	if (there)
		__atomic_store_n(there, 0, __ATOMIC_RELEASE);
}

int nds_obj_delete(nds_obj_handle_t obj)
{
	struct object *object;

	pthread_mutex_lock(&rt_nds_lock);
	object = object_of(obj);
	if (object) {
		if (object->committed)
			withdraw(object, rt_nds_area(object->inst->data));
		object_free(object);
	}
	pthread_mutex_unlock(&rt_nds_lock);
	return object ? 0 : -EINVAL;
}

/* An object of the type, or NULL */
static struct object *cast(nds_obj_handle_t obj, int type)
{
	struct object *object;

	pthread_mutex_lock(&rt_nds_lock);
	object = object_of(obj);
	pthread_mutex_unlock(&rt_nds_lock);
	return object && object->type == type ? object : NULL;
}

nds_model_node_info_t *nds_obj_handle_to_model_node_info(nds_obj_handle_t obj)
{
	struct object *object = cast(obj, OBJECT_TYPE_MODEL_NODE_INFO);

	return object ? &object->model.info : NULL;
}

nds_model_node_mem_usage_info_t *nds_obj_handle_to_model_node_mem_usage(nds_obj_handle_t obj)
{
	struct object *object = cast(obj, OBJECT_TYPE_MODEL_NODE_INFO);

	return object ? &object->model.usage : NULL;
}

nds_process_info_t *nds_obj_handle_to_process_info(nds_obj_handle_t obj)
{
	struct object *object = cast(obj, OBJECT_TYPE_PROCESS_INFO);

	return object ? &object->process : NULL;
}

nds_process_info_ext_t *nds_obj_handle_to_process_info_ext(nds_obj_handle_t obj)
{
	struct object *object = cast(obj, OBJECT_TYPE_PROCESS_INFO_EXT);

	return object ? &object->ext : NULL;
}

/* Strings of another process's entry end. */
static void end_strings(struct object *object)
{
	if (object->type == OBJECT_TYPE_PROCESS_INFO)
		object->process.tag[sizeof(object->process.tag) - 1] = '\0';
	else if (object->type == OBJECT_TYPE_PROCESS_INFO_EXT)
		object->ext.tag[sizeof(object->ext.tag) - 1] = '\0';
	else
		object->model.info.name[sizeof(object->model.info.name) - 1] = '\0';
}

static size_t read_nodes(struct nds_instance *inst, struct rt_nds_area *area,
			 nds_obj_handle_t *models)
{
	size_t n = 0;

	for (int i = 0; i < RT_NDS_NODES; i++) {
		struct object *object;

		if (__atomic_load_n(&area->node[i].there, __ATOMIC_ACQUIRE) != RT_NDS_THERE)
			continue;
		object = object_new(inst, OBJECT_TYPE_MODEL_NODE_INFO);
		if (!object)
			break;
		object->model.info = area->node[i].info;
		object->model.usage = area->node[i].usage;
		end_strings(object);
		models[n++] = object;
	}
	return n;
}

int nds_read_all_model_nodes(nds_instance_t *inst, nds_obj_handle_t **models, size_t *count)
{
	struct rt_nds_area *area;
	int ret = 0;

	if (!models || !count)
		return -EINVAL;
	*count = 0;
	*models = calloc(RT_NDS_NODES, sizeof(**models));
	if (!*models)
		return -ENOMEM;
	pthread_mutex_lock(&rt_nds_lock);
	if (!known(inst)) {
		ret = -EINVAL;
	} else {
		area = rt_nds_area(inst->data);
		if (area->magic == RT_NDS_MAGIC)
			*count = read_nodes(inst, area, *models);
	}
	pthread_mutex_unlock(&rt_nds_lock);
	if (ret) {
		free(*models);
		*models = NULL;
	}
	return ret;
}

static nds_obj_handle_t read_info(nds_instance_t *inst, int type)
{
	const bool ext = type == OBJECT_TYPE_PROCESS_INFO_EXT;
	struct object *object = NULL;
	struct rt_nds_area *area;

	pthread_mutex_lock(&rt_nds_lock);
	area = known(inst) ? rt_nds_area(inst->data) : NULL;
	if (area && area->magic == RT_NDS_MAGIC &&
	    __atomic_load_n(ext ? &area->ext_there : &area->process_there, __ATOMIC_ACQUIRE))
		object = object_new(inst, type);
	if (object && ext)
		object->ext = area->ext;
	else if (object)
		object->process = area->process;
	if (object)
		end_strings(object);
	pthread_mutex_unlock(&rt_nds_lock);
	return object;
}

nds_obj_handle_t nds_read_process_info(nds_instance_t *inst)
{
	return read_info(inst, OBJECT_TYPE_PROCESS_INFO);
}

nds_obj_handle_t nds_read_process_info_ext(nds_instance_t *inst)
{
	return read_info(inst, OBJECT_TYPE_PROCESS_INFO_EXT);
}
