// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which node of an UltraServer this instance is. The chips at the same place of its four nodes are
 * linked in a ring, and each driver reads its chips' two neighbours' MISC RAM through these links:
 * serial numbers, what the neighbour has read, and how it went. Drivers of other nodes are peers
 * that may be the public one (docs/hardware.md, The UltraServer, has what they agree on).
 *
 * A thread does it, chip after chip as all nodes do, once all chips are reset or a program asks.
 * pod.lock is taken before neuron_table_lock; the thread holds it for what it has found only.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/dmi.h>
#include <linux/kthread.h>

#include "neuron_crwl.h"
#include "neuron_device.h"
#include "neuron_dma.h"
#include "neuron_fwio.h"
#include "neuron_gate.h"
#include "neuron_log.h"
#include "neuron_params.h"
#include "neuron_pod.h"
#include "neuron/hw/topology.h"

#define CHIPS 16 /* of a node */
#define PAUSE_MS 50 /* before a neighbour is asked again */
#define MORE_MS (120 * MSEC_PER_SEC) /* at least, for another try with fewer links */

/* userver_ctl */
#define CTL_LATER BIT(0) /* only when a program asks */
#define CTL_FORGET BIT(6) /* what an earlier election left in MISC RAM */
#define CTL_LEFT_FAILS BIT(7)
#define CTL_RIGHT_FAILS BIT(8)
#define CTL_RIGHT_ONLY BIT(9)
#define CTL_LEFT_ONLY BIT(10)

enum side { LEFT, RIGHT, SIDES };
#define SIDE_LEFT BIT(LEFT)
#define SIDE_RIGHT BIT(RIGHT)
#define SIDES_ALL (SIDE_LEFT | SIDE_RIGHT)

enum stage { WAITING, ELECTING, ELECTED, ALONE };

static struct {
	struct mutex lock; /* all but what the thread alone looks at */
	struct task_struct *task;
	wait_queue_head_t wait;
	bool member; /* of an UltraServer, by the machine's name */
	bool cancel;
	enum stage stage;
	DECLARE_BITMAP(ready, CHIPS);
	u64 deadline; /* ktime_get_ns() */
	unsigned int sides, nodes;
	int node;
	u64 server;
	u32 mode;
	unsigned int marks_over; /* neuron_marks_over(), when it was set */
} pod = {
	.lock = __MUTEX_INITIALIZER(pod.lock),
	.wait = __WAIT_QUEUE_HEAD_INITIALIZER(pod.wait),
	.node = -1,
};

/* The links of a chip, while it is asked about */
struct chip {
	struct neuron_device *nd;
	unsigned int sides; /* of which an answer counts */
	u64 serial[SIDES]; /* of the neighbours */
	u64 found[SIDES][SIDES]; /* what each of them has found on its sides */
};

/* The thread is to leave off */
static bool over(void)
{
	return kthread_should_stop() || READ_ONCE(pod.cancel);
}

/* Reads words of the MISC RAM at the other end of a link */
static int read_neighbour(struct neuron_device *nd, enum side side, unsigned int link,
			  unsigned int word, u32 *value, unsigned int n)
{
	static const u8 ports[SIDES][2] = {
		[LEFT] = NEURON_ULTRASERVER_LEFT, [RIGHT] = NEURON_ULTRASERVER_RIGHT
	};
	u64 addr = nhal_neighbor_addr(nd->gen, ports[side][link], nhal_misc_addr(nd->gen, word));
	int idx = neuron_enter(nd), ret;

	if (idx < 0)
		return idx;
	down_read(&nd->reset_sem);
	ret = neuron_dma_to_kernel(&nd->h2t[0], addr, value, n * sizeof(*value));
	up_read(&nd->reset_sem);
	neuron_exit(nd, idx);
	if (!ret && neuron_userver_ctl & (side == LEFT ? CTL_LEFT_FAILS : CTL_RIGHT_FAILS))
		ret = -EIO;
	if (ret)
		nd_err(nd, "UltraServer: the link to the %s cannot be read: %d\n",
		       side == LEFT ? "left" : "right", ret);
	return ret;
}

static bool answered(u32 word)
{
	return word && word != NEURON_NO_ANSWER;
}

/* Questions to a neighbour: 0, -EAGAIN while it has no answer, or another -errno */

