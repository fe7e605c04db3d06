//! Embeds the PTX, if it was built.

fn main() {
    warpfold_embed::ptx();
}
