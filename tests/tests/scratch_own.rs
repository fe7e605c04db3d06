#[path = "device/own.rs"]
mod own;
fn main() {
    let gpu = warpfold::gpu::Gpu::new(0).expect("a gpu");
    gpu.make_current().expect("current");
    println!("{}", gpu.facts());
    let start = std::time::Instant::now();
    println!("skipped: {:?} in {:?}", own::quick_own_operators(&gpu), start.elapsed());
}
