/* SPDX-License-Identifier: MIT */
/*
 * Opening a file that a client names. The calling thread has the client's identity (peer.c), but
 * procfs also answers with what the daemon itself has open: its magic links (/proc/self/cwd, root,
 * exe, fd/N and whatever leads there, like /dev/fd) jump to an object without asking whether the
 * client could have walked to it. So no magic link is followed, and a path starts at the root.
 */
#ifndef RTD_PATH_H
#define RTD_PATH_H

/*
 * open() of a regular file: a descriptor, or -errno. -EINVAL: the path is relative, or leads to
 * what is no regular file or to a file of procfs; -ELOOP: through a magic link, or a symbolic link
 * with O_NOFOLLOW in flags. A kernel without openat2 (before 5.6, or behind a filter) has the path
 * walked by hand; then no symbolic link of procfs is followed, /proc/self among them.
 */
int rtd_path_open(const char *path, int flags);

#endif
