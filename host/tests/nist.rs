//! NIST's Statistical Reference Datasets, univariate summary statistics: mean and sample standard deviation of all nine sets, certified
//! to 15 digits (<https://www.itl.nist.gov/div898/strd/univ/homepage.html>; works of the United States government, in the public
//! domain).

use warpfold::{
    cpu,
    ops::{Mean, MeanVariance, StdDev},
};

/// Deflections of a steel and concrete beam (H. S. Lew, 1969).
const LEW: [i16; 200] = [
    -213, -564, -35, -15, 141, 115, -420, -360, 203, -338, -431, 194, -220, -513, 154, -125, -559, 92, -21, -579, -52,
    99, -543, -175, 162, -457, -346, 204, -300, -474, 164, -107, -572, -8, 83, -541, -224, 180, -420, -374, 201, -236,
    -531, 83, 27, -564, -112, 131, -507, -254, 199, -311, -495, 143, -46, -579, -90, 136, -472, -338, 202, -287, -477,
    169, -124, -568, 17, 48, -568, -135, 162, -430, -422, 172, -74, -577, -13, 92, -534, -243, 194, -355, -465, 156,
    -81, -578, -64, 139, -449, -384, 193, -198, -538, 110, -44, -577, -6, 66, -552, -164, 161, -460, -344, 205, -281,
    -504, 134, -28, -576, -118, 156, -437, -381, 200, -220, -540, 83, 11, -568, -160, 172, -414, -408, 188, -125, -572,
    -32, 139, -492, -321, 205, -262, -504, 142, -83, -574, 0, 48, -571, -106, 137, -501, -266, 190, -391, -406, 194,
    -186, -553, 83, -13, -577, -49, 103, -515, -280, 201, 300, -506, 131, -45, -578, -80, 138, -462, -361, 201, -211,
    -554, 32, 74, -533, -235, 187, -372, -442, 182, -147, -566, 25, 68, -535, -244, 194, -351, -463, 174, -125, -570,
    15, 72, -550, -190, 172, -424, -385, 198, -218, -536, 96,
];

/// Numbers drawn in the Maryland Pick-3 lottery (1989, 1990).
const LOTTERY: [u16; 218] = [
    162, 671, 933, 414, 788, 730, 817, 33, 536, 875, 670, 236, 473, 167, 877, 980, 316, 950, 456, 92, 517, 557, 956,
    954, 104, 178, 794, 278, 147, 773, 437, 435, 502, 610, 582, 780, 689, 562, 964, 791, 28, 97, 848, 281, 858, 538,
    660, 972, 671, 613, 867, 448, 738, 966, 139, 636, 847, 659, 754, 243, 122, 455, 195, 968, 793, 59, 730, 361, 574,
    522, 97, 762, 431, 158, 429, 414, 22, 629, 788, 999, 187, 215, 810, 782, 47, 34, 108, 986, 25, 644, 829, 630, 315,
    567, 919, 331, 207, 412, 242, 607, 668, 944, 749, 168, 864, 442, 533, 805, 372, 63, 458, 777, 416, 340, 436, 140,
    919, 350, 510, 572, 905, 900, 85, 389, 473, 758, 444, 169, 625, 692, 140, 897, 672, 288, 312, 860, 724, 226, 884,
    508, 976, 741, 476, 417, 831, 15, 318, 432, 241, 114, 799, 955, 833, 358, 935, 146, 630, 830, 440, 642, 356, 373,
    271, 715, 367, 393, 190, 669, 8, 861, 108, 795, 269, 590, 326, 866, 64, 523, 862, 840, 219, 382, 998, 4, 628, 305,
    747, 247, 34, 747, 729, 645, 856, 974, 24, 568, 24, 694, 608, 480, 410, 729, 947, 293, 53, 930, 223, 203, 677, 227,
    62, 455, 387, 318, 562, 242, 428, 968,
];

/// Transmittance of a filter (R. Mavrodineanu): these, in 10⁻⁵, above 2.
const MAVRO: [u16; 50] = [
    180, 170, 180, 190, 180, 170, 150, 140, 150, 150, 170, 180, 180, 190, 190, 210, 200, 160, 140, 130, 130, 150, 150,
    160, 150, 140, 130, 140, 150, 140, 150, 160, 150, 160, 190, 200, 200, 210, 220, 230, 240, 250, 270, 260, 260, 260,
    270, 260, 250, 240,
];

/// The speed of light in air (A. A. Michelson, 1879): these, in km/s, above 299 000; the set is in thousands of km/s.
const MICHELSO: [u16; 100] = [
    850, 740, 900, 1070, 930, 850, 950, 980, 980, 880, 1000, 980, 930, 650, 760, 810, 1000, 1000, 960, 960, 960, 940,
    960, 940, 880, 800, 850, 880, 900, 840, 830, 790, 810, 880, 880, 830, 800, 790, 760, 800, 880, 880, 880, 860, 720,
    720, 620, 860, 970, 950, 880, 910, 850, 870, 840, 840, 850, 840, 840, 840, 890, 810, 810, 820, 800, 770, 760, 740,
    750, 760, 910, 920, 890, 860, 880, 720, 840, 850, 850, 780, 890, 840, 780, 810, 760, 810, 790, 810, 820, 850, 870,
    870, 810, 740, 810, 940, 950, 800, 810, 870,
];

