/* SPDX-License-Identifier: MIT */
/*
 * How many file descriptors clients may hold in the daemon. A connection takes one, and so does a
 * file: a region of shared memory, or a NEFF that is loaded by its path. Each kind may take half of
 * what the process may open, and one user an eighth. The rest is for the daemon itself: devices,
 * listeners, gRPC's.
 */
#ifndef RTD_DESCRIPTORS_H
#define RTD_DESCRIPTORS_H

struct rtd_descriptors {
	unsigned int limit; /* every descriptor is less than this */
	unsigned int total; /* connections, or files, of all clients */
	unsigned int user; /* connections, or files, of one user */
};

/* Raises the limit to what the daemon may have, at most 65536. Returns 0 or -errno. */
int rtd_descriptors_get(struct rtd_descriptors *descriptors);

#endif
