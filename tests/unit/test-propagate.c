/* SPDX-License-Identifier: Apache-2.0 */
/* Files of ancestors, which several containers may need. */
#include "memory-stage.h"

/* top/mid/a and top/mid/b, each with 100.0 MiB in use. */
struct tree {
	int top, mid, a, b;
};

static struct tree make_tree(void)
{
	struct tree tree = {
	        .top = make_cgroup("top"), .mid = make_cgroup("top/mid"), .a = make_box("top/mid/a"), .b = make_box("top/mid/b")};

	put_at(tree.a, "memory.current", 100 * SKM_MIB);
	put_at(tree.b, "memory.current", 100 * SKM_MIB);
	put_at(tree.mid, "memory.current", 200 * SKM_MIB);
	put_at(tree.top, "memory.current", 200 * SKM_MIB);
	return tree;
}

static void close_tree(const struct tree *tree)
{
	close(tree->top);
	close(tree->mid);
	close(tree->a);
	close(tree->b);
}

static struct skm_policy propagating(uint64_t min_mib, uint64_t low_mib)
{
	struct skm_policy policy = policy_with((struct sizes){.min = min_mib * SKM_MIB, .low = low_mib * SKM_MIB});

	with_propagate(&policy);
	return policy;
}

static void test_without_propagate_nothing_above_is_written(void **state)
{
	struct tree tree = make_tree();

	(void)state;
	hold_in(tree.a, "a", policy_with((struct sizes){.low = 60 * SKM_MIB}));
	assert_int_equal(writes.count, 1);
	assert_int_equal(report()->protection.effective_low_bytes, 0);
	assert_contains(report()->protection.cut_by, "/top");
	close_tree(&tree);
}

static void test_ancestors_get_what_those_below_need(void **state)
{
	struct tree tree = make_tree();

	(void)state;
	put_at(tree.top, "memory.low", 80 * SKM_MIB);
	hold_in(tree.a, "a", propagating(0, 60));
	is(tree.mid, "memory.low", 60 * SKM_MIB);
	is(tree.top, "memory.low", 80 * SKM_MIB); /* it has more */
	wrote(0, "mid", SKM_MEMORY_FILE_LOW, 60 * SKM_MIB);
	wrote(1, "a", SKM_MEMORY_FILE_LOW, 60 * SKM_MIB);
	assert_int_equal(report()->protection.effective_low_bytes, 60 * SKM_MIB);
	assert_string_equal(report()->protection.cut_by, "");
	hold_in(tree.b, "b", propagating(0, 50));
	is(tree.mid, "memory.low", 110 * SKM_MIB);
	is(tree.top, "memory.low", 110 * SKM_MIB);
	/* a knows what b had written: nobody puts anything back */
	writes.count = 0;
	skm_registry_run(stage.registry, skm_now_usec() + 2 * SKM_USEC_PER_SEC);
	assert_int_equal(writes.count, 0);
	release("a");
	is(tree.a, "memory.low", 0);
	is(tree.mid, "memory.low", 50 * SKM_MIB);
	is(tree.top, "memory.low", 80 * SKM_MIB);
	release("b");
	is(tree.mid, "memory.low", 0);
	is(tree.top, "memory.low", 80 * SKM_MIB);
	close_tree(&tree);
}

static void test_min_is_raised_in_a_pod_only(void **state)
{
	struct tree tree = make_tree();
	int kube = make_cgroup("kubepods"), pod = make_cgroup("kubepods/pod1"), box = make_box("kubepods/pod1/box");

	(void)state;
	hold_in(tree.a, "a", propagating(40, 60));
	is(tree.mid, "memory.min", 0);
	is(tree.mid, "memory.low", 60 * SKM_MIB);
	assert_int_equal(report()->skipped_count, 1);
	assert_contains(report()->skipped[0], "memory.min is raised in a pod only");
	hold_in(box, "b", propagating(40, 60));
	is(pod, "memory.min", 40 * SKM_MIB);
	is(pod, "memory.low", 60 * SKM_MIB);
	is(kube, "memory.min", 0);
	is(kube, "memory.low", 60 * SKM_MIB);
	assert_int_equal(report()->skipped_count, 0);
	release("b");
	is(pod, "memory.min", 0);
	close_tree(&tree);
	close(kube);
	close(pod);
	close(box);
}

