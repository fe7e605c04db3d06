//! Whose weights are whose.

use super::Shares;

#[test]
fn places_are_divided_exactly() {
    let spans = [1, 2, 3, 7, 49, 640, 4096, 65_521, (1 << 32) + 1, (1 << 40) - 1];
    for span in spans {
        let shares = Shares::of(2, span);
        let most = (1 << 50) / span;
        for number in (0..50).flat_map(|power| [1_u64 << power, (1 << power) - 1]) {
            let number = number.min(most - 1);
            for within in [0, span / 2, span - 1] {
                assert_eq!(shares.divided(number * span + within), (number, within), "{span}");
            }
        }
    }
    assert_eq!(Shares::of(0, 0), Shares::NONE);
}
