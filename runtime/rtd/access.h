/* SPDX-License-Identifier: MIT */
/*
 * Who may use what another client made. A group and the models in it belong to the user who made
 * them. That user, root and the daemon's own user may do everything with them; what others may do
 * is the group's sharing, which the configuration sets at first and its owner can change. All
 * clients over TCP count as one user, who is none of the local ones.
 *
 * The checks are made where requests come in. An id is never used twice, so a check holds until the
 * call that follows it.
 */
#ifndef RTD_ACCESS_H
#define RTD_ACCESS_H

#include "rtd.h"

enum rtd_act {
	RTD_USE, /* infer and query */
	RTD_CONTROL, /* load into, start, stop, unload, destroy, share */
};

/*
 * Checks whether this client may do that: NERR_OK, or NERR_INVALID_HANDLE in err. An object that
 * does not exist is left to the call itself to refuse.
 */
int rtd_access_model(struct rtd *rtd, const struct rtd_peer *peer, uint32_t id, enum rtd_act act,
		     struct rtd_err *err);
int rtd_access_eg(struct rtd *rtd, const struct rtd_peer *peer, uint32_t id, enum rtd_act act,
		  struct rtd_err *err);

/* May the peer do that to an object at hand? With the lock held */
bool rtd_may_model(const struct rtd_peer *peer, const struct rtd_model *model, enum rtd_act act);
bool rtd_may_eg(const struct rtd_peer *peer, const struct rtd_eg *eg, enum rtd_act act);

/* Sets what others may do with a group from now on; only its owner and root may call this. */
int rtd_eg_share(struct rtd *rtd, const struct rtd_peer *peer, uint32_t id,
		 enum rtd_sharing sharing, struct rtd_err *err);
/* The seed by which inferences in a group round that begin from now on; for who may load into it */
int rtd_eg_seed(struct rtd *rtd, const struct rtd_peer *peer, uint32_t id, uint32_t seed,
		struct rtd_err *err);
/* Notes the adjustment of transfers, which all clients see; for root and the daemon's own user. */
int rtd_adjust_transfers(struct rtd *rtd, const struct rtd_peer *peer, uint32_t count,
			 struct rtd_err *err);
/*
 * Unloads everything this client may control: models in others' groups, and groups with all they
 * hold.
 */
void rtd_unload_own(struct rtd *rtd, const struct rtd_peer *peer, rtd_done done, void *arg);

#endif
