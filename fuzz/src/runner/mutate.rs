//! The next input: made up, or one of the corpus with a few changes.

use super::random::Random;

/// The longest input: some 200 actions.
const LONGEST: usize = 1024;

/// An input that was not there before, most likely.
pub(crate) fn next(corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    if corpus.is_empty() || random.below(4) == 0 {
        let longest = LONGEST.min(32 << random.below(6));
        let length = random.below(longest);
        return random.bytes(length);
    }
    let mut input = corpus[random.below(corpus.len())].clone();
    for _ in 0..=random.below(8) {
        change(&mut input, corpus, random);
    }
    input.truncate(LONGEST);
    input
}

fn change(input: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut Random) {
    let at = random.below(input.len() + 1);
    let end = (at + random.below(32)).min(input.len());
    match random.below(8) {
        0 | 1 => input[at..end.min(at + 1)].fill(random.word().to_le_bytes()[0]),
        2 => input[at..end.min(at + 1)]
            .iter_mut()
            .for_each(|byte| *byte ^= 1 << random.below(8)),
        3 => drop(input.drain(at..end)),
        4 => {
            let count = random.below(16);
            drop(input.splice(at..at, random.bytes(count)));
        }
        // The same once more, there or elsewhere.
        5 => {
            let piece = input[at..end].to_vec();
            let to = random.below(input.len() + 1);
            drop(input.splice(to..to, piece));
        }
        // The rest of another one.
        6 => {
            let other = &corpus[random.below(corpus.len())];
            input.truncate(at);
            input.extend_from_slice(&other[random.below(other.len() + 1)..]);
        }
        _ => input.truncate(at.max(1)),
    }
}