static void test_nothing_is_written_above_the_boundary(void **state)
{
	struct tree tree = make_tree();

	(void)state;
	assert_int_equal(fchown(tree.mid, 1234, 1234), 0); /* top: root's */
	hold_in(tree.a, "a", propagating(0, 60));
	is(tree.mid, "memory.low", 60 * SKM_MIB);
	is(tree.top, "memory.low", 0);
	assert_int_equal(report()->skipped_count, 1);
	assert_contains(report()->skipped[0], "top and what is above stay as they are: it belongs to user 0");
	close_tree(&tree);
}

static void test_an_ancestor_is_put_back_once(void **state)
{
	struct tree tree = make_tree();
	uint64_t reasserted = 0;

	(void)state;
	hold_in(tree.a, "a", propagating(0, 60));
	hold_in(tree.b, "b", propagating(0, 50));
	put_at(tree.mid, "memory.low", 10 * SKM_MIB);
	writes.count = 0;
	skm_registry_run(stage.registry, skm_now_usec() + 2 * SKM_USEC_PER_SEC);
	is(tree.mid, "memory.low", 110 * SKM_MIB);
	assert_int_equal(writes.count, 1);
	for (const struct skm_container *c = skm_registry_first(stage.registry); c; c = skm_registry_next(c))
		reasserted += skm_registry_report(c)->memory_reasserted;
	assert_int_equal(reasserted, 1);
	/* more than is needed is someone else's wish, now and at the end */
	put_at(tree.mid, "memory.low", 500 * SKM_MIB);
	skm_registry_run(stage.registry, skm_now_usec() + 100 * SKM_USEC_PER_SEC);
	is(tree.mid, "memory.low", 500 * SKM_MIB);
	release("a");
	release("b");
	is(tree.mid, "memory.low", 500 * SKM_MIB);
	is(tree.top, "memory.low", 0);
	close_tree(&tree);
}

static void test_ancestors_after_a_crash(void **state)
{
	struct tree tree = make_tree();

	(void)state;
	put_at(tree.mid, "memory.low", 5 * SKM_MIB);
	hold_in(tree.a, "a", propagating(0, 60));
	hold_in(tree.b, "b", propagating(0, 50));
	is(tree.mid, "memory.low", 110 * SKM_MIB);
	put_text(tree.a, "cgroup.events", "populated 0\nfrozen 0\n"); /* it ends while no enforcer runs */
	writes.count = 0;
	start_anew();
	assert_int_equal(skm_registry_count(stage.registry), 1);
	is(tree.mid, "memory.low", 50 * SKM_MIB);
	is(tree.top, "memory.low", 50 * SKM_MIB);
	is(tree.a, "memory.low", 0);
	is(tree.b, "memory.low", 50 * SKM_MIB);
	put_text(tree.b, "cgroup.events", "populated 0\nfrozen 0\n");
	writes.count = 0;
	start_anew();
	assert_int_equal(skm_registry_count(stage.registry), 0);
	assert_true(writes.count > 0);
	assert_int_equal(writes.journaled_first, 3); /* who is killed before the first write leaves its own and two ancestors' */
	assert_int_equal(entries_in_the_journal(), 0);
	is(tree.mid, "memory.low", 5 * SKM_MIB);
	is(tree.top, "memory.low", 0);
	close_tree(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        MEMORY(test_without_propagate_nothing_above_is_written),
	        MEMORY(test_ancestors_get_what_those_below_need),
	        MEMORY(test_min_is_raised_in_a_pod_only),
	        MEMORY(test_nothing_is_written_above_the_boundary),
	        MEMORY(test_an_ancestor_is_put_back_once),
	        MEMORY(test_ancestors_after_a_crash),
	};

	return enter_stage() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
