//! The tests that need a GPU: it gives the CPU's bits, in every launch, and keeps its promises about streams, graphs,
//! memory and errors.
//!
//! Without a GPU each test reports itself as ignored, with the reason; `WARPFOLD_REQUIRE_GPU=1` turns that into a failure.
//! Tests whose names begin with `quick_` fold at most about 2¹⁸ elements: run those under `compute-sanitizer`, with the
//! filter `quick_`.

mod axes;
mod bits;
mod complex128;
mod distinct;
mod errors;
mod gradients;
mod graphs;
mod ladder;
mod large;
mod masks;
mod memory;
mod on_device;
mod own;
mod pairs;
mod partials;
mod parts;
mod rows;
mod segments;
mod steps;
mod streams;
mod types;

use std::{env, process::ExitCode, sync::OnceLock};

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use warpfold::gpu::Gpu;

/// Names and functions, module by module.
macro_rules! tests {
    ($($module:ident: $($test:ident)+;)*) => {
        vec![$($(Test {
            name: stringify!($test),
            run: |gpu| $module::$test(gpu).skipped(),
        },)+)*]
    };
}

fn tests() -> Vec<Test> {
    tests! {
        bits: quick_every_edge every_architecture quick_every_special_value quick_every_alignment quick_every_shape quick_golden_bits
            quick_one_odd_element quick_pieces quick_streams_of_pieces golden_bits random_lengths random_shapes rounds_of_slots long_array;
        streams: quick_one_bit_pattern quick_streams_and_memory_of_others a_launch_does_not_wait quick_operators_take_turns_in_one_workspace quick_plans_of_few_and_many_tickets_take_turns
            a_thousand_launches_give_one_bit_pattern streams_side_by_side threads_side_by_side blocking_calls_from_threads;
        graphs: quick_a_graph_follows_its_input quick_an_early_launch_sees_what_came_before a_first_launch_can_be_captured;
        memory: quick_nothing_beside_the_outputs_is_written quick_a_launch_allocates_nothing quick_the_input_is_left_alone
            nothing_is_leaked a_workspace_is_freed_from_any_thread a_full_device_folds_in_smaller_pieces;
        errors: quick_emptiness quick_no_kernels_for_the_device quick_no_such_device quick_wrong_arguments quick_a_stream_of_another_context
            quick_out_of_memory;
        types: quick_every_type quick_statistics every_type_long quick_every_types_golden_bits;
        axes: quick_axes_of_every_type quick_axes_of_statistics axes_of_every_size quick_any_strides quick_axes_that_are_wrong;
        segments: quick_segments_of_every_type quick_segments_of_statistics segments_of_every_size quick_batch quick_batch_without_waiting
            quick_segments_by_offsets_on_the_device quick_segments_that_are_wrong;
        distinct: quick_distinct_of_every_type distinct_of_every_kind quick_distinct_along_axes quick_distinct_in_segments
            quick_distinct_launches_and_errors;
        complex128: quick_complex128;
        own: quick_own_operators quick_own_row_operations quick_attention quick_total_variation;
        masks: quick_masks masks_of_every_size quick_masks_along_axes quick_masks_in_segments quick_masks_that_are_wrong;
        pairs: quick_pairs pairs_of_every_size quick_pairs_along_axes quick_pairs_in_segments quick_pairs_that_are_wrong;
        rows: quick_rows_of_every_type quick_rows_of_every_layout quick_rows_that_are_seen_in_part rows_of_every_size rows_that_clusters_keep quick_rows_in_place
            quick_rows_off_a_boundary quick_losses_over_their_logits quick_norms_of_f64 quick_rows_beside_one_for_all
            quick_sums_of_columns quick_groups quick_losses_without_entropy;
        partials: partials_of_every_operator quick_partials_of_rows_apart quick_partials_that_are_wrong;
        parts: quick_parts_of_rows quick_parts_of_rows_on_the_device;
        gradients: quick_gradients_of_all_kinds gradients_golden_bits gradients_of_every_size quick_gradients_on_the_device
            quick_gradients_take_turns_in_one_workspace quick_gradients_that_are_wrong;
        ladder: quick_rungs_of_the_sum quick_rungs_of_rows;
        steps: quick_steps quick_steps_without_a_kernel;
        large: more_than_two_to_the_32;
    }
}

struct Test {
    name: &'static str,
    run: fn(&Gpu) -> Option<String>,
}

/// What a test's function gives: nothing, or why it could not be run here.
trait Outcome {
    fn skipped(self) -> Option<String>;
}

impl Outcome for () {
    fn skipped(self) -> Option<String> {
        None
    }
}

impl Outcome for Option<String> {
    fn skipped(self) -> Option<String> {
        self
    }
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // One after the other: some measure free memory, some capture streams that nothing else may disturb.
    arguments.test_threads = Some(1);
    if !arguments.list {
        // Now, so that what it prints does not stand within a test's line.
        let _ = gpu();
    }
    let trials = tests()
        .into_iter()
        .map(|test| Trial::ignorable_test(test.name, move || run(test.run)));
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

fn run(test: fn(&Gpu) -> Option<String>) -> Result<Completion, Failed> {
    let gpu = match gpu() {
        Ok(gpu) => gpu,
        Err(why) if required() => return Err(format!("WARPFOLD_REQUIRE_GPU is set, and {why}").into()),
        Err(why) => return Ok(Completion::ignored_with(why)),
    };
    gpu.make_current().map_err(|error| error.to_string())?;
    Ok(match test(gpu) {
        None => Completion::Completed,
        Some(why) => Completion::ignored_with(why),
    })
}

/// The first GPU, or why there is none. A GPU without kernels is one: its tests fail, and say what to run.
fn gpu() -> Result<&'static Gpu, &'static str> {
    static GPU: OnceLock<Result<Gpu, String>> = OnceLock::new();
    let probed = GPU.get_or_init(|| {
        let gpu = Gpu::new(0).map_err(|error| error.to_string())?;
        let generator = warpfold::ptx::generator().unwrap_or("none");
        println!("{}, PTX for {:?} by {generator}", gpu.facts(), warpfold::ptx::archs());
        Ok(gpu)
    });
    probed.as_ref().map_err(String::as_str)
}

fn required() -> bool {
    env::var_os("WARPFOLD_REQUIRE_GPU").is_some_and(|value| value == "1")
}