static int ask_serial(struct chip *chip, enum side side)
{
	u32 word[2][2];
	unsigned int link;
	int ret = 0;

	for (link = 0; link < 2 && !ret; link++)
		ret = read_neighbour(chip->nd, side, link, NEURON_MISC_SERIAL_LO, word[link], 2);
	if (ret)
		return ret;
	if (!answered(word[0][0]) || !answered(word[1][0]))
		return -EAGAIN;
	if (memcmp(word[0], word[1], sizeof(word[0]))) {
		nd_err(chip->nd, "UltraServer: two links to one side lead to two chips\n");
		return -EPIPE;
	}
	chip->serial[side] = (u64)word[0][1] << 32 | word[0][0];
	return 0;
}

static int ask_found(struct chip *chip, enum side side)
{
	u32 word[4];
	int ret = read_neighbour(chip->nd, side, 0, NEURON_MISC_POD_FOUND, word, 4);

	if (ret)
		return ret;
	/* its last word is written last */
	if (!answered(word[chip->sides & SIDE_RIGHT ? 3 : 1]))
		return -EAGAIN;
	chip->found[side][LEFT] = (u64)word[0] << 32 | word[1];
	chip->found[side][RIGHT] = (u64)word[2] << 32 | word[3];
	return 0;
}

static int ask_outcome(struct chip *chip, enum side side)
{
	u32 word;
	int ret = read_neighbour(chip->nd, side, 0, NEURON_MISC_POD_OUTCOME, &word, 1);

	if (ret)
		return ret;
	if (word == NEURON_NO_ANSWER || !(word & 0xff))
		return -EAGAIN;
	return (word & 0xff) == NEURON_POD_OUTCOME_GOOD ? 0 : -ENODEV;
}

/* Asks both sides until each has answered. timed: not for ever */
static int ask(struct chip *chip, int (*question)(struct chip *chip, enum side side), bool timed)
{
	unsigned int left = chip->sides, side;
	int ret;

	for (;;) {
		for (side = 0; side < SIDES; side++) {
			if (!(left & BIT(side)))
				continue;
			ret = question(chip, side);
			if (ret && ret != -EAGAIN)
				return ret;
			if (!ret)
				left &= ~BIT(side);
		}
		if (!left)
			return 0;
		if (over())
			return -EINTR;
		if (timed && ktime_get_ns() > READ_ONCE(pod.deadline)) {
			nd_info(chip->nd, "UltraServer: no answer of the other nodes in time\n");
			return -ETIMEDOUT;
		}
		schedule_timeout_interruptible(msecs_to_jiffies(PAUSE_MS));
	}
}

/* Tells the neighbours, the word that they look at last */
static void tell_found(struct neuron_device *nd, u64 left, u64 right)
{
	nhal_misc_write(&nd->hal, NEURON_MISC_POD_FOUND, left >> 32);
	nhal_misc_write(&nd->hal, NEURON_MISC_POD_FOUND + 4, (u32)left);
	nhal_misc_write(&nd->hal, NEURON_MISC_POD_FOUND + 8, right >> 32);
	nhal_misc_write(&nd->hal, NEURON_MISC_POD_FOUND + 12, (u32)right);
}

static void tell_outcome(struct neuron_device *nd, u32 outcome, u32 sides, int node, u32 nodes)
{
	nhal_misc_write(&nd->hal, NEURON_MISC_POD_OUTCOME,
			outcome | sides << 8 | (node & 0xff) << 16 | nodes << 24);
}

static void tell_server(struct neuron_device *nd, u64 server)
{
	nhal_misc_write(&nd->hal, NEURON_MISC_POD_SERVER, server >> 32);
	nhal_misc_write(&nd->hal, NEURON_MISC_POD_SERVER + 4, (u32)server);
}

/* Chips but the first tell their place, which the neighbour's has to be */
static int places_match(struct chip *chip)
{
	unsigned int side;

	for (side = 0; side < SIDES; side++) {
		if (!(chip->sides & BIT(side)) || chip->found[side][LEFT] == chip->nd->index)
			continue;
		nd_err(chip->nd, "UltraServer: the link to the %s leads to chip %llu\n",
		       side == LEFT ? "left" : "right", chip->found[side][LEFT]);
		return -EPIPE;
	}
	return 0;
}

/* The first tells serial numbers, which are more than a place */
static int no_places(struct chip *chip)
{
	unsigned int side;

	for (side = 0; chip->sides == SIDES_ALL && side < SIDES; side++)
		if (chip->found[side][LEFT] < CHIPS)
			return -EPIPE;
	return 0;
}