/// The first `count` decimal digits of π, 3 the first of them: S. Rabinowitz and S. Wagon, *A spigot algorithm for the digits of π*
/// (1995).
fn digits_of_pi(count: usize) -> Vec<f64> {
    let mut remainders = vec![2_u64; 10 * count / 3 + 2];
    let mut digits: Vec<u8> = Vec::with_capacity(count + 1);
    while digits.len() <= count {
        let mut carry = 0;
        for (i, remainder) in remainders.iter_mut().enumerate().skip(1).rev() {
            let all = 10 * *remainder + carry;
            let divisor = 2 * i as u64 + 1;
            *remainder = all % divisor;
            carry = all / divisor * i as u64;
        }
        let all = 10 * remainders[0] + carry;
        remainders[0] = all % 10;
        let digit = all / 10;
        if digit >= 10 {
            // It carries into the digits before.
            for before in digits.iter_mut().rev() {
                *before = (*before + 1) % 10;
                if *before != 0 {
                    break;
                }
            }
        }
        digits.push((digit % 10) as u8);
    }
    // The last might yet be carried into.
    digits.truncate(count);
    digits.into_iter().map(f64::from).collect()
}

/// The set PiDigits: 5000 digits of π, one of them otherwise than π has it. The certified values are of what is in the set, whose digits
/// sum to 22,674, those of π to 22,679.
fn pi_digits() -> Vec<f64> {
    let mut digits = digits_of_pi(5000);
    assert_eq!((digits.iter().sum(), digits[956]), (22_679.0, 8.0));
    digits[956] = 3.0;
    digits
}

/// `middle`, then `low` and `high` by turns: 1001 numbers, as NumAcc2 to NumAcc4.
fn alternating(middle: f64, low: f64, high: f64) -> Vec<f64> {
    let pairs = (0..1000).map(|i| if i % 2 == 0 { low } else { high });
    std::iter::once(middle).chain(pairs).collect()
}

/// Digits that agree, at most the 15 that are certified: NIST's LRE.
fn digits(computed: f64, certified: f64) -> f64 {
    let error = ((computed - certified) / certified).abs();
    (-error.max(1e-15).log10()).min(15.0)
}

#[test]
fn digits_of_pi_are_digits_of_pi() {
    let text: String = digits_of_pi(5000).iter().map(f64::to_string).collect();
    assert!(text.starts_with("314159265358979323846264338327950288419716939937510"));
    // Six nines from digit 763 on: the carry that a spigot is known by.
    assert_eq!(&text[762..768], "999999");
    assert!(text.ends_with("99888687413260472"));
}

/// Name, data, mean, standard deviation, and the digits of the latter that are reached in f64: all of the certified ones where the data
/// are integers, or spread; of Mavro, Michelso, NumAcc3 and NumAcc4 fewer, mostly because their decimals are rounded to f64 before
/// anything is computed.
fn sets() -> [(&'static str, Vec<f64>, f64, f64, f64); 9] {
    let mavro = MAVRO.map(|above| (200_000.0 + f64::from(above)) / 1e5);
    let michelso = MICHELSO.map(|above| (299_000.0 + f64::from(above)) / 1e3);
    [
        ("Lew", LEW.map(f64::from).to_vec(), -177.435, 277.332_168_044_316, 15.0),
        (
            "Lottery",
            LOTTERY.map(f64::from).to_vec(),
            518.958_715_596_330,
            291.699_727_470_969,
            15.0,
        ),
        ("Mavro", mavro.to_vec(), 2.001_856, 0.000_429_123_454_003_053, 12.5),
        ("Michelso", michelso.to_vec(), 299.8524, 0.079_010_547_819_051_8, 13.8),
        (
            "NumAcc1",
            vec![10_000_001.0, 10_000_003.0, 10_000_002.0],
            10_000_002.0,
            1.0,
            15.0,
        ),
        ("NumAcc2", alternating(1.2, 1.1, 1.3), 1.2, 0.1, 15.0),
        (
            "NumAcc3",
            alternating(1_000_000.2, 1_000_000.1, 1_000_000.3),
            1_000_000.2,
            0.1,
            9.4,
        ),
        (
            "NumAcc4",
            alternating(10_000_000.2, 10_000_000.1, 10_000_000.3),
            10_000_000.2,
            0.1,
            8.2,
        ),
        ("PiDigits", pi_digits(), 4.5348, 2.867_339_060_288_71, 15.0),
    ]
}

#[test]
fn certified_values_are_met_to_the_digits_that_the_documentation_says() {
    for (name, values, mean, deviation, least) in sets() {
        let (together, _) = cpu::reduce(MeanVariance::default(), &values).unwrap();
        let alone = cpu::reduce(Mean, &values).unwrap();
        let got = [alone, together].map(|computed| digits(computed, mean));
        let of_deviation = digits(cpu::reduce(StdDev::default(), &values).unwrap(), deviation);
        println!("{name}: mean {got:.1?} digits, standard deviation {of_deviation:.1}");
        assert!(got[0] >= 14.9 && got[1] >= 14.9, "{name}: {got:?} digits of the mean");
        assert!(
            of_deviation >= least,
            "{name}: {of_deviation} digits of the standard deviation"
        );
    }
}
