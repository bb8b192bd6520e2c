/* SPDX-License-Identifier: MIT */
/*
 * How many file descriptors clients may hold in the daemon. A connection is one, a shared memory
 * region is one; half of what the process may open is for each, and an eighth of it for one user.
 * The rest is the daemon's own: devices, listeners, gRPC's, files while they are read.
 */
#ifndef RTD_DESCRIPTORS_H
#define RTD_DESCRIPTORS_H

struct rtd_descriptors {
	unsigned int limit; /* descriptors are less than this */
	unsigned int total; /* connections, or regions, of all clients */
	unsigned int user; /* of one user */
};

/* Raises the limit to what the daemon may have, at most 65536. 0 or -errno */
int rtd_descriptors_get(struct rtd_descriptors *descriptors);

#endif