static int own_serial(struct neuron_device *nd, u64 *serial)
{
	u32 lo = 0, hi = 0;
	int ret = neuron_misc_read(nd, NEURON_MISC_SERIAL_LO, &lo);

	if (!ret)
		ret = neuron_misc_read(nd, NEURON_MISC_SERIAL_HI, &hi);
	*serial = (u64)hi << 32 | lo;
	return ret;
}

/* The node with the lowest number is the first, to its left is 1, opposite 2, to its right 3 */
static void number(const struct chip *chip, u64 self)
{
	const u64 left = chip->serial[LEFT], right = chip->serial[RIGHT];
	const u64 opposite = chip->found[LEFT][RIGHT];
	const u64 only = chip->sides == SIDE_RIGHT ? right : left;

	if (chip->sides != SIDES_ALL || left == right) {
		pod.nodes = 2;
		pod.server = min(self, only);
		pod.node = self != pod.server;
		return;
	}
	pod.nodes = NEURON_ULTRASERVER_NODES;
	pod.server = min(min(self, opposite), min(left, right));
	if (pod.server == self)
		pod.node = 0;
	else if (pod.server == opposite)
		pod.node = 2;
	else
		pod.node = pod.server == left ? 1 : 3;
}

/* Everything about one chip; good: whether the node's other chips are */
static int elect_chip(struct chip *chip, bool good)
{
	const bool first = !chip->nd->index;
	struct neuron_device *nd = chip->nd;
	u64 self = 0;
	int ret = own_serial(nd, &self);

	tell_outcome(nd, 0, 0, first ? -1 : 0, 0);
	if (!ret)
		ret = ask(chip, ask_serial, true);
	if (ret)
		goto out;
	if (first)
		tell_found(nd, chip->serial[LEFT], chip->serial[RIGHT]);
	else
		tell_found(nd, nd->index, nd->index);
	ret = ask(chip, ask_found, true);
	if (!ret)
		ret = first ? no_places(chip) : places_match(chip);
	if (!ret && !good)
		ret = -EPIPE;
	if (ret)
		goto out;
	tell_outcome(nd, NEURON_POD_OUTCOME_GOOD, 0, first ? -1 : 0, 0);
	ret = ask(chip, ask_outcome, false);
	if (!ret && first) {
		mutex_lock(&pod.lock);
		number(chip, self);
		tell_outcome(nd, NEURON_POD_OUTCOME_GOOD, chip->sides, pod.node, pod.nodes);
		tell_server(nd, pod.server);
		mutex_unlock(&pod.lock);
	}
out:
	/* whoever begins again begins with nothing found */
	tell_found(nd, 0, 0);
	if (ret) {
		tell_outcome(nd, NEURON_POD_OUTCOME_BAD, 0, first ? -1 : 0, 0);
		if (first)
			tell_server(nd, 0);
	}
	return ret;
}

static int elect(unsigned int sides)
{
	struct chip chip;
	bool good = true;
	int i, ret = 0;

	/* all nodes go the same way: chip 1 to 15, then 0 */
	for (i = 1; i <= CHIPS; i++) {
		chip = (struct chip){ .nd = neuron_device_find(i % CHIPS), .sides = sides };
		if (!chip.nd)
			return -ENODEV;
		ret = elect_chip(&chip, good);
		neuron_device_put(chip.nd);
		good = good && !ret;
	}
	return ret;
}

static void settle(int error)
{
	mutex_lock(&pod.lock);
	if (error) {
		pr_info("UltraServer: this instance is alone: %d\n", error);
		pod.stage = ALONE;
		pod.node = -1;
		pod.nodes = 0;
		pod.server = 0;
	} else {
		pr_info("UltraServer: node %d of %u of %016llx\n", pod.node, pod.nodes, pod.server);
		pod.stage = ELECTED;
	}
	mutex_unlock(&pod.lock);
}

static unsigned int sides_asked(void)
{
	return neuron_userver_ctl & CTL_RIGHT_ONLY  ? SIDE_RIGHT
	       : neuron_userver_ctl & CTL_LEFT_ONLY ? SIDE_LEFT
						    : SIDES_ALL;
}

/* Both sides; if that fails two nodes that are to each other's right, then left */
static void election(void)
{
	unsigned int sides = sides_asked();
	u64 more;
	int ret;

	for (;;) {
		WRITE_ONCE(pod.sides, sides);
		ret = elect(sides);
		if (!ret || over() || sides == SIDE_LEFT)
			break;
		sides = sides == SIDES_ALL ? SIDE_RIGHT : SIDE_LEFT;
		pr_info("UltraServer: another try, with two nodes\n");
		more = ktime_get_ns() + MORE_MS * NSEC_PER_MSEC;
		if (READ_ONCE(pod.deadline) < more)
			WRITE_ONCE(pod.deadline, more);
	}
	settle(ret);
}

