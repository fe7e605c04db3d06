use warpfold_emulator::{
    Thread,
    picture::{Held, Place, Stage, WARPS},
    reduce_small,
};
use warpfold_kernels::tree::LANES;

use super::*;

#[test]
fn block_0_is_the_last() {
    assert_eq!(words::block_of_ticket(&run(&SUM).unwrap(), 1), Some(0));
}

#[test]
fn boxes_have_room_for_numbers() {
    for (x, text) in [
        (0.0, "0.00"),
        (-9.949, "−9.95"),
        (-9.996, "−10.0"),
        (20.85, "20.85"),
        (-99.4, "−99.4"),
        (99.6, "100"),
        (-5120.3, "−5120"),
        (10_207.0, "10.2k"),
        (-10_207.0, "−10k"),
        (f64::NEG_INFINITY, "−inf"),
    ] {
        assert_eq!(operators::short(x), text);
        assert!(text.chars().count() <= 5);
    }
}

#[test]
fn the_section_stands_alone() {
    let section = section().unwrap();
    for absent in ["{{", "src=", "https://", "<link", "<style"] {
        assert!(!section.contains(absent), "{absent}");
    }
    // Without its script it has the stills and the steps.
    let (before, _) = section.split_once("<script").unwrap();
    assert_eq!(
        (before.matches("<svg").count(), before.matches("<li>").count()),
        (4, 17)
    );
}

#[test]
fn its_rules_are_its_own() {
    for rule in STYLES.concat().lines().filter(|line| line.contains('{')) {
        let (selectors, _) = rule.split_once('{').unwrap();
        let own = [".still", "#fold", ".fold", "@"];
        let is_own = |selector: &str| own.iter().any(|own| selector.starts_with(own));
        assert!(selectors.split(',').map(str::trim).all(is_own), "{rule}");
    }
}

/// The texts of a still's groups of a class, in order.
fn texts(still: &str, class: &str) -> Vec<String> {
    let begin = format!("<g class=\"{class}\">");
    let groups = still.split(&begin).skip(1);
    let groups = groups.filter_map(|group| group.split("</g>").next());
    let texts = groups.flat_map(|group| group.split("</text>"));
    let texts = texts.filter_map(|text| Some(text.rsplit_once('>')?.1.trim().to_owned()));
    texts.filter(|text| !text.is_empty()).collect()
}

/// What a still shows is what lanes that begin with the emulator's states come to, folded here once more.
fn check_still<M: Monoid<f32>>(operator: &'static Operator<M>) {
    let (name, title, still, _) = outcome(operator).unwrap();
    let (picture, file) = (run(operator).unwrap(), still.inline("still", &title));
    let op = operator.op;
    let step = picture.steps.iter().find(|step| step.stage == Stage::Lane).unwrap();
    let state = |block: u32, thread: u32| {
        let place = Place::Lane(Thread { block, thread });
        match step.changes.iter().find(|change| change.place == place).unwrap().held {
            Held::State(state) => state,
            _ => panic!("{name}: no state"),
        }
    };
    let mut warps = vec![];
    let mut shown = vec![];
    for warp in 0..picture.blocks * WARPS {
        let first = |lane| state(warp / WARPS, warp % WARPS * LANES + lane);
        let mut lanes: Vec<M::State> = (0..LANES).map(first).collect();
        for round in 0..=5 {
            if warp == 0 {
                let short = |state: &M::State| (operator.fields)(*state).into_iter().map(|field| field.short);
                shown.extend(lanes.iter().flat_map(short));
            }
            if round < 5 {
                let reach = 1 << round;
                // The lower lane's state is the left operand, in both lanes.
                let pair = |lane: usize| op.combine(lanes[lane & !reach], lanes[lane | reach]);
                lanes = (0..LANES as usize).map(pair).collect();
            }
        }
        warps.push(lanes[0]);
    }
    assert_eq!(texts(&file, "n"), shown, "{name}");
    assert!(shown.iter().all(|text| text.chars().count() <= 5), "{name}");
    let blocks: Vec<M::State> = warps.chunks(2).map(|pair| op.combine(pair[0], pair[1])).collect();
    let all = op.combine(blocks[0], blocks[1]);
    let plain = reduce_small(op, &values(), 0, WARPS * LANES, SEED + 1).unwrap();
    assert_eq!(data::bits(all), data::bits(plain.state), "{name}");
    let wide = texts(&file, "v").concat();
    for state in warps.iter().chain(&blocks) {
        for field in (operator.fields)(*state) {
            assert!(wide.contains(&field.wide), "{name}: {} {}", field.name, field.wide);
        }
    }
    let answer = (operator.answer)(plain.answer).replace('-', "−");
    assert!(wide.ends_with(&answer.replace(", ", "")), "{name}: {answer}");
}

#[test]
fn stills_are_what_the_emulator_gives() {
    check_still(&SUM);
    check_still(&ARGMAX);
    check_still(&MEAN_VARIANCE);
    check_still(&LOG_SUM_EXP);
}
