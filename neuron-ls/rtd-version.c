// SPDX-License-Identifier: MIT
/*
 * The module neuron-ls loads when a daemon listens: one get_version call over gRPC. Called by
 * runtime.c by name.
 */
#include "client.h"
#include "nmgr.pb-c.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TIMEOUT_MS 5000 /* clients give neuron-ls ten seconds, and an emulated CPU may be slow */

int ls_rtd_version(const char *address, char *version, size_t size);

static const struct rtd_client_method get_version = {
	"/nrt.nmgr_v1/get_version",
	&nrt__get_version_response__descriptor,
};

int ls_rtd_version(const char *address, char *version, size_t size)
{
	Nrt__GetVersionRequest request = NRT__GET_VERSION_REQUEST__INIT;
	struct rtd_client *client = rtd_client_new(address);
	Nrt__GetVersionResponse *response;
	int ret = -EPROTO;

	if (!client)
		return -ENOMEM;
	request.framework_name = (char *)"neuron-ls";
	response = (Nrt__GetVersionResponse *)rtd_client_call(client, &get_version, &request.base,
							      TIMEOUT_MS);
	if (response && response->runtime_version && response->runtime_version->full_version) {
		snprintf(version, size, "%s", response->runtime_version->full_version);
		ret = 0;
	}
	if (response)
		nrt__get_version_response__free_unpacked(response, NULL);
	rtd_client_free(client);
	return ret;
}