static int work(void *unused)
{
	while (!kthread_should_stop()) {
		wait_event_interruptible(pod.wait,
					 READ_ONCE(pod.stage) == ELECTING || kthread_should_stop());
		if (READ_ONCE(pod.stage) == ELECTING && !kthread_should_stop())
			election();
	}
	return 0;
}

static void begin(u64 seconds)
{
	lockdep_assert_held(&pod.lock);
	if (pod.stage == ELECTING)
		return;
	pod.cancel = false;
	pod.node = -1;
	pod.nodes = 0;
	pod.server = 0;
	pod.deadline = ktime_get_ns() + seconds * NSEC_PER_SEC;
	pod.stage = ELECTING;
	wake_up(&pod.wait);
}

/* What an earlier election left in the first chip's MISC RAM, which outlives the module */
static bool remembered(struct neuron_device *nd)
{
	u32 outcome, hi, lo;

	if (neuron_userver_ctl & CTL_FORGET) {
		tell_found(nd, 0, 0);
		tell_outcome(nd, 0, 0, 0, 0);
		tell_server(nd, 0);
	}
	if (neuron_misc_read(nd, NEURON_MISC_POD_OUTCOME, &outcome) ||
	    (outcome & 0xff) != NEURON_POD_OUTCOME_GOOD ||
	    neuron_misc_read(nd, NEURON_MISC_POD_SERVER, &hi) ||
	    neuron_misc_read(nd, NEURON_MISC_POD_SERVER + 4, &lo))
		return false;
	pod.sides = outcome >> 8 & SIDES_ALL;
	pod.node = outcome >> 16 & 0xff;
	pod.nodes = outcome >> 24;
	pod.server = (u64)hi << 32 | lo;
	pod.stage = ELECTED;
	return true;
}

void neuron_pod_ready(struct neuron_device *nd)
{
	if (!pod.member || !nd->gen->flip || nd->index >= CHIPS)
		return;
	mutex_lock(&pod.lock);
	set_bit(nd->index, pod.ready);
	if (pod.stage == WAITING && !nd->index && !remembered(nd) && neuron_userver_ctl & CTL_LATER)
		pod.stage = ALONE;
	if (pod.stage == WAITING && bitmap_full(pod.ready, CHIPS))
		begin(neuron_userver_etimeout);
	mutex_unlock(&pod.lock);
}

/* The mode that is set, until no process marks a core any more */
static u32 mode_now(void)
{
	lockdep_assert_held(&pod.lock);
	if (pod.marks_over != neuron_marks_over())
		pod.mode = NEURON_POD_MODE_UNSET;
	return pod.mode;
}

static bool can_be(u32 mode)
{
	switch (mode) {
	case NEURON_POD_MODE_X4:
		return pod.nodes == 4;
	case NEURON_POD_MODE_X2H:
		return pod.nodes == 2 && pod.sides & SIDE_RIGHT;
	case NEURON_POD_MODE_X2V:
		return pod.nodes >= 2 && pod.sides & SIDE_LEFT;
	default:
		return mode == NEURON_POD_MODE_X1;
	}
}

/* As a mode shows it. Of four nodes two pairs have a number each: the first's own, and one less */
static void look(u32 mode, struct neuron_pod *p)
{
	static const s8 node[2][4] = { { 0, 0, 1, 1 }, { 0, 1, 0, 1 } };
	static const bool less[2][4] = { { false, true, false, true },
					 { false, false, true, true } };
	const bool paired = mode == NEURON_POD_MODE_X2H || mode == NEURON_POD_MODE_X2V;
	const unsigned int pair = mode == NEURON_POD_MODE_X2V;
	u32 m;

	memset(p, 0, sizeof(*p));
	p->type = NEURON_POD_P2P;
	p->mode = mode_now();
	for (m = NEURON_POD_MODE_X4; m <= NEURON_POD_MODE_X1; m++)
		p->modes |= can_be(m) ? BIT(m) : 0;
	p->node = -1;
	if (mode == NEURON_POD_MODE_X1 || (mode == NEURON_POD_MODE_X4 && pod.nodes != 4))
		return;
	p->nodes = pod.nodes;
	p->node = pod.node;
	p->server = pod.server;
	if (paired && pod.nodes == 4 && pod.node >= 0) {
		p->nodes = 2;
		p->node = node[pair][pod.node & 3];
		p->server -= less[pair][pod.node & 3];
	}
}

