use super::*;

/// Elements of a leaf of bf16.
const LEAF: u64 = 1024;

/// One launch where a block or a cluster holds a row; else one folds, one or more combine states, and one maps.
#[test]
fn rows_that_nothing_holds_take_several_launches() {
    for (leaves, layout, cluster, launches) in [
        (1, RowLayout::Plain, 1, 1),
        (32, RowLayout::Plain, 1, 1),
        (33, RowLayout::Plain, 1, 3),
        (256, RowLayout::Plain, 1, 3),
        (257, RowLayout::Plain, 1, 4),
        (512, RowLayout::Plain, 16, 1),
        (513, RowLayout::Plain, 16, 4),
        (1, RowLayout::Strided, 16, 1),
        (2, RowLayout::Strided, 16, 3),
    ] {
        let plan = Plan::mapped_rows("softmax", Type::Bf16, [9, leaves * LEAF], layout, cluster).expect("a plan");
        assert_eq!(plan.launches(), launches, "{plan}");
    }
}

/// What is mapped is read and written; of what is known of rows nothing is written but that.
#[test]
fn bytes_are_what_is_read_and_written() {
    let rows = |op, purpose| {
        let problem = RowProblem {
            library: &LIBRARY,
            op,
            element: Type::Bf16,
            size: [9, 100],
            layout: RowLayout::Contiguous,
            cluster: 16,
            purpose,
        };
        Plan::rows(problem).expect("a plan")
    };
    assert_eq!(rows("softmax", Purpose::Map).bytes(), 2 * 9 * 100 * 2);
    assert_eq!(rows("softmax_gradient", Purpose::Map).bytes(), 3 * 9 * 100 * 2);
    let known = rows("cross_entropy", Purpose::Know);
    assert_eq!(known.bytes(), 9 * (100 * 2 + known.entry.answer_bytes as u64));
    assert_eq!(known.elements(), 900);
}

/// Losses of rows of any length that is not short: a warp folds whole rows, several of them where there are many. Of few rows, and of long ones, leaves are folded alone, and then what
/// is known of rows is made of those states.
#[test]
fn leaves_are_folded_alone() {
    for (purpose, [count, len], run, launches) in [
        (Purpose::Know, [9, LEAF], 1, 1),
        (Purpose::Know, [9, 3 * LEAF - 8], 1, 2),
        (Purpose::Know, [32_768, LEAF], 8, 1),
        (Purpose::Know, [1 << 20, LEAF], 32, 1),
        (Purpose::Know, [2048, 3 * LEAF], 3, 1),
        (Purpose::Know, [2047, 3 * LEAF], 1, 2),
        (Purpose::Know, [9000, 16 * LEAF], 3 * 16, 1),
        (Purpose::Know, [3855, 17 * LEAF], 4, 2),
        (Purpose::Know, [3856, 17 * LEAF], 8, 2),
        (Purpose::Know, [64, 256 * LEAF], 4, 2),
        (Purpose::Know, [1024, 256 * LEAF], 8, 2),
        (Purpose::Know, [64, 256 * LEAF + 8], 4, 3),
        (Purpose::States, [9, LEAF], 1, 1),
        (Purpose::States, [64, 256 * LEAF + 8], 4, 3),
        (Purpose::States, [256, 256 * LEAF], 8, 2),
    ] {
        let of = |op| {
            Plan::rows(RowProblem {
                library: &LIBRARY,
                op,
                element: Type::Bf16,
                size: [count, len],
                layout: RowLayout::Plain,
                cluster: 16,
                purpose,
            })
            .expect("a plan")
        };
        let plan = of("cross_entropy");
        let leaves = count * len.div_ceil(LEAF);
        assert_eq!(
            (plan.variant(), plan.shape.leaves_per_warp, plan.launches()),
            (Some(RowVariant::Fold), run, launches),
            "{plan}"
        );
        assert_eq!(
            u64::from(plan.shape.blocks),
            leaves.div_ceil(4 * u64::from(run)),
            "{plan}"
        );
        // Of an operation without such kernels each leaf has a warp of the kernel that maps.
        let other = of("layer_norm");
        assert_eq!(
            (other.variant(), other.shape.leaves_per_warp),
            (Some(RowVariant::Leaf), 0),
            "{other}"
        );
    }
    let of_len = |len: u64| {
        let plan = Plan::rows(RowProblem {
            library: &LIBRARY,
            op: "cross_entropy",
            element: Type::Bf16,
            size: [9, len],
            layout: RowLayout::Plain,
            cluster: 16,
            purpose: Purpose::Know,
        });
        plan.expect("a plan").variant()
    };
    assert_eq!(
        [of_len((1 << 32) - 8), of_len(1 << 32)],
        [Some(RowVariant::Fold), Some(RowVariant::Leaf)]
    );
}

