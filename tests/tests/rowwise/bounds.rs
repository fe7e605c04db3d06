//! Row operations against exact arithmetic, with bounds that are derived.

use warpfold::row;
use warpfold_tests::rows::numbers;

/// Half a unit in the last place of numbers from 1 to 2.
pub(super) const U: f64 = 1.0 / (1 << 24) as f64;

/// Softmax in f64, and what an answer in f32 may be off: of each term (2.7 + t / 7) · 2⁻²⁴ at most, `t` being its distance from the maximum in powers of two (`single::exp2_of_share`); a rounding for each
/// level of a sum's tree; and in long rows the same again for the leaf's exponential, and a few more roundings.
#[test]
fn softmax_is_within_its_bound() {
    for len in [1_usize, 2, 100, 1024, 5000, 100_000] {
        for spread in [0.01, 1.0, 20.0] {
            let row: Vec<f32> = numbers::<f32>(len, 77).iter().map(|x| x * spread).collect();
            let mapped = row::softmax().on_cpu::<_, f32>(&row).expect("a meaning");
            let max = row.iter().copied().fold(f32::MIN, f32::max);
            let term = |x: f32| (f64::from(x) - f64::from(max)).exp();
            let sum: f64 = row.iter().copied().map(term).sum();
            let levels = (len as f64).log2().ceil();
            for (x, y) in row.iter().zip(&mapped.values) {
                let exact = term(*x) / sum;
                let distance = (f64::from(max) - f64::from(*x)) * std::f64::consts::LOG2_E;
                let bound = exact * (3.0 * levels + 8.0 + distance) * U + f64::from(f32::MIN_POSITIVE);
                assert!(
                    (f64::from(*y) - exact).abs() <= bound,
                    "{len}, {spread}: {y:e} for {exact:e}"
                );
            }
            let exact = f64::from(max) + sum.ln();
            let off = (f64::from(mapped.known.log_sum_exp[0]) - exact).abs();
            assert!(
                off <= (3.0 * levels + 8.0 + exact.abs()) * U,
                "{len}, {spread}: {off:e}"
            );
            let logs = row::log_softmax().on_cpu::<_, f32>(&row).expect("a meaning");
            for (x, y) in row.iter().zip(&logs.values) {
                let exact = f64::from(*x) - exact;
                let bound = (3.0 * levels + 8.0 + 3.0 * (exact.abs() + f64::from(max - *x))) * U;
                assert!(
                    (f64::from(*y) - exact).abs() <= bound,
                    "{len}, {spread}: {y:e} for {exact:e}"
                );
            }
        }
    }
}

/// Norms in f64, and what an answer in f32 may be off: a rounding for each level of both trees, and a few more, of what is summed.
#[test]
fn norms_are_within_their_bounds() {
    for len in [1_usize, 2, 100, 1024, 5000, 100_000] {
        for shift in [0.0_f32, 100.0] {
            let row: Vec<f32> = numbers::<f32>(len, 5).iter().map(|x| x + shift).collect();
            let (weights, biases) = (numbers::<f32>(len, 6), numbers::<f32>(len, 7));
            let wide = |values: &[f32]| values.iter().copied().map(f64::from).collect::<Vec<f64>>();
            let (x, n) = (wide(&row), len as f64);
            let levels = n.log2().ceil();
            let mapped = row::layer_norm(1e-5)
                .weight(&weights)
                .bias(&biases)
                .on_cpu::<_, f32>(&row);
            let mapped = mapped.expect("a meaning");
            layer_norm_is_near(&mapped.values, [&x, &wide(&weights), &wide(&biases)]);
            let mean = x.iter().sum::<f64>() / n;
            let mean_is = f64::from(mapped.known.mean[0]);
            let off_mean = (levels + 4.0) * U * x.iter().map(|x| x.abs()).sum::<f64>() / n;
            assert!(
                (mean_is - mean).abs() <= off_mean,
                "{len}, {shift}: {mean_is} for {mean}"
            );
            let root = (x.iter().map(|x| x * x).sum::<f64>() / n + 1e-6).sqrt();
            let mapped = row::rms_norm(1e-6)
                .weight(&weights)
                .on_cpu::<_, f32>(&row)
                .expect("a meaning");
            for i in 0..len {
                let exact = x[i] / root * f64::from(weights[i]);
                let bound = exact.abs() * (levels / 2.0 + 6.0) * U + f64::from(f32::MIN_POSITIVE);
                let off = (f64::from(mapped.values[i]) - exact).abs();
                assert!(off <= bound, "{len}, {shift}: {off:e} past {bound:e}");
            }
        }
    }
}

