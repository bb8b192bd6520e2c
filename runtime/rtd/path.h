/* SPDX-License-Identifier: MIT */
/*
 * Opening a file that a client names. The calling thread has the client's identity (peer.c), but
 * procfs also shows what the daemon itself has open: its magic links (/proc/self/cwd, root, exe,
 * fd/N and whatever leads there, like /dev/fd) jump to an object without checking whether the
 * client could have walked to it. So no magic link is followed, and a path starts at the root.
 */
#ifndef RTD_PATH_H
#define RTD_PATH_H

/*
 * Opens a regular file and returns a descriptor or -errno. -EINVAL: the path is relative, or leads
 * to something other than a regular file or to a file of procfs; -ELOOP: it goes through a magic
 * link, or it is a symbolic link and flags has O_NOFOLLOW. Where the kernel has no openat2 (before
 * 5.6, or behind a filter) the path is walked component by component; then no symbolic link of
 * procfs is followed, /proc/self included.
 */
int rtd_path_open(const char *path, int flags);

#endif
