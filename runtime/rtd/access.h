/* SPDX-License-Identifier: MIT */
/*
 * Who may use what another client made. A group and the models in it belong to the user who made
 * them. That user, root and the daemon's own user may do everything with them; what others may is
 * the group's sharing: the configuration's at first, then what its maker says. All clients over TCP
 * are one user, and none of the local ones.
 *
 * The checks stand where requests come in. No id is given out twice, so a check holds until the
 * call that follows it.
 */
#ifndef RTD_ACCESS_H
#define RTD_ACCESS_H

#include "rtd.h"

enum rtd_act {
	RTD_USE, /* infer, and see what it is */
	RTD_CONTROL, /* load into, start, stop, unload, destroy, share */
};

/*
 * May this client do that? NERR_OK, or NERR_INVALID_HANDLE in err. What does not exist is left to
 * the call itself to refuse.
 */
int rtd_access_model(struct rtd *rtd, const struct rtd_peer *peer, uint32_t id, enum rtd_act act,
		     struct rtd_err *err);
int rtd_access_eg(struct rtd *rtd, const struct rtd_peer *peer, uint32_t id, enum rtd_act act,
		  struct rtd_err *err);

/* The same for what is at hand; locked */
bool rtd_may_model(const struct rtd_peer *peer, const struct rtd_model *model, enum rtd_act act);
bool rtd_may_eg(const struct rtd_peer *peer, const struct rtd_eg *eg, enum rtd_act act);

/* What others may do with a group from now on; its owner's alone to say, and root's */
int rtd_eg_share(struct rtd *rtd, const struct rtd_peer *peer, uint32_t id,
		 enum rtd_sharing sharing, struct rtd_err *err);
/* Everything this client may control: models in others' groups, and groups with all they hold */
void rtd_unload_own(struct rtd *rtd, const struct rtd_peer *peer, rtd_done done, void *arg);

#endif