/// Layer norm of a row in f64, and what an answer in f32 may be off: the variance is off by that of the mean, squared, too.
pub(super) fn layer_norm_is_near(got: &[f32], [x, weights, biases]: [&[f64]; 3]) {
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    let deviation = (x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n + 1e-5).sqrt();
    let levels = n.log2().ceil();
    let off_mean = (levels + 4.0) * U * x.iter().map(|x| x.abs()).sum::<f64>() / n;
    for (i, got) in got.iter().enumerate() {
        let normed = (x[i] - mean) / deviation;
        let exact = normed * weights[i] + biases[i];
        let off_normed = 2.0 * (off_mean + x[i].abs() * U) / deviation
            + normed.abs() * ((levels + 8.0) * U + (off_mean / deviation).powi(2));
        let bound = off_normed * weights[i].abs() + (exact.abs() + biases[i].abs()) * 2.0 * U;
        let off = (f64::from(*got) - exact).abs();
        assert!(off <= bound, "{n}, {mean}: {off:e} past {bound:e}");
    }
}

/// Cross-entropy in f64: its sums are those of softmax, and what is made of them is rounded once.
#[test]
fn cross_entropy_is_within_its_bound() {
    for len in [1_usize, 2, 100, 1025, 5000, 100_000] {
        for spread in [0.01, 1.0, 20.0] {
            let row: Vec<f32> = numbers::<f32>(len, 31).iter().map(|x| x * spread).collect();
            let target = len / 3;
            let (smoothing, square) = (0.1_f32, 1e-3_f32);
            let targets = [target as i64];
            let loss = row::cross_entropy(&targets).label_smoothing(smoothing).z_loss(square);
            let mapped = loss.gradient(1.0).on_cpu::<_, f32>(&row).expect("a meaning");
            let wide: Vec<f64> = row.iter().copied().map(f64::from).collect();
            let max = wide.iter().copied().fold(f64::MIN, f64::max);
            let sum: f64 = wide.iter().map(|x| (x - max).exp()).sum();
            let lse = max + sum.ln();
            let p = |i: usize| (wide[i] - lse).exp();
            let entropy: f64 = (0..len).map(|i| p(i) * (lse - wide[i])).sum();
            let mean = wide.iter().sum::<f64>() / len as f64;
            let size = wide.iter().map(|x| x.abs()).sum::<f64>() / len as f64;
            let (e, z) = (f64::from(smoothing), f64::from(square));
            let exact = (1.0 - e) * (lse - wide[target]) + e * (lse - mean) + z * lse * lse;
            let levels = (len as f64).log2().ceil();
            let near = |what: &str, got: f32, exact: f64, bound: f64| {
                let off = (f64::from(got) - exact).abs();
                assert!(
                    off <= bound * U,
                    "{what} of {len}, {spread}: {got} for {exact}, past {bound}"
                );
            };
            let of_lse = 3.0 * levels + 8.0 + lse.abs();
            near(
                "the loss",
                mapped.known.loss[0],
                exact,
                of_lse * (1.0 + 2.0 * z * lse.abs()) + exact.abs() + e * (levels + 2.0) * size,
            );
            near("its log-sum-exp", mapped.known.log_sum_exp[0], lse, of_lse);
            near(
                "the log-probability",
                mapped.known.log_probability[0],
                wide[target] - lse,
                of_lse + (wide[target] - lse).abs(),
            );
            near(
                "the entropy",
                mapped.known.entropy[0],
                entropy,
                (3.0 * levels + 12.0) * (1.0 + entropy),
            );
            for (i, x) in wide.iter().enumerate() {
                let at_target = if i == target { 1.0 - e } else { 0.0 };
                let of_p = p(i) * (1.0 + 2.0 * z * lse);
                let exact = of_p - e / len as f64 - at_target;
                let distance = (max - x) * std::f64::consts::LOG2_E;
                let bound = of_p.abs() * (3.0 * levels + 12.0 + distance) + 2.0 * (at_target + e / len as f64) + 1e-30;
                near("the gradient", mapped.values[i], exact, bound);
            }
        }
    }
}

