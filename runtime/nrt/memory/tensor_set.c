/* SPDX-License-Identifier: MIT */
/*
 * Tensor sets map names to tensors. A set holds no reference, so the caller keeps a tensor alive as
 * long as a set has it.
 */
#include <stdlib.h>
#include <string.h>

#include "rt_tensor.h"

EXPORT NRT_STATUS nrt_allocate_tensor_set(nrt_tensor_set_t **result)
{
	struct rt_set *set;
	RT_ENTER(status);

	if (status)
		return status;
	if (!result)
		return rt_fail(NRT_INVALID, "NRT", "no place for the set");
	set = calloc(1, sizeof(*set));
	if (!set)
		return rt_fail(NRT_RESOURCE, "NRT", "out of memory");
	pthread_mutex_init(&set->lock, NULL);
	*result = set;
	return NRT_SUCCESS;
}

EXPORT void nrt_destroy_tensor_set(nrt_tensor_set_t **result)
{
	struct rt_set *set = result ? *result : NULL;

	if (!set)
		return;
	for (unsigned int i = 0; i < set->n; i++)
		free(set->item[i].name);
	free(set->item);
	pthread_mutex_destroy(&set->lock);
	free(set);
	*result = NULL;
}

static struct rt_set_item *find(const struct rt_set *set, const char *name)
{
	for (unsigned int i = 0; i < set->n; i++)
		if (!strcmp(set->item[i].name, name))
			return &set->item[i];
	return NULL;
}

nrt_tensor_t *rt_set_find(const nrt_tensor_set_t *set, const char *name)
{
	struct rt_set *s = (struct rt_set *)set;
	struct rt_set_item *item;
	nrt_tensor_t *tensor;

	pthread_mutex_lock(&s->lock);
	item = find(s, name);
	tensor = item ? item->tensor : NULL;
	pthread_mutex_unlock(&s->lock);
	return tensor;
}

NRT_STATUS rt_set_add(struct rt_set *set, const char *name, nrt_tensor_t *tensor)
{
	struct rt_set_item *item = find(set, name);
	char *copy;

	if (item) {
		item->tensor = tensor;
		return NRT_SUCCESS;
	}
	if (set->n == set->cap) {
		unsigned int cap = set->cap ? set->cap * 2 : 8;

		item = reallocarray(set->item, cap, sizeof(*item));
		if (!item)
			return rt_fail(NRT_RESOURCE, "NRT", "out of memory");
		set->item = item;
		set->cap = cap;
	}
	copy = strdup(name);
	if (!copy)
		return rt_fail(NRT_RESOURCE, "NRT", "out of memory");
	set->item[set->n++] = (struct rt_set_item){ copy, tensor };
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrt_add_tensor_to_tensor_set(nrt_tensor_set_t *tensor_set, const char *name,
					       nrt_tensor_t *tensor)
{
	struct rt_set *set = tensor_set;
	RT_ENTER(status);

	if (status)
		return status;
	if (!set || !name || !tensor)
		return rt_fail(NRT_INVALID, "NRT", "set, name or tensor missing");
	pthread_mutex_lock(&set->lock);
	status = rt_set_add(set, name, tensor);
	pthread_mutex_unlock(&set->lock);
	return status;
}

EXPORT NRT_STATUS nrt_get_tensor_from_tensor_set(nrt_tensor_set_t *set, const char *name,
						 nrt_tensor_t **tensor)
{
	RT_ENTER(status);

	if (status)
		return status;
	if (!set || !name || !tensor)
		return rt_fail(NRT_INVALID, "NRT", "set, name or tensor missing");
	*tensor = rt_set_find(set, name);
	return *tensor ? NRT_SUCCESS
		       : rt_fail(NRT_INVALID, "NRT", "no tensor '%s' in the set", name);
}

void rt_set_drop(struct rt_set *copy)
{
	if (!copy->copied)
		return;
	for (unsigned int i = 0; i < copy->n; i++)
		free(copy->item[i].name);
	free(copy->item);
	pthread_mutex_destroy(&copy->lock);
	*copy = (struct rt_set){ 0 };
}

void rt_set_init(struct rt_set *set)
{
	pthread_mutex_init(&set->lock, NULL);
	set->copied = true;
}

bool rt_set_copy(struct rt_set *copy, const nrt_tensor_set_t *tensor_set)
{
	struct rt_set *set = (struct rt_set *)tensor_set;
	NRT_STATUS status = NRT_SUCCESS;

	rt_set_init(copy);
	pthread_mutex_lock(&set->lock);
	for (unsigned int i = 0; i < set->n && !status; i++)
		status = rt_set_add(copy, set->item[i].name, set->item[i].tensor);
	pthread_mutex_unlock(&set->lock);
	if (status)
		rt_set_drop(copy);
	return !status;
}
