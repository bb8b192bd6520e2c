/* SPDX-License-Identifier: MIT */
/* The instance that a program runs on: the firmware's tables and the instance metadata service. */
#ifndef TELEMETRY_METADATA_H
#define TELEMETRY_METADATA_H

/* Printable ASCII; empty: not known */
struct tm_instance {
	char name[128], id[64], type[64], zone[64], zone_id[64], region[64], ami[64], subnet[64];
	char error[160]; /* the service was asked and did not answer */
};

/*
 * The service is asked where the firmware says that this is EC2, or where the variables of Amazon's
 * own libraries name it: AWS_EC2_METADATA_SERVICE_ENDPOINT (http://ADDRESS[:PORT]) and
 * AWS_EC2_METADATA_DISABLED. It takes a second and a half at most.
 */
void tm_instance_read(struct tm_instance *instance);

#endif