int neuron_pod_look(struct neuron_pod *p)
{
	int ret = 0;

	*p = (struct neuron_pod){ .state = NEURON_POD_STATE_SINGLE_NODE, .node = -1 };
	if (!pod.member)
		return 0;
	mutex_lock(&pod.lock);
	look(mode_now(), p);
	if (pod.stage == ELECTED && pod.mode != NEURON_POD_MODE_X1)
		p->state = NEURON_POD_STATE_ULTRASERVER;
	else if (pod.stage == ELECTED || pod.stage == ALONE)
		p->state = NEURON_POD_STATE_SINGLE_NODE;
	else
		p->state = NEURON_POD_STATE_IN_PROGRESS;
	if (p->state == NEURON_POD_STATE_IN_PROGRESS)
		ret = -EBUSY;
	mutex_unlock(&pod.lock);
	return ret;
}

bool neuron_pod_look_as(unsigned int nodes, struct neuron_pod *p)
{
	u32 mode = NEURON_POD_MODE_X1;
	bool settled = true;

	*p = (struct neuron_pod){ .node = -1 };
	if (!pod.member)
		return true;
	mutex_lock(&pod.lock);
	settled = pod.stage == ELECTED || pod.stage == ALONE;
	if (nodes == 4)
		mode = NEURON_POD_MODE_X4;
	else if (can_be(NEURON_POD_MODE_X2H))
		mode = NEURON_POD_MODE_X2H;
	else if (can_be(NEURON_POD_MODE_X2V))
		mode = NEURON_POD_MODE_X2V;
	look(mode, p);
	mutex_unlock(&pod.lock);
	return settled;
}

static int set_mode(u32 mode)
{
	lockdep_assert_held(&pod.lock);
	if (pod.stage != ELECTED && pod.stage != ALONE)
		return -EBUSY;
	if (mode_now() != NEURON_POD_MODE_UNSET && mode != pod.mode)
		return -EEXIST;
	if (!can_be(mode))
		return -ENOTSUPP;
	pod.mode = mode;
	pod.marks_over = neuron_marks_over();
	return 0;
}

int neuron_pod_control(u32 request, u32 mode, u32 timeout)
{
	int ret = 0;

	if (!pod.member)
		return 0;
	mutex_lock(&pod.lock);
	switch (request) {
	case NEURON_POD_CTRL_POD:
		if (neuron_marked() || !bitmap_full(pod.ready, CHIPS))
			ret = -EAGAIN;
		else
			begin(timeout);
		break;
	case NEURON_POD_CTRL_SINGLE_NODE:
		ret = set_mode(NEURON_POD_MODE_X1);
		break;
	case NEURON_POD_CTRL_KILL:
		if (pod.stage == ELECTING)
			WRITE_ONCE(pod.cancel, true);
		else if (pod.stage == WAITING)
			pod.stage = ALONE;
		break;
	case NEURON_POD_CTRL_SET_MODE:
		ret = set_mode(mode);
		break;
	default:
		ret = -EINVAL;
	}
	mutex_unlock(&pod.lock);
	return ret;
}

bool neuron_pod_flipped(void)
{
	bool odd;

	mutex_lock(&pod.lock);
	odd = pod.stage == ELECTED && mode_now() != NEURON_POD_MODE_X1 && pod.node & 1;
	mutex_unlock(&pod.lock);
	return neuron_force_die_flip || (pod.member && odd);
}

int neuron_pod_init(void)
{
	static const char *const names[] = { "trn2p.48xlarge", "trn2eu.48xlarge", "trn2u.48xlarge",
					     "trn2u-ac.24xlarge", "trn3p" };
	const char *name = dmi_get_system_info(DMI_PRODUCT_NAME);
	unsigned int i;

	pod.member = neuron_force_userver;
	for (i = 0; name && i < ARRAY_SIZE(names); i++)
		pod.member = pod.member || !strncmp(name, names[i], strlen(names[i]));
	if (!pod.member)
		return 0;
	pod.task = kthread_run(work, NULL, "neuron pod");
	return PTR_ERR_OR_ZERO(pod.task);
}

void neuron_pod_stop(void)
{
	if (!IS_ERR_OR_NULL(pod.task))
		kthread_stop(pod.task);
}