/// Gradients by their formulas in f64, and by finite differences of the forward operation in f64.
#[test]
fn gradients_are_within_their_bounds() {
    for len in [1_usize, 2, 100, 1025, 5000] {
        let (x, dy) = (numbers::<f32>(len, 41), numbers::<f32>(len, 42));
        let weights = numbers::<f32>(len, 43);
        let wide = |values: &[f32]| values.iter().copied().map(f64::from).collect::<Vec<f64>>();
        let (w, levels) = (wide(&weights), (len as f64).log2().ceil());
        let sum = |of: &dyn Fn(usize) -> f64| (0..len).map(of).sum::<f64>();
        let y = row::softmax()
            .scale(0.5)
            .on_cpu::<_, f32>(&x)
            .expect("a meaning")
            .values;
        let got = row::softmax_gradient(&dy)
            .scaled_by(0.5)
            .on_cpu::<_, f32>(&y)
            .expect("a meaning")
            .values;
        let (y, g) = (wide(&y), wide(&dy));
        let (dot, size) = (sum(&|i| y[i] * g[i]), sum(&|i| (y[i] * g[i]).abs()));
        let near = |what: &str, got: &[f32], exact: &dyn Fn(usize) -> f64, bound: &dyn Fn(usize) -> f64| {
            for (i, got) in got.iter().enumerate() {
                let off = (f64::from(*got) - exact(i)).abs();
                assert!(off <= bound(i) * U + 1e-38, "{what} of {len}: {got} for {}", exact(i));
            }
        };
        near("softmax", &got, &|i| 0.5 * y[i] * (g[i] - dot), &|i| {
            (2.0 * levels + 10.0) * (g[i].abs() + size) * y[i]
        });
        let logs = row::log_softmax().on_cpu::<_, f32>(&x).expect("a meaning").values;
        let got = row::log_softmax_gradient(&dy)
            .on_cpu::<_, f32>(&logs)
            .expect("a meaning")
            .values;
        let p: Vec<f64> = wide(&logs).iter().map(|y| y.exp()).collect();
        let (total, size) = (sum(&|i| g[i]), sum(&|i| g[i].abs()));
        near("log-softmax", &got, &|i| g[i] - p[i] * total, &|i| {
            (2.0 * levels + 10.0) * (g[i].abs() + p[i] * size)
        });
        let known = row::layer_norm(1e-5).on_cpu::<_, f32>(&x).expect("a meaning").known;
        let got = row::layer_norm_gradient(&dy, &known)
            .weight(&weights)
            .on_cpu::<_, f32>(&x)
            .expect("a meaning")
            .values;
        let (mean, q) = (f64::from(known.mean[0]), f64::from(known.reciprocal_deviation[0]));
        norm_is_near("layer norm", &got, [&wide(&x), &g, &w], mean, q, true);
        let known = row::rms_norm(1e-6).on_cpu::<_, f32>(&x).expect("a meaning").known;
        let got = row::rms_norm_gradient(&dy, &known)
            .weight(&weights)
            .on_cpu::<_, f32>(&x)
            .expect("a meaning")
            .values;
        norm_is_near(
            "root-mean-square norm",
            &got,
            [&wide(&x), &g, &w],
            0.0,
            f64::from(known.reciprocal_root[0]),
            false,
        );
    }
}

/// A norm's gradient, by its formula; and of a few elements by differences.
pub(super) fn norm_is_near(what: &str, got: &[f32], [x, dy, w]: [&[f64]; 3], mean: f64, q: f64, centers: bool) {
    let n = x.len() as f64;
    let of = |i: usize| ((x[i] - mean) * q, dy[i] * w[i]);
    let sums = |size: bool| {
        (0..x.len()).map(of).fold((0.0, 0.0), |(a, b), (x, g)| {
            let (g, gx) = if size { (g.abs(), (g * x).abs()) } else { (g, g * x) };
            (a + g / n, b + gx / n)
        })
    };
    let ((first, second), (size, size_x)) = (sums(false), sums(true));
    let first = if centers { first } else { 0.0 };
    let levels = n.log2().ceil();
    for (i, got) in got.iter().enumerate() {
        let (x, g) = of(i);
        let exact = q * (g - first - x * second);
        let bound = (2.0 * levels + 16.0) * (g.abs() + size + x.abs() * size_x) * q * U;
        let off = (f64::from(*got) - exact).abs();
        assert!(off <= bound, "{what} of {n}: {got} for {exact}");
    }
    let loss = |x: &[f64]| {
        let mean = if centers { x.iter().sum::<f64>() / n } else { 0.0 };
        let square = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        let q = 1.0 / (square + if centers { 1e-5 } else { 1e-6 }).sqrt();
        (0..x.len()).map(|i| dy[i] * w[i] * (x[i] - mean) * q).sum::<f64>()
    };
    for i in [0, x.len() / 2, x.len() - 1] {
        let step = 1e-4;
        let (mut more, mut less) = (x.to_vec(), x.to_vec());
        more[i] += step;
        less[i] -= step;
        let slope = (loss(&more) - loss(&less)) / (2.0 * step);
        // Central differences are off by the step's square, in deviations; and f32 by its roundings.
        let off = (step * q).powi(2) + (2.0 * levels + 16.0) * 10.0 * U;
        let size = dy.iter().zip(w).map(|(dy, w)| (dy * w).abs()).fold(1.0, f64::max) * q;
        assert!(
            (f64::from(got[i]) - slope).abs() <= off * size,
            "{what}: {} for a slope of {slope}",
            got[i]
        );
    }
}
