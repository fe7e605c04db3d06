//! Plans along axes.

use warpfold_kernels::{element::Type, kernels::find};

use super::*;
use crate::layout::{Axes, Layout};

fn plan(op: &str, element: Type, shape: &[u64], axis: i64) -> Plan {
    let layout = Layout::c_order(shape).expect("small");
    let extents = Extents::new(&layout, &Axes::of(&[axis])).expect("an axis");
    Plan::along(find(op, element, Kernel::All).expect("built"), &extents).expect("few blocks")
}

#[test]
fn each_plan_has_a_place_for_every_part_and_answer() {
    let sizes = [1, 2, 3, 31, 33, 128, 1000, 1 << 12, 1 << 18];
    for (op, element) in [
        ("sum", Type::F32),
        ("sum", Type::U8),
        ("kurtosis", Type::F64),
        ("arg", Type::F16),
        ("describe", Type::F32),
        ("sum_exact", Type::F64),
    ] {
        for (rows, columns) in sizes.iter().flat_map(|rows| sizes.map(|columns| (*rows, columns))) {
            for axis in [0, 1] {
                let plan = plan(op, element, &[rows, columns], axis);
                assert!(
                    plan.threads() <= plan.entry.max_threads && plan.shape.blocks >= 1,
                    "{plan}"
                );
                let parts = strided::parts(element, plan.len);
                match plan.entry.kernel {
                    Kernel::Strided if plan.team.answers > LANES => {
                        let vector = 16 / element.bytes() as u32;
                        let groups = u64::from(LANES * vector / plan.team.answers);
                        let columns = plan.len.div_ceil(element.leaf_elements()) * element.leaf_elements() / 8;
                        let of_tile = groups * u64::from(COLUMN_WARPS * plan.team.steps);
                        let sets = u64::from(plan.shape.blocks) / plan.tiles;
                        assert!(sets * u64::from(plan.team.answers) >= plan.count, "{plan}");
                        assert!(plan.tiles * of_tile >= columns, "{plan}");
                        assert!(columns % u64::from(plan.team.steps) == 0, "{plan}");
                    }
                    Kernel::Strided => {
                        let sets = u64::from(plan.shape.blocks) / plan.tiles;
                        let teams = sets * u64::from(plan.shape.warps / plan.team.warps);
                        assert!(teams * u64::from(plan.team.answers) >= plan.count, "{plan}");
                        assert!(plan.tiles * plan.team.units() >= parts, "{plan}");
                        assert!(plan.team.steps <= plan.entry.strategy.most_steps(), "{plan}");
                    }
                    Kernel::Rows => {
                        let warps = u64::from(plan.shape.blocks) * u64::from(plan.shape.warps);
                        let (each, rows) = (Width::of(element, plan.len).extents(), plan.team.answers);
                        assert!(rows.is_multiple_of(each), "{plan}");
                        assert!(
                            warps * u64::from(rows) >= plan.count && plan.len <= element.leaf_elements(),
                            "{plan}"
                        );
                    }
                    Kernel::All => {
                        let tile = u64::from(plan.shape.warps * plan.shape.leaves_per_warp);
                        assert!(plan.tiles * tile * element.leaf_elements() >= plan.len, "{plan}");
                        assert_eq!(u64::from(plan.shape.blocks), plan.tiles.max(1) * plan.count, "{plan}");
                    }
                    Kernel::Small => assert_eq!(plan.count, 1),
                    Kernel::Segments | Kernel::Row(_) | Kernel::Own => {
                        panic!("{plan} is of no axes")
                    }
                }
            }
        }
    }
}

#[test]
fn few_columns_are_in_clusters() {
    for (element, shape, clusters) in [
        (Type::Bf16, [1 << 15, 256], 16),
        (Type::Bf16, [1 << 14, 512], 8),
        (Type::Bf16, [20_000, 320], 5),
        (Type::Bf16, [1 << 15, 1024], 0),
        (Type::Bf16, [1 << 20, 64], 0),
        (Type::Bf16, [600, 64], 0),
        (Type::F32, [10_000, 256], 5),
        (Type::F32, [1 << 16, 128], 16),
        // Half as many blocks cost more than their slots.
        (Type::F32, [1 << 15, 256], 0),
    ] {
        let plan = plan("sum", element, &shape, 0);
        let clustered = plan.in_clusters();
        if clusters == 0 {
            assert_eq!(clustered, plan);
            continue;
        }
        assert_eq!(
            (clustered.cluster, clustered.tiles),
            (CLUSTER, clusters * u64::from(CLUSTER))
        );
        assert_eq!(u64::from(clustered.blocks_that_meet()), clusters);
        let slots = clusters * shape[1].next_multiple_of(plan.team.answers.into());
        assert!(clustered.slots() as u64 == slots && clustered.slots() < plan.slots());
    }
}

#[test]
fn long_rows_have_few_warps_where_they_are_many() {
    let warps = |op, rows, columns| plan(op, Type::F32, &[rows, columns], 1).shape.warps;
    for (rows, columns, expected) in [
        (1 << 14, 1 << 12, 1),
        (1 << 13, 1 << 13, 1),
        (1 << 12, 1 << 14, 2),
        (1 << 13, 50_257, 4),
        (1 << 10, 1 << 18, 4),
        // A leaf each, or as many as keep the device busy.
        (1 << 8, 1 << 12, 4),
        (1 << 10, 1 << 14, 4),
        (1 << 9, 1 << 14, 8),
    ] {
        assert_eq!(warps("arg", rows, columns), expected, "{rows} × {columns}");
    }
    // In a kernel of large blocks there are no fewer.
    assert_eq!(
        (warps("sum", 1 << 14, 1 << 12), warps("sum", 1 << 12, 1 << 14)),
        (4, 16)
    );
}

#[test]
fn columns_have_few_warps_where_they_are_many_and_tall() {
    let warps = |rows, columns| plan("arg", Type::F32, &[rows, columns], 0).team.warps;
    for (rows, columns, expected) in [
        (1 << 14, 1 << 12, 4),
        (1 << 15, 768, 4),
        (1 << 10, 1 << 18, 2),
        // Few columns; and not many elements.
        (1 << 20, 64, 8),
        (2000, 3000, 8),
    ] {
        assert_eq!(warps(rows, columns), expected, "{rows} × {columns}");
    }
}

#[test]
fn too_many_blocks_are_an_error() {
    let layout = Layout::strided(&[1 << 50, 4], &[0, 1], 0).expect("not so many elements");
    let extents = Extents::new(&layout, &Axes::of(&[1])).expect("an axis");
    let plan = Plan::along(find("sum", Type::F32, Kernel::All).expect("built"), &extents);
    assert!(matches!(plan, Err(Error::GridOverflow { count, .. }) if count == 1 << 50));
}