/// The longest rows of f32 are kept in shared memory, where a cluster has room for one.
#[test]
fn the_longest_rows_are_kept_by_clusters() {
    let of = |element: Type, size: [u64; 2], cluster: u32| {
        Plan::mapped_rows("softmax", element, size, RowLayout::Plain, cluster).expect("a plan")
    };
    let shape = |plan: &Plan| {
        (
            plan.variant(),
            plan.shape.warps,
            plan.cluster,
            plan.shape.blocks,
            plan.launches(),
        )
    };
    for (count, len, [blocks_of_row, clusters]) in [
        (1024, 262_144, [16, 256]),
        (1022, 262_144, [16, 256]),
        (256, 262_144, [16, 128]),
        (3, 262_144, [16, 3]),
        (2048, 65_540, [5, 512]),
        (0, 262_144, [16, 0]),
    ] {
        let plan = of(Type::F32, [count, len], 16);
        let blocks = (blocks_of_row * clusters).max(1);
        assert_eq!(
            shape(&plan),
            (Some(RowVariant::Long), 8, blocks_of_row, blocks, 1),
            "{plan}"
        );
        assert_eq!(plan.dynamic_bytes(), 64 * 1024, "{plan}");
    }
    let endless = Plan::mapped_rows("softmax", Type::F32, [u64::MAX, 65_540], RowLayout::Plain, 16);
    assert!(matches!(endless, Err(Error::GridOverflow { .. })), "{endless:?}");
    let variant = |plan: Plan| (plan.variant().expect("of rows"), plan.is_split(), plan.dynamic_bytes());
    assert_eq!(variant(of(Type::F32, [1024, 65_536], 16)), (RowVariant::Leaf, false, 0));
    assert_eq!(
        variant(of(Type::Bf16, [1024, 262_144], 16)),
        (RowVariant::Leaf, false, 0)
    );
    // Clusters of 8 have room for half of it, and devices without any for none.
    assert_eq!(variant(of(Type::F32, [1024, 131_072], 8)).0, RowVariant::Long);
    assert_eq!(variant(of(Type::F32, [1024, 262_144], 8)), (RowVariant::Leaf, true, 0));
    assert_eq!(variant(of(Type::F32, [1024, 131_072], 1)), (RowVariant::Leaf, true, 0));
}

/// One launch folds a part and another maps it, be it a leaf; neither takes plain launches alone.
#[test]
fn parts_are_folded_and_mapped_apart() {
    for (len, levels) in [
        (0, &[1][..]),
        (1, &[1]),
        (LEAF, &[1]),
        (LEAF + 1, &[2, 1]),
        (300 * LEAF, &[300, 2, 1]),
    ] {
        for layout in [RowLayout::Plain, RowLayout::Contiguous, RowLayout::Strided] {
            let plan = Plan::rows(RowProblem {
                library: &LIBRARY,
                op: "cross_entropy",
                element: Type::Bf16,
                size: [9, len],
                layout,
                cluster: 16,
                purpose: Purpose::Part,
            })
            .expect("a plan");
            assert!(plan.is_split() && !plan.must_be_plain() && plan.cluster == 1, "{plan}");
            assert_eq!(plan.levels(), levels, "{plan}");
            assert_eq!(
                plan.workspace_words() as u64,
                9 * 4 * levels.iter().sum::<u64>(),
                "{plan}"
            );
        }
    }
}
